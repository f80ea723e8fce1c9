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
    assert not none.found and none.experiment is None and none.lack
    with pytest.raises(solocore.ScenarioError):
        solocore.plan("name = 5")


def test_platforms_are_dictionaries():
    assert "ideal-8" in solocore.platforms()
    assert len(solocore.platform("ideal-8")["cores"]) == 8
    with pytest.raises(solocore.ScenarioError):
        solocore.platform("no-such-chip")
