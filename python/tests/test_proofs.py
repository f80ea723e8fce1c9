"""Schedulability tests over lists and frames."""

from random import Random

import numpy
import pandas
import pyarrow
import pytest
import solocore


def sets_of(random: Random, count: int) -> list[list[tuple[int, int, int]]]:
    def task():
        t = random.randint(5, 100)
        return random.randint(1, t), t, t
    return [[task() for _ in range(random.randint(1, 4))] for _ in range(count)]


def test_every_test_has_its_source():
    tests = solocore.tests()
    assert len(tests) >= 15 and all(test["source"] for test in tests)


def test_earliest_deadline_first_on_one_core_is_told_by_the_utilization():
    sets = sets_of(Random(1), 300)
    found = solocore.prove(sets, cores=1).to_pandas()
    exact = [test["id"] for test in solocore.tests() if test["id"] == "qpa"]
    assert exact == ["qpa"]
    answers = solocore.prove(sets, cores=1, tests=["qpa"]).to_arrow().column("qpa").to_pylist()
    # Liu and Layland 1973: implicit deadlines are met exactly where the utilization is at most 1. In whole numbers.
    from fractions import Fraction
    expected = [sum(Fraction(c, t) for c, t, _ in tasks) <= 1 for tasks in sets]
    assert answers == expected and True in expected and False in expected
    assert list(found.set) == list(range(300))


def test_a_frame_says_the_same_as_lists():
    sets = sets_of(Random(2), 50)
    rows = [(at, c, t, d) for at, tasks in enumerate(sets) for c, t, d in tasks]
    frame = pandas.DataFrame(rows, columns=["set", "c_us", "t_us", "d_us"])
    expected = solocore.prove(sets, cores=2).to_arrow()
    columns = {name: list(frame[name]) for name in frame}
    arrays = {name: frame[name].to_numpy("float32") for name in frame}
    for same in (frame, pyarrow.Table.from_pandas(frame), columns, arrays, frame.astype("float64"), frame.astype("float32")):
        assert solocore.prove(same, cores=2).to_arrow().equals(expected)
    short = frame.drop(columns="d_us")
    assert solocore.prove(short, cores=2).to_arrow().equals(expected), "a deadline that is left out is the period"


def test_reasons_are_words():
    table = solocore.prove([[(5, 10), (6, 10)]], cores=1, tests=["qpa"], explain=True)
    assert table.to_arrow().column("qpa").to_pylist() == ["infeasible: the utilisation exceeds the cores"]


FRAME = {"c_us": [1, 2], "t_us": [10, 20]}


@pytest.mark.parametrize("change, place, found", [
    ({"c_us": [1, float("nan")]}, "row 1, column c_us", "NaN"),
    ({"c_us": [1, -2]}, "row 1, column c_us", "-2"),
    ({"c_us": [1, 0]}, "row 1, column c_us", "0"),
    ({"c_us": [1, 1.5]}, "row 1, column c_us", "1.5 (float)"),
    ({"t_us": [10, "20"]}, "row 1, column t_us", "'20' (str)"),
    ({"t_us": [10, None]}, "row 1, column t_us", "None"),
    ({"t_us": [10, True]}, "row 1, column t_us", "True"),
    ({"t_us": [10, 1 << 48]}, "row 1, column t_us", str(1 << 48)),
    ({"t_us": [10]}, "columns", None),
    ({"wcet": [1, 2]}, "columns", "c_us, t_us, wcet"),
    ({"set": [1, 1, 2]}, "columns", None),
    ({"c_us": [11, 2]}, "set 0, row 0", None),
    ({"c_us": 5}, "column c_us", "5"),
    ({"set": [0, float("nan")]}, "row 1, column set", "NaN"),
    ({"set": [None, None]}, "row 0, column set", "None"),
    ({"set": [[1], [1]]}, "row 0, column set", "[1] (list)"),
])
def test_wrong_frames_are_told_with_their_place(change, place, found):
    with pytest.raises(solocore.InputError) as raised:
        solocore.prove({**FRAME, **change}, cores=1)
    assert raised.value.place == place
    assert found is None or raised.value.found == found
    assert raised.value.expected and str(raised.value).startswith(f"{place}: expected")


@pytest.mark.parametrize("dtype", ["bool", "complex128", "timedelta64[us]", "datetime64[us]", "U8", "S8", "O"])
def test_columns_of_another_dtype_are_told_whatever_holds_them(dtype):
    wrong = numpy.array([1, 2]).astype(dtype) if dtype != "O" else numpy.array([[1], None], dtype=object)
    if dtype == "U8":
        wrong = numpy.array(["1", "2"])
    frames = [{**FRAME, "c_us": wrong}, pandas.DataFrame({**FRAME, "c_us": wrong})]
    if dtype not in ("complex128", "O"):
        frames.append(pyarrow.table({**FRAME, "c_us": pyarrow.array(wrong)}))
    for frame in frames:
        with pytest.raises(solocore.InputError) as raised:
            solocore.prove(frame, cores=1)
        assert raised.value.place == "row 0, column c_us" and "a whole number of microseconds" in raised.value.expected


def test_an_array_of_arrays_is_no_column():
    with pytest.raises(solocore.InputError) as raised:
        solocore.prove({**FRAME, "c_us": numpy.array([[1, 2], [1, 2]])}, cores=1)
    assert raised.value.place == "row 0, column c_us" and "ndarray" in raised.value.found


def test_records_are_no_task_sets():
    run = solocore.load("scenarios/first-steps.toml").experiment().run()
    for frame in (run.jobs, run.jobs.to_pandas()):
        with pytest.raises(solocore.InputError) as raised:
            solocore.prove(frame, cores=1)
        assert raised.value.place == "columns" and "response_ns" in raised.value.found


def test_other_wrong_arguments_are_told():
    cases = [
        (lambda: solocore.prove(None, cores=1), "sets"),
        (lambda: solocore.prove("a set", cores=1), "sets"),
        (lambda: solocore.prove([5], cores=1), "set 0"),
        (lambda: solocore.prove([[(1, -5)]], cores=1), "set 0, task 0, t"),
        (lambda: solocore.prove([[(float("nan"), 5)]], cores=1), "set 0, task 0, c"),
        (lambda: solocore.prove({"c": [1]}, cores=1), "columns"),
        (lambda: solocore.prove([[(1,)]], cores=1), "set 0, task 0"),
        (lambda: solocore.prove([[(1, 5)]], cores=0), "set 0"),
        (lambda: solocore.prove([[(1, 5)]], cores=4, cluster=3), "set 0"),
        (lambda: solocore.prove([[(1, 5)]], cores=1, tests=["nothing"]), "tests"),
        (lambda: solocore.prove({**{k: v * 2 for k, v in FRAME.items()}, "set": [1, 2, 1, 1]}, cores=1), "row 2, column set"),
    ]
    for call, place in cases:
        with pytest.raises(solocore.InputError) as raised:
            call()
        assert raised.value.place == place
    assert len(solocore.prove([], cores=1)) == 0
