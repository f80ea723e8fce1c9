"""Counters around parts of a Python program, through libsolo.

    from solo_regions import Regions

    with Regions("instructions,llc_misses") as regions:
        for _ in range(100):
            with regions("work"):
                work()
        print(regions.table())

Regions belong to the thread that opened them. Events count in user mode where they do not say otherwise
(instructions:uk, cycles:k). The library is looked for in $LIBSOLO, then where the system looks.
"""

import ctypes
import os
from contextlib import contextmanager


def _load():
    library = ctypes.CDLL(os.environ.get("LIBSOLO", "libsolo.so"))
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    signatures = {
        "solo_regions_open": (pointer, [text]),
        "solo_regions_open_machine": (pointer, [text]),
        "solo_regions_clone": (pointer, [pointer]),
        "solo_regions_events": (ctypes.c_int, [pointer, text]),
        "solo_regions_every": (ctypes.c_int, [pointer, ctypes.c_uint64]),
        "solo_regions_virtual": (ctypes.c_int, [pointer, text]),
        "solo_regions_merge": (ctypes.c_int, [pointer, pointer]),
        "solo_region_virtual": (ctypes.c_int64, [pointer, text, text]),
        "solo_region_samples": (ctypes.c_uint64, [pointer, text]),
        "solo_region_lost": (ctypes.c_uint64, [pointer, text]),
        "solo_region_sample_at_ns": (ctypes.c_uint64, [pointer, text, ctypes.c_uint64]),
        "solo_region_sample_count": (ctypes.c_int64, [pointer, text, ctypes.c_uint64, text]),
        "solo_error": (text, []),
        "solo_region_start": (ctypes.c_int, [pointer]),
        "solo_region_stop": (ctypes.c_int, [pointer, text]),
        "solo_region_count": (ctypes.c_int64, [pointer, text, text]),
        "solo_region_passes": (ctypes.c_uint64, [pointer, text]),
        "solo_region_time_ns": (ctypes.c_uint64, [pointer, text]),
        "solo_region_cost_ns": (ctypes.c_uint64, [pointer]),
        "solo_regions_table": (pointer, [pointer]),
        "solo_text_free": (None, [pointer]),
        "solo_regions_close": (None, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Regions:
    """Counters of the calling thread, by region."""

    def __init__(self, events, every_ns=0, virtual="", machine=False):
        """Events as for `solo watch -e`; a sample each `every_ns` that the thread runs; modules of virtual counters; the whole
        machine instead of this thread."""
        self._library = _load()
        opened = self._library.solo_regions_open_machine if machine else self._library.solo_regions_open
        self._regions = opened(events.encode())
        self._events = events
        if not self._regions:
            raise ValueError(self._library.solo_error().decode())
        if every_ns:
            self._change(self._library.solo_regions_every, every_ns)
        if virtual:
            self._change(self._library.solo_regions_virtual, virtual.encode())

    def _change(self, function, value):
        if function(self._open(), value) != 0:
            message = self._library.solo_error().decode()
            raise ValueError(message)

    def clone(self):
        """The same for the calling thread: events, sampling period and virtual counters, with totals of their own."""
        other = object.__new__(Regions)
        other._library, other._events = self._library, self._events
        other._regions = self._library.solo_regions_clone(self._open())
        if not other._regions:
            raise ValueError(self._library.solo_error().decode())
        return other

    def change(self, events):
        """Counts other events from the next region on; what was counted stays."""
        self._change(self._library.solo_regions_events, events.encode())

    def merge(self, other):
        """Adds the totals of another thread's regions with the same events."""
        self._change(self._library.solo_regions_merge, other._open())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the counters; a second time does nothing."""
        if self._regions:
            self._library.solo_regions_close(self._regions)
            self._regions = None

    def _open(self):
        if not self._regions:
            raise ValueError("the regions are closed")
        return self._regions

    @contextmanager
    def __call__(self, name):
        """A region: what happens inside is counted under this name, exceptions included."""
        if self._library.solo_region_start(self._open()) != 0:
            raise RuntimeError(self._library.solo_error().decode())
        try:
            yield
        finally:
            self._library.solo_region_stop(self._open(), name.encode())

    def count(self, name, event):
        """What an event came to in a region; None where it could not be counted."""
        count = self._library.solo_region_count(self._open(), name.encode(), event.encode())
        return None if count < 0 else count

    def virtual(self, name, counter):
        """What a virtual counter came to in a region; None where it could not be read."""
        value = self._library.solo_region_virtual(self._open(), name.encode(), counter.encode())
        return None if value == -(1 << 63) else value

    def samples(self, name, *events):
        """The samples of a region: when, in nanoseconds since its pass began, and what each event came to since the one before."""
        library, regions, region = self._library, self._open(), name.encode()
        rows = []
        for sample in range(library.solo_region_samples(regions, region)):
            counts = (library.solo_region_sample_count(regions, region, sample, event.encode()) for event in events)
            counts = tuple(None if count < 0 else count for count in counts)
            rows.append((library.solo_region_sample_at_ns(regions, region, sample), *counts))
        return rows

    def lost(self, name):
        """Samples of a region for which there was no room."""
        return self._library.solo_region_lost(self._open(), name.encode())

    def passes(self, name):
        """How often a region was passed."""
        return self._library.solo_region_passes(self._open(), name.encode())

    def time_ns(self, name):
        """The time in a region, in nanoseconds."""
        return self._library.solo_region_time_ns(self._open(), name.encode())

    def cost_ns(self):
        """What an empty region costs, in nanoseconds."""
        return self._library.solo_region_cost_ns(self._open())

    def table(self):
        """All regions as a table."""
        text = self._library.solo_regions_table(self._open())
        try:
            return ctypes.string_at(text).decode() if text else ""
        finally:
            self._library.solo_text_free(text)
