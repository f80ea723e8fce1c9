"""Measures studies on a cluster on loopback: `./x cluster`.

A study of so many drawn sets on 1, 2, ... worker processes, with a worker killed every so many seconds, and with the scheduler killed in the
middle. Each must come to the bytes of one machine. Beside wall time, which depends on what else the machine does, stands the processor
time (user and system) of the workers and of the calling process, in which the scheduler of a local cluster runs, too. Then what a task
costs besides its work, apart by process (`overheads.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import overheads
import solocore
from distributed import Client, LocalCluster
from overheads import Counting, cpu_s, stopped
from solocore import cluster as apart

# Sets of few and middling tasks, 10 us each: a million take seconds, and it is the cluster that is measured.
STUDY = """
name = "measured"
seed = 1
sets = {sets}
cores = 8
caps = {{ from = 4.0, to = 8.0, step = 0.5 }}

[distributions]
utilizations = ["uniform-medium", "bimodal-heavy"]
periods = ["short"]

[[curve]]
name = "G-EDF"
any-of = ["gfb", "rta"]

[[curve]]
name = "P-EDF"
any-of = ["pedf_ffd"]
"""
ROWS = 18
"""Distributions times caps of the study."""


@dataclass
class Spent:
    """What a study took."""

    wall_s: float
    workers_s: float | None
    """Processor time of the workers; `None` where some died with what they knew."""
    caller_s: float
    tasks: int


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("journal")}


def judged_s(folder: Path) -> float:
    """Processor time of the judging itself, as the journal tells it block by block."""
    return sum(json.loads(line)["cpu_us"] for line in lines(folder)) / 1e6


def lines(folder: Path) -> list[str]:
    """The journal's lines of blocks."""
    return (folder / "journal.jsonl").read_text().splitlines()[1:]


def measured(study: Path, folder: Path, local: LocalCluster, meanwhile: Callable[[threading.Event], None] | None = None) -> Spent:
    """Has a study judged by a cluster; workers that `meanwhile` kills tell nothing."""
    over = threading.Event()
    helper = threading.Thread(target=meanwhile, args=(over,)) if meanwhile else None
    with Counting() as counting, Client(local) as client:
        client.wait_for_workers(1)
        before = sum(client.run(cpu_s).values())
        started, caller = time.perf_counter(), cpu_s()
        if helper:
            helper.start()
        try:
            solocore.study(study, folder, cluster=client)
        finally:
            over.set()
            if helper:
                helper.join()
        wall, caller = time.perf_counter() - started, cpu_s() - caller
        workers = None if meanwhile else sum(client.run(cpu_s).values()) - before
    return Spent(wall, workers, caller, counting.tasks)


def kills_workers(local: LocalCluster, every_s: float, killed: list[int]) -> Callable[[threading.Event], None]:
    draw = random.Random(1)

    def meanwhile(over: threading.Event) -> None:
        while not over.wait(every_s):
            processes = [nanny.pid for nanny in local.workers.values() if nanny.pid]
            if processes:
                victim = draw.choice(processes)
                try:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                except ProcessLookupError:
                    pass

    return meanwhile


def scheduler_killed(study: Path, folder: Path, after_s: float) -> tuple[int, int]:
    """Blocks that were kept when the scheduler died, and in all."""
    processes = overheads.begin_scheduler()
    over = threading.Event()

    def kills() -> None:
        # From the first block on: a busy machine takes its time to begin.
        while not (over.is_set() or ((folder / "journal.jsonl").exists() and lines(folder))):
            over.wait(0.2)
        if not over.wait(after_s):
            processes.scheduler.kill()

    helper = threading.Thread(target=kills)
    with stopped(processes):
        overheads.wait(processes)
        try:
            helper.start()
            solocore.study(study, folder, cluster=processes.address)
            sys.exit("the study was over before the scheduler died: more --sets, or an earlier --kill-scheduler-after")
        except solocore.ClusterError as error:
            print(f"    {error}")
        finally:
            over.set()
            helper.join()
    kept = len(lines(folder))
    again = overheads.begin_scheduler()
    with stopped(again):
        overheads.wait(again)
        solocore.study(study, folder, cluster=again.address)
    return kept, len(lines(folder))


def judge(same: bool, what: str) -> None:
    """Says whether it is as it must be, and ends where it is not."""
    print(f"{what}, bytes {'equal' if same else 'DIFFER'}", flush=True)
    if not same:
        sys.exit(1)


def alone(study: Path, folder: Path) -> tuple[dict[str, bytes], float, float]:
    """The results of one process on all cores, the processor time of the judging, and how long it took."""
    started, cpu = time.perf_counter(), cpu_s()
    solocore.study(study, folder)
    judged, wall = judged_s(folder), time.perf_counter() - started
    print(f"one process, all cores: {wall:.1f} s; processor time {cpu_s() - cpu:.1f} s, "
          f"of which judging {judged:.1f} s", flush=True)
    return results(folder), judged, wall


def by_workers(study: Path, root: Path, numbers: list[int], expected: dict[str, bytes], judged: float) -> None:
    first: float | None = None
    for workers in numbers:
        folder = root / f"workers-{workers}"
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local:
            spent = measured(study, folder, local)
        first = first or spent.wall_s * workers
        cpu, own = spent.workers_s or 0.0, judged_s(folder)
        rest = (cpu - own) / spent.tasks
        judge(results(folder) == expected,
              f"{workers} worker(s): {spent.wall_s:.1f} s, speed-up {first / spent.wall_s:.2f}; {spent.tasks} tasks; processor time: workers "
              f"{cpu:.1f} s, of which judging {own:.1f} s ({judged / cpu:.0%} efficient), {1000 * rest:.1f} ms more a task; "
              f"caller and scheduler {spent.caller_s:.1f} s, {1000 * spent.caller_s / spent.tasks:.1f} ms a task")


def with_deaths(study: Path, root: Path, said: argparse.Namespace, expected: dict[str, bytes], blocks: int) -> None:
    killed: list[int] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        # A nanny whose worker dies while it starts gives it up: somebody has to ask for another one.
        local.adapt(minimum=2, maximum=2)
        spent = measured(study, root / "killed", local, kills_workers(local, said.kill_worker_every, killed))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    kept = lines(root / "killed")
    once = len({line.split(",")[0] for line in kept}) == len(kept) == blocks
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not killed:
        sys.exit("the study was over before a worker died: more --sets, or an earlier --kill-worker-every")
    judge(once and results(root / "killed") == expected,
          f"a worker killed every {said.kill_worker_every:g} s, {len(killed)} in all: {spent.wall_s:.1f} s, {spent.tasks} tasks; processor time of "
          f"all workers with their starts {cpu:.1f} s, of which judging what was kept {judged_s(root / 'killed'):.1f} s; each block "
          f"{'once' if once else 'NOT ONCE'}")
    part, whole = scheduler_killed(study, root / "scheduler", said.kill_scheduler_after)
    judge(results(root / "scheduler") == expected,
          f"the scheduler killed after {said.kill_scheduler_after:g} s: {part} of {whole} blocks were kept, gone on from there")


def journal(plan: Any, study: Path, root: Path) -> None:
    """What the calling process does with what comes: one line after the other, and all of it at the end."""
    kept = lines(root / "alone")
    collection = plan.collect(root / "again")
    started, cpu = time.perf_counter(), cpu_s()
    for line in kept:
        collection.add(line)
    wall, cpu = time.perf_counter() - started, cpu_s() - cpu
    collection.close()
    size = sum(map(len, kept)) / len(kept)
    print(f"journal: {len(kept)} lines of {size:.0f} bytes; {1e6 * wall / len(kept):.1f} us each, {1e6 * cpu / len(kept):.1f} us of processor time")
    started, cpu = time.perf_counter(), cpu_s()
    solocore.Study.parse(study.read_text(), study).finish(root / "again")
    print(f"putting together and writing: {time.perf_counter() - started:.1f} s, {cpu_s() - cpu:.1f} s of processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1_000_000, help="task sets in all")
    parser.add_argument("--workers", default="1,2,4", help="numbers of worker processes")
    parser.add_argument("--kill-worker-every", type=float, metavar="S", help="10, or a third of what one process takes")
    parser.add_argument("--kill-scheduler-after", type=float, metavar="S", help="20, or half of what one process takes")
    parser.add_argument("--small-tasks", type=int, default=10_000, help="tasks of one block each, whose overhead is told")
    said = parser.parse_args()
    apart.PATIENCE_S = 30.0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        study = root / "study.toml"
        # Rounded up: never fewer sets than were asked for.
        study.write_text(STUDY.format(sets=max(1, -(-said.sets // ROWS))))
        plan = solocore.Study.parse(study.read_text(), study)
        print(f"solocore {solocore.build_id()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}: {plan.sets} sets, {plan.blocks} blocks")
        expected, judged, wall = alone(study, root / "alone")
        # Every ten seconds and after twenty, or sooner where the study would be over by then.
        said.kill_worker_every = said.kill_worker_every or min(10.0, wall / 3)
        said.kill_scheduler_after = said.kill_scheduler_after or min(20.0, wall / 2)
        by_workers(study, root, [int(number) for number in said.workers.split(",")], expected, judged)
        with_deaths(study, root, said, expected, plan.blocks)
        journal(plan, study, root)
        small = root / "small.toml"
        small.write_text(STUDY.format(sets=max(1, said.small_tasks // ROWS) * 20))
        overheads.small_tasks(small, root)
        print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
