"""An Iceberg source whose table went on without it: what stops the restart, where, and what is only told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.laws.assumed import ICEBERG_FILES
from ckpttool.scene.scene import Trigger
from tests.unit.laws.inputs.lake import Lake, offset, told

STATE, NULL = "IllegalStateException", "NullPointerException"
DATA = "iceberg-source-data-gone"
GONE, CHANGED, ASIDE = "iceberg-snapshot-gone", "iceberg-source-updates", "iceberg-snapshot-not-ancestor"
SKIPS = {"delete": "streaming-skip-delete-snapshots", "overwrite": "streaming-skip-overwrite-snapshots"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.ran(offset(1), offset(2), committed=2)
    return made


@pytest.fixture
def replay(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.ran(offset(1), offset(3), committed=1)
    return made


@pytest.mark.parametrize("trigger", [None, "available-now"])
def test_a_sound_table_is_nothing_to_tell_of(lake: Lake, trigger: Trigger | None) -> None:
    assert told(lake.judge(trigger)) == ("new_batch", None, None, [])


def test_a_table_that_is_not_there_stops_the_start(lake: Lake) -> None:
    assert told(lake.judge(options={"path": f"{lake.table}x"}))[:2] == ("error", "start")


# -- expired -----------------------------------------------------------------------------------------------------------


def test_a_snapshot_that_was_expired_cannot_be_gone_on_from(lake: Lake) -> None:
    lake.expire(1, 2)
    outcome, phase, error, ids = told(lake.judge())
    assert (outcome, phase, error) == ("error", "batch", STATE)
    assert set(ids) == {GONE}


def test_with_available_now_where_the_source_began_counts(lake: Lake) -> None:
    lake.expire(1)
    assert told(lake.judge("available-now")) == ("error", "init", STATE, [GONE])
    (finding,) = lake.judge("available-now").findings
    assert "sources/0/offsets/0" in (finding.next_step or "")


def test_with_another_trigger_that_is_only_told(lake: Lake) -> None:
    lake.expire(1)
    assert told(lake.judge()) == ("new_batch", None, None, [GONE])


def test_a_batch_that_runs_again_needs_its_start(replay: Lake) -> None:
    replay.expire(1)
    assert told(replay.judge())[:3] == ("error", "batch", STATE)


# -- changed -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", SKIPS)
@pytest.mark.parametrize("trigger", [None, "available-now"])
def test_what_changes_rows_stops_the_source(lake: Lake, operation: str, trigger: Trigger | None) -> None:
    lake.snapshot(5, 4, operation)
    phase = "init" if trigger else "batch"
    diagnosis = lake.judge(trigger)
    assert told(diagnosis)[:3] == ("error", phase, STATE)
    assert SKIPS[operation] in (diagnosis.findings[0].next_step or "")


@pytest.mark.parametrize("operation", SKIPS)
def test_what_is_to_be_skipped_is(lake: Lake, operation: str) -> None:
    lake.snapshot(5, 4, operation)
    assert told(lake.judge(options={SKIPS[operation].upper(): "True"})) == ("new_batch", None, None, [])


def test_a_compaction_is_passed_over(lake: Lake) -> None:
    lake.snapshot(5, 4, "replace")
    assert told(lake.judge()) == ("new_batch", None, None, [])


def test_what_was_skipped_before_counts_again_with_available_now(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.snapshot(5, 4, "overwrite")
    lake.snapshot(6, 5)
    lake.ran(offset(4), offset(6), committed=2)
    assert told(lake.judge()) == ("new_batch", None, None, [])
    assert told(lake.judge("available-now"))[:3] == ("error", "init", STATE)


def test_a_limit_may_keep_the_batch_from_getting_there(lake: Lake) -> None:
    lake.snapshot(5, 4, "delete")
    assert told(lake.judge(options={"streaming-max-files-per-micro-batch": "1"})) == ("new_batch", None, None, [])
    assert told(lake.judge(options={"streaming-max-files-per-micro-batch": "2"}))[:2] == ("error", "batch")
    assert told(lake.judge(options={"streaming-max-rows-per-micro-batch": "4"})) == ("new_batch", None, None, [])


# -- rolled back -------------------------------------------------------------------------------------------------------


def test_a_snapshot_that_leads_nowhere(lake: Lake) -> None:
    lake.is_now(1)
    assert told(lake.judge()) == ("error", "batch", NULL, [ASIDE])


def test_the_parent_of_an_expired_snapshot_makes_another_error_of_it(lake: Lake) -> None:
    lake.expire(1)
    lake.snapshot(5, 3)
    lake.ran(offset(3), offset(4), committed=2)
    lake.began(offset(3))
    assert told(lake.judge()) == ("error", "batch", STATE, [ASIDE])


def test_a_range_that_goes_back_finds_no_end(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.ran(offset(3), offset(2), committed=1)
    assert told(lake.judge())[:3] == ("error", "batch", NULL)


def test_a_range_that_goes_back_within_a_snapshot_is_empty(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.ran(offset(3, 1), offset(3, 0), committed=1)
    assert told(lake.judge())[0] == "replay"


@pytest.mark.parametrize("parent", [2, 3, 4])
def test_a_history_that_bites_its_tail_has_an_end(replay: Lake, parent: int) -> None:
    replay.snapshots[0]["parent-snapshot-id"] = parent
    replay.is_now(4)
    replay.ran(offset(1), offset(99), committed=1)
    assert told(replay.judge("available-now"))[0] == "error"
    replay.ran(offset(1), offset(3), committed=2)
    assert told(replay.judge())[0] == "new_batch"


# -- data files --------------------------------------------------------------------------------------------------------


def test_data_files_that_are_there(lake: Lake) -> None:
    lake.write_files()
    diagnosis = lake.judge()
    assert told(diagnosis) == ("new_batch", None, None, [])
    assert ICEBERG_FILES not in diagnosis.prediction.assumes


@pytest.mark.parametrize(("number", "fails"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_data_file_that_is_gone_stops_who_has_yet_to_read_it(lake: Lake, number: int, fails: bool) -> None:
    lake.write_files()
    lake.lose(number)
    said = ("error", "batch", "FileNotFoundException", [DATA]) if fails else ("new_batch", None, None, [])
    assert told(lake.judge()) == said


def test_within_a_snapshot_the_position_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write_files()
    lake.lose(3)
    lake.ran(offset(3, 0), offset(3, 1), committed=1)
    assert told(lake.judge())[:3] == ("error", "batch", "FileNotFoundException")
    lake.ran(offset(2, 1), offset(3, 0), committed=1)
    assert told(lake.judge())[0] == "replay"


def test_without_manifests_that_is_assumed(lake: Lake) -> None:
    """Somebody has a copy of the metadata."""
    lake.write_files()
    for manifest in (lake.table / "metadata").glob("*.avro"):
        manifest.unlink()
    prediction = lake.judge().prediction
    assert (prediction.outcome, ICEBERG_FILES in prediction.assumes) == ("new_batch", True)


def test_that_is_assumed_before_the_first_batch_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert ICEBERG_FILES in lake.judge().prediction.assumes
    lake.write_files()
    assert ICEBERG_FILES not in lake.judge().prediction.assumes


@pytest.mark.parametrize("manifest", ["snap-3.avro", "m3.avro"])
@pytest.mark.parametrize("body", [None, b"x"])
def test_a_manifest_that_is_gone_or_damaged_beside_others_leaves_open_what_the_batch_finds(
    lake: Lake, manifest: str, body: bytes | None
) -> None:
    lake.write_files()
    path = lake.table / "metadata" / manifest
    kept = path.read_bytes()
    path.unlink() if body is None else path.write_bytes(body)
    diagnosis = lake.judge()
    assert told(diagnosis) == ("unknown", None, None, [DATA])
    assert f"metadata/{manifest}" in " ".join(diagnosis.prediction.why)
    path.write_bytes(kept)
    assert told(lake.judge()) == ("new_batch", None, None, [])


@pytest.mark.parametrize("manifest", ["snap-1.avro", "m1.avro"])
def test_a_manifest_that_is_behind_is_not_read(lake: Lake, manifest: str) -> None:
    lake.write_files()
    (lake.table / "metadata" / manifest).unlink()
    diagnosis = lake.judge()
    assert told(diagnosis) == ("new_batch", None, None, [])
    assert ICEBERG_FILES not in diagnosis.prediction.assumes


# -- rows --------------------------------------------------------------------------------------------------------------


def rows(lake: Lake, **options: str) -> int | None:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    steps = [source.step for source in lake.judge(options=given).prediction.sources]
    return next((step.amount for step in steps if step and step.unit == "rows"), None)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (offset(1), offset(3), 8),
        (offset(1, 0), offset(3), 12),
        (offset(1), offset(3, 0), 4),
        (offset(3), offset(3), 0),
        (offset(3, 1), offset(3, 0), 0),
        (offset(2), offset(1), None),  # is not read
        (offset(1, 0, scan_all_files=True), offset(2), None),
    ],
)
def test_the_rows_of_a_range_are_counted_by_its_snapshots(
    tmp_path: Path, start: str, end: str, expected: int | None
) -> None:
    lake = Lake(tmp_path)
    lake.ran(start, end, committed=1)
    assert rows(lake) == expected


def test_rows_that_are_passed_over_do_not_count(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.snapshot(5, 4, "overwrite", rows=100)
    lake.snapshot(6, 5, "replace", rows=100)
    lake.snapshot(7, 6, rows=3)
    lake.ran(offset(4), offset(7), committed=1)
    assert rows(lake, streaming_skip_overwrite_snapshots="true") == 3
    assert rows(lake) is None


def test_the_rows_of_a_part_of_a_snapshot_are_told_by_its_manifest(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.snapshots[2]["summary"]["added-data-files"] = "2"
    lake.ran(offset(2), offset(3), committed=1)
    lake.is_now(4)
    assert rows(lake) is None
    lake.write_files()
    assert rows(lake) == 4


# -- nothing planned yet -----------------------------------------------------------------------------------------------


def test_the_first_batch_begins_where_the_source_wrote_down(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert told(lake.judge()) == ("fresh_start", None, None, [])
    lake.expire(1)
    assert told(lake.judge())[:3] == ("error", "batch", STATE)


def test_a_table_without_snapshots_is_waited_for(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.snapshots = []
    lake.is_now(None)
    lake.began(offset(-1, -1))
    assert told(lake.judge()) == ("fresh_start", None, None, [])
