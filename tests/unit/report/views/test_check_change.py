"""What people read of a change."""

from __future__ import annotations

from ckpttool.deploy import Checked, check_against
from ckpttool.query.model import DescribedFrom, Description, Query
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.check_change import change_document
from tests.unit.laws.changes.queries import QUERY, but, held


def shown(checked: Checked, query: Query) -> str:
    described = Description(DescribedFrom("job", "job.py"), "4.2.0", (query,))
    return "".join(map(str, render(change_document("/ck", checked, query, described, None), "text", plain)))


def test_the_second_line_is_the_one_thing_to_do() -> None:
    assert shown(check_against(held(), QUERY, QUERY), QUERY).splitlines()[:2] == [
        "Spark 4.3.0 takes this query.",
        "  There is nothing to do.",
    ]
    assert shown(check_against(held(), QUERY), QUERY).splitlines()[:2] == [
        "Spark 4.3.0 takes this query, as far as the checkpoint tells.",
        "  Give the query that wrote it with --was, and nothing of this is assumed.",
    ]


def test_changes_stand_beside_each_other_with_what_can_be_done() -> None:
    new = but(operators=())
    text = shown(check_against(held(), new, accept=("plan-changed",)), new)
    (row,) = [line for line in text.splitlines() if line.startswith("operator-removed  operator 0  ")]
    assert row.endswith(" refused")
    assert "  old-code-first: roll the old code back: the files of the checkpoint are sound" in text
