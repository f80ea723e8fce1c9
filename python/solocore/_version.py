"""Which build this is."""

from __future__ import annotations

from . import _native

VERSION: str
COMMIT: str | None
VERSION, COMMIT = _native.build()


def build_id() -> str:
    """The version and, where the build knows it, the commit: what the workers of a cluster must have in common."""
    return VERSION if COMMIT is None else f"{VERSION} ({COMMIT})"
