"""Measures studies on a cluster on loopback: `./x cluster`.

A study of so many drawn sets on 1, 2, ... worker processes, with a worker killed every so many seconds, and with the scheduler killed in the
middle. Each must come to the bytes of one machine; what it took is printed as a table.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import solocore
from distributed import LocalCluster
from solocore import cluster as apart

STUDY = """
name = "measured"
seed = 1
sets = {sets}
cores = 8
caps = {{ from = 4.0, to = 8.0, step = 0.5 }}

[distributions]
utilizations = ["uniform-light", "uniform-medium"]
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


def results(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("journal")}


class Counting:
    """Counts tasks that were handed out."""

    def __init__(self) -> None:
        self.tasks, self.submit = 0, apart._Asking.submit

    def __enter__(self) -> Counting:
        counting = self

        def submit(self, numbers):
            counting.tasks += 1
            return counting.submit(self, numbers)

        apart._Asking.submit = submit
        return self

    def __exit__(self, *_: object) -> None:
        apart._Asking.submit = self.submit


def measured(study: Path, folder: Path, cluster: object, meanwhile=None) -> tuple[float, int]:
    """Seconds and tasks of a study."""
    over = threading.Event()
    helper = threading.Thread(target=meanwhile, args=(over,)) if meanwhile else None
    with Counting() as counting:
        started = time.perf_counter()
        if helper:
            helper.start()
        try:
            solocore.study(study, folder, cluster=cluster)
        finally:
            over.set()
            if helper:
                helper.join()
        return time.perf_counter() - started, counting.tasks


def kills_workers(local: LocalCluster, every_s: float, killed: list[int]):
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


def begin_scheduler(port: int) -> list[subprocess.Popen[bytes]]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-dashboard",
              "--death-timeout", "20"]
    return [subprocess.Popen(scheduler, **quiet), subprocess.Popen(worker, **quiet)]


def scheduler_killed(study: Path, folder: Path, after_s: float) -> tuple[int, int]:
    """Blocks that were kept when the scheduler died, and in all."""
    port = 20000 + os.getpid() % 20000
    processes = begin_scheduler(port)

    def meanwhile(over: threading.Event) -> None:
        if not over.wait(after_s):
            processes[0].kill()

    try:
        try:
            measured(study, folder, f"tcp://127.0.0.1:{port}", meanwhile)
            sys.exit("the study was over before the scheduler died: more --sets, or an earlier --kill-scheduler-after")
        except solocore.ClusterError as error:
            print(f"    {error}")
        journal = folder / "journal.jsonl"
        kept = len(journal.read_text().splitlines()) - 1
        for process in processes:
            process.kill()
        processes[:] = begin_scheduler(port + 1)
        measured(study, folder, f"tcp://127.0.0.1:{port + 1}")
        return kept, len(journal.read_text().splitlines()) - 1
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1_000_000, help="task sets in all")
    parser.add_argument("--workers", default="1,2,4", help="numbers of worker processes")
    parser.add_argument("--kill-worker-every", type=float, default=10.0, metavar="S")
    parser.add_argument("--kill-scheduler-after", type=float, default=20.0, metavar="S")
    said = parser.parse_args()
    apart.PATIENCE_S = 10.0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        study = root / "study.toml"
        study.write_text(STUDY.format(sets=max(1, said.sets // ROWS)))
        plan = solocore.Study.parse(study.read_text())
        print(f"solocore {solocore.build_id()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}: {plan.sets} sets, {plan.blocks} blocks")
        started = time.perf_counter()
        solocore.study(study, root / "alone")
        expected = results(root / "alone")
        print(f"one process, all cores: {time.perf_counter() - started:.1f} s")
        first = None
        for workers in map(int, said.workers.split(",")):
            with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local:
                seconds, tasks = measured(study, root / f"workers-{workers}", local)
            first = first or seconds * workers
            same = results(root / f"workers-{workers}") == expected
            print(f"{workers} worker(s): {seconds:.1f} s, speed-up {first / seconds:.2f}, {tasks} tasks of {seconds * workers / tasks:.2f} s, "
                  f"bytes {'equal' if same else 'DIFFER'}")
            if not same:
                sys.exit(1)
        killed: list[int] = []
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
            # A nanny whose worker dies while it starts gives it up: somebody has to ask for another one.
            local.adapt(minimum=2, maximum=2)
            seconds, tasks = measured(study, root / "killed", local, kills_workers(local, said.kill_worker_every, killed))
        same = results(root / "killed") == expected
        lines = (root / "killed/journal.jsonl").read_text().splitlines()[1:]
        once = len({line.split(",")[0] for line in lines}) == len(lines) == plan.blocks
        print(f"a worker killed every {said.kill_worker_every:g} s, {len(killed)} in all: {seconds:.1f} s, {tasks} tasks, "
              f"bytes {'equal' if same else 'DIFFER'}, each block {'once' if once else 'NOT ONCE'}")
        kept, blocks = scheduler_killed(study, root / "scheduler", said.kill_scheduler_after)
        resumed = results(root / "scheduler") == expected
        print(f"the scheduler killed after {said.kill_scheduler_after:g} s: {kept} of {blocks} blocks were kept, gone on from there, "
              f"bytes {'equal' if resumed else 'DIFFER'}")
        if not (same and once and resumed):
            sys.exit(1)


if __name__ == "__main__":
    main()
