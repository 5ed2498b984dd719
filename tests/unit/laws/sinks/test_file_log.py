"""A file sink's log: what stops the next batch in it, and what is told before it hurts."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.laws.health import told_of_health
from ckpttool.laws.sinks.horizon import what_stops
from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.model import Finding
from ckpttool.releases import NEWEST, Release
from ckpttool.scene.sinks import SinkEvidence, SinkView
from tests.builders import EPOCH_MS, build
from tests.unit.laws.scenes import SOUND, scene_of
from tests.unit.laws.sinks.tables import FRESH, at, output, said, told


def stopped(sink: SinkEvidence, batch: int, release: Release = NEWEST) -> str | None:
    failure = what_stops(SinkView(sink, at(batch)), release)
    return (failure.condition or failure.class_name) if failure else None


def test_a_batch_that_compacts_needs_every_entry() -> None:
    nine = [str(number) for number in range(9)]
    assert said(output(*nine), at(9)) == ("written", [])
    assert stopped(output(*nine), 9) is None
    assert stopped(output(*nine[1:]), 8) is None
    assert stopped(output(*nine[1:]), 9) == "BATCH_METADATA_NOT_FOUND"
    assert stopped(output(*nine[1:]), 9, (3, 4, 4)) == "java.lang.IllegalStateException"


def test_a_hole_where_a_compact_file_belongs_tells_the_setting() -> None:
    assert stopped(output("0", "1", "3", "4"), 5) == "BATCH_METADATA_NOT_FOUND"
    assert stopped(output("0", "1", "3", "4", "5"), 6) is None


def test_a_hole_is_told_before_it_hurts() -> None:
    verdict = judge_sink(SinkView(output("0", "1", "3", "4", "5"), at(6)))
    assert verdict.verdict == "written"
    assert told(verdict) == ["spark-metadata-missing-or-moved"]
    assert "readers fail now: _spark_metadata/2 doesn't exist, and batch 9 fails" in verdict.findings[0].message
    assert said(output("0", "9.compact", "10", "11"), at(12)) == ("written", [])
    assert told(judge_sink(SinkView(output("0", "9", "10", "11"), at(12)))) == ["spark-metadata-missing-or-moved"]


def test_names_that_make_no_interval_stop_the_batch() -> None:
    assert stopped(output("0", "4294967305.compact", "9.compact"), 4294967306) == "java.lang.AssertionError"


def test_what_lies_in_the_place_of_the_entry_stops_the_batch() -> None:
    nine = [str(number) for number in range(9)]
    for batch, name, log in ((9, "9.compact", output(*nine)), (10, "10", output(*nine, "9.compact"))):
        assert log.names
        taken = replace(log, names=replace(log.names, directories=(name,)))
        left = replace(log, names=replace(log.names, orphan_crcs=(f".{name}.crc",)))
        assert stopped(taken, batch) == "java.lang.IllegalStateException"
        assert stopped(left, batch) == "_LEGACY_ERROR_TEMP_2207"
        assert stopped(replace(left, path="s3://bucket/out"), batch) is None, "only local file systems keep them"


def test_an_entry_is_in_place_when_its_checksum_is_refused() -> None:
    log = output("0", "1")
    assert log.names
    left = replace(log, names=replace(log.names, orphan_crcs=(".2.crc",)))
    failure = what_stops(SinkView(left, at(2)), NEWEST)
    assert failure is not None
    assert failure.sink_written_first


def test_no_number_is_left_after_the_highest() -> None:
    assert stopped(output(str(LONG_MAX)), 1) == "java.lang.IllegalArgumentException"


def test_a_batch_that_the_sink_skips_writes_no_entry() -> None:
    assert stopped(output(*map(str, range(1, 10))), 9) is None


def test_the_law_that_stops_the_batch_is_named(tmp_path: Path) -> None:
    """And what happens to the sink then nobody knows."""
    evidence = gather_evidence(open_checkpoint(str(build(tmp_path, " | ".join(f"k{n}-{n + 1} c" for n in range(9))))))
    found = diagnose(Scene(evidence, Start((4, 2, 0)), sinks=(output(*map(str, range(1, 9))),)))
    assert found.prediction.law
    assert (found.prediction.law.id, [one.verdict for one in found.sinks]) == ("sink-log-write", ["unknown"])
    broken = [answer.law.id for answer in found.answers if answer.verdict == "broken"]
    assert broken == ["sink-log-write"]


def test_an_empty_log_below_committed_batches() -> None:
    verdict = judge_sink(SinkView(output(), at(3)))
    assert verdict.verdict == "written"
    assert told(verdict) == ["spark-metadata-missing-or-moved", "sink-behind-checkpoint"]
    assert said(output(), FRESH) == ("written", [])


def health_of(root: Path, sink: SinkEvidence) -> dict[str, Finding]:
    scene = replace(scene_of(build(root, SOUND)), sinks=(sink,))
    return {one.id: one for one in told_of_health(scene)}


@pytest.mark.parametrize(("size", "told"), [(100 * 2**20, True), (99 * 2**20, False), (None, False)])
def test_a_log_that_fills_the_driver(tmp_path: Path, size: int | None, told: bool) -> None:
    assert ("sink-log-large" in health_of(tmp_path, replace(output("9.compact"), log_bytes=size))) is told


@pytest.mark.parametrize(("written_ms", "told"), [(EPOCH_MS + 1, True), (EPOCH_MS - 1, False)])
def test_files_of_others_in_the_output(tmp_path: Path, written_ms: int, told: bool) -> None:
    """What was there before the query began, nobody expects in it."""
    found = health_of(tmp_path, replace(output("0"), unlisted={"part-1": written_ms}))
    assert ("sink-mixed-writers" in found) is told
    assert not told or found["sink-mixed-writers"].path == "out/part-1"
