"""What goes wrong, as data: each exception says what was expected, what was found, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One problem of a scenario file."""

    code: str
    """What kind of problem it is, such as `solo::unknown_key`; `solocore.explain(code)` tells what it means."""
    severity: str
    """`error` or `warning`."""
    message: str
    """What is wrong, in a line."""
    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    offset: int
    """Bytes from the beginning of the file to the offending text."""
    length: int
    """Bytes of the offending text."""
    text: str
    """The offending text."""
    label: str
    expected: str | None
    help: str | None

    @property
    def span(self) -> tuple[int, int]:
        """The bytes of the file that the problem is about: from, up to."""
        return self.offset, self.offset + self.length


class SolocoreError(Exception):
    """What all exceptions of this package are."""


class ScenarioError(SolocoreError, ValueError):
    """A scenario, a platform or what they name can't be used."""

    def __init__(self, text: str, problems: list[dict[str, Any]]) -> None:
        super().__init__(text)
        self.problems: list[Problem] = [Problem(**problem) for problem in problems]
        """One or more, in the order of the file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], [vars(problem) for problem in self.problems])


class InputError(SolocoreError, ValueError):
    """An argument is not what is expected there."""

    def __init__(self, expected: str, found: str, place: str) -> None:
        super().__init__(f"{place}: expected {expected}; found {found}")
        self.expected, self.found, self.place = expected, found, place

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.expected, self.found, self.place)


class PolicyError(InputError):
    """A policy that is written in Python answered what is no answer."""


class RunError(SolocoreError, RuntimeError):
    """An experiment did not run. `kind` is the reason's name in `solo_lab::LabError`."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.kind)


class StudyError(SolocoreError, RuntimeError):
    """A study can't be read, run or put together."""


class ClusterError(SolocoreError, RuntimeError):
    """A cluster did not do what it was given. What has come is kept: the same call goes on from there."""

    def __init__(self, text: str, address: str) -> None:
        super().__init__(text)
        self.address = address

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.address)


class WorkerVersionError(ClusterError):
    """A worker has another build of solocore than this process."""

    def __init__(self, worker: str, expected: str, found: str) -> None:
        super().__init__(
            f"worker {worker} runs solocore {found}; expected {expected}, as this process does: install it there", worker
        )
        self.worker, self.expected, self.found = worker, expected, found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.worker, self.expected, self.found)
