"""State that a changed query has come to, on samples that real Spark wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.model import Finding
from tests.samples.place import place_sample
from tests.unit.checkup.checkups import checked
from tests.unit.state.test_shapes import give_a_shorter_window

SPARKS = pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
YOUNG, SHAPES = "state-schema-younger-than-commit", "state-keys-of-two-shapes"


def told(root: Path) -> dict[str, Finding]:
    return {one.finding.id: one.finding for one in checked(root, profile="full").findings}


def described_again(root: Path, *, after_s: float) -> None:
    """As a start that evolves the schema leaves it: so long after the newest commit."""
    newest = max((root / "commits").glob("[0-9]*"), key=lambda path: int(path.name)).stat().st_mtime
    os.utime(root / "state/0/0/_metadata/schema", (newest + after_s, newest + after_s))


@SPARKS
def test_a_schema_that_no_commit_followed(spark: str, tmp_path: Path) -> None:
    root = place_sample(f"{spark}-windowed-agg-hdfs-sound", tmp_path)
    described_again(root, after_s=90.5)
    found = told(root)[YOUNG]
    assert (found.severity, found.path) == ("warning", "state/0/0/_metadata/schema")
    assert "described anew 90.5 s after it" in found.message
    assert YOUNG in {one.finding.id for one in checked(root, profile="quick").findings}


@SPARKS
def test_a_schema_that_a_commit_followed(spark: str, tmp_path: Path) -> None:
    root = place_sample(f"{spark}-windowed-agg-hdfs-sound", tmp_path)
    described_again(root, after_s=-1)
    assert YOUNG not in told(root)


def test_times_of_a_copy_tell_nothing(tmp_path: Path) -> None:
    root = place_sample("4.2.0-windowed-agg-hdfs-sound", tmp_path)
    for path in [*root.rglob("*")]:
        os.utime(path, (1_900_000_000, 1_900_000_000))
    described_again(root, after_s=90.5)
    assert YOUNG not in told(root)


def test_an_operator_that_never_committed_is_told_as_that(tmp_path: Path) -> None:
    from tests.unit.laws.test_state import leave_operator

    root = place_sample("3.5.7-dedup-hdfs-sound", tmp_path)
    leave_operator(root)
    found = told(root)
    assert "operator-never-committed" in found
    assert YOUNG not in found


@SPARKS
def test_keys_of_two_shapes(spark: str, tmp_path: Path) -> None:
    root = place_sample(f"{spark}-windowed-agg-hdfs-sound", tmp_path)
    give_a_shorter_window(root, 5)
    found = told(root)[SHAPES]
    assert (found.severity, found.path) == ("warning", "state/0/0")
    assert found.message.startswith("state/0 holds")
    assert "of windows of 5 s, since batch 4" in found.message


@SPARKS
@pytest.mark.parametrize("kind", ["windowed-agg-hdfs", "dedup-rocksdb", "join-hdfs", "session-window-hdfs"])
def test_keys_of_one(sample: Callable[[str], Path], spark: str, kind: str) -> None:
    name = f"{spark}-{kind}-sound"
    found = told(sample(name) / "checkpoint")
    assert not {YOUNG, SHAPES} & found.keys()
