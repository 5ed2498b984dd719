"""The verdicts on a batch whose number the record has: those that real Spark is not asked for, and edges."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkView, SinkWrite
from tests.unit.laws.sinks.tables import FRESH, NEXT, REPLAY, said, table, write


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


def test_a_record_ahead_of_the_checkpoint_is_an_error_whatever_the_next_batch() -> None:
    ahead = table(8, write(), write(8))
    assert said(ahead) == ("skipped_already_written", ["rewound-checkpoint-same-id error"])
    assert "batches 6 to 8" in judge_sink(SinkView(ahead, REPLAY)).findings[0].message
    assert said(ahead, replace(REPLAY, empty=True))[1] == ["rewound-checkpoint-same-id error"]
    assert "up to 8" in judge_sink(SinkView(ahead, NEXT)).findings[0].message


def test_a_constant_number_of_the_users_own() -> None:
    constant = SinkEvidence("delta", "t", key="my-job", key_given=True, ledger=(LedgerEntry("my-job", 8, 1, False),))
    assert said(constant, FRESH) == ("skipped_rows_lost", ["constant-txnAppId-after-reset error"])


def test_rows_of_the_last_committed_batch_went() -> None:
    gone = table(4, write(4, rows_lost="RESTORE in version 9 took its rows out"))
    assert said(gone, NEXT) == ("written", ["sink-table-changed-under-checkpoint warning"])


def test_hudis_sink_knows_no_query_unless_it_was_given_an_identifier() -> None:
    hudi = SinkEvidence("hudi", "t", key="default_single_writer", ledger=(LedgerEntry("default_single_writer", 8, 1),))
    assert said(hudi, FRESH) == ("skipped_rows_lost", ["file-sink-skips-by-number error"])
    mine = replace(hudi, key="mine", key_given=True, ledger=(LedgerEntry("mine", 8, 1),))
    assert said(mine, FRESH) == ("skipped_rows_lost", ["constant-txnAppId-after-reset error"])
    assert said(replace(mine, key="default_single_writer", key_given=False), REPLAY)[0] == "unknown"


def overwritten(*takers: int) -> SinkEvidence:
    """A table without numbers, whose version n was taken out by the nth of these (0: by nobody)."""
    writes = [
        SinkWrite(f"version {one}", one, version=one, operation="WRITE", **_taken(taker))
        for one, taker in enumerate(takers)
    ]
    return table(None, *writes)


def _taken(taker: int) -> dict[str, Any]:
    return {"rows_lost": f"WRITE in version {taker} took its rows out", "taken_by": taker} if taker else {}


def test_one_write_that_takes_what_several_left_is_not_what_a_function_does_each_time() -> None:
    assert said(overwritten(3, 3, 3, 0), NEXT)[1] == ["sink-table-changed-under-checkpoint warning"]
    assert said(overwritten(1, 2, 3, 0), NEXT)[1] == [], "it overwrites its table each time"
    assert said(overwritten(1, 0), NEXT)[1] == []
