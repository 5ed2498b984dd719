"""Lines and beginnings that a Kafka source does not take, without a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.releases import Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import build
from tests.unit.laws.kafka.cases import NAMED, NEW, OLD

REQUIREMENT = "java.lang.IllegalArgumentException"


def restarted(root: Path, release: Release = NEW, trigger: Any = None, **options: str) -> Diagnosis:
    evidence = gather_evidence(load_checkpoint(open_store(str(root))))
    return diagnose(Scene(evidence, Start(release, trigger, options=options)))


def with_line(root: Path, story: str, batch: int, line: str) -> Path:
    path = build(root, story) / "offsets" / str(batch)
    path.write_text("\n".join([*path.read_text().splitlines()[:2], line]))
    return root


@pytest.mark.parametrize("line", ["7", '{"logOffset":3}', '"x"', '{"t":{"0":"5"}}', "{"])
@pytest.mark.parametrize(("story", "batch"), [("k0-5 c | k5-9 c", 2), ("k0-5 c | k5-9", 1)])
def test_a_damaged_line_fails_in_the_batch_whatever_it_looks_like(
    tmp_path: Path, line: str, story: str, batch: int
) -> None:
    told = restarted(with_line(tmp_path, story, 1, line))
    error = told.prediction.error
    assert error
    assert (error.class_name, error.phase, error.batch_id, error.path) == (REQUIREMENT, "batch", batch, "offsets/1")
    assert "kafka-offsets-refused" in [finding.id for finding in told.findings]


def test_a_line_that_nobody_reads_stops_nothing(tmp_path: Path) -> None:
    assert restarted(with_line(tmp_path, "k0-5 c | k5-9 c", 0, "7")).prediction.outcome == "new_batch"


def test_a_partition_that_the_batch_lacks_is_missed_without_a_broker(tmp_path: Path) -> None:
    with_line(tmp_path, "k0-5 c | k5-9", 1, "{}")
    error = restarted(tmp_path).prediction.error
    assert error
    assert (error.class_name, error.condition) == (NAMED, "KAFKA_DATA_LOSS.PARTITIONS_DELETED")
    assert restarted(tmp_path, failOnDataLoss="false").prediction.outcome == "replay"


@pytest.mark.parametrize("release", [OLD, NEW])
def test_where_it_began_is_read_until_batch_0_is_committed(tmp_path: Path, release: Release) -> None:
    (build(tmp_path / "a", "k0-5") / "sources" / "0" / "0").write_bytes(b"\0vx\n{}")
    error = restarted(tmp_path / "a", release).prediction.error
    assert error
    named = ("org.apache.spark.SparkIllegalStateException", "MALFORMED_LOG_FILE")
    assert (error.class_name, error.condition) == (
        named if release == NEW else ("java.lang.IllegalStateException", None)
    )
    (build(tmp_path / "b", "k0-5 c") / "sources" / "0" / "0").write_bytes(b"\0vx\n{}")
    assert restarted(tmp_path / "b", release).prediction.outcome == "new_batch"


@pytest.mark.parametrize(
    ("release", "outcome"), [((3, 5, 6), "error"), ((3, 5, 7), "new_batch"), ((4, 0, 1), "error"), (NEW, "new_batch")]
)
def test_some_releases_prepare_available_now_by_reading_the_beginning(
    tmp_path: Path, release: Release, outcome: str
) -> None:
    (build(tmp_path, "k0-5 c") / "sources" / "0" / "0").write_bytes(b"\0vx\n{}")
    told = restarted(tmp_path, release, "available-now").prediction
    assert told.outcome == outcome
    assert told.error is None or (told.error.phase, told.error.batch_id) == ("init", None)


def test_without_its_beginning_the_broker_decides(tmp_path: Path) -> None:
    (build(tmp_path, "k0-5") / "sources" / "0" / "0").unlink()
    assert restarted(tmp_path, subscribe="t").prediction.outcome == "unknown"
    assert restarted(tmp_path, subscribe="t", startingOffsets="earliest").prediction.outcome == "replay"


def test_a_committed_batch_without_an_offset_is_read_again(tmp_path: Path) -> None:
    told = restarted(with_line(tmp_path, "k0-5 c | k5-9 c", 1, "-"))
    assert [range_.start for range_ in told.prediction.sources] == [{"t": {"0": 5}}]
    [lost] = [finding for finding in told.findings if finding.id == "offset-regression"]
    assert "reads the rows of batch 1 again" in lost.message
