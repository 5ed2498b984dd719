"""What the files give away about their writer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckpttool import open_checkpoint
from ckpttool.scene.batches import decode_batches
from ckpttool.scene.evidence import Evidence, gather_evidence, unusual_confs
from tests.builders import build


def evidence_of(root: Path) -> Evidence:
    return gather_evidence(open_checkpoint(str(root)))


@pytest.mark.parametrize(
    ("spark", "low", "high"),
    [
        ("2.4.8", "2.4.0", "2.4.8"),
        ("3.0.1", "3.0.0", "3.0.3"),
        ("3.1.2", "3.1.0", "3.1.3"),
        ("3.2.1", "3.2.0", "3.2.1"),
        ("3.3.4", "3.2.2", "3.5.3"),
        ("3.5.7", "3.5.5", "3.5.8"),
        ("4.0.1", "4.0.0", "4.1.3"),
        ("4.2.0", "4.2.0", "4.2.1"),
        ("4.3.0", "4.3.0", "4.3.0"),
    ],
)
def test_pinned_configuration_is_a_fingerprint(tmp_path: Path, spark: str, low: str, high: str) -> None:
    written_by = evidence_of(build(tmp_path, "k0-10 c", spark=spark)).written_by
    assert (written_by.min, written_by.max) == (low, high)
    assert written_by.evidence


def test_spark_2_1_pins_nothing_and_has_no_commits(tmp_path: Path) -> None:
    build(tmp_path, "k0-10", spark="2.1.0")
    assert evidence_of(tmp_path).written_by.max == "2.1.3"


def test_the_name_that_only_3_5_4_wrote_names_it(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c", spark="3.5.7")
    file = tmp_path / "offsets" / "0"
    file.write_text(file.read_text().replace("spark.sql.optimizer.prune", "spark.databricks.sql.optimizer.prune"))
    written_by = evidence_of(tmp_path).written_by
    assert (written_by.min, written_by.max) == ("3.5.4", "3.5.4")


def test_a_second_version_of_the_offset_log_is_4_2_or_later(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c", offsets_version=2)
    written_by = evidence_of(tmp_path).written_by
    assert written_by.min == "4.2.0"
    assert any("format version 2" in reason for reason in written_by.evidence)


def test_an_unknown_set_of_confs_has_no_upper_bound(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c", spark="3.5.7")
    file = tmp_path / "offsets" / "0"
    file.write_text(file.read_text().replace('"spark.sql.streaming.join.stateFormatVersion":"2",', ""))
    written_by = evidence_of(tmp_path).written_by
    assert written_by.max is None
    assert written_by.min == "3.5.5"


def test_foreign_confs_do_not_disturb_the_fingerprint(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c", spark="4.2.0")
    file = tmp_path / "offsets" / "0"
    file.write_text(file.read_text().replace('"conf":{', '"conf":{"spark.vendor.key":"1",'))
    assert evidence_of(tmp_path).written_by.max == "4.2.1"


def test_holes_in_one_log_only_are_damage_and_not_asynchronous_progress(tmp_path: Path) -> None:
    evidence = evidence_of(build(tmp_path, "k0-10 c | lost c | k20-30 c | k30-40 c"))
    assert evidence.mode == "microbatch"


def test_a_hole_above_the_last_commit_proves_no_asynchronous_progress(tmp_path: Path) -> None:
    evidence = evidence_of(build(tmp_path, "k0-10 c | k10-20 c | k20-30 c | b4 k40-50"))
    assert evidence.mode == "microbatch"


def test_an_empty_metadata_line_is_continuous_processing(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c")
    for path in (tmp_path / "offsets").iterdir():
        path.write_text('v1\n\n{"0":{"value":1,"runTimeMs":1700000000000}}')
    assert evidence_of(tmp_path).mode == "continuous"


def test_defaults_are_not_shown_as_unusual(tmp_path: Path) -> None:
    assert unusual_confs(evidence_of(build(tmp_path, "k0-10 c")).newest) == {}


def test_what_differs_from_the_defaults_is_shown(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c")
    file = tmp_path / "offsets" / "0"
    file.write_text(file.read_text().replace('partitions":"200"', 'partitions":"7"'))
    assert unusual_confs(evidence_of(tmp_path).newest) == {"spark.sql.shuffle.partitions": "7"}


def write_at(root: Path, story: str, seconds_after_planning: float) -> Path:
    """The checkpoint of `story`, its logs written so long after each batch was planned."""
    build(root, story)
    for batch in decode_batches(open_checkpoint(str(root))):
        for log in ("offsets", "commits"):
            path = root / log / str(batch.id)
            if path.exists() and batch.planned_ms is not None:
                moment = batch.planned_ms / 1000 + seconds_after_planning
                os.utime(path, (moment, moment))
    return root


def test_logs_written_when_a_batch_ends_are_real_time_mode(tmp_path: Path) -> None:
    assert evidence_of(write_at(tmp_path, "k0-10 c | k10-20 c", 10)).mode == "realtime"


def test_logs_written_when_a_batch_begins_are_not(tmp_path: Path) -> None:
    assert evidence_of(write_at(tmp_path, "k0-10 c | k10-20 c", 0.1)).mode == "microbatch"


def test_the_times_of_a_copy_prove_nothing(tmp_path: Path) -> None:
    """A minute lies between the batches; files written ten minutes after each were copied."""
    assert evidence_of(write_at(tmp_path, "k0-10 c | k10-20 c", 600)).mode == "microbatch"
