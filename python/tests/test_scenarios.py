"""Scenarios from files, texts and values, and what is wrong with them."""

import pickle
import tomllib
from pathlib import Path

import pytest
import solocore
from common import TICKING, ticking
from solocore.scenarios import _document

WRONG = """name = "wrong"
platform = "ideal-8"
jobs = 10

[scheduler]
policy = "P-EDF"

[[task]]
name = "é"
class = "hard"
core = 0
perod = "10ms"
work = [{ compute = "2ms" }]
"""


def test_a_problem_has_its_code_and_its_place():
    with pytest.raises(solocore.ScenarioError) as raised:
        solocore.parse(WRONG, "folder/wrong.toml")
    problem = next(problem for problem in raised.value.problems if problem.text == "perod")
    assert problem.code == "solo::unknown_key" and problem.severity == "error"
    assert problem.file == "folder/wrong.toml" and (problem.line, problem.column) == (12, 1)
    begin, end = problem.span
    assert WRONG.encode()[begin:end] == b"perod" == problem.text.encode(), "spans are bytes"
    assert "period" in (problem.help or "") and "perod" in str(raised.value)
    meaning, *_ = solocore.explain(problem.code)
    assert "key" in meaning
    again = pickle.loads(pickle.dumps(raised.value))
    assert again.problems == raised.value.problems


def test_a_missing_file_is_a_scenario_error_too():
    with pytest.raises(solocore.ScenarioError, match="no-such-file.toml") as raised:
        solocore.load("no-such-file.toml")
    assert raised.value.problems[0].code == "solo::file"


def test_what_is_built_in_code_is_what_a_file_says():
    built = solocore.scenario(**TICKING, jobs=7)
    assert tomllib.loads(built.text)["task"][0]["period"] == "10us"
    assert solocore.parse(built.text).experiment().to_json() == built.experiment().to_json()
    file = Path("scenarios/first-steps.toml")
    assert solocore.load(file).experiment().to_json() == solocore.parse(file.read_text(), file).experiment().to_json()


def test_every_text_is_written_as_it_is():
    texts = ['"', "\\", "\n", "\t", "\r", "\x00", "\x1f", "\x7f", "é", "\u2028", "a.b", "]]", "'''", ""]
    for text in texts:
        written = _document({"k": text, "t": {text: [text, {"x": text, "n": 5, "b": True}]}})
        read = tomllib.loads(written)
        key = text.replace("_", "-")
        assert read == {"k": text, "t": {key: [text, {"x": text, "n": 5, "b": True}]}}, written


@pytest.mark.parametrize("value", [1.5, float("nan"), None, object(), {1, 2}])
def test_a_value_of_another_kind_is_refused_with_its_place(value):
    tasks = [{"name": "a", "class": "hard", "work": [{"compute": value}]}]
    with pytest.raises(solocore.InputError) as raised:
        solocore.scenario("x", platform="ideal-8", scheduler={"policy": "P-EDF"}, tasks=tasks, jobs=1)
    assert raised.value.place == "task[0].work[0].compute" and repr(value) in raised.value.found


def test_negative_times_are_problems_of_the_text():
    tasks = {"a": {"class": "hard", "core": 0, "period": "-10ms", "work": [{"compute": "1ms"}]}}
    with pytest.raises(solocore.ScenarioError) as raised:
        solocore.scenario("x", platform="ideal-8", scheduler={"policy": "P-EDF"}, tasks=tasks, jobs=1)
    assert raised.value.problems[0].text == '"-10ms"'


@pytest.mark.parametrize("scheduler", ["P-EDF", None, [("policy", "P-EDF")]])
def test_a_scheduler_that_is_no_mapping_is_refused(scheduler):
    with pytest.raises(solocore.InputError) as raised:
        solocore.scenario("x", platform="ideal-8", scheduler=scheduler, tasks=[], jobs=1)
    assert (raised.value.place, raised.value.found) == ("scheduler", repr(scheduler))


@pytest.mark.parametrize("wrong", [-1, 1.5, float("nan"), "3", 1 << 64])
def test_numbers_of_another_kind_are_refused_before_anything_runs(wrong):
    experiment = ticking(3)
    study = "studies/thesis-fig-64.toml"
    calls = [
        lambda: experiment.with_jobs(wrong),
        lambda: experiment.with_seed(wrong),
        lambda: solocore.prove([[(1, 5)]], cores=wrong),
        lambda: solocore.policies.hold(0, wrong),
        lambda: solocore.study(study, "no-folder", sets=wrong),
        lambda: solocore.sweep("scenarios/first-steps.toml", ["seed=1,2"], "no-folder", jobs=wrong),
        lambda: solocore.evaluate(7, "no-folder", scale=wrong),
    ]
    for call in calls:
        with pytest.raises((TypeError, OverflowError)):
            call()
    assert not Path("no-folder").exists()


@pytest.mark.parametrize("axis, expected", [
    ("period", "KEY=VALUE"), ("=5", "KEY=VALUE"), ("seed=\0", "characters that can be seen"), ("seed=1..99999999", "at most"),
])
def test_what_is_no_axis_is_refused(axis, expected):
    with pytest.raises(solocore.InputError) as raised:
        solocore.Sweep(solocore.load("scenarios/first-steps.toml").text, [axis])
    assert raised.value.place == "axes" and raised.value.expected.startswith(expected) and raised.value.found == axis


def test_a_block_beyond_the_last_is_refused():
    study = solocore.Study.parse(Path("studies/thesis-fig-64.toml").read_text(), Path("studies/x.toml"), sets=20, caps_every=30)
    with pytest.raises(solocore.InputError) as raised:
        study.judge([0, study.blocks])
    assert (raised.value.place, raised.value.found) == ("blocks", str(study.blocks))


def test_variants_and_tasks_are_found_by_name():
    scenario = solocore.load("scenarios/video-and-screen.toml")
    assert {"solo", "corun"} <= set(scenario.variants), scenario.variants
    assert scenario.experiment("solo").task_names == ["frame"]
    assert scenario.experiment().without("screen").task_names == ["frame"]
    assert scenario.experiment().only("screen").task_names == ["screen"]
    for wrong in (lambda: scenario.experiment("no"), lambda: scenario.experiment().without("no")):
        with pytest.raises(solocore.InputError, match="found no"):
            wrong()


def test_an_experiment_travels():
    experiment = ticking(5)
    again = pickle.loads(pickle.dumps(experiment))
    assert again.to_json() == experiment.to_json()
    with pytest.raises(solocore.InputError, match="an experiment as to_json writes it"):
        solocore.Experiment.from_json("{}")


def test_a_plan_assigns_cores():
    def text(length):
        tasks = {f"t{at}": {"class": "hard", "period": "10ms", "wcet": length, "work": [{"compute": length}]} for at in range(12)}
        return solocore.written("open", platform="ideal-8", scheduler={"policy": "P-EDF"}, tasks=tasks, jobs=3)

    plan = solocore.plan(text("4ms"))
    assert plan.found and plan.lack is None
    cores = plan.experiment.tasks().to_arrow().column("core").to_pylist()
    assert None not in cores and all(cores.count(core) <= 2 for core in cores)
    assert solocore.parse(plan.text).experiment().to_json() == plan.experiment.to_json()
    assert plan.experiment.run().held
    none = solocore.plan(text("6ms"))
    assert not none.found and none.experiment is None
    # Two of the twelve fit on no core of eight: 12 x 0.6 of a core is 7.2.
    assert none.lack.resource == "room" and none.lack.task in {f"t{at}" for at in range(12)}
    assert (none.lack.needed, none.lack.there, none.lack.unit) == (1_200_000, 1_000_000, "ppm")
    more = solocore.plan(text("9ms"))
    assert (more.lack.resource, more.lack.needed, more.lack.there) == ("processors", 10_800_000, 8_000_000)
    assert more.lack == solocore.plan(text("9ms")).lack != none.lack and more.lack.task is None
    assert repr(more.lack) == "<solocore.Lack processors: 10800000 ppm needed, 8000000 there>"
    with pytest.raises(solocore.ScenarioError):
        solocore.plan("name = 5")


def test_platforms_are_dictionaries():
    assert "ideal-8" in solocore.platforms()
    assert len(solocore.platform("ideal-8")["cores"]) == 8
    with pytest.raises(solocore.ScenarioError):
        solocore.platform("no-such-chip")
