"""A cluster on loopback: the bytes of one machine, whatever becomes of workers and schedulers."""

import os
import signal
from pathlib import Path

import dask
import pytest
import solocore
from distributed import Client, LocalCluster
from solocore import campaigns, cluster

STUDY = """
name = "small"
seed = 3
sets = 100
cores = 2
caps = { from = 1.0, to = 2.0, step = 0.25 }

[distributions]
utilizations = ["uniform-light", "bimodal-medium"]
periods = ["short"]

[[curve]]
name = "G-EDF"
any-of = ["gfb", "rta"]

[[curve]]
name = "P-EDF"
any-of = ["pedf_ffd"]
"""

SWEEP = """
name = "swept"
platform = "ideal-8"
jobs = 20
[scheduler]
policy = "P-EDF"
[[task]]
name = "a"
class = "hard"
core = 0
period = "1ms"
work = [{ compute = "300us" }]
"""
AXES = ["task.a.period=1ms,2ms,200us", "seed=1..3"]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine takes its time to start a worker again: nothing here depends on how long."""
    monkeypatch.setattr(cluster, "PATIENCE_S", 240.0)


# The same of Dask's own: a nanny whose worker has not come by then gives it up.
dask.config.set({"distributed.comm.timeouts.connect": "240s", "distributed.comm.timeouts.tcp": "240s"})


@pytest.fixture(scope="module")
def local():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        yield local


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def alone(study, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    solocore.study(study, folder)
    return results(folder)


def results(folder: Path) -> dict[str, bytes]:
    """All files but the journal, which says when what was done."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("journal")}


def test_a_study_has_the_bytes_of_one_machine(study, alone, local, tmp_path):
    heard = []
    summary = solocore.study(study, tmp_path, cluster=local, progress=lambda *told: heard.append(told))
    assert results(tmp_path) == alone and {"sets.parquet", "summary.json", "report.html"} <= set(alone)
    assert heard[-1][2] == 1.0 and summary["study"] == "small"
    # By address, with a client, and where nothing is left.
    solocore.study(study, tmp_path, cluster=local.scheduler_address)
    assert results(tmp_path) == alone


def test_the_command_that_solo_calls_judges_and_says_what_is_wrong(study, alone, local, tmp_path, monkeypatch, capsys):
    from solocore.__main__ import main

    words = ["study", str(study), str(tmp_path / "out"), "--quiet", "--dask"]
    assert main([*words, local.scheduler_address]) == 0
    assert results(tmp_path / "out") == alone
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
    assert main(["study", str(study), str(tmp_path / "other"), "--dask", "tcp://127.0.0.1:1"]) == 3
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
    assert main([*words, local.scheduler_address, "--sets", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_sweep_and_an_evaluation_have_the_bytes_of_one_machine(local, tmp_path):
    scenario = tmp_path / "swept.toml"
    scenario.write_text(SWEEP)
    with Client(local) as client:
        points = [solocore.sweep(scenario, AXES, tmp_path / name, cluster=where)
                  for name, where in (("s1", None), ("s2", client))]
        assert points[0] == points[1] and len(points[0]) == 9
        assert {point["held"] for point in points[0]} == {True, False}
        size = dict(sets=1, jobs=1, scale=200, working_sets_kib=[32])
        for chapter in (7, 8):
            places = ((f"here{chapter}", None), (f"apart{chapter}", client))
            bars = [solocore.evaluate(chapter, tmp_path / name, **size, cluster=where) for name, where in places]
            assert bars[0] == bars[1] and bars[0]
    for one, other in (("s1", "s2"), ("here7", "apart7"), ("here8", "apart8")):
        assert results(tmp_path / one) == results(tmp_path / other)


def _dies_at_its_first(mark: str, real):
    def work(job, hash, build, numbers):
        try:
            # Made once in all: whoever makes it dies of it.
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return real(job, hash, build, numbers)
        os.kill(os.getpid(), signal.SIGKILL)

    return work


def test_a_worker_that_dies_loses_nothing_and_repeats_nothing(study, alone, tmp_path, monkeypatch):
    mark = tmp_path / "died"
    monkeypatch.setattr(cluster, "_do", _dies_at_its_first(str(mark), cluster._do))
    folder = tmp_path / "out"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own:
        solocore.study(study, folder, cluster=own)
    assert mark.exists(), "a worker died"
    assert results(folder) == alone
    blocks = [line.split('"block":')[1].split(",")[0] for line in (folder / "journal.jsonl").read_text().splitlines()[1:]]
    assert len(blocks) == len(set(blocks)) == solocore.Study.parse(STUDY).blocks


def test_what_kills_its_worker_each_time_is_told(study, tmp_path, monkeypatch):
    def kills(job, hash, build, numbers):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(cluster, "_do", kills)
    monkeypatch.setattr(cluster, "LOSSES", 0)
    # The scheduler gives a task up with its first worker: how often a nanny starts another one does not matter.
    once = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with once, LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as own:
        with pytest.raises(solocore.ClusterError, match="was lost with its worker") as raised:
            solocore.study(study, tmp_path, cluster=own)
    assert raised.value.address and "the same call goes on from there" in str(raised.value)


def test_a_scheduler_that_disappears_is_told_and_the_study_goes_on(study, alone, tmp_path, monkeypatch):
    own = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    monkeypatch.setattr(cluster, "PATIENCE_S", 1.0)
    monkeypatch.setattr(cluster, "TASK_S", 1e-6)
    heard = []

    def progress(name, now_ns, share):
        heard.append(share)
        if len(heard) == 3:
            own.close()

    folder = tmp_path / "out"
    with Client(own) as client:
        with pytest.raises(solocore.ClusterError, match="is gone") as raised:
            solocore.study(study, folder, cluster=client, progress=progress)
    assert "are kept in" in str(raised.value)
    kept = len((folder / "journal.jsonl").read_text().splitlines()) - 1
    assert 0 < kept < solocore.Study.parse(STUDY).blocks
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as another:
        solocore.study(study, folder, cluster=another)
    assert results(folder) == alone


def test_nobody_at_an_address_is_told(study, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
    with pytest.raises(solocore.ClusterError, match="no Dask scheduler answers") as raised:
        solocore.study(study, tmp_path, cluster="tcp://127.0.0.1:9")
    assert raised.value.address == "tcp://127.0.0.1:9"


def test_a_cluster_without_workers_is_told(study, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
    # A client that is connected: how long that takes on a busy machine does not matter.
    with LocalCluster(n_workers=0, dashboard_address=None) as empty, Client(empty) as client:
        with pytest.raises(solocore.ClusterError, match=r"any worker of the cluster at .* is gone; 0 of \d+ are kept"):
            solocore.study(study, tmp_path, cluster=client)


def test_workers_that_disappear_are_told_and_the_study_goes_on(study, alone, local, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE_S", 1.0)
    monkeypatch.setattr(cluster, "TASK_S", 1e-6)
    monkeypatch.setattr(cluster, "LOOK_S", 0.0)
    heard = []

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as own, Client(own) as client:
        def progress(name, now_ns, share):
            heard.append(share)
            if len(heard) == 3:
                own.scale(0)

        with pytest.raises(solocore.ClusterError, match="any worker of the cluster at .* is gone"):
            solocore.study(study, tmp_path, cluster=client, progress=progress)
    assert 0 < heard[-1] < 1
    solocore.study(study, tmp_path, cluster=local)
    assert results(tmp_path) == alone


def test_workers_of_another_version_are_refused_by_name(study, local, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "build_id", lambda: "9.9.9 (another)")
    with pytest.raises(solocore.WorkerVersionError) as raised:
        solocore.study(study, tmp_path, cluster=local)
    assert raised.value.worker in local.scheduler_info["workers"]
    assert (raised.value.expected, raised.value.found) == ("9.9.9 (another)", solocore.build_id())


def test_a_worker_of_another_version_that_comes_late_refuses_itself(local):
    with Client(local) as client:
        with pytest.raises(solocore.WorkerVersionError) as raised:
            client.submit(cluster._do, ("study",), "", "0.0.0", [0], pure=False).result()
    assert raised.value.expected == "0.0.0"


def test_lines_of_another_study_are_not_kept(tmp_path):
    one, other = solocore.Study.parse(STUDY), solocore.Study.parse(STUDY.replace("sets = 100", "sets = 90"))
    collection = one.collect(tmp_path)
    line = one.judge([0])[0]
    for wrong in ("", "{}", line.replace("T", "F", 1) if "T" in line else line[:-2], other.judge([4])[0], line[:-1]):
        with pytest.raises(solocore.StudyError, match="can't keep what has come"):
            collection.add(wrong)
    assert collection.add(line) and not collection.add(line)
    assert 0 not in collection.left() and len(collection.left()) == one.blocks - 1
    with pytest.raises(solocore.StudyError, match="written by another process"):
        one.collect(tmp_path)
    collection.close()
    with pytest.raises(solocore.StudyError, match="another study"):
        other.collect(tmp_path)


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, float("nan"), ["tcp://127.0.0.1:1"]])
def test_what_is_no_cluster_is_refused(study, tmp_path, wrong):
    with pytest.raises(solocore.InputError, match="a number of workers from 1") as raised:
        solocore.study(study, tmp_path, cluster=wrong)
    assert (raised.value.place, raised.value.found) == ("cluster", repr(wrong))


class Large:
    """A client of a cluster with 1,000 threads."""

    status, scheduler = "running", None

    def nthreads(self):
        return {f"tcp://10.0.0.{at}:1": 4 for at in range(250)}


def test_what_was_done_and_lost_before_it_was_fetched_is_waited_for(tmp_path):
    kept = []

    class Collection:
        def add(self, line):
            kept.append(line)
            return True

    class Lost:
        status = "pending"

        def cancelled(self):
            return False

        answers = [TimeoutError("timed out"), (0.01, ["line"])]

        def result(self, timeout):
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    asking = cluster._Asking(Large(), Collection(), ((), ""), [7], None, tmp_path, 1.0)
    future = Lost()
    asking.take(future, [7])
    assert asking.asked == {future: [7]} and not kept and not asking.lost
    asking.take(future, asking.asked.pop(future))
    assert kept == ["line"] and asking.came == 1 and not asking.asked
    # A task that ends so, wherever it is done, is not waited for.
    failed = Lost()
    failed.status, failed.answers = "error", [TimeoutError("timed out")]
    with pytest.raises(TimeoutError):
        asking.take(failed, [8])
    assert not asking.asked


def test_tasks_get_longer_where_many_threads_work(tmp_path):
    asking = cluster._Asking(Large(), None, ((), ""), list(range(100_000)), None, tmp_path, 1.0)
    assert asking.threads() == 1000

    class Done:
        def result(self, timeout):
            return 0.01 * 64, []

    for _ in range(20):
        asking.take(Done(), list(range(64)))
    # A block of 10 ms: 1,000 threads hand in as many tasks a second as take half of the time of scheduler and caller.
    assert asking.batch * 0.01 == pytest.approx(max(cluster.TASK_S, 2 * 1000 * cluster.HANDLING_S))
