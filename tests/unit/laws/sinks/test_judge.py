"""The verdicts that real Spark is not asked for, and the edges of those it is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.formats.names import parse_log_names
from ckpttool.laws.sinks.judge import judge_sink
from ckpttool.scene.sinks import LedgerEntry, Logs, SinkEvidence, SinkVerdict, SinkView, SinkWrite

Q, NOW = "q", 100_000
REPLAY = Logs(5, is_replay=True, committed=4, planned=5, planned_ms=50_000, query_id=Q, now_ms=NOW)
NEXT = Logs(5, committed=4, planned=4, query_id=Q, now_ms=NOW)
FRESH = Logs(0, now_ms=NOW)


def table(last: int | None, *writes: SinkWrite, **fields: object) -> SinkEvidence:
    ledger = () if last is None else (LedgerEntry(Q, last, 51_000),)
    base = SinkEvidence("delta", "t", key=Q, ledger=ledger, writes=writes, seen_from_ms=0)
    return replace(base, **fields)


def write(batch: int | None = 5, at: int | None = 51_001, app_id: str | None = Q, **fields: object) -> SinkWrite:
    base = SinkWrite("version 9", at, app_id, batch)
    return replace(base, **fields)


def said(evidence: SinkEvidence, facts: Logs = REPLAY) -> tuple[str, list[str]]:
    verdict = judge_sink(SinkView(evidence, facts))
    return verdict.verdict, [f"{one.id} {one.severity}" for one in verdict.findings]


# -- skipped -----------------------------------------------------------------------------------------------------------


def test_a_replay_that_the_sink_has() -> None:
    assert said(table(5, write())) == ("skipped_already_written", [])


def test_planned_after_the_write() -> None:
    assert said(table(5, write(at=49_999))) == ("skipped_rows_lost", ["replanned-after-sink-commit error"])


def test_a_time_in_whole_seconds_may_mean_the_end_of_the_second() -> None:
    late = replace(REPLAY, planned_ms=49_900)
    assert said(table(5, write(at=49_000)), late)[0] == "skipped_already_written"
    assert said(table(5, write(at=48_000)), late)[0] == "skipped_rows_lost"


def test_rows_that_went_are_lost_and_rows_that_may_have_gone_are_unknown() -> None:
    lost = ("skipped_rows_lost", ["sink-table-changed-under-checkpoint error"])
    assert said(table(5, write(rows_lost="RESTORE in version 9 took its rows out"))) == lost
    assert said(table(5, write(rows_unsure="perhaps")))[0] == "unknown"
    assert said(table(5, write(empty=True, rows_unsure="perhaps")))[0] == "skipped_already_written"


def test_a_number_that_was_passed_without_a_write() -> None:
    assert said(table(7, write(7)))[0] == "skipped_rows_lost"
    assert said(table(7, write(7), seen_from_ms=50_001))[0] == "unknown"
    assert said(table(7, write(7), seen_from_ms=None))[0] == "unknown"


def test_without_times_nothing_is_certain() -> None:
    assert said(table(5, write(at=None)))[0] == "unknown"
    assert said(table(5, write()), replace(REPLAY, planned_ms=None))[0] == "unknown"


def test_a_new_batch_is_lost_unless_its_rows_are_certain() -> None:
    assert said(table(5, write()), NEXT) == ("skipped_rows_lost", ["rewound-checkpoint-same-id error"])
    assert said(table(5, write()), replace(NEXT, same_rows=True))[0] == "skipped_already_written"
    gone = table(5, write(rows_lost="RESTORE"))
    assert said(gone, replace(NEXT, same_rows=True))[0] == "skipped_rows_lost"


def test_a_record_ahead_of_the_checkpoint_is_an_error_whatever_the_next_batch() -> None:
    ahead = table(8, write(), write(8))
    assert said(ahead) == ("skipped_already_written", ["rewound-checkpoint-same-id error"])
    assert "batches 6 to 8" in judge_sink(SinkView(ahead, REPLAY)).findings[0].message
    assert said(ahead, replace(REPLAY, empty=True))[1] == ["rewound-checkpoint-same-id error"]
    assert "up to 8" in judge_sink(SinkView(ahead, NEXT)).findings[0].message


def test_a_constant_number_of_the_users_own() -> None:
    constant = SinkEvidence("delta", "t", key="my-job", key_given=True, ledger=(LedgerEntry("my-job", 8, 1, False),))
    assert said(constant, FRESH) == ("skipped_rows_lost", ["constant-txnAppId-after-reset error"])


def test_an_empty_batch_is_written_unless_it_was() -> None:
    nothing = replace(REPLAY, empty=True)
    assert said(table(5, write(at=1)), nothing)[0] == "written"
    assert said(table(5, write()), nothing)[0] == "skipped_already_written"
    assert said(table(5), replace(NEXT, rows=0))[0] == "written"
    assert said(table(None), nothing)[0] == "written"


# -- written -----------------------------------------------------------------------------------------------------------


def test_the_record_ends_before_the_batch() -> None:
    assert said(table(4, write(4))) == ("written", [])
    assert said(table(4, write(4)), NEXT) == ("written", [])


def test_rows_under_a_number_above_the_record_come_twice() -> None:
    assert said(table(4, write())) == ("duplicated", ["sink-ledger-lowered error"])
    assert said(table(4, write(rows_lost="RESTORE")))[0] == "written"
    assert said(table(4, write(empty=True)))[0] == "written"
    assert said(table(4, write(rows_unsure="perhaps")))[0] == "unknown"


@pytest.mark.parametrize("updated", [90_000, None])
def test_an_expired_record_stops_nothing(updated: int | None) -> None:
    entry = (LedgerEntry(Q, 5, updated),)
    expired = table(5, write(), ledger=entry, forgets=True, retention_ms=10_000)
    assert said(expired) == ("duplicated", ["txn-expired error"])
    if updated:
        assert said(replace(expired, retention_ms=10_001))[0] == "skipped_already_written"


def test_what_was_forgotten_with_its_traces_is_unknown_only_where_it_matters() -> None:
    forgotten = table(None, write(9, app_id=None), forgets=True, retention_ms=1, seen_from_ms=60_000)
    assert said(forgotten)[0] == "unknown"
    assert said(forgotten, NEXT)[0] == "written"
    assert said(replace(forgotten, writes=(), seen_from_ms=40_000))[0] == "written"


def other(batch: int, native: bool | None = True) -> tuple[LedgerEntry, ...]:
    return (LedgerEntry("other", batch, 51_000, native),)


def test_another_id_of_the_same_query() -> None:
    there = table(None, write(app_id="other"), ledger=other(5))
    assert said(there) == ("duplicated", ["checkpoint-deleted-sink-kept error"])
    assert said(replace(there, writes=(write(app_id="other", rows_lost="DELETE"),)))[0] == "written"
    assert said(replace(there, writes=()))[0] == "unknown"
    assert said(replace(there, ledger=other(4))) == ("written", [])
    assert said(replace(there, key="mine", key_given=True))[0] == "written"


def test_numbers_of_ordinary_writes_are_listed() -> None:
    evidence = table(None, write(app_id="other"), ledger=other(5, native=False))
    verdict = judge_sink(SinkView(evidence, REPLAY))
    assert verdict.verdict == "unknown"
    assert "other (batch 5)" in verdict.why


def test_writes_without_a_number() -> None:
    since = write(None, app_id=None, rows=12, operation="WRITE")
    before = write(None, at=1, app_id=None, rows=99)
    rows = replace(REPLAY, rows=12)
    assert said(table(None, before, since), rows)[0] == "duplicated"
    assert said(table(None, before, since), replace(REPLAY, rows=13))[0] == "unknown"
    assert said(table(None, before, since))[0] == "unknown"
    assert said(table(None, before), rows)[0] == "written"
    assert said(table(None, before, replace(since, operation="OPTIMIZE")), rows)[0] == "written"
    assert said(table(None, before, seen_from_ms=60_000), rows)[0] == "unknown"
    assert said(table(None, before, since), NEXT)[0] == "written"


def test_committed_batches_that_the_sink_lacks() -> None:
    assert said(table(2, write(2)), NEXT) == ("written", ["sink-behind-checkpoint error"])
    assert said(table(None), NEXT) == ("written", ["sink-behind-checkpoint warning"])
    assert said(table(None), replace(NEXT, committed=None))[1] == []
    appended = replace(table(None), ledger=(LedgerEntry(Q, 2, 1, False),))
    assert said(appended, NEXT) == ("written", [])  # foreachBatch may leave empty batches out


def test_rows_of_the_last_committed_batch_went() -> None:
    gone = table(4, write(4, rows_lost="RESTORE in version 9 took its rows out"))
    assert said(gone, NEXT) == ("written", ["sink-table-changed-under-checkpoint warning"])


def test_what_could_not_be_read_is_unknown() -> None:
    assert said(table(5, write(), incomplete="no pyarrow"))[0] == "unknown"
    unreachable = SinkEvidence("unknown", "s3://b/t", error=Unavailable("no route to host"))
    assert said(unreachable) == ("unknown", ["sink-unreachable warning"])
    torn = replace(unreachable, error=MalformedFile("no JSON", expected="JSON"))
    assert said(torn) == ("unknown", ["sink-unreadable warning"])


# -- sinks without a record --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["kafka", "jdbc", "foreachBatch", "unknown"])
def test_without_a_record_only_a_replay_is_in_doubt(kind: str) -> None:
    evidence = SinkEvidence(kind, kind)  # type: ignore[arg-type]
    assert judge_sink(SinkView(evidence, REPLAY)).verdict == "unknown"
    assert "non-idempotent-sink-replay" in told(judge_sink(SinkView(evidence, REPLAY)))
    assert said(evidence, FRESH) == ("written", [])
    lacking = ["sink-behind-checkpoint warning"] if kind == "unknown" else []
    assert said(evidence, NEXT) == ("written", lacking)
    assert said(evidence, replace(REPLAY, empty=True)) == ("written", lacking)


@pytest.mark.parametrize("kind", ["noop", "memory"])
def test_what_keeps_nothing_is_written(kind: str) -> None:
    assert said(SinkEvidence(kind, kind)) == ("written", [])  # type: ignore[arg-type]


def test_what_does_not_exist_yet_is_empty() -> None:
    missing = SinkEvidence("unknown", "/nowhere", exists=False)
    assert said(missing, FRESH) == ("written", [])
    assert said(missing) == ("written", ["sink-behind-checkpoint warning"])


# -- the file sink's log -----------------------------------------------------------------------------------------------


def output(*names: str) -> SinkEvidence:
    listed = parse_log_names(names)
    last = max([*listed.ids, *listed.compact_ids], default=None)
    ledger = () if last is None else (LedgerEntry(None, last),)
    return SinkEvidence("file", "out", ledger=ledger, names=listed)


def at(batch: int) -> Logs:
    return Logs(batch, committed=batch - 1, planned=batch - 1, query_id=Q, now_ms=NOW)


def test_a_batch_that_compacts_needs_every_entry() -> None:
    nine = [str(number) for number in range(9)]
    assert said(output(*nine), at(9)) == ("written", [])
    verdict = judge_sink(SinkView(output(*nine[1:]), at(9)))
    assert verdict.verdict == "unknown"
    assert told(verdict) == ["spark-metadata-missing-or-moved"]
    assert verdict.findings[0].spark
    assert verdict.findings[0].spark.condition == "BATCH_METADATA_NOT_FOUND"


def test_a_hole_where_a_compact_file_belongs_tells_the_setting() -> None:
    assert said(output("0", "1", "3", "4"), at(5))[0] == "unknown"
    assert said(output("0", "1", "3", "4", "5"), at(6))[0] == "written"


def test_a_hole_is_told_before_it_hurts() -> None:
    verdict = judge_sink(SinkView(output("0", "1", "3", "4", "5"), at(6)))
    assert verdict.verdict == "written"
    assert told(verdict) == ["spark-metadata-missing-or-moved"]
    assert "entry 2 is missing: readers fail, and batch 9 will" in verdict.findings[0].message
    assert said(output("0", "9.compact", "10", "11"), at(12)) == ("written", [])
    assert told(judge_sink(SinkView(output("0", "9", "10", "11"), at(12)))) == ["spark-metadata-missing-or-moved"]


def test_names_that_make_no_interval_stop_the_batch() -> None:
    assert said(output("0", "4294967305.compact", "9.compact"), at(4294967306))[0] == "unknown"


def test_an_empty_log_below_committed_batches() -> None:
    verdict = judge_sink(SinkView(output(), at(3)))
    assert verdict.verdict == "written"
    assert told(verdict) == ["spark-metadata-missing-or-moved", "sink-behind-checkpoint"]
    assert said(output(), FRESH) == ("written", [])


def told(verdict: SinkVerdict) -> list[str]:
    return [one.id for one in verdict.findings]
