"""Scenarios from files, texts and values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._native import Scenario
from .errors import InputError


def load(path: str | os.PathLike[str]) -> Scenario:
    """Reads and checks a scenario file (docs/scenario.md)."""
    return Scenario.load(Path(path))


def parse(text: str, path: str | os.PathLike[str] = "scenario.toml") -> Scenario:
    """Reads and checks the text of a scenario. Files that it names are looked for beside `path`."""
    return Scenario.parse(text, Path(path))


def scenario(
    name: str,
    *,
    platform: str,
    scheduler: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
    path: str | os.PathLike[str] = "scenario.toml",
    **keys: Any,
) -> Scenario:
    """A scenario built in code: the keys are those of scenario files (docs/scenario.md), with `_` or `-` in their names.

    `tasks` are mappings with a `name`, or mappings by name. Values are texts with units (`"20ms"`), numbers, truth values, lists
    and mappings. Problems point into the text that it comes to, which `Scenario.text` holds.

    >>> scenario("one", platform="ideal", scheduler={"policy": "P-EDF"}, jobs=10,
    ...          tasks={"control": {"class": "hard", "core": 0, "period": "10ms", "work": [{"compute": "2ms"}]}})
    """
    return parse(written(name, platform=platform, scheduler=scheduler, tasks=tasks, **keys), path)


def written(
    name: str,
    *,
    platform: str,
    scheduler: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
    **keys: Any,
) -> str:
    """The text of the same scenario, unchecked: `solocore.plan` takes one that leaves cores open."""
    if not isinstance(scheduler, Mapping):
        raise InputError("a mapping with the keys of [scheduler]", repr(scheduler), "scheduler")
    listed = [{"name": key, **value} for key, value in tasks.items()] if isinstance(tasks, Mapping) else list(tasks)
    document = {"name": name, "platform": platform, **keys, "scheduler": dict(scheduler), "task": listed}
    return _document(document)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _key(key: object) -> str:
    text = str(key).replace("_", "-")
    return text if _BARE.fullmatch(text) else _text(str(key))


def _text(value: str) -> str:
    escaped = "".join(
        {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c)
        or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c)
        for c in value
    )
    return f'"{escaped}"'


def _value(value: Any, place: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _text(value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(k)} = {_value(v, f'{place}.{k}')}" for k, v in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_value(v, f"{place}[{at}]") for at, v in enumerate(value)) + "]"
        case _ if hasattr(value, "__index__"):
            return str(value.__index__())
    raise InputError("a text with a unit, a whole number, a truth value, a list or a mapping", repr(value), place)


def _document(document: Mapping[str, Any]) -> str:
    plain, tables = [], []
    for key, value in document.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            tables.append((f"[{_key(key)}]", key, value))
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            tables.extend((f"[[{_key(key)}]]", f"{key}[{at}]", one) for at, one in enumerate(value))
        else:
            plain.append(f"{_key(key)} = {_value(value, str(key))}")
    for header, place, table in tables:
        plain.append(f"\n{header}")
        plain.extend(f"{_key(k)} = {_value(v, f'{place}.{k}')}" for k, v in table.items() if v is not None)
    return "\n".join(plain) + "\n"
