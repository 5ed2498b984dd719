"""What two batches differ in: both are named first, and nothing is told where nothing differs."""

from __future__ import annotations

import json

from ckpttool.connectors.base import OffsetStep
from ckpttool.fleet.comparison import Difference
from ckpttool.report.views.diff import comparison_document
from tests.documents import shown

A, B = ("s3a://lake/orders", 3), ("/backup/orders", 12)
STEP = OffsetStep(1_200_000, "rows", exact=False)


def test_both_sides_are_named_before_the_table() -> None:
    lines = shown(comparison_document(A, B, [Difference("commit", "committed", "no commit")])).splitlines()
    assert lines[:3] == ["A: s3a://lake/orders batch 3", "B: /backup/orders batch 12", ""]
    assert [line.split("  ")[0] for line in lines[3:]] == ["What", "commit"]


def test_what_a_side_does_not_have_is_a_dash_and_steps_are_aligned_at_their_ends() -> None:
    few = OffsetStep(5, "rows", exact=True)
    told = [Difference("source 0", "t 10", "t 20", STEP), Difference("source 1", None, "u 5", few)]
    *_, head, many_row, few_row = shown(comparison_document(A, B, told)).splitlines()
    assert len(head) == len(many_row) == len(few_row)
    assert many_row.endswith(" ≤ 1,200,000 rows")
    assert few_row.split() == ["source", "1", "-", "u", "5", "5", "rows"]


def test_no_differences() -> None:
    document = comparison_document(A, A, [])
    assert shown(document).splitlines()[-1] == "No differences."
    fields = json.loads(shown(document, "json"))
    assert (fields["equal"], fields["differences"]) == (True, [])


def test_programs_are_told_null_where_people_see_a_dash() -> None:
    fields = json.loads(shown(comparison_document(A, B, [Difference("source 1", None, "u 5", STEP)]), "json"))
    assert fields["equal"] is False
    assert fields["b"] == {"checkpoint": "/backup/orders", "batch_id": 12}
    [one] = fields["differences"]
    assert (one["a"], one["b"], one["step"]["amount"], one["step"]["exact"]) == (None, "u 5", 1_200_000, False)
