"""Policies in Python: the same decisions as those in Rust, and exceptions instead of wrong answers."""

import json
from collections import Counter
from random import Random

import pytest
import solocore
from common import drawn, ticking, varied
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
    random, differing, seen = Random(2024), 0, Counter()
    for at in range(200):
        name, criterion, quantum = CRITERIA[at % len(CRITERIA)]
        experiment = varied(random, name, quantum=quantum)
        rust, python = experiment.run(), experiment.run(criterion=criterion())
        assert rust.record_hash == python.record_hash, (at, experiment, name)
        other = experiment.run(criterion=(Rm if name != "RM" else Fcfs)())
        differing += other.record_hash != rust.record_hash
        seen.update(what_is_in(experiment, rust))
    # Had nobody asked Python, all would be equal.
    assert differing > 100
    # Nor would scenarios that never have what `varied` may draw show anything of it.
    few = {what: number for what, number in seen.items() if number < 5}
    assert not few and seen.keys() == {
        *"PCG", "EDF", "RM", "DM", "FP", "FCFS", "LLF", "tick", "one-shot", "free", "charged", "ceiling", "inheritance", "plain",
        "waits", "sleeps", "migrates", "late", "preempted", "offsets", "memory", "best-effort", *"12345678",
    }, (few, seen)


def what_is_in(experiment: solocore.Experiment, run: solocore.Run) -> set[str]:
    """Which of the things that `varied` may draw this scenario has, and which of them happened."""
    value, tasks = json.loads(experiment.to_json()), run.report["tasks"]
    scope, criterion = experiment.policy.split("-")
    had = {
        "sleeps": '"sleep"' in json.dumps(value["tasks"]),
        "memory": bool(value["buffers"]),
        "offsets": any(offset for offset in experiment.tasks().to_arrow().column("offset_ns").to_pylist()),
        "best-effort": any(task["class"] == "best-effort" for task in tasks),
        "waits": any(task["lock_waits"] for task in tasks),
        "late": any(task["misses"] for task in tasks),
        "migrates": any(task["migrations"] for task in tasks),
        "preempted": any(task["preemptions"] for task in tasks),
    }
    timing = "one-shot" if value["policy"]["timing"] == "one-shot" else "tick"
    protocols = {lock["protocol"] for lock in value["locks"]}
    cores = str(len(set(run.switches.to_arrow().column("core").to_pylist())))
    costs = "charged" if any(cause["total_ns"] for cause in run.report["overheads"]) else "free"
    return {scope, criterion, timing, costs, cores, *protocols, *(what for what, is_so in had.items() if is_so)}


EVENTS = ["l1_misses", "llc_misses", "l2_misses"]


def listening(random: Random, action: str) -> solocore.Experiment:
    """Tasks that read more or less memory on two to four cores, in any scope, looked at by a scheduler that listens."""
    cores = random.randint(2, 4)
    scope = random.choice("PPCG")
    monitor = {
        "event": random.choice(EVENTS), "period": random.choice(["100us", "210us", "350us"]), "action": action,
        "threshold": random.choice([10, 100, 1000, [10, 200], [50, 1000]]),
        "classes": random.choice([["best-effort"], ["best-effort", "soft"], ["soft"]]),
    }
    scheduler = {"policy": f"{scope}-{random.choice(['EDF', 'RM', 'FP'])}", "monitor": monitor}
    scheduler["overheads"] = random.choice(["free", "epos-thesis"])
    if scope == "C":
        scheduler["clusters"] = 2
    tasks = {}
    for at in range(random.randint(3, 2 * cores)):
        work = [{"sweep": random.choice(["8KiB", "48KiB", "160KiB"])}, {"compute": f"{random.choice([10, 100, 200])}us"}]
        if random.random() < 0.3:
            work.append({"sleep": f"{random.randint(20, 300)}us"})
        tasks[f"t{at}"] = {"class": random.choice(["hard", "soft", "best-effort", "best-effort"]), "work": work, "priority": at}
        if tasks[f"t{at}"]["class"] != "best-effort" or random.random() < 0.3:
            tasks[f"t{at}"]["period"] = random.choice(["700us", "1500us", "2ms"])
        if scope != "G":
            tasks[f"t{at}"]["core"] = random.randrange(cores)
    if not scheduler["policy"].endswith("FP"):
        for task in tasks.values():
            del task["priority"]
    return solocore.scenario(
        "listening", platform="i7-2600", scheduler=scheduler, tasks=tasks, duration="3ms", seed=random.randrange(1000)
    ).experiment()


class Yield(policies.Placement):
    """That of `core/schedule/src/placements/yield.rs`, written anew from its card: loud is from above the upper threshold until no more
    than the lower one."""

    def __init__(self, above, calm, classes):
        self.above, self.calm, self.classes, self.loud = above, calm, classes, set()

    def on(self, now_ns, hook, situation):
        counted, task = situation.metric(core=hook.core), situation.running(hook.core)
        if counted is None or counted <= (self.calm if hook.core in self.loud else self.above):
            self.loud.discard(hook.core)
            return None
        self.loud.add(hook.core)
        if task is None or situation.task(task).class_ not in self.classes:
            return None
        return policies.hold(task, hook.next_ns)

    @classmethod
    def of(cls, experiment):
        said = json.loads(experiment.to_json())["listening"]
        above, calm = said["threshold"], said.get("calm")
        return cls(above / 10**12, (above if calm is None else calm) / 10**12, said["classes"])


class Counts(policies.Monitor):
    """How often the event happened between two ticks; what is read at switches in between is added up."""

    def __init__(self):
        self.so_far = 0

    def sample(self, sample):
        counted = next(iter(sample.counts.values()), None)
        if counted is None:
            return None
        self.so_far += counted
        told = self.so_far
        if sample.why in ("switch", "migration"):
            return None
        if sample.why != "overflow":
            self.so_far = 0
        return told


def test_the_same_placement_and_monitor_in_python_and_in_rust_give_the_same_records():
    random, acted, seen = Random(7), 0, Counter()
    for at in range(200):
        state = random.getstate()
        rust = listening(random, "yield")
        random.setstate(state)
        asked = listening(random, "report")
        expected = rust.run().record_hash
        assert asked.run(placement=Yield.of(rust)).record_hash == expected, at
        assert rust.run(monitor=Counts()).record_hash == expected, at
        if at % 4 == 0:
            assert asked.run(placement=Yield.of(rust), monitor=Counts()).record_hash == expected, at
        acts = expected != asked.run().record_hash
        acted += acts
        said = json.loads(rust.to_json())["listening"]
        seen.update([rust.policy[0], "one" if said["calm"] is None else "two", *said["observed"]["events"]] * acts)
    # Had it nothing to do, all would be equal.
    assert acted > 60
    assert len(seen) == 3 + 2 + len(EVENTS) and min(seen.values()) >= 10, seen


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
        ticking(10).run(placement=Yield(5, 5, []))
    assert raised.value.kind == "Simulation"
    with pytest.raises(solocore.PolicyError, match="scheduler.monitor"):
        ticking(10).run(monitor=Counts())


def test_a_cooperative_criterion_does_not_age():
    class Both(policies.Criterion):
        preemptive, ages = False, True

    with pytest.raises(solocore.PolicyError, match="preemptive = True where ages = True"):
        ticking(10).run(criterion=Both())
