"""What older releases do not read, and pinned values that change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import SOUND, health


@pytest.mark.parametrize(
    ("offsets", "commits", "told"),
    [
        (1, 1, None),
        (2, 1, "no Spark before 4.2.0 goes on from here: offsets/3 has version 2"),
        (1, 2, "no Spark before 4.0.0 goes on from here: commits/3 has version 2"),
        (1, 3, "no Spark before 4.2.0 goes on from here: commits/3 has version 3"),
    ],
)
def test_formats_that_older_releases_do_not_read(tmp_path: Path, offsets: int, commits: int, told: str | None) -> None:
    found = health(build(tmp_path, SOUND, offsets_version=offsets, commits_version=commits))
    assert ("one-way-formats" in found) is (told is not None)
    assert told is None or found["one-way-formats"].message == told


def pinning(root: Path, batch: int, **conf: str) -> Path:
    path = root / "offsets" / str(batch)
    version, metadata, *sources = path.read_text().splitlines()
    fields = json.loads(metadata)
    fields["conf"] |= {f"spark.sql.streaming.{key.replace('__', '.')}": value for key, value in conf.items()}
    path.write_text("\n".join([version, json.dumps(fields), *sources]))
    return root


def test_a_value_that_was_edited(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND)
    assert "conf-drift-in-log" not in health(root)
    told = health(pinning(root, 2, multipleWatermarkPolicy="max"))["conf-drift-in-log"]
    assert (told.severity, told.path) == ("warning", "offsets/2")
    assert told.message == "it pins other values than offsets/1: multipleWatermarkPolicy min → max"


def test_a_key_that_a_newer_release_adds_is_no_drift(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c", spark="3.5.7")
    assert "conf-drift-in-log" not in health(pinning(tmp_path, 1, stateStore__encodingFormat="unsaferow"))
