"""One batch in full, and each in a row: what is proven of it, how far it went, and what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.report.views.batch import batch_document, timeline_document
from ckpttool.report.views.inspect import inspection_document
from tests.builders import build
from tests.documents import shown
from tests.unit.report.views.inspected import inspected, told


@pytest.mark.parametrize(
    ("batch_id", "expected"),
    [
        (0, "Batch 0 · planned at 2023-11-14 22:13:20Z · committed"),
        (1, "Batch 1 · without offsets · committed"),
        (2, "Batch 2 · planned at 2023-11-14 22:15:20Z · no commit"),
        (7, "Batch 7 · without offsets · no commit"),
    ],
)
def test_the_first_line_says_how_far_it_came(tmp_path: Path, batch_id: int, expected: str) -> None:
    found = told(tmp_path, "k0-10 c | lost c | k20-30")
    assert shown(batch_document(found, batch_id)).splitlines()[0] == expected


def test_each_step_of_the_protocol_is_proven_refuted_or_open(tmp_path: Path) -> None:
    text = shown(batch_document(told(tmp_path, "k0-10 c | k10-25"), 1))
    assert proofs(text) == {
        "sources asked": "yes",
        "offsets logged": "yes",
        "state committed": "unknown",
        "sink committed": "unknown",
        "batch committed": "no",
    }


def proofs(text: str) -> dict[str, str]:
    _, table, *_ = text.split("\n\n")
    head, *rows = table.splitlines()
    at = head.index("Proven")
    return {row[:at].strip(): row[at:].split()[0] for row in rows}


def test_each_part_of_a_source_has_its_step_and_a_source_without_offset_says_so(tmp_path: Path) -> None:
    text = shown(batch_document(told(tmp_path, "k0-10 - c | k10-1000020 - c"), 1))
    assert "Source 0 · kafka · t 1 partition, 1,000,020 · ≤ 1,000,010 rows\n" in text
    head, row = (line for line in text.splitlines() if line.startswith(("Part ", "t-0 ")))
    assert row.split() == ["t-0", "1000020", "+1,000,010"]
    assert len(row) == len(head), "numbers end below the ends of their titles"
    assert "Source 1: no offset yet\n" in text


def test_the_watermark_moves_on_with_the_commit(tmp_path: Path) -> None:
    found = told(tmp_path, "k0-10 c5000 | k10-20 w5000 c9000")
    assert "\nWatermark" not in shown(batch_document(found, 0))
    line = shown(batch_document(found, 1)).splitlines()[1]
    assert line == "Watermark 1970-01-01 00:00:05Z, afterwards 1970-01-01 00:00:09Z"


def test_its_files_are_shown_as_they_are_whatever_is_in_them(tmp_path: Path) -> None:
    body = b"v1\n{}\n\xff\x1b[2J"
    (build(tmp_path, "k0-10 c | k10-20 c") / "commits" / "1").write_bytes(body)
    found = batch_document(inspected(tmp_path), 1)
    assert f"\ncommits/1, {len(body)} bytes\n  v1\n  {{}}\n" in shown(found)
    assert "\x1b" not in shown(found)
    raw = json.loads(shown(found, "json"))["batch"]["raw"]
    assert raw["commits/1"] == "v1\n{}\n\\xff\x1b[2J"


def test_only_findings_of_this_batch_stand_below_it(tmp_path: Path) -> None:
    found = told(tmp_path, "k0-10 c | k20-30 c | k30-25 c | k25-30 c")
    assert "offset-regression" in shown(batch_document(found, 2))
    assert "No findings." in shown(batch_document(found, 3))


def test_a_row_for_each_batch_says_what_moved_since_the_one_before(tmp_path: Path) -> None:
    story = "k0-10 - c5000 | k10-25 f0 w5000 c5000 | k25-26 f1 w5000 c8000 | lost c | k26-31 f2 w8000"
    head, *rows = shown(timeline_document(told(tmp_path, story))).splitlines()
    assert head.split() == ["Batch", "Planned", "After", "Rows", "Watermark", "Commit"]
    commit = head.index("Commit")
    assert [row[commit:] for row in rows] == ["after 500 ms", "after 500 ms", "after 500 ms", "yes", "none"]
    watermark = head.index("Watermark") + len("Watermark")
    ends = ["≤ 10 rows + -", "1970-01-01 00:00:05Z", "unchanged", "no offsets", "1970-01-01 00:00:08Z"]
    assert [row[:watermark].rstrip()[-len(end) :] for row, end in zip(rows, ends, strict=True)] == ends
    assert "  60 s  ≤ 15 rows + 1 log entry  " in rows[1]
    assert "  ? + ?  " in rows[4], "without the batch before no step is known"


def test_a_watermark_that_moves_is_told_by_how_much(tmp_path: Path) -> None:
    rows = shown(timeline_document(told(tmp_path, "k0-1 w5000 c | k1-2 w7205000 c | k2-3 w5000 c"))).splitlines()[1:]
    assert [row.split("  ")[-2].strip() for row in rows] == ["1970-01-01 00:00:05Z", "+2 h", "-2 h"]


def test_a_timeline_is_no_more_for_programs_than_what_they_always_get(tmp_path: Path) -> None:
    found = told(tmp_path, "k0-10 c | k10-25")
    assert shown(timeline_document(found), "json") == shown(inspection_document(found), "json")
    both = json.loads(shown(batch_document(found, 1), "json"))
    assert both.pop("batch")["sources"][0]["step"]["amount"] == 15
    assert both == json.loads(shown(inspection_document(found), "json"))
