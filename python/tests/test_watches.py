"""Recordings of Linux, and what is wrong with them."""

import json
import shutil
from pathlib import Path

import pytest
import solocore
from solocore import watches

RECORDING = Path("docs/python/watch")


def test_a_recording_adds_up_to_what_it_says():
    watch = watches.read(RECORDING)
    frame = watch.to_pandas()
    assert len(frame) == len(watch.rows) > 10 and watch.names
    for total in watch.about["summary"]["totals"]:
        assert int(frame[total["name"]].sum()) == total["count"], total["name"]


@pytest.mark.parametrize("file, old, new, expected, place", [
    ("watch.json", "solo-watch/2", "solo-watch/1", "a recording of version solo-watch/2", "watch.json"),
    ("watch.json", '"complete": true', '"complete": false', "a recording that was completed", "watch.json"),
    ("watch.json", '"complete"', "complete", "JSON", "watch.json"),
    ("rows.jsonl", '"schema":1', '"schema":2', 'a first line {"format": "rows", "schema": 1}', "rows.jsonl, line 1"),
    ("rows.jsonl", '{"row":2,', '{"row":2', "JSON", "rows.jsonl, line 3"),
])
def test_a_changed_recording_is_refused_with_its_place(tmp_path, file, old, new, expected, place):
    folder = tmp_path / "watch"
    shutil.copytree(RECORDING, folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    with pytest.raises(solocore.InputError) as raised:
        watches.read(folder)
    assert raised.value.expected == expected and raised.value.place.endswith(place)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(solocore.InputError, match="solo watch --out"):
        watches.read(tmp_path)
    (tmp_path / "watch.json").write_text(json.dumps({"schema": "solo-watch/2", "complete": True}))
    with pytest.raises(solocore.InputError, match="a file of JSON lines"):
        watches.read(tmp_path)
