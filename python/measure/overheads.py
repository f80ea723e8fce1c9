"""What a task costs besides its work, by process: the scheduler's, the caller's, the workers'.

Processor time is read from the processes themselves, so that it says the same on a busy machine.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import solocore
from distributed import Client
from solocore import cluster as apart


def cpu_s() -> float:
    """Processor time of this process."""
    times = os.times()
    return times.user + times.system


class Counting:
    """Counts tasks that were handed out."""

    def __init__(self) -> None:
        self.tasks, self.submit = 0, apart._Asking.submit

    def __enter__(self) -> Counting:
        counting = self

        def submit(self: Any, numbers: list[int]) -> bool:
            counting.tasks += 1
            return counting.submit(self, numbers)

        apart._Asking.submit = submit
        return self

    def __exit__(self, *_: object) -> None:
        apart._Asking.submit = self.submit


@dataclass
class Apart:
    """A scheduler and workers as processes of their own."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    def all(self) -> list[subprocess.Popen[bytes]]:
        return [self.scheduler, *self.workers]


def begin_scheduler(workers: int = 1) -> Apart:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny",
              "--death-timeout", "60"]
    return Apart(address, subprocess.Popen(scheduler, **quiet), [subprocess.Popen(worker, **quiet) for _ in range(workers)])


def wait(processes: Apart) -> None:
    """Until scheduler and workers are there."""
    with Client(processes.address, timeout=300) as client:
        client.wait_for_workers(len(processes.workers))


@contextmanager
def stopped(processes: Apart) -> Iterator[None]:
    """Ends them afterwards."""
    try:
        yield
    finally:
        for process in processes.all():
            process.kill()
            process.wait()


def _spent(process: subprocess.Popen[bytes]) -> float:
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


def small_tasks(study: Path, root: Path) -> None:
    """A task for each block, with few tasks in line, and with as many as 1,000 threads have."""
    ordinary = apart.TASK_S, apart.HANDLING_S, apart.AHEAD
    apart.TASK_S = apart.HANDLING_S = 0.0
    try:
        for threads in (2, 1000):
            apart.AHEAD = ordinary[2] * threads // 2
            _small(study, root / f"small-{threads}", threads)
    finally:
        apart.TASK_S, apart.HANDLING_S, apart.AHEAD = ordinary


def _small(study: Path, folder: Path, threads: int) -> None:
    processes = begin_scheduler(2)
    with stopped(processes), Client(processes.address) as client, Counting() as counting:
        client.wait_for_workers(2)
        before = [_spent(processes.scheduler), cpu_s(), sum(map(_spent, processes.workers))]
        started = time.perf_counter()
        plan = solocore.Study.parse(study.read_text(), study)
        apart.run(plan, ("study", study.read_text(), str(study), None, None, None), plan.hash, folder, client, None)
        wall = time.perf_counter() - started
        after = [_spent(processes.scheduler), cpu_s(), sum(map(_spent, processes.workers))]
    judged = sum(json.loads(line)["cpu_us"] for line in (folder / "journal.jsonl").read_text().splitlines()[1:]) / 1e6
    scheduler, caller, workers = (1000 * (now - then) / counting.tasks for now, then in zip(after, before))
    print(f"tasks of one block, as many in line as {threads} threads have: {counting.tasks} in {wall:.1f} s; processor time of each: scheduler "
          f"{scheduler:.2f} ms, caller {caller:.2f} ms, worker {workers:.2f} ms, of which judging {1000 * judged / counting.tasks:.2f} ms", flush=True)
