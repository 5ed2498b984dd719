"""What sinks come to over the next ten batches, for those who write and for those who read."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, gather_evidence, open_checkpoint
from ckpttool.laws.sinks.horizon import AHEAD, horizon, interval_set, spell_missing
from ckpttool.laws.sinks.verdict import judge_sink
from ckpttool.model import Finding, LogNames, SparkError
from ckpttool.releases import NEWEST
from ckpttool.scene.horizon import Horizon, Missing, Unreadable
from ckpttool.scene.sinks import Logs, SinkEvidence, SinkView, SinkWrite
from tests.builders import build
from tests.unit.laws.sinks.tables import FRESH, NEXT, REPLAY, at, output, said, table, write

LOG_GONE = SinkEvidence("file", "out", names=LogNames(), log_gone=True)
NOTHING = SinkEvidence("unknown", "out", exists=False, seen_from_ms=0)
DONE = replace(NEXT, commits=frozenset(range(5)), planned_at={one: one * 10_000 for one in range(5)})


def seen(sink: SinkEvidence, logs: Logs, interval: int = 10) -> Horizon:
    return horizon(SinkView(sink, logs), NEWEST, interval)


def fails(sink: SinkEvidence, logs: Logs, interval: int = 10) -> tuple[int | None, str | None] | None:
    failure = seen(sink, logs, interval).failure
    return (failure.batch_id, failure.condition or failure.class_name) if failure else None


def test_a_log_that_is_gone_breaks_readers_at_once_and_the_query_when_it_compacts() -> None:
    for sink in (LOG_GONE, output()):
        assert fails(sink, at(6)) == (9, "BATCH_METADATA_NOT_FOUND")
        assert seen(sink, at(6)).unreadable == Unreadable("_spark_metadata/0 doesn't exist", 6)
    assert fails(LOG_GONE, at(12)) == (19, "BATCH_METADATA_NOT_FOUND")
    assert fails(LOG_GONE, at(6), 4) == (7, "BATCH_METADATA_NOT_FOUND")
    assert fails(LOG_GONE, FRESH) is None
    assert seen(LOG_GONE, FRESH).unreadable is None


def test_a_sound_log_goes_through_its_compaction() -> None:
    sound = seen(output(*map(str, range(6))), at(6))
    assert (sound.first, sound.last) == (6, 6 + AHEAD - 1)
    assert (sound.failure, sound.unreadable, sound.missing) == (None, None, ())


@pytest.mark.parametrize("taken", [NOTHING, replace(LOG_GONE, kind="unknown")])
def test_what_may_be_a_file_sinks_is_said_to_be_so_only_then(taken: SinkEvidence) -> None:
    found = seen(taken, at(6))
    assert found.if_files
    assert found.failure
    assert "f a file sink writes here" in "".join(one.message for one in judge_sink(SinkView(taken, at(6))).findings)


def test_parquet_without_a_log_harms_readers_whether_a_file_sink_or_a_table_was_there() -> None:
    taken = replace(LOG_GONE, was_table=True)
    assert seen(taken, at(6)).if_files
    assert said(taken, at(6)) == ("written", ["spark-metadata-missing-or-moved error"])
    [told] = judge_sink(SinkView(taken, at(6))).findings
    assert "If a file sink writes here, readers fail from batch 6 on" in told.message
    assert told.message.endswith(
        "If a Delta table was here, the next batch makes it anew, without the rows of those before"
    )


def test_an_ordinary_output_is_no_alarm() -> None:
    assert said(replace(LOG_GONE, kind="unknown"), at(6)) == ("written", ["spark-metadata-missing-or-moved warning"])
    assert said(replace(LOG_GONE, kind="unknown"), FRESH) == ("unknown", [])
    assert said(SinkEvidence("unknown", "out"), at(6)) == ("written", [])


def test_an_entry_that_cannot_be_read_stops_readers_and_the_compaction() -> None:
    error = SparkError("java.lang.IllegalStateException")
    fault = Finding("sink-log-unreadable", "warning", "_spark_metadata/3", "the file is empty", spark=error)
    damaged = replace(output(*map(str, range(6))), faults=(fault,))
    assert fails(damaged, at(6)) == (9, "java.lang.IllegalStateException")
    assert seen(damaged, at(6)).unreadable == Unreadable("_spark_metadata/3: the file is empty")
    older = replace(output(*map(str, range(6)), "9.compact", "10"), faults=(fault,))
    assert fails(older, at(11)) is None, "nobody opens what was compacted"


def test_an_entry_that_was_not_read_is_no_alarm() -> None:
    fault = Finding("unreadable", "warning", "_spark_metadata/3", "99 bytes, and 9 are read at most")
    unread = replace(output(*map(str, range(6))), faults=(fault,))
    assert (seen(unread, at(6)).failure, seen(unread, at(6)).unreadable) == (None, None)
    assert said(unread, at(6)) == ("written", ["unreadable warning"])


def test_data_files_that_are_gone_are_told_with_their_batches() -> None:
    lost = write(2, app_id=None, rows_lost="its file `x` is gone")
    verdict = judge_sink(SinkView(replace(output(*map(str, range(5))), writes=(lost,)), DONE))
    assert [one.id for one in verdict.findings] == ["sink-table-changed-under-checkpoint"]
    assert "readers fail now" in verdict.findings[0].message


def test_what_is_skipped_is_told_as_far_as_one_looks() -> None:
    assert seen(table(7), NEXT).skipped_to == 7
    assert seen(table(4), NEXT).skipped_to is None
    assert seen(table(400), NEXT).skipped_to == 5 + AHEAD - 1


def test_a_table_that_lacks_a_commit_fails_for_all() -> None:
    holed = table(4, write(4), gap=2)
    assert fails(holed, NEXT) == (5, "DELTA_VERSIONS_NOT_CONTIGUOUS")
    assert seen(holed, NEXT).unreadable == Unreadable("version 2 of the table's log is not there")
    assert "sink-log-unreadable error" in said(holed, NEXT)[1]


# -- rows that never come again ----------------------------------------------------------------------------------------


def missing(sink: SinkEvidence, logs: Logs = DONE) -> list[tuple[tuple[int, ...], int | None]]:
    return [(one.batches, one.rows) for one in seen(sink, logs).missing]


def batches(*numbers: int, **fields: object) -> list[SinkWrite]:
    return [replace(write(one), version=one, rows=2, **fields) for one in numbers]


def test_rows_that_a_restore_took() -> None:
    kept, gone = batches(0, 1, 2), batches(3, 4, rows_lost="RESTORE in version 5 took its rows out", taken_by=5)
    restore = replace(write(None, app_id=None), version=5, operation="RESTORE", empty=True)
    restored = table(4, *kept, *gone, restore)
    assert missing(restored) == [((3, 4), 4)]
    assert said(restored, DONE) == ("written", ["sink-table-changed-under-checkpoint error"])


def test_rows_that_somebody_took_out_by_name_are_not_missing_unless_nothing_is_left() -> None:
    delete = replace(write(None, app_id=None), version=5, operation="DELETE", empty=True)
    gone = batches(4, rows_lost="DELETE in version 5 took its rows out", taken_by=5)
    assert missing(table(4, *batches(3), *gone, delete)) == []
    assert said(table(4, *batches(3), *gone, delete), DONE)[1] == ["sink-table-changed-under-checkpoint warning"]
    assert missing(table(4, *gone, delete)) != []


def test_rows_that_the_query_itself_replaced_are_not_missing() -> None:
    replaced = batches(3, rows_lost="WRITE in version 4 took its rows out", taken_by=4)
    assert missing(table(4, *replaced, *batches(4))) == []


def test_batches_above_the_record_are_missing_and_those_without_rows_are_not() -> None:
    assert missing(table(2, *batches(0, 1, 2))) == [((3, 4), None)]
    assert missing(table(2, *batches(0, 1, 2)), replace(DONE, rows_of={3: 0, 4: 7})) == [((4,), 7)]
    assert missing(NOTHING) == [((0, 1, 2, 3, 4), None)]
    assert missing(output()) == [((0, 1, 2, 3, 4), None)]


def test_ordinary_writes_prove_nothing_missing_unless_the_table_is_younger() -> None:
    plain = replace(write(None, at=25_000, app_id=None), version=0, rows=2)
    assert missing(table(None, plain)) == [((0, 1), None)], "batch 2 was planned at 20,000, and done before 30,000"
    assert missing(table(None, replace(plain, timestamp_ms=500))) == []
    assert missing(table(None, plain, seen_from_ms=20_000)) == []


def test_ordinary_writes_that_were_restored_away_are_told_by_their_times() -> None:
    kept = [replace(write(None, at=10_000 * one + 500, app_id=None), version=one) for one in range(3)]
    told = "RESTORE in version 5 took its rows out"
    gone = [
        replace(write(None, at=10_000 * one + 500, app_id=None), version=one, rows_lost=told, taken_by=5)
        for one in (3, 4)
    ]
    restore = replace(write(None, app_id=None), version=5, operation="RESTORE", empty=True)
    assert missing(table(None, *kept, *gone, restore)) == [((3, 4), None)]
    assert missing(table(None, *kept, *gone, replace(restore, operation="WRITE"))) == []


def test_a_plain_table_whose_data_is_gone_fails_its_readers() -> None:
    gone = replace(write(None, at=500, app_id=None), version=0, rows_lost="its file `x` is gone")
    assert said(table(None, gone), DONE)[1] == ["sink-table-changed-under-checkpoint error"]


# -- a checkpoint that is behind ---------------------------------------------------------------------------------------


def plain_writes(*times: int) -> SinkEvidence:
    return table(None, *(replace(write(None, at=time, app_id=None), operation="WRITE") for time in times))


def test_more_writes_than_batches_mean_that_the_checkpoint_is_behind() -> None:
    once_each = (500, 10_500, 20_500, 30_500, 40_500)
    assert said(plain_writes(*once_each), DONE) == ("written", [])
    assert said(plain_writes(*once_each, 50_500), DONE) == ("duplicated", ["checkpoint-behind-sink error"])
    assert said(plain_writes(500, 600, *once_each, 50_500), DONE)[0] == "written", "no two batches are alike"
    assert said(plain_writes(500), FRESH)[0] == "unknown"


def test_a_batch_that_runs_again_has_written_what_each_before_has() -> None:
    again = replace(REPLAY, commits=frozenset(range(5)), planned_at={**DONE.planned_at, 5: 50_000})
    once_each = (500, 10_500, 20_500, 30_500, 40_500)
    assert said(plain_writes(*once_each, 50_500), again)[0] == "duplicated"
    assert said(plain_writes(*once_each), again)[0] == "written"


def test_paimons_snapshots_are_ordinary_writes() -> None:
    again = replace(REPLAY, commits=frozenset(range(5)), planned_at={**DONE.planned_at, 5: 50_000})
    once_each = replace(plain_writes(500, 10_500, 20_500, 30_500, 40_500), kind="paimon")
    assert said(once_each, again)[0] == "written"
    assert said(replace(once_each, writes=(*once_each.writes, write(None, app_id=None))), again)[0] == "duplicated"
    assert missing(once_each) == []


# -- words and settings ------------------------------------------------------------------------------------------------


def test_what_is_missing_in_words() -> None:
    assert spell_missing(Missing((3,), "gone", 1)) == "1 row of batch 3 is not in it: gone"
    assert spell_missing(Missing((3, 4), "gone")) == "the rows of batches 3 and 4 are not in it: gone"


@pytest.mark.parametrize(("given", "taken"), [("3", 3), ("0", 10), ("many", 10)])
def test_the_sessions_interval(given: str, taken: int, tmp_path: Path) -> None:
    conf = {"spark.sql.streaming.fileSink.log.compactInterval": given}
    evidence = gather_evidence(open_checkpoint(str(build(tmp_path, "k0-1 c"))))
    assert interval_set(Scene(evidence, Start(NEWEST, conf=conf))) == taken


def test_readers_take_partitions_of_two_places_for_a_conflict_once_there_are_some_in_both() -> None:
    there = replace(output(*map(str, range(6))), writes=(write(0, elsewhere="file:/old/name=ash"),))
    found = seen(there, at(6)).unreadable
    assert (found and found.after, found and "file:/old/name=ash/" in found.why) == (6, True)


def test_rows_that_readers_do_not_miss_are_missing_all_the_same() -> None:
    lost = write(4, None, None, rows_lost="its entry names no file", unnoticed=True)
    sink = replace(output(*map(str, range(5))), writes=(lost,))
    found = seen(sink, DONE)
    assert found.unreadable is None
    assert [one.batches for one in found.missing] == [(4,)]
