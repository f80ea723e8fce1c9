"""Windows of equal instructions, on both kinds of cores of a chip: what its counters said in them, and what they took.

A program runs alone on one kind of core, then on the other. Each time that it has retired so many instructions a counter interrupts, and
counters and energy meter are read (the action `windows`). The chip counts a few events at a time, so that a program runs once for each
set of events; the simulated machine is deterministic, and the windows are the same each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import policies, programs as population
from ._native import Experiment, Sample, events_of_fixed, platform as described
from .errors import InputError
from .scenarios import parse

EVENTS = (
    "l1_hits", "l1_misses", "llc_hits", "llc_misses",
    "branches_retired", "branches_mispredicted", "dtlb_walks", "itlb_walks",
)
"""What is counted beside `instructions` and `cycles`: what Tables 1 and 6 of PMCTrack name, as far as the simulated machine has it."""


class Chip:
    """What a model has to know of a platform with two kinds of cores."""

    def __init__(self, name: str) -> None:
        found = described(name)
        kinds = found["kinds"]
        if len(kinds) != 2:
            raise InputError("a platform with two kinds of cores", f"{name} with {len(kinds)}", "platform")
        self.name: str = found["name"]
        speeds = [kind["clock"] * kind["instructions_per_kilocycle"] for kind in kinds]
        order = sorted((0, 1), key=lambda at: -speeds[at])
        self.kinds: tuple[str, ...] = tuple(kinds[at]["name"] for at in order)
        """The big kind and the small one."""
        cores = [core["kind"] for core in found["cores"]]
        self.cores = {kinds[at]["name"]: cores.index(at) for at in order}
        """By kind, its first core."""
        self.clocks = {kinds[at]["name"]: kinds[at]["clock"] for at in order}
        """By kind, in hertz."""
        self.metered: bool = bool(found.get("power"))
        self.counters: int = found["pmu"]["programmable"]
        """What the kernel's plan of counters hands out on each core: an event each."""
        self.bound: list[str] = events_of_fixed(found["pmu"]["fixed"])
        """The events that have counters of their own beside these."""
        if self.counters + len(self.bound) < 2:
            raise InputError("counters for instructions and cycles", f"{self.counters} programmable", "platform")

    def pack(self, groups: Sequence[Sequence[str]], turns: int) -> tuple[list[int], list[list[str]]]:
        """Groups of events that are to be counted together, in as many sets as may take turns: which groups found a place, and the sets.

        The groups are tried in their order. `instructions` are in each set, and `cycles` where there is room for another event; else
        the first set has them. Without `cycles` a set's turn can't tell a change of phase.
        """
        both = ["instructions", "cycles"]
        begin = both if self._needed(both) < self.counters else ["instructions"]
        sets, placed = [both.copy()], []
        for at, events in enumerate(groups):
            for known in sets:
                more = [event for event in events if event not in known]
                if self._needed(known) + self._needed(more) <= self.counters:
                    known.extend(more)
                    break
            else:
                fresh = [*begin, *(event for event in events if event not in begin)]
                if len(sets) == turns or self._needed(fresh) > self.counters:
                    continue
                sets.append(fresh)
            placed.append(at)
        return placed, sets

    def _needed(self, events: Sequence[str]) -> int:
        """The programmable counters that events need together."""
        return sum(event not in self.bound for event in events)


class _Collector(policies.Monitor):
    """Keeps what a window of the task counted. One for all tasks and cores."""

    def __init__(self) -> None:
        self.rows: list[dict[str, int]] = []

    def __deepcopy__(self, memo: Any) -> _Collector:
        return self

    def sample(self, sample: Sample) -> None:
        if sample.task is not None and sample.why == "ebs":
            self.rows.append({**sample.counts, "span_ns": sample.span_ns})


def _experiment(chip: Chip, program: population.Program, kind: str, events: Sequence[str], window: int) -> Experiment:
    """The program alone on the first core of a kind, and counters that are read at the end of each window."""
    counted = " + ".join(events)
    base = parse(
        f'name = "windows"\nplatform = "{chip.name}"\njobs = 1\nsample = "1s"\n'
        f'[scheduler]\npolicy = "P-RR"\nquantum = "100ms"\n'
        f'[scheduler.monitor]\nevent = "{counted}"\nperiod = "1s"\nclasses = ["best-effort"]\naction = "report"\n\n'
        + program.written(chip.kinds, [chip.cores[kind]])
    ).experiment()
    document = json.loads(base.to_json())
    # Windows are cut where a meter is read with the counters. A chip without one is given one that reads zero; nobody is shown it.
    cluster = {"on_mw": 0, "gated_mw": 0, "shared_mw": 0}
    dram = {"activate_fj": 0, "read_fj": 0, "write_fj": 0, "refresh_fj": 0, "background_mw": 0}
    if not chip.metered:
        document["platform"]["power"] = {"clusters": [cluster] * len(chip.kinds), "dram": dram}
    document["listening"].update(reaction="windows", settings=[window])
    document["listening"]["observed"]["monitor"] = "energy-delay"
    return Experiment.from_json(json.dumps(document))


def alone(chip: Chip, program: population.Program, kind: str, *, window: int = population.WINDOW) -> list[dict[str, Any]]:
    """The whole windows of a program alone on a kind of core: counts, `span_ns`, and `energy_fj` of all meters, or `None`."""
    merged: list[dict[str, Any]] = []
    for events in chip.pack([[event] for event in EVENTS], len(EVENTS) + 1)[1]:
        collector = _Collector()
        run = _experiment(chip, program, kind, events, window).run(tables=["energy"], monitor=collector)
        if not merged:
            energies: list[Any] = [None] * len(collector.rows)
            if chip.metered:
                table = run.table("energy").to_arrow().to_pylist()
                energies = [row["dynamic_fj"] for row in table if row["consumer"] == "window"]
            merged = [{"energy_fj": energy} for energy in energies]
        for row, found in zip(merged, collector.rows):
            row.update(found)
        del merged[len(collector.rows) :]
    return merged


def samples(
    platform: str,
    *,
    programs: Sequence[population.Program] | None = None,
    seed: int = 1,
    window: int = population.WINDOW,
    workers: int = 1,
    progress: Callable[[str, int, int], object] | None = None,
) -> Any:
    """Windows of programs on both kinds of cores of a platform, as a `pandas.DataFrame` with a row for each window on each kind.

    Columns: `platform`, `program`, `window` (from 0), `kind`; what was counted (`instructions`, `cycles`, `EVENTS`); `span_ns`; `energy_fj`
    of all meters, missing where the chip has none; `speedup_factor` = IPS_big / IPS_small and `energy_factor` = EDP_small / EDP_big
    of the window of the same number on either kind (PMCTrack, equation 3). `programs` are those of `programs.drawn(seed=seed)` unless
    said. `workers` threads run at a time; the frame does not depend on it. `progress` hears a program's name, how many are done, of how many.

    Raises `InputError` for a platform without two kinds of cores, or with kinds whose pipeline nobody has told.
    """
    import pandas

    chip = Chip(platform)
    drawn = population.drawn(seed=seed) if programs is None else list(programs)
    names = [program.name for program in drawn]
    if len(set(names)) != len(names):
        raise InputError("programs of different names", "two of the same", "programs")
    with ThreadPoolExecutor(max(1, workers)) as pool:
        def both(program: population.Program) -> list[list[dict[str, Any]]]:
            return [alone(chip, program, kind, window=window) for kind in chip.kinds]

        rows = []
        for done, (program, found) in enumerate(zip(drawn, pool.map(both, drawn)), 1):
            rows += _paired(chip, program.name, found)
            if progress is not None:
                progress(program.name, done, len(drawn))
    columns = ["platform", "program", "window", "kind", "instructions", "cycles", *EVENTS, "span_ns", "energy_fj",
               "speedup_factor", "energy_factor"]
    return pandas.DataFrame(rows, columns=columns).sort_values(["program", "kind", "window"], ignore_index=True, kind="stable")


def _paired(chip: Chip, program: str, found: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    rows = []
    for number, (big, small) in enumerate(zip(*found)):
        speeds = [side["instructions"] / side["span_ns"] for side in (big, small)]
        factors: dict[str, float | None] = {"speedup_factor": speeds[0] / speeds[1], "energy_factor": None}
        if chip.metered:
            products = [side["energy_fj"] * side["span_ns"] / side["instructions"] for side in (big, small)]
            factors["energy_factor"] = products[1] / products[0]
        for kind, side in zip(chip.kinds, (big, small)):
            rows.append({"platform": chip.name, "program": program, "window": number, "kind": kind, **side, **factors})
    return rows
