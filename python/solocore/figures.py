"""Figures of runs, with matplotlib.

>>> from solocore import figures
>>> figures.schedule(run).figure.savefig("schedule.svg")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._native import Run

if TYPE_CHECKING:
    from ._native import _TableName

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns"))


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    # No window and no global state: a figure of its own, which a notebook shows and `savefig` writes.
    return Figure(figsize=(8, 4.5), layout="constrained").subplots()


def _unit(longest_ns: float) -> tuple[int, str]:
    return next(unit for unit in _UNITS if longest_ns >= unit[0] or unit[0] == 1)


def _columns(run: Run, table: _TableName, *names: str) -> list[list[Any]]:
    import pyarrow

    frame = pyarrow.table(run.table(table))
    return [frame.column(name).to_pylist() for name in names]


def responses(run: Run, axes: Any = None) -> Any:
    """The share of jobs of each task that responded within a time (the empirical distribution function)."""
    axes = _axes(axes)
    tasks, times = _columns(run, "jobs", "task", "response_ns")
    by_task: dict[str, list[int]] = {task: [] for task in run.task_names}
    for task, time in zip(tasks, times):
        if time is not None:
            by_task[task].append(time)
    size, unit = _unit(max((max(times) for times in by_task.values() if times), default=1))
    for task, found in by_task.items():
        if found:
            found.sort()
            axes.step([time / size for time in found], [(at + 1) / len(found) for at in range(len(found))],
                      where="post", label=task)
    axes.set(xlabel=f"response time ({unit})", ylabel="share of jobs", ylim=(0, 1.02))
    axes.legend()
    return axes


def schedule(run: Run, axes: Any = None, *, until_ns: int | None = None) -> Any:
    """What each core ran, from the beginning: a bar for each stretch, a color for each task."""
    axes = _axes(axes)
    at, cores, tasks = _columns(run, "switches", "at_ns", "core", "to")
    end = run.report["end_ns"] if until_ns is None else until_ns
    size, unit = _unit(end)
    bars: dict[str, list[tuple[int, float, float]]] = {task: [] for task in run.task_names}
    running: dict[int, tuple[int, str | None]] = {}
    for time, core, task in [*zip(at, cores, tasks), *((end, core, None) for core in range(run.cores))]:
        since, before = running.get(core, (0, None))
        if before is not None and since < end:
            bars[before].append((core, since / size, (min(time, end) - since) / size))
        running[core] = (time, task)
    for task, found in bars.items():
        if found:
            axes.barh([core for core, *_ in found], [length for *_, length in found], 0.8,
                      left=[since for _, since, _ in found], label=task)
    axes.set(xlabel=f"time ({unit})", ylabel="core", yticks=range(run.cores), xlim=(0, end / size))
    axes.invert_yaxis()
    axes.legend()
    return axes


def parts_of_time(run: Run, axes: Any = None) -> Any:
    """Where the time of each task's jobs went, on average: computing, caches, DRAM, waiting behind others, the kernel."""
    axes = _axes(axes)
    parts = ["compute_ns", "private_cache_ns", "shared_cache_ns", "dram_ns", "dram_queue_own_ns", "dram_queue_others_ns",
             "coherence_ns", "kernel_ns"]
    tasks, *columns = _columns(run, "jobs", "task", *parts)
    names = run.task_names
    of = {task: [row for row, name in enumerate(tasks) if name == task and columns[0][row] is not None] for task in names}
    mean = {part: [sum(column[row] for row in of[task]) / max(len(of[task]), 1) for task in names]
            for part, column in zip(parts, columns)}
    size, unit = _unit(max((sum(mean[part][at] for part in parts) for at in range(len(names))), default=1))
    left = [0.0] * len(names)
    for part in parts:
        lengths = [time / size for time in mean[part]]
        axes.barh(names, lengths, left=left, label=part.removesuffix("_ns").replace("_", " "))
        left = [a + b for a, b in zip(left, lengths)]
    axes.set(xlabel=f"mean time of a job ({unit})")
    axes.invert_yaxis()
    axes.legend()
    return axes


def schedulability(summary: Mapping[str, Any], axes: Any = None, *, distribution: int = 0) -> Any:
    """The share of schedulable task sets by their utilization cap, a curve for each test (thesis Figs. 24 to 32, 64 to 70)."""
    axes = _axes(axes)
    found = summary["distributions"][distribution]
    for curve in found["curves"]:
        # Summaries in `studies/results` hold points as short lists.
        points = [tuple(point.values()) if isinstance(point, Mapping) else tuple(point) for point in curve["points"]]
        axes.plot([cap / 1000 for cap, *_ in points], [held / max(sets, 1) for _, held, sets in points], label=curve["name"])
    axes.set(xlabel="utilization cap (cores)", ylabel="share of schedulable sets", ylim=(-0.02, 1.02), title=found["name"])
    axes.legend()
    return axes
