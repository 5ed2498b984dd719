"""The socket source: each case is a restart that real Spark was seen to make of it, with 3.5.7 and 4.2.0."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.releases import parse_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start

HEAD = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{"spark.sql.shuffle.partitions":"1"}}'
GONE = ("java.lang.IndexOutOfBoundsException", "at 0 deleting 3")
RELEASES = ("3.5.7", "4.2.0")


def leave(root: Path, ends: tuple[str, ...], committed: int, head: str = HEAD) -> Path:
    for name in ("offsets", "commits"):
        (root / name).mkdir()
    (root / "metadata").write_text('{"id":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"}')
    for batch, end in enumerate(ends):
        (root / "offsets" / f"{batch}").write_text(f"v1\n{head}\n{end}")
    for batch in range(committed):
        (root / "commits" / f"{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    return root


def restart(root: Path, spark: str, **options: str) -> Diagnosis:
    given = {"host": "localhost", "port": "9999"} | options
    evidence = gather_evidence(load_checkpoint(open_store(str(root))))
    return diagnose(Scene(evidence, Start(parse_release(spark), options=given)))


def told(diagnosis: Diagnosis) -> list[str]:
    return [one.message for one in diagnosis.findings if one.id == "socket-begins-anew"]


def test_before_scala_2_13_it_cannot_let_go_of_rows_that_it_has_not(tmp_path: Path) -> None:
    said = restart(leave(tmp_path, ("-1", "2"), 2), "3.5.7")
    error = said.prediction.error
    assert error
    assert (error.phase, error.batch_id, (error.class_name, error.message)) == ("batch", 2, GONE)
    assert (len(told(said)), said.exit_code) == (1, 1)


def test_since_then_the_batch_after_the_next_one_is_not_planned(tmp_path: Path) -> None:
    said = restart(leave(tmp_path, ("-1", "2"), 2), "4.2.0")
    assert (said.prediction.outcome, said.prediction.batch_id, said.exit_code) == ("new_batch", 2, 1)
    assert "Offsets committed out of order: 2 followed by -1" in told(said)[0]


@pytest.mark.parametrize("spark", RELEASES)
def test_a_batch_that_runs_again_has_lost_its_rows(tmp_path: Path, spark: str) -> None:
    said = restart(leave(tmp_path, ("-1", "2"), 1), spark)
    assert (said.prediction.outcome, said.prediction.batch_id, said.exit_code) == ("replay", 1, 1)
    assert "without 3 rows" in told(said)[0]


@pytest.mark.parametrize("spark", RELEASES)
def test_a_batch_that_ends_where_the_source_begins_has_none_to_lose(tmp_path: Path, spark: str) -> None:
    said = restart(leave(tmp_path, ("-1", "2", "-1"), 2), spark)
    assert (said.prediction.outcome, said.prediction.batch_id, told(said)) == ("replay", 2, [])


@pytest.mark.parametrize("spark", RELEASES)
def test_where_it_has_ended_at_its_beginning_nothing_is_new_to_it(tmp_path: Path, spark: str) -> None:
    said = restart(leave(tmp_path, ("-1",), 1), spark)
    assert (said.prediction.outcome, said.exit_code) == ("new_batch", 1)
    assert "it connects only for one" in told(said)[0]


@pytest.mark.parametrize("spark", RELEASES)
def test_what_is_no_number_is_not_parsed(tmp_path: Path, spark: str) -> None:
    error = restart(leave(tmp_path, ("-1", "x"), 2), spark).prediction.error
    assert error
    assert (error.phase, error.class_name) == ("batch", "java.lang.NumberFormatException")


def test_without_its_options_it_is_not_known_and_they_are_named(tmp_path: Path) -> None:
    evidence = gather_evidence(load_checkpoint(open_store(str(leave(tmp_path, ("-1", "2"), 2)))))
    said = diagnose(Scene(evidence, Start((3, 5, 7))))
    assert said.prediction.outcome == "unknown"
    assert "--option host=… --option port=…" in said.prediction.why[0]


@pytest.mark.parametrize("spark", RELEASES)
@pytest.mark.parametrize(("given", "outcome"), [({}, "new_batch"), ({"numPartitions": "2"}, "new_batch")])
def test_continuous_processing_counts_on(tmp_path: Path, spark: str, given: dict[str, str], outcome: str) -> None:
    said = restart(leave(tmp_path, ("[0,0]", "[2,1]"), 2, head=""), spark, **given)
    assert (said.prediction.outcome, told(said)) == (outcome, [])


@pytest.mark.parametrize("spark", RELEASES)
def test_continuous_processing_keeps_its_partitions(tmp_path: Path, spark: str) -> None:
    error = restart(leave(tmp_path, ("[0,0]", "[2,1]"), 2, head=""), spark, numPartitions="1").prediction.error
    assert error
    assert (error.phase, error.class_name) == ("init", "java.lang.IllegalArgumentException")
    assert error.message == "The previous run contained 2 partitions, but 1 partitions are currently"
