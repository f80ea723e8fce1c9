"""The guide runs: each block of Python is executed, and prints what the page shows."""

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/python").glob("[0-9]*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
# Writes what is printed into the pages, to be read and committed: SOLO_BLESS=1.
BLESS = os.environ.get("SOLO_BLESS") == "1"


def test_the_guide_is_there():
    linked = re.findall(r"\]\((\d\d-[a-z-]+\.md)\)", (ROOT / "docs/python/README.md").read_text())
    assert linked == [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    text = page.read_text()
    # As in the repository's folder, but that what is written stays out of it.
    for folder in ("scenarios", "studies", "docs", "platforms"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        source, shown = block.group(1), block.group(2)
        printed = io.StringIO()
        line = text.count("\n", 0, block.start()) + 2
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + source, str(page), "exec"), space)
        if BLESS:
            shows = f"\n```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
            now = page.read_text()
            page.write_text(now.replace(block.group(0), f"```python\n{source}```\n{shows}", 1))
        else:
            assert printed.getvalue() == (shown or ""), f"{page.name}, line {line}"
