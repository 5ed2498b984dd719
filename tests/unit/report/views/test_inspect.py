"""What `ckpt inspect` says first, and how it says what is not there, not known or too much to show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import inspect_checkpoint, open_checkpoint, open_store
from ckpttool.report.views.inspect import inspection_document
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID, build
from tests.conftest import run_ckpt
from tests.documents import shown
from tests.state_builders import checkpoint, deltas
from tests.unit.report.views.inspected import inspected, told

HOUR_MS = 60 * MINUTE_MS


@pytest.mark.parametrize(
    ("story", "comes", "stands"),
    [
        ("", "STARTS OVER  Spark will start from nothing, at batch 0", "No batch was ever planned."),
        ("k0-10", "GOES ON  Spark will replay batch 0 ", "never committed. There is no commit at all."),
        (
            "k0-10 c | k10-20",
            "GOES ON  Spark will replay batch 1 ",
            "never committed. Last commit: batch 0, 60 s earlier.",
        ),
        ("k0-10 c", "GOES ON  Spark will start batch 1 with", "Batch 0 was planned at 2023-11-14 22:13:20Z and is"),
        ("k0-10 c | lost c | k20-30 c", "FAILS  Spark will fail before any batch with ", "is committed, 500 ms later."),
        ("k0-10 c | k10-20 c | lost c", "FAILS  Spark will fail in batch 1 with ", "22:14:20Z. Last commit: batch 2."),
        ("lost c | lost c", "FAILS  Spark will fail before any batch", "No offsets; commits reach batch 1."),
        ("k0-1 c5000 | k1-2 w5000 c5000", "UNKNOWN  It cannot be told what Spark will do", "Batch 1 was planned at"),
    ],
)
def test_first_comes_what_a_restart_does_and_below_where_the_query_stands(
    tmp_path: Path, story: str, comes: str, stands: str
) -> None:
    first, head = shown(inspection_document(told(tmp_path / "orders", story))).split("\n\n")[:2]
    assert first.startswith(comes)
    title, written, *below = head.splitlines()
    assert title == f"Query {QUERY_ID} in orders"
    assert written.startswith("  micro-batch, written by ")
    assert stands in " ".join(" ".join(below).split())


def test_ago_is_only_told_to_those_who_read_it_now(tmp_path: Path) -> None:
    found = told(tmp_path, "k0-10 c")
    assert "(2 h ago)" in shown(inspection_document(found, EPOCH_MS + 2 * HOUR_MS))
    assert " ago)" not in shown(inspection_document(found))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, None, "an unknown Spark"),
        ("3.5.0", None, "Spark 3.5.0 or later"),
        ("3.5.0", "3.5.0", "Spark 3.5.0"),
        ("3.5.0", "4.0.1", "Spark 3.5.0 to 4.0.1"),
    ],
)
def test_who_has_written_it(tmp_path: Path, low: str | None, high: str | None, expected: str) -> None:
    found = told(tmp_path, "k0-10 c")
    written_by = replace(found.evidence.written_by, min=low, max=high)
    found = replace(found, scene=replace(found.scene, evidence=replace(found.evidence, written_by=written_by)))
    assert f"  micro-batch, written by {expected}.\n" in shown(inspection_document(found))


def test_a_batch_that_runs_again_is_told_from_where_to_where(tmp_path: Path) -> None:
    head, kafka, file = table(shown(inspection_document(told(tmp_path, "k0-10 f0 c | k10-25 f0"))), "Source")
    assert cells(head)[2:] == ["Reached by 0", "Batch 1 reads up to", "Step"]
    assert cells(kafka) == ["0", "kafka", "t 1 partition, 10", "t 1 partition, 25", "≤ 15 rows"]
    assert cells(file) == ["1", "file", "log entry 0", "unchanged", "0 log entries"]
    assert len(head) == len(kafka) == len(file), "steps end below each other"


def test_of_a_batch_that_is_done_only_the_end_is_told(tmp_path: Path) -> None:
    head, row = table(shown(inspection_document(told(tmp_path, "k0-10 c | k10-25 c"))), "Source")
    assert cells(head)[2:] == ["Reached by 1", "Step of 1"]
    assert cells(row)[2:] == ["t 1 partition, 25", "≤ 15 rows"]


def test_state_is_counted_by_partitions_that_can_be_loaded(tmp_path: Path) -> None:
    files = deltas(1, 3) | deltas(1, 2, 3, partition=1)
    root = str(checkpoint(tmp_path, files, partitions=2))
    seen = inspect_checkpoint(open_checkpoint(root), store=open_store(root))
    head, row = table(shown(inspection_document(seen)), "State")
    assert cells(head)[-2:] == ["Needs version", "Loadable"]
    assert cells(row)[-2:] == ["3", "1 of 2"]
    assert len(head) == len(row)
    nobody_looked = shown(inspection_document(inspect_checkpoint(open_checkpoint(root))))
    assert cells(table(nobody_looked, "State")[1])[-2:] == ["?", "?"]
    assert "ckpt state verify reads the files" in shown(inspection_document(seen))
    assert "ckpt state verify reads the files" not in nobody_looked


def test_pinned_settings_are_shown_where_they_are_not_the_usual_ones(tmp_path: Path) -> None:
    usual = shown(inspection_document(told(tmp_path, "k0-10 c")))
    assert "1 offset and 1 commit on disk" in usual
    assert "Pinned configuration" not in usual
    newest = tmp_path / "offsets" / "0"
    newest.write_text(newest.read_text().replace('partitions":"200"', 'partitions":"7"'))
    changed = shown(inspection_document(inspected(tmp_path)))
    title = "Pinned configuration that differs from Spark's defaults:"
    assert f"{title}\n  spark.sql.shuffle.partitions = 7\n\n" in changed


def test_a_watermark_is_told_with_how_late_it_is(tmp_path: Path) -> None:
    text = shown(inspection_document(told(tmp_path, f"k0-10 w{EPOCH_MS - HOUR_MS} c")))
    assert "Watermark 2023-11-14 21:13:20Z, 60 min behind the batch\n" in text


def test_what_was_not_looked_at_is_said_only_of_a_query_that_goes_on(tmp_path: Path) -> None:
    on = inspection_document(told(tmp_path / "on", "k0-10 c"))
    assert "  Not seen  its sink, what Kafka still has\n" in shown(on)
    assert "Not seen" not in shown(inspection_document(told(tmp_path / "stops", "k0-10 c | lost c | k20-30 c")))


def test_what_is_not_there_is_null_for_programs(tmp_path: Path) -> None:
    fields = json.loads(shown(inspection_document(told(tmp_path, "")), "json"))
    assert (fields["last_offset_batch"], fields["last_commit_batch"], fields["dstreams"]) == (None, None, None)
    assert fields["batches_on_disk"] == {"offsets": 0, "commits": 0, "first": None, "last": None}
    assert (fields["offsets"], fields["commits"], fields["truncated"]) == ([], [], False)


def test_a_query_whose_metadata_is_gone_has_no_id(tmp_path: Path) -> None:
    (build(tmp_path, "k0-10 c") / "metadata").unlink()
    found = inspection_document(inspected(tmp_path))
    assert "\nQuery of unknown id in " in shown(found)
    assert json.loads(shown(found, "json"))["query"] == {"id": None, "name": None}


def test_a_torn_file_does_not_make_the_rest_look_left_out(tmp_path: Path) -> None:
    (build(tmp_path, "k0-10 c | k10-20 c") / "offsets" / "1").write_bytes(b"v1\n{")
    fields = json.loads(shown(inspection_document(inspected(tmp_path)), "json"))
    assert [entry["batch_id"] for entry in fields["offsets"]] == [0]
    assert fields["truncated"] is False


def test_dstreams_are_told_without_being_opened(sample: Callable[[str], Path]) -> None:
    ran = run_ckpt("inspect", str(sample("2.4.8-dstreams-sound") / "checkpoint"))
    first, *_, last = ran.out.splitlines()
    assert first.startswith("A DStreams checkpoint (the older streaming API)")
    assert last.startswith("Java-serialised: nothing here was deserialised")


def table(text: str, title: str) -> list[str]:
    (found,) = (section.splitlines() for section in text.split("\n\n") if section.startswith(f"{title} "))
    return [line for line in found if not line.startswith("  Told by")]


def cells(line: str) -> list[str]:
    return re.split(" {2,}", line)
