"""Studies, sweeps and evaluations on a Dask cluster (https://distributed.dask.org).

Workers compute, this process keeps. A worker gets numbers of blocks or points and gives back lines; each line is a function of the work and
its number, carries a checksum, and is written into the journal of the folder as it comes. So it does not matter which worker did it,
when, or how often: a line that comes twice is kept once, what a lost worker had not given back is asked for again, and after the
scheduler's death the same call goes on from the journal.

Workers must run the same build of solocore; another is refused by its name.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from ._version import build_id
from .errors import ClusterError, InputError, WorkerVersionError

log = logging.getLogger("solocore.cluster")

EXPECTED = "None, a number of workers from 1, an address, or a Dask client or cluster"
"""What `cluster=` may be."""
TASK_S = 1.0
"""How long a task should take at least: short against what a lost worker costs, long against what scheduler and caller do for each."""
HANDLING_S = 0.005
"""What scheduler and caller together may need for a task. Where many threads work tasks get longer, so that both are half idle."""
LOOK_S = 1.0
"""How long what is known of the workers holds: the more there are, the more it takes to ask."""
AHEAD = 3
"""Tasks that wait for each thread of the workers."""
MOST = 4096
"""Numbers in a task at most."""
PATIENCE_S = 30.0
"""How long there may be no scheduler, or no worker, before the cluster counts as gone."""
LOSSES = 20
"""How often one task may be lost with its worker: then it is the task that kills them."""


def run(
    work: Any,
    job: tuple[Any, ...],
    hash: str,
    folder: Path,
    cluster: Any,
    progress: Callable[[str, int, float], object] | None,
    patience_s: float | None = None,
) -> None:
    """Has what is left of `work` done by a cluster and keeps it in `folder`.

    `cluster` is a number of local worker processes, a scheduler's address, or a Dask client or cluster. Raises `ClusterError` where the
    cluster disappears, `WorkerVersionError` where a worker has another build; what has come by then is kept.
    """
    collection = work.collect(folder)
    try:
        left = collection.left()
        if not left:
            return
        with _client(cluster) as client:
            log.info("dashboard: %s", client.dashboard_link)
            _refuse_others(client)
            patience = PATIENCE_S if patience_s is None else patience_s
            _Asking(client, collection, (job, hash), left, progress, folder, patience).all()
    finally:
        collection.close()


@contextmanager
def _client(cluster: Any) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    if isinstance(cluster, Client):
        yield cluster
    elif isinstance(cluster, int):
        with LocalCluster(n_workers=cluster, threads_per_worker=1, dashboard_address=None) as local, Client(local) as client:
            yield client
    else:
        address = cluster if isinstance(cluster, str) else getattr(cluster, "scheduler_address", repr(cluster))
        try:
            client = Client(cluster, timeout=PATIENCE_S)
        except TypeError as error:
            raise InputError(EXPECTED, repr(cluster), "cluster") from error
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler answers at {address}: {error}", address) from error
        with client:
            yield client


# Sent to workers as it is: one without solocore, or with an old one, answers too.
_PROBE = """
def probe():
    try:
        import solocore
        return solocore.build_id()
    except Exception as error:
        return f"(none: {error})"
"""


def _refuse_others(client: Any) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(_PROBE, space)  # A function of no module travels by value.
    for worker, found in client.run(space["probe"]).items():
        if found != build_id():
            raise WorkerVersionError(worker, build_id(), found)


@lru_cache(maxsize=4)
def _work(job: tuple[Any, ...]) -> Any:
    """What a job describes, made once in each worker."""
    from . import Evaluation, Study, Sweep

    match job:
        case ("study", text, path, sets, caps_every, seed):
            return Study.parse(text, Path(path), sets=sets, caps_every=caps_every, seed=seed)
        case ("sweep", text, axes, path, seed, jobs):
            return Sweep(text, list(axes), path=Path(path), seed=seed, jobs=jobs)
        case ("evaluation", chapter, said):
            values: dict[str, Any] = {k: list(v) if isinstance(v, tuple) else v for k, v in said}
            return Evaluation(chapter, **values)
    raise ValueError(f"no job: {job[0]!r}")


def _do(job: tuple[Any, ...], hash: str, build: str, numbers: list[int]) -> tuple[float, list[str]]:
    """Runs in a worker: the lines of these numbers, and how long they took."""
    from distributed import get_worker

    # Workers come and go: this one may have joined after the others were asked.
    if build != build_id():
        raise WorkerVersionError(get_worker().address, build, build_id())
    started = time.perf_counter()
    work = _work(job)
    if work.hash != hash:
        raise WorkerVersionError(get_worker().address, f"{build}, work {hash}", f"{build_id()}, work {work.hash}")
    lines = work.judge(numbers) if job[0] == "study" else work.lines(numbers)
    return time.perf_counter() - started, lines


class _Asking:
    """Who has been asked for what, until all has come."""

    def __init__(
        self, client: Any, collection: Any, job: tuple[Any, str], left: list[int], progress: Any, folder: Path, patience: float
    ) -> None:
        self.client, self.collection, self.job, self.progress, self.folder = client, collection, job, progress, folder
        self.patience = patience
        self.address = client.scheduler.address if client.scheduler else "(closed)"
        self.waiting = left[::-1]
        self.total, self.came = len(left), 0
        self.asked: dict[Any, list[int]] = {}
        self.lost: dict[int, int] = {}
        self.name = f"solocore-{uuid.uuid4().hex[:12]}"
        self.tasks = 0
        self.batch = 1
        self.well = time.monotonic()
        self.seen, self.looked = 0, float("-inf")

    def all(self) -> None:
        try:
            while self.came < self.total:
                self.ask()
                self.hear()
        finally:
            if self.client.status == "running":
                self.client.cancel(list(self.asked), force=True)

    def ask(self) -> None:
        """Hands out tasks until each thread of the workers has some in line."""
        if self.client.status != "running":
            return
        threads = max(self.threads(), 1)
        while self.waiting and len(self.asked) < threads * AHEAD:
            # Towards the end tasks get small, so that nobody waits long for the last one.
            size = max(1, min(self.batch, MOST, len(self.waiting) // threads))
            numbers = [self.waiting.pop() for _ in range(size)]
            if not self.submit(numbers):
                self.waiting.extend(reversed(numbers))
                return

    def submit(self, numbers: list[int]) -> bool:
        """False where the client has closed since it was looked at: that is told when its time is over."""
        self.tasks += 1
        job, hash = self.job
        key = f"{self.name}-{self.tasks}"
        try:
            future = self.client.submit(_do, job, hash, build_id(), numbers, key=key, pure=False)
        except Exception:
            if self.client.status == "running":
                raise
            return False
        self.asked[future] = numbers
        return True

    def hear(self) -> None:
        """Keeps what has come within a moment."""
        from distributed import wait

        if not self.asked:
            time.sleep(0.05)
        try:
            done = wait(list(self.asked), timeout=0.25, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            done = set()
        except Exception as error:  # The client closed beneath it.
            if self.client.status == "running":
                raise
            raise self.gone("the scheduler", error) from error
        if self.client.status == "running" and (done or self.threads()):
            self.well = time.monotonic()
        elif time.monotonic() - self.well > self.patience:
            what = "any worker" if self.client.status == "running" else "the scheduler"
            raise self.gone(what, None)
        for future in done:
            self.take(future, self.asked.pop(future))

    def take(self, future: Any, numbers: list[int]) -> None:
        from distributed import KilledWorker

        try:
            seconds, lines = future.result(timeout=self.patience)
        except KilledWorker as error:
            self.again(numbers, error)
            return
        except WorkerVersionError:
            raise
        except Exception as error:
            if future.cancelled() or future.status == "lost" or self.client.status != "running":
                self.again(numbers, error)
                return
            if isinstance(error, TimeoutError) and future.status != "error":
                # It was done, and its worker died before it was fetched: the scheduler has it done anew elsewhere.
                self.asked[future] = numbers
                return
            raise
        for line in lines:
            self.came += self.collection.add(line)
        pace = seconds / max(len(numbers), 1)
        # At most twice as many as before: one quick block says little of the next.
        length = max(TASK_S, 2 * HANDLING_S * self.seen)
        self.batch = max(1, min(2 * self.batch, int(length / max(pace, 1e-6))))
        if self.progress is not None:
            self.progress(self.name, 0, self.came / self.total)

    def again(self, numbers: list[int], error: Exception) -> None:
        """Asks once more for what was lost with a worker, number by number: if one of them kills workers, it shows."""
        for number in numbers:
            self.lost[number] = self.lost.get(number, 0) + 1
            if self.lost[number] > LOSSES:
                text = f"number {number} was lost with its worker {LOSSES} times; {self.kept()}: {error}"
                raise ClusterError(text, self.address) from error
        self.waiting.extend(reversed(numbers))

    def threads(self) -> int:
        """How many threads the workers have, as far as it is known."""
        if self.client.status != "running":
            return 0
        if time.monotonic() - self.looked >= LOOK_S:
            try:
                self.seen = sum(self.client.nthreads().values())
            except Exception as error:
                # Nobody answers: whether that lasts is another question.
                if self.client.status == "running" and not isinstance(error, OSError):
                    raise
                self.seen = 0
            self.looked = time.monotonic()
        return self.seen

    def gone(self, what: str, error: Exception | None) -> ClusterError:
        reason = f" ({error})" if error else ""
        return ClusterError(f"{what} of the cluster at {self.address} is gone{reason}; {self.kept()}", self.address)

    def kept(self) -> str:
        return f"{self.came} of {self.total} are kept in {self.folder}, and the same call goes on from there"
