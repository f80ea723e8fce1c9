"""Models are trained, say the same here and in the kernel, and keep in a run what they promised; what is no sample is refused."""

import math
import random
from pathlib import Path

import numpy
import pytest

import solocore
from solocore import models, policies, programs, windows

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "platforms/models").glob("*.toml"))
# Short windows of few programs: seconds.
SMALL = {"window": 100_000, "windows": 8}


def small(platform="juno", count=8, seed=1):
    drawn = programs.drawn(count, seed=seed, **SMALL)
    return models.samples(platform, programs=drawn, window=SMALL["window"], workers=2)


@pytest.fixture(scope="module")
def frame():
    return small()


@pytest.fixture(scope="module")
def trained(frame):
    return models.train(frame, "speedup-factor", folds=4, trees=30)


def test_programs_and_samples_follow_from_the_seed(frame):
    assert programs.drawn(5, seed=3) == programs.drawn(5, seed=3) != programs.drawn(5, seed=4)
    again = models.samples("juno", programs=programs.drawn(2, seed=1, **SMALL), window=SMALL["window"], workers=1)
    same = frame[frame["program"].isin(set(again["program"]))].reset_index(drop=True)
    assert len(again) > 20 and again.equals(same)


def test_windows_are_equal_on_both_kinds_and_their_factors_follow(frame):
    pairs = frame.pivot(index=["program", "window"], columns="kind")
    big, small = ({name: pairs[name][kind] for name in ("instructions", "span_ns", "energy_fj")} for kind in ("a57", "a53"))
    # An interrupt comes within an instruction's accesses of the window's end.
    assert (abs(big["instructions"] / SMALL["window"] - 1) < 0.01).all()
    speedup = big["instructions"] / big["span_ns"] / (small["instructions"] / small["span_ns"])
    numpy.testing.assert_allclose(pairs["speedup_factor"]["a57"], speedup)
    energy = small["energy_fj"] / big["energy_fj"] * small["span_ns"] / big["span_ns"] * big["instructions"] / small["instructions"]
    numpy.testing.assert_allclose(pairs["energy_factor"]["a57"], energy)


def test_where_there_is_no_meter_there_is_no_energy():
    frame = small("opteron-2425", 2)
    assert frame["energy_fj"].isna().all() and frame["energy_factor"].isna().all()
    # Cores of equal caches and pipelines: nobody gains more than the clock.
    assert 0.99 < frame["speedup_factor"].min() and frame["speedup_factor"].max() < 2.63
    with pytest.raises(solocore.InputError, match="a platform with an energy meter"):
        models.train(frame.assign(energy_fj=1, energy_factor=1.0), "energy-factor", folds=2)


def vectors(side, count, seed):
    """Metrics in steps: anywhere, at thresholds, and a step beside them."""
    drawn = random.Random(seed)
    bounds = [[] for _ in side.metrics]
    for node in (node for tree in side.trees for node in tree if isinstance(node, tuple)):
        bounds[node[0]].append(node[1])
    for _ in range(count):
        row = []
        for known in bounds:
            at = drawn.choice(known) if known and drawn.random() < 0.7 else drawn.randint(0, 10**drawn.randint(6, 17))
            row.append(at + drawn.choice((-1, 0, 0, 1)))
        yield row


def test_the_kernel_estimates_the_same_to_the_last_digit(trained):
    model = trained.model()
    assert (model.factor, model.platform, model.kinds) == ("speedup-factor", "juno", ["a57", "a53"])
    for side in trained.sides:
        assert model.metrics(side.kind) == [metric.text for metric in side.metrics]
        rows = list(vectors(side, 10_000, 7))
        here, there = [side.estimate(row) for row in rows], model.estimate(side.kind, rows)
        assert here == there and len(set(here)) > 100
        ties = sum(any(isinstance(node, tuple) and node[1] == row[node[0]] for tree in side.trees for node in tree) for row in rows)
        assert ties > 5_000, ties


def test_a_sum_beyond_the_range_is_no_estimate():
    largest = (1 << 127) - 1
    side = models.Side("a57", (("instructions", "cycles"),), models.METRICS[:1], largest, ((1,),))
    assert side.estimate([0]) is None
    text = f'''model = "speedup-factor"
version = 1
platform = "juno"
[[side]]
kind = "a57"
sets = [["instructions", "cycles"]]
metrics = ["instructions / cycles"]
base = "{models._decimal(largest)}"
trees = [["{models._decimal(1)}"]]
'''
    assert models.read(text, "juno").estimate("a57", [[0]]) == [None]


def test_numbers_have_the_digits_of_the_file(trained):
    for node in (node for side in trained.sides for tree in side.trees for node in tree):
        assert (node if isinstance(node, int) else node[1]) % 10**6 == 0
    assert "held out by application: r = " in trained.text() and "seed 1" in trained.text()


def test_estimates_of_programs_held_out_beat_the_mean(trained):
    for held in trained.held_out:
        assert held.programs == 8 and held.correlation > 0.6 and held.error < held.mean_error, held
        assert math.isnan(held.mean_correlation) or held.mean_correlation < held.correlation
    # A program's windows are estimated without that program: all of them, once.
    assert not trained.estimates.duplicated(["program", "window", "kind"]).any()


class Listener(policies.Placement):
    """Moves nobody, and keeps what is believed of task 0."""

    def __init__(self):
        self.believed = []

    def on(self, now_ns, hook, situation):
        value = situation.metric(task=0)
        if value is not None:
            self.believed.append((now_ns, value))


def believed(folder, platform, model, program, kind, period_us):
    """What the kernel's monitor says of a program alone on a kind of core, over time."""
    (folder / "model.toml").write_text(model.text())
    chip = windows.Chip(platform)
    text = f"""name = "followed"
platform = "{platform}"
jobs = 1
sample = "1s"
[scheduler]
policy = "P-RR"
quantum = "100ms"
[scheduler.monitor]
monitor = "estimate"
model = "model.toml"
period = "{period_us}us"
classes = ["best-effort"]
action = "hsp"
""" + program.written(chip.kinds, [chip.cores[kind]])
    listener = Listener()
    solocore.parse(text, folder / "scenario.toml").experiment().run(tables=[], placement=listener)
    return listener.believed


def true_over_time(frame, program, kind):
    """When each window ends on a kind of core, and its factor."""
    own = frame[(frame["program"] == program) & (frame["kind"] == kind)].sort_values("window")
    return list(zip(own["span_ns"].cumsum(), own["speedup_factor"]))


def test_the_monitor_in_a_run_is_as_good_as_was_promised(frame, trained, tmp_path):
    held = {found.kind: found for found in trained.held_out}
    strangers = programs.drawn(6, seed=99, **SMALL)
    truth = models.samples("juno", programs=strangers, window=SMALL["window"])
    for kind in ("a57", "a53"):
        errors = []
        for program in strangers:
            ends = true_over_time(truth, program.name, kind)
            mean = ends[-1][0] / len(ends)
            for now, value in believed(tmp_path, "juno", trained, program, kind, max(1, round(mean / 1000))):
                factor = next((factor for end, factor in ends if now <= end), None)
                if factor is not None:
                    errors.append(abs(value - factor))
        assert len(errors) > 20, errors
        # On programs that nobody has seen: no worse than the worst of those held out.
        assert sum(errors) / len(errors) <= held[kind].worst, (kind, sum(errors) / len(errors), held[kind])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_models_that_are_shipped_are_read_and_say_how_they_were_trained(path):
    text = path.read_text()
    platform = text.split('platform = "')[1].split('"')[0]
    model = models.read(text, platform)
    assert path.stem == f"{platform}-{model.factor}" and len(model.kinds) == 2
    for said in (f"python -m solocore.models {platform} {model.factor} ", "--seed ", "held out by application: r = "):
        assert said in text


def test_models_are_shipped():
    assert [path.stem for path in SHIPPED] == [
        "juno-energy-factor", "juno-speedup-factor", "opteron-2425-speedup-factor", "quickia-speedup-factor", "tc2-speedup-factor",
    ]


def test_a_model_of_another_chip_or_version_is_refused(trained):
    with pytest.raises(solocore.ScenarioError, match="a model of juno, and the scenario runs on quickia"):
        models.read(trained.text(), "quickia")
    with pytest.raises(solocore.ScenarioError, match="a model file of version 2"):
        models.read(trained.text().replace("version  = 1", "version  = 2"), "juno")
    with pytest.raises(solocore.ScenarioError, match="is no number"):
        models.read(trained.text().replace('base    = "', 'base    = "nan'), "juno")
    with pytest.raises(solocore.InputError, match="a kind of core that the model knows: a57, a53; found a9"):
        trained.model().estimate("a9", [])
    with pytest.raises(solocore.InputError, match="row 1: expected [0-9]+ metrics; found 0"):
        trained.model().estimate("a57", [[0] * len(trained.sides[0].metrics), []])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda frame: frame.assign(speedup_factor=float("nan")), "row 0, column speedup_factor: expected a finite number; found nan"),
        (lambda frame: frame.assign(llc_misses=float("inf")), "row 0, column llc_misses: expected a finite number; found inf"),
        (lambda frame: frame.assign(cycles=-1), "row 0, column cycles: expected zero or more; found -1"),
        (lambda frame: frame.assign(speedup_factor=0.0), "column speedup_factor: expected a number above zero; found 0.0"),
        (lambda frame: frame.assign(kind="a9"), "column kind: expected a kind of core of juno: a57, a53; found a9"),
        (lambda frame: frame.drop(columns="cycles"), "a frame without cycles"),
        (lambda frame: frame.assign(platform=["juno"] * (len(frame) - 1) + ["tc2"]), "windows of one platform; found juno, tc2"),
        (lambda frame: frame.assign(platform="i7-2600"), "a platform with two kinds of cores; found i7-2600 with 1"),
        (lambda frame: frame[frame["program"].isin(sorted(set(frame["program"]))[:3])], "at least 10 programs on a57, as many as folds, to hold some out; found 3"),
        (lambda frame: frame[:0], "windows of one platform; found none"),
    ],
)
def test_frames_that_are_no_samples_are_refused(frame, change, expected):
    with pytest.raises(solocore.InputError) as refused:
        models.train(change(frame), "speedup-factor")
    assert expected in str(refused.value)


def test_a_negative_energy_is_refused(frame):
    with pytest.raises(solocore.InputError, match="row 0, column energy_fj: expected zero or more; found -1"):
        models.train(frame.assign(energy_fj=-1), "energy-factor", folds=4)


def test_what_is_no_factor_and_no_program_is_refused(frame):
    with pytest.raises(solocore.InputError, match="speedup-factor or energy-factor"):
        models.train(frame, "speed")
    with pytest.raises(solocore.InputError, match="count: expected a whole number from 1; found 0"):
        programs.drawn(0)
    with pytest.raises(solocore.InputError, match="programs of different names"):
        models.samples("juno", programs=programs.drawn(1) * 2)
    with pytest.raises(solocore.InputError, match="a kind of core whose pipeline is known"):
        programs.drawn(1)[0].stretches[0].cycles("cortex-x")
