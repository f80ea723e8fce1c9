"""The large campaigns: studies, sweeps and the thesis's evaluations, on this machine or on a cluster.

What is done is kept in a folder, block by block or point by point, and gone on with where it was stopped. A block and a point follow from
the work and their number alone, so a cluster's results equal those of one machine byte for byte.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ._native import Evaluation, Study, Sweep
from .errors import InputError

Progress = Callable[[str, int, float], object]
"""Hears a name, the simulated time in nanoseconds (0 where there is none), and the share that is done."""


def study(
    file: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    sets: int | None = None,
    caps_every: int | None = None,
    seed: int | None = None,
    cluster: Any = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judges a study's task sets (docs/study.md), keeps them in `folder`, and writes sets, summary, page and figures there, as
    `solo study FILE --out FOLDER` does. Returns the summary.

    `sets` for each cap, `caps_every` and `seed` take the places of those of the file. `cluster` is `None` for all cores of this machine,
    a number of worker processes, the address of a Dask scheduler, or a Dask client or cluster (`solocore.cluster`). On a cluster,
    overhead files that the study names must lie at the same paths on all workers.
    """
    path = Path(file).absolute()
    text = path.read_text(encoding="utf-8")
    work = Study.parse(text, path, sets=sets, caps_every=caps_every, seed=seed)
    if cluster is None:
        work.run(Path(folder), progress=progress)
    else:
        _apart(work, ("study", text, str(path), sets, caps_every, seed), work.hash, folder, cluster, progress)
    return work.finish(Path(folder))


def sweep(
    file: str | os.PathLike[str],
    axes: Sequence[str],
    folder: str | os.PathLike[str],
    *,
    seed: int | None = None,
    jobs: int | None = None,
    cluster: Any = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Runs a scenario at every combination of values, as `solo sweep` does, and writes `points.json` into `folder`. Returns the points.

    Each of `axes` is `KEY=VALUE,VALUE...` or `KEY=1..20`, such as `task.frame.period=10ms,20ms`; the last changes fastest. On a
    cluster, files that the scenario names must lie at the same paths on all workers.
    """
    path = Path(file).absolute()
    text = path.read_text(encoding="utf-8")
    work = Sweep(text, list(axes), path=path, seed=seed, jobs=jobs)
    if cluster is not None:
        _apart(work, ("sweep", text, tuple(axes), str(path), seed, jobs), work.hash, folder, cluster, progress)
    points = work.run(Path(folder), progress=progress if cluster is None else None)
    _write(Path(folder) / "points.json", points)
    return points


def evaluate(
    chapter: int,
    folder: str | os.PathLike[str],
    *,
    sets: int = 10,
    jobs: int = 200,
    scale: int = 1,
    seed: int = 1,
    working_sets_kib: Sequence[int] = (32, 64, 128, 256),
    sharing: Sequence[str] = ("color",),
    cluster: Any = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """An evaluation of the thesis, chapter 6, 7 or 8, as `solo evaluate` makes it; writes `bars.json` into `folder`. Returns the bars."""
    said: dict[str, Any] = dict(sets=sets, jobs=jobs, scale=scale, seed=seed, working_sets_kib=list(working_sets_kib), sharing=list(sharing))
    work = Evaluation(chapter, **said)
    if cluster is not None:
        job = ("evaluation", chapter, tuple(sorted((key, tuple(value) if isinstance(value, list) else value)
                                                   for key, value in said.items())))
        _apart(work, job, work.hash, folder, cluster, progress)
    bars = work.run(Path(folder), progress=progress if cluster is None else None)
    _write(Path(folder) / "bars.json", bars)
    return bars


def _apart(work: Any, job: tuple[Any, ...], hash: str, folder: Any, cluster: Any, progress: Progress | None) -> None:
    from . import cluster as apart

    if isinstance(cluster, bool) or (isinstance(cluster, int) and cluster < 1):
        raise InputError(apart.EXPECTED, repr(cluster), "cluster")
    apart.run(work, job, hash, Path(folder), cluster, progress)


def _write(path: Path, value: Any) -> None:
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    os.replace(beside, path)
