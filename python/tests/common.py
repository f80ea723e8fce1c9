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
