"""What single nodes of a printed plan mean. Whole plans: test_from_explain.py."""

from __future__ import annotations

import pytest

from ckpttool.formats.explain import parse_explain
from ckpttool.query.meaning import PrintedPlan, UnreadablePlan, delay_ms, functions_of
from ckpttool.query.model import Meaning

SOURCE = "+- StreamingRelation kafka, [k#1, v#2L]"


def meaning(node: str, *functions: str) -> Meaning:
    tree = parse_explain(f"== Physical Plan ==\n{node}\n{SOURCE}\n")[0].physical
    (found,) = PrintedPlan(tree, functions, reads=True).meanings()
    return found


@pytest.mark.parametrize(
    ("results", "values"),
    [
        ("sum(v#2L) AS total#3L", ("sum(v)",)),
        ("(sum(v#2L) + cast(count(1) as bigint)) AS x#3L", ("sum(v)", "count(1)")),
        ("sum(v#2L) FILTER (WHERE (v#2L > 3)) AS x#3L, sum(v#2L) AS y#4L", ("sum(v) FILTER (WHERE (v > 3))", "sum(v)")),
        ("k#1", ()),
        ("upper(k#1) AS u#5", ()),
    ],
)
def test_an_aggregation_has_the_aggregates_in_its_results(results: str, values: tuple[str, ...]) -> None:
    found = meaning(f"Aggregate [k#1, upper(k#1)], [{results}]", "sum", "count", "upper" if "upper" in results else "x")
    assert found.keys == ("k", "upper(k)")
    assert found.values == values


def test_limits_and_distinct_rows() -> None:
    assert meaning("GlobalLimit 7") == Meaning(limit=7)
    assert meaning("Distinct") == Meaning()


@pytest.mark.parametrize(
    "node",
    [
        "Aggregate [k#1], [sum(v#2L]",
        "Aggregate [k#1]",
        "GlobalLimit (1 + 1)",
        "Deduplicate k#1",
        "TransformWithState f, [k#1]",
    ],
)
def test_what_is_not_printed_as_expected_has_no_meaning(node: str) -> None:
    with pytest.raises(UnreadablePlan):
        meaning(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 seconds", 10_000),
        ("0.5 seconds", 500),
        ("1 hours 30 minutes", 5_400_000),
        ("1 months 2 days", 33 * 86_400_000),
        ("0 seconds", 0),
    ],
)
def test_delays_are_read_as_spark_counts_them(text: str, expected: int) -> None:
    assert delay_ms(text) == expected


@pytest.mark.parametrize("text", ["", "10", "10 fortnights", "10 seconds x", "seconds"])
def test_what_is_no_interval_is_not_read(text: str) -> None:
    with pytest.raises(UnreadablePlan):
        delay_ms(text)


def test_aggregates_are_known_by_the_physical_plan() -> None:
    text = "== Physical Plan ==\nSortAggregate(key=[k#1], functions=[merge_sum(v#2L), partial_first(k#1, false)])\n"
    assert functions_of(parse_explain(text)[0].physical) == {"sum", "first"}
