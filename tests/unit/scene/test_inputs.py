"""What the newest batch reads, and which files of a Delta table lie between two offsets."""

from __future__ import annotations

from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.connectors.delta import END_OF_VERSION, DeltaOffset
from ckpttool.connectors.file import FileOffset
from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.formats.delta_log import DeltaCommit, DeltaFile
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import LastRange, files_between, first_version, last_ranges
from ckpttool.scene.scene import Scene, Start
from tests.builders import build


def files(*paths: str) -> tuple[DeltaFile, ...]:
    return tuple(map(DeltaFile, paths))


COMMITS = (DeltaCommit(3, new_data=files("3a", "3b")), DeltaCommit(4, new_data=files("4a", "4b")))


def delta(version: int, index: int, *, snapshot: bool = False) -> DeltaOffset:
    return DeltaOffset("certain", 1, "t", version, index, snapshot)


def between(start: DeltaOffset, end: DeltaOffset | None, *snapshot: str) -> list[str]:
    return [file.path for file in files_between(COMMITS, start, end, files(*snapshot))]


def test_files_lie_behind_the_start_and_up_to_the_end() -> None:
    assert between(delta(3, 0), delta(4, 0), "0", "1") == ["3b", "4a"]
    assert between(delta(3, -1), delta(3, END_OF_VERSION)) == ["3a", "3b"]
    assert between(delta(3, 1), None) == ["4a", "4b"]


def test_what_is_left_of_a_snapshot_comes_before_the_versions_behind_it() -> None:
    assert between(delta(3, 0, snapshot=True), delta(4, 1), "0", "1", "2") == ["1", "2", "4a", "4b"]
    assert between(delta(3, -1, snapshot=True), delta(3, 1, snapshot=True), "0", "1", "2") == ["0", "1"]
    assert between(delta(3, 2, snapshot=True), None, "0", "1", "2") == ["4a", "4b"]


def test_a_range_begins_at_its_start_or_before_its_end() -> None:
    assert first_version(LastRange("0", delta(2, 5), delta(4, 0))) == 2
    assert first_version(LastRange("0", None, delta(4, 0))) == 3
    assert first_version(LastRange("0", None, delta(4, 0, snapshot=True))) == 4
    assert first_version(LastRange("0", None, delta(0, 0))) == 0


def test_the_newest_batch_goes_on_where_the_one_before_ended(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(str(build(tmp_path, "f0 k0-10 c | f1 k10-20")))
    scene = Scene(gather_evidence(checkpoint), Start((4, 2, 0)))
    (one,) = last_ranges(scene, FileOffset)
    assert one.start
    assert (one.path, one.start.position, one.end.position) == ("sources/0", 0, 1)
    (topics,) = last_ranges(scene, KafkaOffset)
    assert topics.path == "sources/1"
