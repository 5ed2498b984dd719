"""A Delta source whose table is not as it was: what stops the restart, where, and what is only told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import Unavailable
from ckpttool.laws.inputs.judge import count_rows
from ckpttool.releases import Release
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import Doubt, Failure
from ckpttool.storage.doors import Doors
from tests.attacks import sized
from tests.unit.laws.inputs.places import ID, Place, metadata, offset, schema, told

OTHER = "11111111-2222-4333-8444-555555555555"
EXPIRED, CHANGED = "delta-log-expired", "delta-source-schema-or-updates"
MISSED, INITIAL = "delta-trailing-commit-missed", "delta-initial-snapshot-gone"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.ran()
    return made


@pytest.fixture
def replay(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.ran(committed=False)
    return made


def test_a_sound_table_is_nothing_to_tell_of(place: Place) -> None:
    place.add(5)
    assert place.judge() == (None, ())


# -- the table itself --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("committed", "phase"), [(True, "init"), (False, "batch")])
def test_another_table_stops_the_query_where_it_is_first_asked(tmp_path: Path, committed: bool, phase: str) -> None:
    place = Place(tmp_path)
    place.ran(committed=committed)
    place.commit(0, metadata(OTHER))
    obstacle, findings = place.judge()
    assert isinstance(obstacle, Failure)
    assert (obstacle.phase, obstacle.condition) == (phase, "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE")
    assert obstacle.batch_id == (None if committed else 1)
    assert [finding.id for finding in findings] == ["delta-source-table-id-changed"]
    assert findings[0].spark is not None


def test_the_start_is_compared_with_the_table_too(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4, table_id=OTHER))
    place.batch(1, offset(5))
    assert told(place.judge())[:2] == ("init", "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE")


def test_a_pending_batch_that_reads_nothing_here_asks_the_source_when_it_starts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(5), '{"offset":1,"timestamp":1}')
    place.batch(1, offset(5), '{"offset":2,"timestamp":2}', committed=False)
    place.commit(0, metadata(OTHER))
    assert told(place.judge())[0] == "init"
    (place.checkpoint / "commits" / "0").unlink()
    assert told(place.judge())[0] == "batch", "without any commit nobody is asked beforehand"
    place.batch(1, offset(5), '{"offset":2,"timestamp":2}')
    for number in (2, 3):
        place.batch(number, offset(5), '{"offset":2,"timestamp":2}', committed=False)
    assert told(place.judge())[0] == "batch", "nor if the commit is an older one"


def test_of_two_sources_the_one_that_is_asked_earlier_stops_the_query(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4), offset(5))
    place.batch(1, offset(5), offset(5), committed=False)
    place.commit(0, metadata(OTHER))
    assert told(place.judge()) == (
        "init",
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        ["delta-source-table-id-changed"] * 2,
    )


def test_no_table(place: Place) -> None:
    for path in place.log.iterdir():
        path.unlink()
    assert told(place.judge()) == ("start", "DELTA_SCHEMA_NOT_SET", ["delta-source-table-gone"])
    place.log.rmdir()
    assert told(place.judge()) == ("start", "DELTA_SCHEMA_NOT_SET", ["delta-source-table-gone"])


@pytest.mark.parametrize(
    ("gone", "condition"),
    [((2,), "DELTA_VERSIONS_NOT_CONTIGUOUS"), ((0,), "DELTA_TRUNCATED_TRANSACTION_LOG")],
)
def test_a_log_with_a_hole_cannot_be_loaded(place: Place, gone: tuple[int, ...], condition: str) -> None:
    (place.log / f"{4:020}.crc").write_text('{"metadata": {"id": "' + ID + '"}}')
    place.forget(*gone)
    assert told(place.judge()) == ("start", condition, ["delta-log-hole"])


def test_a_checkpoint_needs_its_own_commit(place: Place) -> None:
    place.checkpoint_log(4)
    place.forget(0, 1, 2, 3, 4)
    assert told(place.judge()) == ("start", "java.lang.IllegalStateException", ["delta-log-hole"])


def test_what_a_catalog_has_not_confirmed_is_not_known(place: Place) -> None:
    (place.log / "_staged_commits").mkdir()
    (place.log / "_staged_commits" / f"{5:020}.0c00034e-cc25-450a-a4f8-9a5b29c07ead.json").touch()
    assert told(place.judge()) == ("doubt", None, ["source-unreadable"])


def test_a_table_out_of_reach_leaves_it_open(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Unavailable("no answer", "check the network")

    monkeypatch.setattr(Doors, "open", refuse)
    obstacle, (finding,) = place.judge()
    assert isinstance(obstacle, Doubt)
    assert (finding.id, finding.severity, finding.next_step) == ("source-unreachable", "warning", "check the network")


@pytest.mark.parametrize("url", ["s3a://elsewhere/t/x", "/elsewhere/t/x", "file:/elsewhere/t/x"])
def test_files_of_another_table_are_looked_for_only_where_one_is_pointed(replay: Place, url: str) -> None:
    replay.commit(4, {"add": {"path": url, "dataChange": True}})
    (table,) = replay.look()
    assert isinstance(table, DeltaInput)
    assert table.data.looked_at == 0
    assert table.data.not_looked_at == (url.rpartition("/")[0],)
    obstacle, (finding,) = replay.judge()
    assert (obstacle, finding.id) == (None, "source-not-looked-at")


def test_files_of_a_shallow_clone_are_looked_for_where_one_is_pointed(replay: Place, tmp_path: Path) -> None:
    (tmp_path / "original").mkdir()
    replay.commit(4, {"add": {"path": (tmp_path / "original" / "x").as_uri(), "dataChange": True}})
    (table,) = replay.look(str(tmp_path / "original"))
    assert isinstance(table, DeltaInput)
    assert len(table.data.gone) == 1


def test_a_commit_that_cannot_be_read_leaves_it_open(place: Place) -> None:
    (place.log / f"{4:020}.json").write_text("{")
    assert told(place.judge()) == ("doubt", None, ["source-unreadable"])


# -- the last range ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("committed", "phase"), [(True, "init"), (False, "batch")])
def test_a_cleaned_log(tmp_path: Path, committed: bool, phase: str) -> None:
    place = Place(tmp_path)
    place.ran(committed=committed)
    place.add(5)
    place.checkpoint_log(4)
    place.forget(0, 1, 2, 3)
    assert place.judge() == (None, ()), "the range begins with version 4"
    place.forget(4)
    assert told(place.judge()) == (phase, "DELTA_MISSING_FILES_UNEXPECTED_VERSION", [EXPIRED])
    obstacle, findings = place.judge(options={"FAILONDATALOSS": "False"})
    assert obstacle is None
    assert [finding.id for finding in findings] == ([] if committed else [EXPIRED]), "committed rows cannot be lost"


@pytest.mark.parametrize(("compared", "phase"), [(True, "init"), (False, "batch")])
def test_to_compare_schemas_the_commit_behind_the_range_is_opened(tmp_path: Path, compared: bool, phase: str) -> None:
    """The range is within version 4, and version 5 is gone; only with the state of version 4 is it missed at once."""
    place = Place(tmp_path)
    place.batch(0, offset(4))
    place.batch(1, offset(4, 0))
    place.add(6)
    place.checkpoint_log(6)
    if not compared:
        place.forget(0)
    assert told(place.judge()) == (phase, "DELTA_MISSING_FILES_UNEXPECTED_VERSION", [EXPIRED])


def test_the_commit_behind_an_initial_snapshot_is_opened_too(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4, 0, initial=True))
    place.batch(1, offset(4, 1, initial=True))
    place.checkpoint_log(4)
    place.checkpoint_log(6)
    place.add(6)
    assert told(place.judge()) == ("init", "DELTA_MISSING_FILES_UNEXPECTED_VERSION", [EXPIRED])


def test_an_initial_snapshot_does_not_care_how_its_version_came_to_be(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.remove(4)
    place.batch(0, offset(4, 0, initial=True))
    place.batch(1, offset(4, 1, initial=True))
    assert place.judge() == (None, ())


def test_what_the_beginning_of_the_range_says_of_the_table_is_no_change(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(0))
    place.batch(1, offset(5))
    assert place.judge() == (None, ())


@pytest.mark.parametrize(
    ("release", "phase", "condition"),
    [
        ((4, 2, 0), "init", "DELTA_STREAMING_TRAILING_COMMIT_MISSING"),
        ((4, 1, 0), "doubt", None),
        ((4, 0, 0), None, None),
        ((3, 5, 7), None, None),
    ],
)
def test_a_log_that_ends_before_the_range(place: Place, release: Release, phase: str | None, condition: str) -> None:
    place.forget(4)
    assert told(place.judge(release)) == (phase, condition, [MISSED])


def test_a_log_that_ends_within_the_last_version(tmp_path: Path) -> None:
    """Index 0 of version 5 was read, so version 5 has to be there; index -1 asks for version 4 only."""
    place = Place(tmp_path)
    place.batch(0, offset(4))
    place.batch(1, offset(5, 0))
    assert told(place.judge())[2] == [MISSED]


@pytest.mark.parametrize(
    ("release", "condition"), [((4, 2, 0), "DELTA_LOG_FILE_NOT_FOUND"), ((3, 5, 7), "DELTA_EMPTY_DIRECTORY")]
)
def test_an_initial_snapshot_that_is_gone(tmp_path: Path, release: Release, condition: str) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(3, 0, initial=True))
    place.batch(1, offset(3, 1, initial=True))
    place.checkpoint_log(4)
    place.forget(0, 1, 2)
    assert told(place.judge(release)) == ("init", "DELTA_TRUNCATED_TRANSACTION_LOG", [INITIAL]), "its own is left"
    place.forget(3)
    assert told(place.judge(release)) == ("init", condition, [INITIAL])


def test_the_first_batch_is_a_snapshot_unless_it_was_started_at_a_version(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(5), committed=False)
    place.checkpoint_log(4)
    place.add(5)
    place.forget(0, 1, 2, 3)
    assert place.judge() == (None, ())
    assert told(place.judge(options={"startingVersion": "1"})) == (
        "batch",
        "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
        [EXPIRED],
    )
    place.forget(4)
    assert told(place.judge()) == ("doubt", None, [INITIAL]), "that it began with a snapshot is assumed"


# -- schemas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("committed", "phase"), [(True, "init"), (False, "batch")])
def test_a_schema_that_cannot_read_what_was_written(tmp_path: Path, committed: bool, phase: str) -> None:
    place = Place(tmp_path)
    place.ran(committed=committed)
    place.commit(5, metadata(schemaString=schema(id="long", more="string")))
    assert place.judge() == (None, ())
    place.commit(6, metadata(schemaString=schema(id="string")))
    assert told(place.judge()) == (phase, "DELTA_SCHEMA_CHANGED_WITH_VERSION", [CHANGED])
    assert told(place.judge(options={"startingVersion": "0"}))[1] == "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS"
    tracked = place.judge(options={"schemaTrackingLocation": str(tmp_path / "none")})
    assert told(tracked) == (phase, "DELTA_STREAMING_METADATA_EVOLUTION", ["delta-schema-tracked"])


def test_a_schema_that_changes_and_changes_back_stops_the_batch_that_comes_to_it(place: Place) -> None:
    place.commit(5, metadata(schemaString=schema(id="string")))
    place.commit(6, metadata())
    assert told(place.judge()) == ("batch", "DELTA_SCHEMA_CHANGED_WITH_VERSION", [CHANGED])


@pytest.mark.parametrize(("release", "kind"), [((3, 5, 7), "ColumnMapping"), ((4, 2, 0), "NonAdditive")])
def test_a_renamed_column(place: Place, release: Release, kind: str) -> None:
    mapped: dict[str, Any] = {"configuration": {"delta.columnMapping.mode": "name"}}
    place.commit(5, metadata(**mapped, schemaString=schema(number="long")))
    obstacle, _ = place.judge(release)
    assert isinstance(obstacle, Failure)
    assert obstacle.class_name.endswith(f"DeltaStreaming{kind}SchemaIncompatibleException")
    assert obstacle.condition == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"


def test_a_wider_type_is_left_open(place: Place) -> None:
    widening: dict[str, Any] = {"configuration": {"delta.enableTypeWidening": "true"}}
    place.commit(5, metadata(**widening, schemaString=schema(id="decimal(20,0)")))
    assert told(place.judge())[0] == "doubt"


def test_mapped_columns_need_the_state_to_compare_with(place: Place) -> None:
    place.checkpoint_log(5, metadata(configuration={"delta.columnMapping.mode": "name"}))
    place.add(5)
    place.forget(0, 1, 2, 3)
    assert told(place.judge()) == ("init", "DELTA_TRUNCATED_TRANSACTION_LOG", [EXPIRED])


# -- new versions ------------------------------------------------------------------------------------------------------

REMOVED, UPDATED = "DELTA_SOURCE_IGNORE_DELETE", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"


@pytest.mark.parametrize(
    ("more", "options", "condition"),
    [
        ((), {}, REMOVED),
        ((), {"ignoreDeletes": "true"}, None),
        ((), {"ignoreDeletes": "false"}, REMOVED),
        ((), {"ignoreChanges": "true"}, None),
        (({"add": {"path": "x", "dataChange": True}},), {}, UPDATED),
        (({"add": {"path": "x", "dataChange": True}},), {"ignoreDeletes": "true"}, UPDATED),
        (({"add": {"path": "x", "dataChange": True}},), {"skipChangeCommits": "TRUE"}, None),
        (({"add": {"path": "x", "dataChange": False}},), {}, REMOVED),
    ],
)
def test_rows_that_are_taken_out(place: Place, more: Any, options: dict[str, str], condition: str | None) -> None:
    (place.table / "x").touch()
    place.remove(5, *more)
    phase, said, ids = told(place.judge(options=options))
    assert (phase, said, ids) == (("batch", condition, [CHANGED]) if condition else (None, None, []))


def test_a_rewrite_without_change_of_data_is_passed_over(place: Place) -> None:
    place.commit(5, {"remove": {"path": "v1", "dataChange": False}}, {"add": {"path": "x", "dataChange": False}})
    assert place.judge() == (None, ())


def test_what_stops_the_batch_after_a_replay_is_only_told(replay: Place) -> None:
    replay.remove(5)
    obstacle, (finding,) = replay.judge()
    assert obstacle is None
    assert (finding.id, finding.severity) == (CHANGED, "error")


@pytest.mark.parametrize(
    ("files", "options", "trigger", "phase"),
    [
        (1, {"maxFilesPerTrigger": "1"}, None, "batch"),  # it looks behind the last file that it takes
        (2, {"maxFilesPerTrigger": "1"}, None, None),
        (2, {"maxFilesPerTrigger": "2"}, None, "batch"),
        (2, {"maxFilesPerTrigger": "1"}, "available-now", "batch"),
        (2, {"maxBytesPerTrigger": "1g"}, None, None),
        (2, {}, None, "batch"),  # a thousand
    ],
)
def test_only_what_the_next_batch_comes_to_stops_it(
    place: Place, files: int, options: dict[str, str], trigger: Any, phase: str | None
) -> None:
    place.add(5, files)
    place.remove(6)
    assert told(place.judge(options=options, trigger=trigger)) == (phase, REMOVED if phase else None, [CHANGED])


@pytest.mark.parametrize(("gone", "phase"), [(5, "init"), (6, "batch")])
def test_a_commit_that_is_gone_further_on(place: Place, gone: int, phase: str) -> None:
    """The one behind the range is missed with the range already."""
    for version in (5, 6, 7):
        place.add(version)
    place.checkpoint_log(7)
    place.forget(gone)
    assert told(place.judge()) == (phase, "DELTA_MISSING_FILES_UNEXPECTED_VERSION", [EXPIRED])
    obstacle, findings = place.judge(options={"failOnDataLoss": "false"})
    assert obstacle is None
    assert [finding.id for finding in findings] == [EXPIRED]


def test_what_was_not_checked_is_a_doubt(place: Place) -> None:
    place.commit(0, metadata(OTHER))
    assert told(place.judge((3, 4, 4)))[0] == "doubt"


def test_what_the_last_range_has_read_is_checked_by_the_options_of_now(place: Place) -> None:
    (place.table / "x").touch()
    place.remove(4, {"add": {"path": "x", "dataChange": True}})
    assert told(place.judge()) == ("init", UPDATED, [CHANGED])
    assert place.judge(options={"ignoreChanges": "true"}) == (None, ())
    place.batch(1, offset(4), committed=False)
    (place.checkpoint / "commits" / "1").unlink()
    obstacle, (finding,) = place.judge()
    assert (obstacle, finding.id) == (None, CHANGED), "a range that ends before the version leaves it to the next batch"


def test_what_takes_rows_is_passed_on_by_a_change_feed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.commit(0, metadata(configuration={"delta.enableChangeDataFeed": "true"}))
    place.ran()
    place.remove(5)
    feed = {"readChangeFeed": "true"}
    assert place.judge(options=feed) == (None, ())
    (place.table / "v1").unlink()
    assert told(place.judge(options=feed)) == ("batch", "FAILED_READ_FILE.FILE_NOT_EXIST", [GONE])


@pytest.mark.parametrize(("version", "phase"), [(0, "init"), (5, "batch"), (6, None)])
def test_a_change_feed_must_be_kept_where_the_range_begins(tmp_path: Path, version: int, phase: str | None) -> None:
    place = Place(tmp_path)
    place.commit(0, metadata(configuration={"delta.enableChangeDataFeed": "true"}))
    place.ran()
    for number in (5, 6):
        place.add(number)
    place.commit(version, metadata(configuration={"delta.enableChangeDataFeed": "false"}))
    expected = (phase, "DELTA_MISSING_CHANGE_DATA", ["delta-change-feed-off"]) if phase else (None, None, [])
    assert told(place.judge(options={"readChangeFeed": "true"})) == expected


def test_a_change_feed_refuses_what_goes_back_and_what_begins_at_a_version_that_is_gone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.commit(0, metadata(configuration={"delta.enableChangeDataFeed": "true"}))
    place.batch(0, offset(4))
    place.batch(1, offset(2), committed=False)
    assert told(place.judge(options={"readChangeFeed": "true"}))[:2] == ("batch", "DELTA_INVALID_CDC_RANGE")
    assert place.judge() == (None, ())
    place.batch(0, offset(7))
    place.batch(1, offset(8))
    feed = place.judge(options={"readChangeFeed": "true"})
    assert told(feed) == ("init", "java.lang.IllegalStateException", ["delta-change-feed-off"])


# -- data files --------------------------------------------------------------------------------------------------------

GONE = "delta-source-data-gone"


@pytest.mark.parametrize(
    ("release", "condition"), [((4, 2, 0), "FAILED_READ_FILE.FILE_NOT_EXIST"), ((3, 5, 7), "_LEGACY_ERROR_TEMP_2055")]
)
def test_data_that_a_replay_needs(replay: Place, release: Release, condition: str) -> None:
    (replay.table / "v4").unlink()
    assert told(replay.judge(release)) == ("batch", condition, [GONE])
    kept = {"spark.sql.files.ignoreMissingFiles": "true"}
    obstacle, (finding,) = replay.judge(release, conf=kept)
    assert obstacle is None
    assert (finding.id, finding.severity) == (GONE, "error")


def test_data_of_earlier_batches_is_not_needed(replay: Place) -> None:
    (replay.table / "v3").unlink()
    assert replay.judge() == (None, ())


def test_data_that_the_batch_before_has_read_is_not_needed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.add(4, files=3)
    place.batch(0, offset(4, 0))
    place.batch(1, offset(4, 1), committed=False)
    (place.table / "v4").unlink()
    assert place.judge() == (None, ())
    (place.table / "v4-2").unlink()
    assert told(place.judge()) == (None, None, [GONE]), "what comes after it is needed by the next"
    (place.table / "v4-1").unlink()
    assert told(place.judge())[0] == "batch"


@pytest.mark.parametrize(("gone", "phase"), [("v1", None), ("v2", "batch"), ("v4", "batch")])
def test_within_a_snapshot_files_come_by_age_also_those_that_the_table_has_no_more(
    tmp_path: Path, gone: str, phase: str | None
) -> None:
    place = Place(tmp_path)
    for version, age in ((1, 10), (2, 30), (3, 40), (4, 20)):
        place.commit(version, {"add": {"path": f"v{version}", "dataChange": True, "modificationTime": age}})
    place.commit(5, {"remove": {"path": "v2", "dataChange": False}}, {"remove": {"path": "v4", "dataChange": False}})
    (place.table / "v2").touch()
    place.batch(0, offset(4, 0, initial=True))
    place.batch(1, offset(4, 2, initial=True), committed=False)
    (place.table / gone).unlink()
    assert told(place.judge()) == ((phase, "FAILED_READ_FILE.FILE_NOT_EXIST", [GONE]) if phase else (None, None, []))


def test_files_that_are_excluded_are_not_read(replay: Place) -> None:
    (replay.table / "v4").unlink()
    assert replay.judge(options={"excludeRegex": "^v[45]$"}) == (None, ())
    assert told(replay.judge(options={"excludeRegex": "v5"}))[0] == "batch"
    assert replay.judge(options={"excludeRegex": "v(?<x>4"}) == (None, ())


def rows(place: Place, **options: str) -> int | None:
    return next((step.amount for step in count_rows(place.scene(options=options)).values()), None)


def test_rows_of_a_batch_that_runs_again_are_those_of_its_files(tmp_path: Path) -> None:
    place = Place(tmp_path)

    def add(version: int, *counts: int | None) -> None:
        files = [{"path": f"v{version}-{count}", "stats": f'{{"numRecords":{count}}}'} for count in counts]
        place.commit(version, *({"add": file} for file in files))

    add(4, 3, 4)
    add(5, 8, None)
    place.batch(0, offset(4, 0))
    place.batch(1, offset(5, 0), committed=False)
    assert rows(place) == 12
    assert rows(place, excludeRegex="-4$") == 8
    assert rows(place, excludeRegex="(") is None
    assert rows(place, readChangeFeed="true") is None
    place.batch(1, offset(6), committed=False)
    assert rows(place) is None, "one file does not tell"
    place.batch(1, offset(6))
    assert rows(place) is None, "it does not run again"


@pytest.mark.parametrize("there", [False, True])
def test_of_a_table_that_is_not_read_no_rows_are_counted(replay: Place, there: bool) -> None:
    if there:
        sized(replay.log / f"{4:020}.json")
    else:
        shutil.rmtree(replay.table)
    assert rows(replay) is None


def test_data_in_partitions_has_names_that_are_escaped(replay: Place) -> None:
    folder = replay.table / "day=1 2"
    folder.mkdir()
    (folder / "a%b").touch()
    replay.commit(4, {"add": {"path": "day=1%202/a%25b"}})
    assert replay.judge() == (None, ())
    (folder / "a%b").unlink()
    assert told(replay.judge())[2] == [GONE]


def test_data_of_the_next_batch(place: Place) -> None:
    place.add(5, files=3)
    (place.table / "v5-2").unlink()
    assert told(place.judge())[0] == "batch"
    assert told(place.judge(options={"maxFilesPerTrigger": "2"})) == (None, None, [GONE]), "a later batch fails"
