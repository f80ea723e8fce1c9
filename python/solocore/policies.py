"""Policies as classes, to try out on the simulated machine before they are written for the kernel.

They take the places of what an experiment names: `experiment.run(criterion=Mine())`. The kernel, its queues, locks, budgets and costs
are the same; only the answer to one question comes from Python. That is deterministic as long as the class is, and slow: each question
takes about a microsecond, or as long as the class takes, where a criterion in Rust takes nanoseconds. Bare metal and Linux can't run them.
`docs/python/03-own-policy.md` leads from here to Rust.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ._native import Action, Hook, Job, Sample, Situation

move = Action.move
hold = Action.hold
weight = Action.weight
to_kind = Action.to_kind


class Criterion:
    """Which job is more urgent (thesis 4.2)."""

    preemptive: bool = True
    """A more urgent job takes the core of a less urgent one. Without it a job runs until it finishes, blocks or yields."""
    ages: bool = False
    """Ranks change while jobs execute: they are asked for at each decision and at the end of each quantum."""

    def rank(self, job: Job) -> int | None:
        """How urgent the job is: the lower, the more. `None` for a job that is not ordered, which comes after those that are.

        It is asked at each release, and where it `ages` at each decision. Hard tasks come before soft ones before best-effort ones,
        whatever it says; among equals the lower task number is first.
        """
        raise NotImplementedError


class Placement:
    """Where tasks run and when: hears what happens, asks for metrics, answers with actions (docs/policies/listening.md).

    The experiment says with `[scheduler.monitor]` what is counted and how often it is looked at.
    """

    hears: Collection[str] = frozenset({"tick"})
    """The kinds of hooks that it is told: `enable`, `fork`, `switch-in`, `switch-out`, `migrate`, `tick`, `sample`, `exit`."""

    def on(self, now_ns: int, hook: Hook, situation: Situation) -> Action | Iterable[Action] | None:
        """What is to be done, now that this has happened: at most eight actions."""
        raise NotImplementedError


class Monitor:
    """Makes the metric that a placement asks for of what was counted. Each task and each core has a deep copy of its own."""

    def sample(self, sample: Sample) -> float | None:
        """The metric, to 10^-12; `None` where the sample says nothing about it, which is not zero."""
        raise NotImplementedError
