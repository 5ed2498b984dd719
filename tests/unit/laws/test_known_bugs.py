"""Findings that a bug may have caused name it, and where it is mended; for releases that have it, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.laws.known_bugs import with_causes
from ckpttool.model import Finding, VersionRange
from ckpttool.releases import Release
from ckpttool.scene.sinks import SinkEvidence, SinkKind
from tests.builders import build
from tests.unit.kafka.scenes import query

NEW: Release = (4, 2, 0)
SST = "state/0/0/SSTs/000008-a.sst"
SHORT = Finding("state-file-corrupt", "error", SST, "3 bytes, where the snapshot says 9", next_step="restore it")


def written_by(first: str, last: str, start: Release = NEW) -> Scene:
    scene = query({"t": {0: 1}}, release=start)
    return replace(scene, evidence=replace(scene.evidence, written_by=VersionRange(first, last, ())))


def step(finding: Finding, first: str, last: str) -> str:
    return with_causes(finding, written_by(first, last)).next_step or ""


@pytest.mark.parametrize(
    ("first", "last", "issues", "mended"),
    [
        ("3.5.2", "3.5.3", ("SPARK-49770", "SPARK-51717", "SPARK-52637"), "4.1.0"),
        ("3.3.0", "3.3.4", ("SPARK-43404", "SPARK-47036"), "4.1.0"),
        ("4.0.0", "4.0.4", ("SPARK-52637",), "4.1.0"),
    ],
)
def test_a_table_file_of_another_size_has_known_causes(
    first: str, last: str, issues: tuple[str, ...], mended: str
) -> None:
    told = step(SHORT, first, last)
    assert told.startswith("restore it. ")
    assert all(issue in told for issue in issues)
    assert told.endswith(f"mended in {mended}")


def test_what_was_mended_before_is_no_cause() -> None:
    assert "SPARK-47036" not in step(SHORT, "3.5.2", "3.5.3")
    assert step(SHORT, "4.1.0", "4.1.3") == "restore it"


def test_damage_of_another_kind_has_no_known_cause() -> None:
    assert step(replace(SHORT, path="state/0/0/7.delta"), "3.5.0", "3.5.0") == "restore it"
    assert step(replace(SHORT, message="its end is not RocksDB's"), "3.5.0", "3.5.0") == "restore it"


def test_what_no_release_mends_says_so() -> None:
    hole = Finding("previous-offset-missing", "error", "offsets/7", "Spark needs the offsets of batch 7")
    assert step(hole, "3.5.0", "4.2.0") == "SPARK-38033 is a known cause, and no release mends it"


@pytest.mark.parametrize(("kind", "is_cause"), [("hudi", True), ("delta", False)])
def test_a_bug_of_a_sinks_connector_names_the_connectors_release(kind: SinkKind, is_cause: bool) -> None:
    behind = Finding("sink-behind-checkpoint", "error", "t", "the rows of batch 3 are not in it")
    scene = replace(written_by("3.5.0", "3.5.0"), sinks=(SinkEvidence(kind, "t"),))
    told = with_causes(behind, scene).next_step
    assert told == ("HUDI-4665 is a known cause, mended in Hudi 0.12.1" if is_cause else None)


@pytest.mark.parametrize("named", [True, False])
def test_iceberg_minds_its_beginning_with_one_trigger_alone(named: bool) -> None:
    where = "; with Trigger.AvailableNow the source goes there from where it began, snapshot 1" if named else ""
    gone = Finding("iceberg-snapshot-gone", "error", "t", f"snapshot 1 is gone{where}")
    assert ("apache/iceberg#18000 is a known cause" in step(gone, "3.5.0", "3.5.0")) == named


def test_a_table_file_that_is_gone_has_one_of_its_own() -> None:
    gone = Finding("state-file-missing", "error", SST, "the file is not there")
    assert step(gone, "4.1.0", "4.1.0") == "SPARK-55892 is a known cause, mended in 4.2.0"
    assert step(gone, "4.2.0", "4.2.0") == ""


@pytest.mark.parametrize(("line", "is_cause"), [({}, True), ({"t": {0: 2}}, False)])
def test_an_empty_end_of_kafka_was_an_answer_of_no_partitions(line: dict[str, dict[int, int]], is_cause: bool) -> None:
    scene = query({"t": {0: 1, 1: 1}}, line, replay=True)
    scene = replace(scene, evidence=replace(scene.evidence, written_by=VersionRange("3.2.2", "3.5.3", ())))
    told = [finding for finding in diagnose(scene).findings if finding.id == "partitions-gone"]
    assert told
    assert any("SPARK-41375 is a known cause, mended in 3.3.2" in (one.next_step or "") for one in told) == is_cause


@pytest.mark.parametrize(("release", "is_cause"), [((3, 5, 6), True), ((4, 0, 2), False)])
def test_of_other_bugs_the_release_counts_that_starts(release: Release, is_cause: bool) -> None:
    finding = Finding("available-now-verification", "error", ".", "not in both")
    told = with_causes(finding, written_by("3.4.0", "3.4.0", release)).next_step
    assert told == ("SPARK-53560 is a known cause, mended in 3.5.7 and 4.0.2" if is_cause else None)


@pytest.mark.parametrize(
    ("offset", "options", "told"),
    [
        ('{"version":1,"snapshot_id":7,"position":0,"scan_all_files":false}', {"Stream-From-Timestamp": "5"}, True),
        ('{"version":1,"snapshot_id":7,"position":0,"scan_all_files":false}', {"branch": "x"}, False),
        ('{"snapshotId":3,"index":20,"scanSnapshot":false}', {"scan.mode": "latest-full"}, True),
        ('{"snapshotId":3,"index":20,"scanSnapshot":false}', {"scan.mode": "latest"}, False),
        ('{"snapshotId":3,"index":20,"scanSnapshot":false}', {}, True),
        ('{"snapshotId":3,"index":20,"scanSnapshot":false}', {"scan.snapshot-id": "3"}, False),
        ('{"logOffset":3}', {"stream-from-timestamp": "5"}, False),
    ],
)
def test_a_bug_of_a_connector_is_told_where_the_restart_meets_it(
    tmp_path: Path, offset: str, options: dict[str, str], told: bool
) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    for path in (root / "offsets").iterdir():
        if path.name.isdecimal():
            lines = path.read_text().split("\n")
            path.write_text("\n".join((*lines[:2], offset)))
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    (root / "sources" / "0" / "0").unlink()
    scene = Scene(gather_evidence(open_checkpoint(str(root))), Start(NEW, options=options))
    assert ("known-bug" in {finding.id for finding in diagnose(scene).findings}) == told
