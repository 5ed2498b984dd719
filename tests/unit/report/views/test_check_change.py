"""What people read of a change."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.deploy import Checked, check_change
from ckpttool.plan import Plan, Refusal
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.check_change import change_document
from tests.unit.laws.changes.queries import FILES, QUERY, but, held


def shown(checked: Checked, form: str = "text") -> str:
    return "".join(map(str, render(change_document("/ck", checked), form, plain)))


def test_the_second_line_is_the_one_thing_to_do() -> None:
    assert shown(check_change(held(), QUERY, QUERY)).splitlines()[:2] == [
        "Spark 4.3.0 takes this query.",
        "  There is nothing to do.",
    ]
    assert shown(check_change(held(), QUERY)).splitlines()[:2] == [
        "Spark 4.3.0 takes this query, as far as the checkpoint tells.",
        "  Give the query that wrote it with --was, and nothing of this is assumed.",
    ]


def test_changes_stand_beside_each_other_with_what_can_be_done() -> None:
    new = but(operators=())
    text = shown(check_change(held(), new, accept=("plan-changed",)))
    (row,) = [line for line in text.splitlines() if line.startswith("operator-removed  operator 0  ")]
    assert row.endswith(" refused")
    assert "  old-code-first: roll the old code back: the files of the checkpoint are sound" in text


def test_annotations_stand_where_the_query_is_started() -> None:
    assert QUERY.sink
    before = but(sink=replace(QUERY.sink, place="/a"))
    new = but(sink=replace(QUERY.sink, place="/b"))
    lines = shown(check_change(held(), new, before), "github").splitlines()
    assert [line.partition(",title")[0] for line in lines] == ["::error file=job.py,line=3"] * 2
    assert "title=sink-place-changed query::/a -> /b: " in lines[1]
    meant = shown(check_change(held(), new, before, accept=("sink-place-changed",)), "github").splitlines()
    assert [line.partition(" ")[0] for line in meant] == ["::notice", "::notice"]


def test_a_way_out_that_was_tried_in_vain_is_not_what_to_do() -> None:
    more = check_change(held(), but(sources=(*QUERY.sources, replace(FILES, index=1, place="/b"))), QUERY)
    assert shown(more).splitlines()[1].startswith("  add the source to the newest offsets")
    tried = replace(more, plan=Plan((), (Refusal("add-source-line", "its newest batch is not finished"),)))
    assert shown(tried).splitlines()[1].startswith("  leave this query as it is, and start the new one beside it")
    assert "  add-source-line:" not in shown(tried)
