"""Runs: records without copies, progress, Ctrl-C, threads that go on."""

import _thread
import signal
import threading

import pandas
import pyarrow
import pytest
import solocore
from common import TICKING, drawn, ticking
from random import Random
from solocore import figures, frames

# Long enough that it has not ended by itself when somebody stops it.
ENDLESS = 50_000_000


def test_records_are_what_the_run_says():
    run = solocore.load("scenarios/first-steps.toml").experiment().run()
    assert run.held and run.verdict["held"] and "control" in str(run)
    jobs = run.jobs.to_pandas()
    assert len(jobs) == 100 == run.report["tasks"][0]["jobs"]
    assert (jobs.response_ns == jobs.finish_ns - jobs.release_ns).all()
    assert (jobs.deadline_ns - jobs.release_ns == 10_000_000).all() and not jobs.missed.any()
    assert run.kept() == ["jobs", "samples", "switches", "regulation", "occupancy", "energy", "metrics"]


def test_nothing_is_copied():
    run = drawn(Random(1), "P-EDF").run()
    for name in ("jobs", "samples", "switches"):
        table = run.table(name)
        arrow = table.to_arrow()
        batch = pyarrow.record_batch(table)
        data = table.to_pandas()
        assert arrow.num_rows == len(table) == batch.num_rows == len(data) > 0
        numbers = [field.name for field in arrow.schema if field.type == pyarrow.int64()]
        assert numbers
        for column in numbers:
            address = table.address(column)
            assert arrow.column(column).chunk(0).buffers()[1].address == address, column
            assert batch.column(column).buffers()[1].address == address, column
            assert data[column].array._pa_array.chunk(0).buffers()[1].address == address, column


def test_a_frame_outlives_its_run():
    frame = ticking(1000).run(tables=["jobs"]).jobs.to_arrow()
    assert frame.column("job").to_pylist() == list(range(1000))
    assert frame.schema.metadata[b"solo.schema"] == b"jobs/1"


def test_missing_is_not_zero():
    tasks = {**TICKING["tasks"], "rest": {"class": "best-effort", "core": 1, "work": [{"compute": "3us"}]}}
    run = solocore.scenario(**{**TICKING, "tasks": tasks}, jobs=10).experiment().run()
    jobs = run.jobs.to_pandas()
    rest = jobs[jobs.task == "rest"]
    assert rest.deadline_ns.isna().all() and rest.missed.isna().all() and len(rest)
    unfinished = jobs[~jobs.finished]
    assert unfinished.finish_ns.isna().all()


def test_only_known_tables_are_kept():
    run = ticking(3).run(tables=["jobs"])
    with pytest.raises(solocore.InputError, match="expected a table that was kept: jobs; found samples"):
        run.samples
    with pytest.raises(solocore.InputError) as raised:
        ticking(3).run(tables=["job"])
    assert raised.value.place == "tables" and raised.value.found == "job"


def test_frames_of_another_schema_are_refused():
    run = ticking(3).run()
    assert frames.expect(run.jobs, "jobs").num_rows == 3
    for wrong, found in ((run.switches, "switches/1"), (pandas.DataFrame({"a": [1]}), "a frame that says no schema")):
        with pytest.raises(solocore.InputError) as raised:
            frames.expect(wrong, "jobs")
        assert (raised.value.expected, raised.value.found) == ("a table with solo.schema jobs/1", found)


def test_progress_ends_at_the_whole():
    heard = []
    threads = set()

    def progress(*told):
        heard.append(told)
        threads.add(threading.get_ident())

    ticking(200_000).run(tables=[], progress=progress)
    assert threads == {threading.get_ident()}, "it is told in the caller's thread"
    shares = [share for _, _, share in heard]
    assert shares == sorted(shares) and shares[-1] > 0.9 and heard[-1][0] == "ticking"


def test_an_exception_in_progress_stops_the_run():
    def progress(run, now_ns, share):
        raise LookupError(run)

    with pytest.raises(LookupError, match="ticking"):
        ticking(ENDLESS).run(tables=[], progress=progress)


def test_ctrl_c_stops_a_run():
    def progress(run, now_ns, share):
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            ticking(ENDLESS).run(tables=[], progress=progress)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_go_on_meanwhile():
    advanced = []

    def other():
        for step in range(10_000):
            advanced.append(step)
        # Nobody else ends the run: had this thread waited for it, it would have come to its end.
        _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=other)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            ticking(ENDLESS).run(tables=[])
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert len(advanced) == 10_000


def test_the_same_run_has_the_same_records():
    one, other = (drawn(Random(7), "G-EDF").run() for _ in range(2))
    assert one.record_hash == other.record_hash
    assert one.jobs.to_arrow().equals(other.jobs.to_arrow())
    assert one.record_hash != drawn(Random(8), "G-EDF").run().record_hash


def test_a_kept_run_is_what_was_run(tmp_path):
    experiment = solocore.load("scenarios/first-steps.toml").experiment()
    kept, ran = experiment.keep(tmp_path / "run"), experiment.run()
    assert kept.record_hash == ran.record_hash and kept.report["tasks"] == ran.report["tasks"]
    assert solocore.open_run(tmp_path / "run").jobs.to_arrow().equals(ran.jobs.to_arrow())
    with pytest.raises(solocore.RunError) as raised:
        experiment.keep(tmp_path / "run")
    assert raised.value.kind == "Store"
    experiment.keep(tmp_path / "run", replace=True)
    found = [path for path in (tmp_path / "run").iterdir() if path.name.startswith("records")]
    assert found, list((tmp_path / "run").iterdir())
    records = found[0]
    whole = bytearray(records.read_bytes())
    whole[len(whole) // 2] ^= 1
    records.write_bytes(whole)
    with pytest.raises(solocore.RunError) as raised:
        solocore.open_run(tmp_path / "run")
    assert raised.value.kind == "Run" and "damaged" in str(raised.value)
    with pytest.raises(solocore.InputError):
        solocore.Experiment.from_json(experiment.to_json()).keep(tmp_path / "other")


def test_experiments_of_impossible_numbers_are_refused():
    text = ticking(3).to_json()
    assert '"jobs":3' in text and '"period":10000' in text
    for old, new in (('"jobs":3', '"jobs":0'), ('"period":10000', '"period":0'), ('"period":10000', '"period":-5')):
        with pytest.raises(solocore.InputError) as raised:
            solocore.Experiment.from_json(text.replace(old, new))
        assert raised.value.place == "text" and raised.value.expected == "an experiment as to_json writes it"
    with pytest.raises(solocore.InputError, match="jobs: expected at least 1; found 0"):
        ticking(3).with_jobs(0)


def test_figures_are_two_lines(tmp_path):
    run = drawn(Random(3), "P-EDF").run()
    for draw in (figures.responses, figures.schedule, figures.parts_of_time):
        draw(run).figure.savefig(tmp_path / f"{draw.__name__}.svg")
    assert all(path.stat().st_size > 2000 for path in tmp_path.glob("*.svg")) and len(list(tmp_path.glob("*.svg"))) == 3


def test_bars_of_a_schedule_are_the_time_on_cores():
    run = ticking(50).run()
    axes = figures.schedule(run)
    size = 1_000 if axes.get_xlabel() == "time (us)" else 1_000_000
    drawn_ns = sum(bar.get_width() for bar in axes.patches) * size
    # Kernel paths cost nothing on the ideal chip; switches to a job and away from it are its time.
    assert drawn_ns == pytest.approx(sum(run.jobs.to_arrow().column("executed_ns").to_pylist()), rel=1e-6)
