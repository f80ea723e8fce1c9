"""How the trained models do in runs of programs that they have not seen (PMCTrack, Figs. 8, 9 and 12, and phases that change).

`python python/measure/models.py [phases] [schedulers] [energy]` from the repository's folder, with `solocore[models]`.

* phases: a program of the two stretches that gain most and least, of one for each archetype, alternates between them and is moved between the kinds of cores; IPC sampling and
  the model say what they believe at the end of each sampling period
* schedulers, energy: workloads of drawn programs under schedulers that go by the models
"""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from random import Random

import solocore
from solocore import models, policies, programs, windows

FOLDER = Path("platforms/models")
# 300 ms and 200 ms in the spec; a hundredth of both, as our windows are shorter than the paper's by a factor of 400.
PHASE_MS, PERIOD_US = 3.0, 2_000
PERIODS = 400


class Moving(policies.Placement):
    """Moves task 0 between two cores every so many periods, and keeps when, what is believed of it, and the core that it was on."""

    def __init__(self, cores: tuple[int, int], stays: int) -> None:
        self.cores, self.stays, self.ticks = cores, stays, 0
        self.believed: list[tuple[int, float | None, int]] = []

    def on(self, now_ns: int, hook: policies.Hook, situation: policies.Situation):
        if hook.core != self.cores[self.ticks // self.stays % 2]:
            return None
        self.believed.append((now_ns, situation.metric(task=0), hook.core))
        self.ticks += 1
        target = self.cores[self.ticks // self.stays % 2]
        return None if target == hook.core else policies.move(0, target)


class Counting(policies.Monitor):
    """Keeps the instructions of task 0, sample by sample."""

    def __init__(self) -> None:
        self.counted: list[tuple[int, int]] = []

    def __deepcopy__(self, memo: object) -> Counting:
        return self

    def sample(self, sample: policies.Sample) -> float:
        if sample.task == 0:
            self.counted.append((sample.at_ns, sample.counts["instructions"]))
        return 1.0


def scenario(chip: windows.Chip, program: programs.Program, monitor: list[str], action: str) -> solocore.Experiment:
    lines = "\n".join(monitor)
    head = f"""name = "alternating"
platform = "{chip.name}"
duration = "{PERIODS * PERIOD_US // 1000}ms"
sample = "1s"
[scheduler]
policy = "P-RR"
quantum = "100ms"
[scheduler.monitor]
{lines}
period = "{PERIOD_US}us"
classes = ["best-effort"]
action = "{action}"

"""
    # Beside it somebody who keeps the other core's clock ticking, without memory.
    other = f'[[application]]\nname = "other"\ncores = [{chip.cores[chip.kinds[1]]}]\nwork = [{{ compute = "1s" }}]\n'
    text = head + program.written(chip.kinds, [chip.cores[chip.kinds[0]]], rounds=10_000) + other
    return solocore.parse(text, Path("scenario.toml")).experiment()


def alternating(chip: windows.Chip, one: programs.Stretch, two: programs.Stretch) -> programs.Program:
    """Both stretches in turn, each for about `PHASE_MS` on the big kind, memory apart."""
    clock = chip.clocks[chip.kinds[0]]
    def whole(part: programs.Stretch) -> int:
        return round(PHASE_MS / 1000 * clock / part.cycles(chip.kinds[0]) / programs.SLICE) * programs.SLICE

    parts = [dataclasses.replace(part, instructions=whole(part)) for part in (one, two)]
    return programs.Program("alternating", tuple(parts))


def speeds(chip: windows.Chip, program: programs.Program) -> list[tuple[float, float]]:
    """By stretch, nanoseconds of an instruction on the big and on the small kind: of the windows in the middle of a program that stays in it."""
    found = []
    for number, stretch in enumerate(program.stretches):
        stays = programs.Program(f"stays-{number}", (dataclasses.replace(stretch, instructions=12 * programs.WINDOW),))
        frame = models.samples(chip.name, programs=[stays])
        late = frame[frame["window"] >= 4].groupby("kind")[["span_ns", "instructions"]].sum()
        big, small = (float(late["span_ns"][kind] / late["instructions"][kind]) for kind in chip.kinds)
        found.append((big, small))
    return found


def errors(chip: windows.Chip, program: programs.Program, true: list[tuple[float, float]], stays: int) -> dict[str, float]:
    """The mean distance of what is believed at the end of a period from the factor of what ran in it."""
    cores = (chip.cores[chip.kinds[0]], chip.cores[chip.kinds[1]])
    counting = Counting()
    scenario(chip, program, ['event = "instructions"'], "report").run(tables=[], placement=Moving(cores, stays), monitor=counting)
    lengths = [stretch.instructions for stretch in program.stretches]
    truth, done = {}, 0
    for at, counted in counting.counted:
        # What these instructions take on the small kind by what they take on the big one, at a thousand points of them.
        parts = [true[(done + counted * point // 1000) % sum(lengths) >= lengths[0]] for point in range(1000)]
        truth[at] = sum(small for _, small in parts) / sum(big for big, _ in parts)
        done += counted
    found = {}
    for name in ("sampling", "model"):
        moving = Moving(cores, stays)
        scenario(chip, program, said(chip.name, name), "hsp").run(tables=[], placement=moving)
        pairs = [(value, truth[at]) for at, value, _ in moving.believed[60:] if value is not None and at in truth]
        found[name] = sum(abs(value - factor) for value, factor in pairs) / len(pairs)
        found[f"{name} periods"] = len(pairs)
    return found


SCHEDULERS = (("hsp", "model"), ("hsp", "sampling"), ("rr", "model"), ("eqp", "sampling"), ("eqp", "model"), ("acfs", "model"))


def said(platform: str, monitor: str, factor: str = "speedup-factor") -> list[str]:
    """What a scenario says of a monitor, key by key."""
    if monitor == "sampling":
        return ['monitor = "ipc-sampling"']
    return ['monitor = "estimate"', f'model = "{FOLDER.absolute()}/{platform}-{factor}.toml"']


def listening(monitor: list[str], action: str) -> str:
    """A scheduler that goes by a monitor, as a line of a scenario."""
    return "monitor = { " + ", ".join([*monitor, 'period = "500us"', 'classes = ["best-effort"]', f'action = "{action}"']) + " }"


def run(chip: windows.Chip, placed: list[tuple[programs.Program, int]], monitor: str = "") -> tuple[dict[str, float], dict]:
    """Programs from these cores on, until the longest is done for the third time: the geometric mean of each one's times, and the report."""
    head = f'name = "mix"\nplatform = "{chip.name}"\njobs = 3\nsample = "10s"\n[scheduler]\npolicy = "P-RR"\nquantum = "50ms"\n{monitor}\n\n'
    text = head + "".join(program.written(chip.kinds, [core]) for program, core in placed)
    found = solocore.parse(text, Path("scenario.toml")).experiment().run(tables=["jobs"])
    jobs = found.jobs.to_arrow().to_pylist()
    times: dict[str, list[float]] = {}
    for job in jobs:
        if job["finished"]:
            times.setdefault(job["task"], []).append(math.log(job["response_ns"]))
    return {name: math.exp(sum(logs) / len(logs)) for name, logs in times.items()}, found.report


def alone(chip: windows.Chip, program: programs.Program) -> tuple[float, float]:
    """What a program takes alone on a big and on a small core."""
    big, small = (run(chip, [(program, chip.cores[kind])])[0][program.name] for kind in chip.kinds)
    return big, small


def mixes(count: int, size: int) -> list[list[programs.Program]]:
    """Workloads of programs that no model was trained on, by a seed."""
    strangers = programs.drawn(28, seed=2)
    random = Random("mixes")
    return [random.sample(strangers, size) for _ in range(count)]


def judged(chip: windows.Chip, mix: list[programs.Program], times: dict[str, float], known: dict) -> tuple[float, float]:
    """Aggregate speedup and unfairness (PMCTrack, equations 1 and 2)."""
    slowdowns = [times[program.name] / known[program.name][0] for program in mix]
    return sum(known[program.name][1] / times[program.name] - 1 for program in mix), max(slowdowns) / min(slowdowns)


def schedulers(platform: str, count: int) -> None:
    """Figs. 8 and 9 with the trained model: two programs begin on big cores and two on small ones."""
    chip = windows.Chip(platform)
    first = [chip.cores[kind] for kind in chip.kinds]
    cores = [first[0], first[0] + 1, first[1], first[1] + 1]
    sums = {which: [0.0, 0.0] for which in SCHEDULERS}
    moves = dict.fromkeys(SCHEDULERS, 0)
    for mix in mixes(count, 4):
        known = {program.name: alone(chip, program) for program in mix}
        for which in SCHEDULERS:
            action, monitor = which
            times, report = run(chip, list(zip(mix, cores)), listening(said(platform, monitor), action))
            moves[which] += sum(task["migrations"] for task in report["tasks"])
            for at, value in enumerate(judged(chip, mix, times, known)):
                sums[which][at] += value / count
    for (action, monitor), (speedup, unfairness) in sums.items():
        print(f"{platform}, {count} workloads, {action} by {monitor}: aggregate speedup {speedup:.2f}, unfairness {unfairness:.3f}, {moves[action, monitor]} moves", flush=True)


def energy(count: int) -> None:
    """Fig. 12 with the trained models: six programs on Juno under `ef-driven` and under `hsp`."""
    chip = windows.Chip("juno")
    less, slower = [], []
    for mix in mixes(count, 6):
        known = {program.name: alone(chip, program) for program in mix}
        products, speedups = [], []
        for action, factor in (("ef-driven", "energy-factor"), ("hsp", "speedup-factor")):
            times, report = run(chip, [(program, core) for core, program in enumerate(mix)], listening(said("juno", "model", factor), action))
            spent = sum(domain["dynamic_fj"] + domain["static_fj"] for domain in report["energy"]["domains"])
            products.append(spent * report["energy"]["metered_ns"] / report["energy"]["instructions"])
            speedups.append(judged(chip, mix, times, known)[0])
        less.append(100 * (1 - products[0] / products[1]))
        slower.append(100 * (1 - (speedups[0] + 6) / (speedups[1] + 6)))
    print(f"juno, {count} workloads: ef-driven's energy-delay product is less by {min(less):.1f} to {max(less):.1f} %, mean {sum(less) / count:.1f}; "
          f"throughput less by {min(slower):.1f} to {max(slower):.1f} %, mean {sum(slower) / count:.1f}")


def main() -> None:
    what = sys.argv[1:] or ["phases", "schedulers", "energy"]
    if "phases" in what:
        for platform in ("opteron-2425", "juno", "quickia"):
            phases(platform)
    if "schedulers" in what:
        for platform in ("opteron-2425", "quickia"):
            schedulers(platform, 3)
    if "energy" in what:
        energy(4)


def phases(platform: str) -> None:
    """How far off either monitor is where a program alternates."""
    chip = windows.Chip(platform)
    strangers = programs.drawn(14, seed=2)
    stretches = [stranger.stretches[0] for stranger in strangers]
    alone = speeds(chip, programs.Program("all", tuple(stretches)))
    order = sorted(range(len(stretches)), key=lambda at: alone[at][1] / alone[at][0])
    most, least = order[-1], order[0]
    program, true = alternating(chip, stretches[most], stretches[least]), [alone[most], alone[least]]
    print(f"{platform}: factors " + " and ".join(f"{small / big:.2f}" for big, small in true))
    for stays in (1, 3):
        found = errors(chip, program, true, stays)
        print(f"  {stays} periods on a kind: off by {found['sampling']:.3f} by sampling, {found['model']:.3f} by the model", flush=True)


if __name__ == "__main__":
    main()
