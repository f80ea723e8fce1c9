"""Recordings of `solo watch --out FOLDER`: what was counted of programs on Linux, over time (docs/linux.md)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InputError

_WATCH = "solo-watch/2"
_ROWS = {"format": "rows", "schema": 1}


@dataclass(frozen=True)
class Watch:
    """A whole recording."""

    about: dict[str, Any]
    """What was watched and how: `watch.json`."""
    rows: list[dict[str, Any]]
    """A row for each thread and period: `at_ns`, `span_ns`, `process`, `id`, `event`, and a value for each event that was counted, which
    is `None` where it was not."""
    names: list[dict[str, Any]]
    """Who the threads were."""

    def to_pandas(self) -> Any:
        """The rows as `pandas.DataFrame` with Arrow's columns: what was not counted is missing, not zero."""
        import pandas
        import pyarrow

        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        table = pyarrow.table({column: [row.get(column) for row in self.rows] for column in columns})
        return table.to_pandas(types_mapper=pandas.ArrowDtype)


def read(folder: str | os.PathLike[str]) -> Watch:
    """Reads a recording. `InputError` for a folder that is none, one of another version, or one that was not completed."""
    path = Path(folder)
    about = _json(path / "watch.json", (path / "watch.json").read_text) if (path / "watch.json").is_file() else None
    if not isinstance(about, dict):
        raise InputError("a folder that solo watch --out has written, with watch.json", "none", str(path))
    if about.get("schema") != _WATCH:
        raise InputError(f"a recording of version {_WATCH}", str(about.get("schema")), str(path / "watch.json"))
    if about.get("complete") is not True:
        raise InputError("a recording that was completed", "one that was cut off", str(path / "watch.json"))
    rows = _lines(path / "rows.jsonl")
    if not rows or rows[0] != _ROWS:
        raise InputError(f"a first line {json.dumps(_ROWS)}", json.dumps(rows[0]) if rows else "nothing", f"{path / 'rows.jsonl'}, line 1")
    return Watch(about, rows[1:], _lines(path / "names.jsonl"))


def _lines(path: Path) -> list[Any]:
    if not path.is_file():
        raise InputError("a file of JSON lines", "none", str(path))
    return [_json(f"{path}, line {number}", lambda line=line: line) for number, line in enumerate(path.read_text().splitlines(), 1)]


def _json(place: object, text: Any) -> Any:
    try:
        return json.loads(text())
    except ValueError as error:
        raise InputError("JSON", str(error), str(place)) from error
