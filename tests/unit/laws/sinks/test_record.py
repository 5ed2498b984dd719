"""What a sink has recorded, beside what the checkpoint says is done."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.model import SparkError
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from tests.builders import build
from tests.unit.laws.scenes import SOUND
from tests.unit.laws.sinks.tables import NEXT, Q, said, table, write


def test_committed_batches_that_the_sink_lacks() -> None:
    assert said(table(2, write(2)), NEXT) == ("written", ["sink-behind-checkpoint error"])
    assert said(table(None), NEXT) == ("written", ["sink-behind-checkpoint error"])
    assert said(table(None), replace(NEXT, committed=None))[1] == []
    appended = replace(table(None), ledger=(LedgerEntry(Q, 2, 1, False),))
    assert said(appended, NEXT) == ("written", [])  # foreachBatch may leave empty batches out


PLAIN = replace(NEXT, commits=frozenset(range(5)), planned_at={batch: 1_000 * batch for batch in range(5)})


def versions(*times: int) -> SinkEvidence:
    """Of a batch function that writes no number."""
    plain = [SinkWrite(f"version {one}", time, version=one) for one, time in enumerate(times)]
    return table(None, *plain)


def test_the_newest_batch_of_a_function_that_wrote_each_before() -> None:
    assert said(versions(500, 1_500, 2_500, 3_500, 4_500), PLAIN)[1] == []
    assert said(versions(500, 1_500, 2_500, 3_500), PLAIN)[1] == ["sink-behind-checkpoint warning"]
    assert said(versions(500, 1_500, 3_500), PLAIN)[1] == [], "it leaves batches out"
    without_rows = replace(PLAIN, rows_of={4: 0})
    assert said(versions(500, 1_500, 2_500, 3_500), without_rows)[1] == []


def numbered(*batches: int, **fields: object) -> SinkEvidence:
    """Of a batch function that writes each batch's number."""
    writes = [write(one, 1_000 * one + 500, version=one) for one in batches]
    return table(None, *writes, ledger=(LedgerEntry(Q, batches[-1], 1, False),), key_given=True, **fields)


def test_the_newest_batch_of_a_function_that_numbered_each_before() -> None:
    assert said(numbered(0, 1, 2, 3, 4), PLAIN)[1] == []
    assert said(numbered(0, 1, 2), PLAIN)[1] == ["sink-behind-checkpoint warning"]
    assert said(numbered(0, 2), PLAIN)[1] == [], "it leaves batches out"
    assert said(numbered(0, 1, 2), replace(PLAIN, rows_of={3: 0, 4: 0}))[1] == []
    assert said(numbered(2, 3, seen_from_ms=2_000), PLAIN)[1] == ["sink-behind-checkpoint warning"]
    assert said(numbered(2, 3, seen_from_ms=None), PLAIN)[1] == [], "what came before is not seen"
    assert said(replace(numbered(0, 1, 2), key="another"), PLAIN)[1] == [], "its record is not this query's"


def test_a_commit_that_is_no_json_fails_the_batch_as_delta_fails(tmp_path: Path) -> None:
    torn = MalformedFile(
        "the JSON ends too early", expected="JSON", spark=SparkError("com.fasterxml.jackson.core.io.JsonEOFException")
    )
    sink = SinkEvidence("delta", "t", error=torn)
    scene = Scene(gather_evidence(open_checkpoint(str(build(tmp_path, SOUND)))), Start((3, 5, 7)), sinks=(sink,))
    error = diagnose(scene).prediction.error
    assert error is not None
    assert (error.phase, error.batch_id, error.condition) == (
        "batch",
        4,
        "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )
    before = replace(scene, start=Start((3, 4, 4)))
    assert diagnose(before).prediction.outcome == "unknown"
    unread = replace(scene, sinks=(replace(sink, error=LeftUnread("too large", expected="less")),))
    assert diagnose(unread).prediction.outcome == "unknown"
