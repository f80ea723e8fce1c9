"""Types: mypy finds nothing wrong in the package, and the stubs are those of what is there."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


def mypy(*words: str, cache: Path) -> None:
    pytest.importorskip("mypy")
    found = subprocess.run([sys.executable, "-m", *words], cwd=cache, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_package_is_typed_strictly(tmp_path):
    config = ["--config-file", str(PROJECT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    mypy("mypy", *config, str(PROJECT / "solocore"), cache=tmp_path)


def test_stubs_have_the_signatures_of_what_is_there(tmp_path):
    # PyO3 makes the list; that the names are the same is tested beside (test_stubs.py).
    allowed = tmp_path / "allowed"
    allowed.write_text("solocore\\._native\\.__all__\n")
    mypy("mypy.stubtest", "solocore._native", "--allowlist", str(allowed), cache=tmp_path)
