"""Tables as frames of other libraries."""

from __future__ import annotations

from typing import Any

from ._native import Table
from .errors import InputError


def to_pandas(table: Table) -> Any:
    """A `pandas.DataFrame` whose columns are Arrow's own: nothing is copied, and missing values stay missing."""
    import pandas
    import pyarrow

    return pyarrow.table(table).to_pandas(types_mapper=pandas.ArrowDtype)


def schema_of(frame: Any) -> str | None:
    """What a frame of this package says that it holds, such as `jobs/1`; `None` for one of somebody else."""
    import pyarrow

    metadata = pyarrow.table(frame).schema.metadata or {}
    schema = metadata.get(b"solo.schema")
    return None if schema is None else schema.decode()


def expect(frame: Any, name: str, version: int = 1) -> Any:
    """The frame as `pyarrow.Table`, where it is a table of this kind and version.

    Raises `InputError` for a frame of another schema: what was expected, what it says that it is.
    """
    import pyarrow

    found, expected = schema_of(frame), f"{name}/{version}"
    if found != expected:
        raise InputError(f"a table with solo.schema {expected}", found or "a frame that says no schema", "frame")
    return pyarrow.table(frame)
