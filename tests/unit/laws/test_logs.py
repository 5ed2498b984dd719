"""What names and leftovers in the two logs mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.unit.laws.scenes import SOUND, findings, next_batch


def test_a_hole_in_the_offsets_names_the_missing_batches(tmp_path: Path) -> None:
    story = "k0-1 c | lost c | lost c | k3-4 c | lost c | k5-6 c | k6-7 c"
    assert "1 to 2, 4 are missing" in findings(build(tmp_path, story))["offset-log-hole"].message


@pytest.mark.parametrize(
    ("name", "expected", "severity"),
    [
        ("offsets/009", "non-canonical-batch-name", "error"),
        ("offsets/002", "non-canonical-batch-name", "warning"),
        ("commits/+9", "non-canonical-batch-name", "error"),
        ("offsets/notes.txt", "foreign-file", "info"),
        ("offsets/.4.1b2c.tmp", "leftover-temporary-file", "info"),
        ("offsets/.4.crc", "orphan-crc", "error"),
        ("offsets/.0.bak.crc", "orphan-crc", "info"),
    ],
)
def test_what_stray_names_mean(tmp_path: Path, name: str, expected: str, severity: str) -> None:
    build(tmp_path, SOUND)
    (tmp_path / name).write_text("x")
    found = findings(tmp_path)[expected]
    assert (found.severity, found.path) == (severity, name)


def test_a_directory_among_the_batches(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "offsets" / "9").mkdir()
    assert findings(tmp_path)["directory-in-log"].path == "offsets/9"


def test_what_is_left_of_the_first_offsets(tmp_path: Path) -> None:
    build(tmp_path, "")
    for name in (".0.b6e1.tmp", "..0.b6e1.tmp.crc"):
        (tmp_path / "offsets" / name).touch()
    assert findings(tmp_path)["location-not-empty"].path == "offsets/.0.b6e1.tmp"


def test_only_a_checksum_that_hadoop_hides_is_left_of_the_first_offsets(tmp_path: Path) -> None:
    build(tmp_path, "")
    (tmp_path / "offsets" / ".0.crc").touch()
    assert "location-not-empty" not in findings(tmp_path)


def test_after_the_first_batch_temporary_files_are_in_nobodys_way(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "offsets" / ".3.b6e1.tmp").touch()
    assert "location-not-empty" not in findings(tmp_path)


STRAY = [
    ("+3", "error"),
    ("003", "error"),
    ("002", "new_batch"),
    ("-1", "new_batch"),
    ("3.bak", "new_batch"),
    (".3.0f.tmp", "new_batch"),
]


@pytest.mark.parametrize(("name", "outcome"), STRAY)
def test_a_stray_name_matters_if_it_counts_as_the_highest_batch(tmp_path: Path, name: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / "offsets" / name).write_text("x")
    assert next_batch(tmp_path).outcome == outcome


def test_a_directory_is_no_batch(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c")
    (tmp_path / "offsets" / "2").mkdir()
    assert next_batch(tmp_path).batch_id == 2


def test_what_was_never_renamed(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    temporary = root / "offsets" / ".1.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp"
    (root / "offsets" / "1").rename(temporary)
    told = findings(root)["rename-lost"]
    assert (told.severity, told.path) == ("error", "offsets/1")
    assert told.spark, "what stops the restart is told with what it raises"
    assert f"offsets/{temporary.name} was to become it" in told.message
    temporary.unlink()
    assert "rename-lost" not in findings(root)


def test_a_crash_before_the_rename_is_none(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30")
    for name in ("offsets/.3", "commits/.2"):
        (root / f"{name}.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp").touch()
    assert "rename-lost" not in findings(root)
