"""Schedulability tests of the literature, over task sets as lists or frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from . import _native
from ._native import Table
from .errors import InputError

_COLUMNS = ("set", "c_us", "t_us", "d_us")
_LIMIT = 1 << 48


def tests() -> list[dict[str, Any]]:
    """The tests: `id`, `policy`, `deadlines`, `cores`, whether it is `exact`, and its `source` (docs/prove.md)."""
    return _native.tests()


def prove(
    sets: Any,
    *,
    cores: int,
    cluster: int | None = None,
    tests: Sequence[str] | None = None,
    steps: int | None = None,
    explain: bool = False,
) -> Table:
    """Judges sets of sporadic tasks on `cores` identical cores: a row for each set, a column for each test.

    `sets` is a list of sets, each a list of `(c, t)` or `(c, t, d)`: execution time, least time between releases, relative deadline
    (the period where it is left out) in whole microseconds. Or it is a frame (pandas, polars, pyarrow, a mapping of columns) with a
    row for each task: `c_us`, `t_us`, and, where they differ from one set and from the period, `set` and `d_us`; rows of a set
    stand together.

    A verdict is true where the test proves that no deadline is ever missed, false where it does not, and missing where it says
    nothing about such a set or has not ended within `steps`. With `explain` it is the reason, in words. `cluster` is the number of
    cores of each cluster. Without `tests` all default ones answer.
    """
    begin, c, t, d = _frame(sets) if _is_frame(sets) else _lists(sets)
    return _native.judge(cores, cluster, begin, c, t, d, None if tests is None else list(tests), steps, explain)


def _is_frame(sets: Any) -> bool:
    return isinstance(sets, Mapping) or hasattr(sets, "__arrow_c_stream__") or hasattr(sets, "columns")


def _lists(sets: Iterable[Iterable[Sequence[int]]]) -> tuple[list[int], list[int], list[int], list[int]]:
    begin, c, t, d = [0], [], [], []
    for at, tasks in enumerate(_listed(sets, "a list of sets, or a frame", "sets")):
        for number, task in enumerate(_listed(tasks, "a list of tasks", f"set {at}")):
            place = f"set {at}, task {number}"
            if not isinstance(task, Sequence) or isinstance(task, str) or len(task) not in (2, 3):
                raise InputError("(c, t) or (c, t, d) in microseconds", repr(task), place)
            values = [_whole(value, f"{place}, {name}") for value, name in zip(task, ("c", "t", "d"))]
            c.append(values[0])
            t.append(values[1])
            d.append(values[-1])
        begin.append(len(c))
    return begin, c, t, d


def _listed(values: Any, expected: str, place: str) -> list[Any]:
    """What can be gone through, as a list; a text is none."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(expected, repr(values), place)
    return list(values)


def _frame(frame: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    columns = _columns(frame)
    unknown = [name for name in columns if name not in (*_COLUMNS, "task", "name")]
    missing = [name for name in ("c_us", "t_us") if name not in columns]
    if missing or unknown:
        found = ", ".join(map(str, columns)) or "no column"
        raise InputError("a frame with the columns c_us and t_us, and perhaps set, d_us, task", found, "columns")
    c, t = (_column(columns, name) for name in ("c_us", "t_us"))
    d = _column(columns, "d_us") if "d_us" in columns else t
    numbers = _sets(columns["set"]) if "set" in columns else [0] * len(c)
    lengths = {name: len(column) for name, column in (("c_us", c), ("t_us", t), ("d_us", d), ("set", numbers))}
    if len(set(lengths.values())) > 1:
        raise InputError("columns of equal length", str(lengths), "columns")
    begin, seen = [0], set()
    for row, number in enumerate(numbers):
        if row and number != numbers[row - 1]:
            begin.append(row)
        if row == begin[-1]:
            if number in seen:
                raise InputError("the rows of a set beside each other", f"set {number!r} again", f"row {row}, column set")
            seen.add(number)
    if numbers:
        begin.append(len(numbers))
    return begin, c, t, d


def _columns(frame: Any) -> Mapping[str, Any]:
    if isinstance(frame, Mapping):
        return frame
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__") and not isinstance(frame, Table):
        names = getattr(frame, "column_names", None) or list(frame.columns)
        return {name: frame[name].to_pylist() if hasattr(frame[name], "to_pylist") else list(frame[name]) for name in names}
    import pyarrow

    columns: Mapping[str, Any] = pyarrow.table(frame).to_pydict()
    return columns


def _column(columns: Mapping[str, Any], name: str) -> list[int]:
    values = _listed(columns[name], "a list of numbers", f"column {name}")
    return [_whole(value, f"row {row}, column {name}") for row, value in enumerate(values)]


def _sets(column: Any) -> list[Any]:
    """Which set each row belongs to: numbers or texts. What is missing or NaN is not even equal to itself."""
    values = _listed(column, "a list of numbers or texts", "column set")
    for row, value in enumerate(values):
        if not (isinstance(value, str) or _is_number(value)):
            raise InputError("the set's number or name", _found(value), f"row {row}, column set")
    return values


def _whole(value: Any, place: str) -> int:
    expected = "a whole number of microseconds, at least 1 and below 2^48"
    if isinstance(value, bool) or not _is_number(value) or int(value) != value:
        raise InputError(expected, _found(value), place)
    number = int(value)
    if not 1 <= number < _LIMIT:
        raise InputError(expected, str(number), place)
    return number


def _is_number(value: Any) -> bool:
    """Whether it is a finite number: numpy's have no other class in common with Python's."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except (TypeError, OverflowError):  # numpy counts lengths of time among the whole numbers.
        return False


def _found(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return repr(value)
    return "NaN" if isinstance(value, Real) and value != value else f"{value!r} ({type(value).__name__})"
