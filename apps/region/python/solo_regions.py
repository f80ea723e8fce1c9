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

    def __init__(self, events):
        self._library = _load()
        self._regions = self._library.solo_regions_open(events.encode())
        if not self._regions:
            raise ValueError(self._library.solo_error().decode())

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
