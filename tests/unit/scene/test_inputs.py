"""What the newest batch reads, and which files of a Delta table lie between two offsets."""

from __future__ import annotations

from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.connectors.delta import END_OF_VERSION, DeltaOffset
from ckpttool.connectors.file import FileOffset
from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.formats.delta_log import DeltaCommit
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import LastRange, files_between, first_version, last_ranges
from ckpttool.scene.scene import Scene, Start
from tests.builders import build

COMMITS = (DeltaCommit(3, new_data=("3a", "3b")), DeltaCommit(4, new_data=("4a", "4b")))


def delta(version: int, index: int, *, snapshot: bool = False) -> DeltaOffset:
    return DeltaOffset("certain", 1, "t", version, index, snapshot)


def test_files_lie_behind_the_start_and_up_to_the_end() -> None:
    assert files_between(COMMITS, delta(3, 0), delta(4, 0)) == ["3b", "4a"]
    assert files_between(COMMITS, delta(3, -1), delta(3, END_OF_VERSION)) == ["3a", "3b"]
    assert files_between(COMMITS, delta(3, 1), None) == ["4a", "4b"]


def test_a_snapshot_stands_for_its_whole_version() -> None:
    assert files_between(COMMITS, delta(3, 0, snapshot=True), delta(4, 1)) == ["4a", "4b"]


def test_a_range_begins_at_its_start_or_before_its_end() -> None:
    assert first_version(LastRange("0", delta(2, 5), delta(4, 0))) == 2
    assert first_version(LastRange("0", None, delta(4, 0))) == 3
    assert first_version(LastRange("0", None, delta(4, 0, snapshot=True))) == 4
    assert first_version(LastRange("0", None, delta(0, 0))) == 0


def test_the_newest_batch_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(build(tmp_path, "f0 k0-10 c | f1 k10-20")))
    scene = Scene(gather_evidence(checkpoint), Start((4, 2, 0)))
    (files,) = last_ranges(scene, FileOffset)
    assert files.start
    assert (files.path, files.start.position, files.end.position) == ("sources/0", 0, 1)
    (topics,) = last_ranges(scene, KafkaOffset)
    assert topics.path == "sources/1"
