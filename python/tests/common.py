"""What several tests run."""

from __future__ import annotations

from random import Random
from typing import Any

import solocore

TICKING: dict[str, Any] = {
    "name": "ticking",
    "platform": "ideal-8",
    "scheduler": {"policy": "P-EDF"},
    "tasks": {"control": {"class": "hard", "core": 0, "period": "10us", "work": [{"compute": "2us"}]}},
}


def ticking(jobs: int) -> solocore.Experiment:
    """So many jobs of one task that computes and meets every deadline."""
    return solocore.scenario(**TICKING, jobs=jobs).experiment()


def drawn(random: Random, policy: str, *, quantum: str | None = None) -> solocore.Experiment:
    """A few tasks on two cores, some of them too long, with memory that they share."""
    tasks = {}
    for at in range(random.randint(2, 5)):
        period = random.choice([400, 500, 800, 1000, 1600, 2000])
        deadline = random.choice([period, period * 3 // 4])
        length = random.randint(20, period // 2)
        work: list[dict[str, Any]] = [{"compute": f"{length}us"}]
        if random.random() < 0.3:
            work.append({"sweep": "4KiB"})
        task = {
            "class": random.choice(["hard", "soft"]),
            "core": random.randrange(2),
            "period": f"{period}us",
            "deadline": f"{deadline}us",
            "wcet": f"{length + 20}us",
            "work": work,
        }
        if random.random() < 0.5:
            task["offset"] = f"{random.randint(1, 300)}us"
        if policy.startswith("G-"):
            del task["core"]
        if policy.endswith("-FP"):
            task["priority"] = at
        tasks[f"t{at}"] = task
    if random.random() < 0.3:
        rest = {"class": "best-effort", "work": [{"compute": "150us"}]}
        tasks["rest"] = rest if policy.startswith("G-") else {**rest, "core": random.randrange(2)}
        if policy.endswith("-FP"):
            tasks["rest"]["priority"] = 99
    scheduler = {"policy": policy} | ({"quantum": quantum} if quantum else {})
    seed = random.randrange(1 << 30)
    return solocore.scenario(
        "drawn", platform="ideal-8", scheduler=scheduler, tasks=tasks, duration="12ms", seed=seed
    ).experiment()


def varied(random: Random, criterion: str, *, quantum: str | None = None) -> solocore.Experiment:
    """Tasks in any scope, some too long, with what a kernel has to do besides: offsets, ticks, costs of its own paths, locks under
    each protocol, sleeps, lengths drawn for each job, memory that tasks share."""
    scope = random.choice("PCG")
    # How many cores serve a queue, and how many queues have tasks.
    width = {"P": 1, "C": random.choice([2, 4]), "G": 8}[scope]
    queues = random.randint(1, {"P": 4, "C": 8 // width, "G": 1}[scope])
    scheduler: dict[str, Any] = {"policy": f"{scope}-{criterion}", "overheads": random.choice(["free", "epos-thesis"])}
    if scope == "C":
        scheduler["clusters"] = width
    if quantum:
        scheduler["quantum"] = quantum
    if random.random() < 0.25:
        scheduler["tick"] = "100us"
    tasks = {}
    for at in range(random.randint(2, queues * (width + 2))):
        task, queue = _task(random), random.randrange(queues)
        if random.random() < 0.4:
            # Only who shares a queue shares a lock: a core that waits for another one's is another matter.
            task["work"] += [{"lock": f"l{queue}"}, {"compute": f"{random.randint(5, 80)}us"}, {"unlock": f"l{queue}"}]
        if scope != "G":
            task["core"] = queue * width + random.randrange(width)
        if criterion == "FP":
            task["priority"] = at if random.random() < 0.8 else 3
        tasks[f"t{at}"] = task
    protocol = random.choice(["ceiling", "inheritance", "plain"])
    used = {step["lock"] for task in tasks.values() for step in task["work"] if "lock" in step}
    locks = {"lock": [{"name": name, "protocol": protocol} for name in sorted(used)]} if used else {}
    return solocore.scenario(
        "varied", platform="ideal-8", scheduler=scheduler, tasks=tasks, duration="12ms", seed=random.randrange(1 << 30), **locks
    ).experiment()


def _task(random: Random) -> dict[str, Any]:
    period = random.choice([300, 400, 500, 700, 800, 1000, 1600, 2000, 3100])
    deadline = random.choice([period, period * 3 // 4])
    length = random.randint(20, period * 3 // 4)
    work: list[dict[str, Any]] = [{"compute": random.choice([f"{length}us", [f"{length // 2 + 1}us", f"{length}us"]])}]
    if random.random() < 0.3:
        work += [{"sleep": f"{random.randint(10, 200)}us"}, {"compute": "15us"}]
    if random.random() < 0.3:
        work.append({"sweep": random.choice(["4KiB", "32KiB"])})
    task: dict[str, Any] = {"work": work}
    if random.random() < 0.15:
        return {"class": "best-effort", **task}
    task |= {"class": random.choice(["hard", "soft"]), "period": f"{period}us", "deadline": f"{deadline}us"}
    task["wcet"] = f"{min(length + 20, deadline)}us"
    if random.random() < 0.5:
        task["offset"] = f"{random.randint(1, 300)}us"
    return task
