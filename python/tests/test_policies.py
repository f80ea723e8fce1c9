"""Policies in Python: the same decisions as those in Rust, and exceptions instead of wrong answers."""

from random import Random

import pytest
import solocore
from common import drawn, ticking
from solocore import policies


class Edf(policies.Criterion):
    def rank(self, job):
        return job.deadline_ns


class Rm(policies.Criterion):
    def rank(self, job):
        return job.of.period_ns


class Dm(policies.Criterion):
    def rank(self, job):
        return job.of.deadline_ns


class Fp(policies.Criterion):
    def rank(self, job):
        return job.of.priority


class Sjf(policies.Criterion):
    preemptive = False

    def rank(self, job):
        return job.of.wcet_ns


class Fcfs(policies.Criterion):
    preemptive = False

    def rank(self, job):
        return None if job.yielded else job.release_ns


class Llf(policies.Criterion):
    ages = True

    def rank(self, job):
        if job.deadline_ns is None or job.remaining_ns is None:
            return None
        return job.deadline_ns - job.remaining_ns


CRITERIA = [("EDF", Edf, None), ("RM", Rm, None), ("DM", Dm, None), ("FP", Fp, None), ("FCFS", Fcfs, None),
            ("LLF", Llf, "100us")]


def test_the_same_criterion_in_python_and_in_rust_gives_the_same_records():
    random, differing = Random(2024), 0
    for at in range(200):
        name, criterion, quantum = CRITERIA[at % len(CRITERIA)]
        experiment = drawn(random, random.choice(["P-", "G-"]) + name, quantum=quantum)
        rust, python = experiment.run(), experiment.run(criterion=criterion())
        assert rust.record_hash == python.record_hash, (at, experiment, name)
        other = experiment.run(criterion=(Rm if name != "RM" else Fcfs)())
        differing += other.record_hash != rust.record_hash
    # Had nobody asked Python, all would be equal.
    assert differing > 60


LISTENING = """
name = "listening"
platform = "i7-2600"
duration = "6ms"
seed = {seed}

[scheduler]
policy = "P-RM"

[scheduler.monitor]
event = "l1_misses"
period = "{period}us"
threshold = {threshold}
classes = ["best-effort", "soft"]
action = "{action}"

[[task]]
name = "control"
class = "hard"
core = 0
period = "2ms"
work = [{{ compute = "200us" }}, {{ sweep = "16KiB" }}]

[[task]]
name = "reader"
class = "{class_}"
core = 1
{reader}
work = [{{ sweep = "{size}KiB" }}, {{ compute = "{pause}us" }}]

[[task]]
name = "rest"
class = "best-effort"
core = 1
work = [{{ compute = "90us" }}]
"""


def listening(random: Random, action: str) -> solocore.Experiment:
    soft = random.random() < 0.5
    text = LISTENING.format(
        seed=random.randrange(1000), period=random.choice([200, 500]), threshold=random.choice([10, 100, 1000]),
        action=action, size=random.choice([8, 64, 256]), pause=random.choice([10, 100]),
        class_="soft" if soft else "best-effort", reader='period = "1500us"' if soft else "",
    )
    return solocore.parse(text).experiment()


class Yield(policies.Placement):
    """That of `core/schedule/src/placements/yield.rs`, written anew from its card."""

    def __init__(self, threshold):
        self.threshold = threshold

    def on(self, now_ns, hook, situation):
        counted = situation.metric(core=hook.core)
        task = situation.running(hook.core)
        if counted is None or task is None or counted <= self.threshold:
            return None
        if situation.task(task).class_ not in ("best-effort", "soft"):
            return None
        return policies.hold(task, hook.next_ns)


class Counts(policies.Monitor):
    def sample(self, sample):
        return sample.counts.get("l1_misses")


def test_the_same_placement_and_monitor_in_python_and_in_rust_give_the_same_records():
    random, acted = Random(7), 0
    for _ in range(30):
        state = random.getstate()
        rust = listening(random, "yield")
        random.setstate(state)
        asked = listening(random, "report")
        threshold = int(rust.to_json().split('"threshold":')[1].split(",")[0]) // 10**12
        expected = rust.run().record_hash
        assert asked.run(placement=Yield(threshold)).record_hash == expected
        assert rust.run(monitor=Counts()).record_hash == expected
        assert asked.run(placement=Yield(threshold), monitor=Counts()).record_hash == expected
        acted += expected != asked.run().record_hash
    assert acted > 5


def test_each_core_has_a_monitor_of_its_own():
    class Remembers(policies.Monitor):
        def __init__(self):
            self.seen = set()

        def sample(self, sample):
            self.seen.add((sample.core, sample.task))
            assert len(self.seen) == 1, "another's samples"
            return len(self.seen)

    listening(Random(1), "report").run(monitor=Remembers())


def test_a_policy_stays_as_it_was_for_the_next_run():
    experiment = drawn(Random(5), "P-EDF")
    first = experiment.run(criterion=Dm())
    assert experiment.run().record_hash == experiment.run(criterion=Edf()).record_hash
    assert experiment.run(criterion=Dm()).record_hash == first.record_hash


def test_a_criterion_may_run_something_itself():
    class Nested(policies.Criterion):
        asked = 0

        def rank(self, job):
            Nested.asked += 1
            if Nested.asked == 3:
                drawn(Random(4), "P-RM").run(criterion=Dm())
            return job.deadline_ns

    experiment = drawn(Random(6), "P-EDF")
    assert experiment.run(criterion=Nested()).record_hash == experiment.run().record_hash


class Wrong(policies.Criterion):
    def __init__(self, answer):
        self.answer = answer

    def rank(self, job):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [1.5, float("nan"), "1", 1 << 63, [1]])
def test_what_is_no_rank_is_told(answer):
    with pytest.raises(solocore.PolicyError) as raised:
        ticking(1_000_000).run(tables=[], criterion=Wrong(answer))
    assert raised.value.found == repr(answer) and raised.value.place == "rank of the criterion"


def test_an_exception_of_a_policy_ends_the_run_and_is_raised():
    with pytest.raises(ZeroDivisionError, match="mine"):
        ticking(1_000_000).run(tables=[], criterion=Wrong(ZeroDivisionError("mine")))
    with pytest.raises(NotImplementedError):
        ticking(1_000_000).run(tables=[], criterion=policies.Criterion())


@pytest.mark.parametrize("answer", [5, "hold", [policies.hold(0, 5), 7], [policies.hold(0, 5)] * 9])
def test_what_is_no_action_is_told(answer):
    class Answers(policies.Placement):
        def on(self, now_ns, hook, situation):
            return answer

    with pytest.raises(solocore.PolicyError) as raised:
        listening(Random(1), "report").run(placement=Answers())
    assert raised.value.place == "on of the placement"


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "5", 2.0**64])
def test_what_is_no_metric_is_told(answer):
    class Answers(policies.Monitor):
        def sample(self, sample):
            return answer

    with pytest.raises(solocore.PolicyError) as raised:
        listening(Random(1), "report").run(monitor=Answers())
    assert raised.value.place == "sample of the monitor"


def test_who_does_not_listen_has_no_placement():
    with pytest.raises(solocore.RunError, match="scheduler.monitor") as raised:
        ticking(10).run(placement=Yield(5))
    assert raised.value.kind == "Simulation"
    with pytest.raises(solocore.PolicyError, match="scheduler.monitor"):
        ticking(10).run(monitor=Counts())


def test_a_cooperative_criterion_does_not_age():
    class Both(policies.Criterion):
        preemptive, ages = False, True

    with pytest.raises(solocore.PolicyError, match="preemptive = True where ages = True"):
        ticking(10).run(criterion=Both())
