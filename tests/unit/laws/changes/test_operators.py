"""Operators that came, went, or are others."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.query.model import QueryOperator, SparkSays
from tests.unit.laws.changes.queries import COUNT, NEW, OLD, QUERY, but, judged, only, store, struct

DEDUP = QueryOperator(
    1, "dedupe", inputs=(0,), partitions=2, stores=(store(struct("k string"), struct("__dummy__ void")),)
)
NOT_MATCH = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
NO_DIRECTORY = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
NONE: Any = ()


@pytest.mark.parametrize(
    ("before", "after", "id_", "release", "answer", "condition"),
    [
        ((COUNT,), (COUNT, DEDUP), "operator-added", NEW, "refused", NOT_MATCH),
        (NONE, (COUNT,), "operator-added", NEW, "refused", NO_DIRECTORY),
        ((COUNT,), (COUNT, DEDUP), "operator-added", OLD, "refused", None),
        ((COUNT,), NONE, "operator-removed", NEW, "refused", NOT_MATCH),
        ((COUNT,), NONE, "operator-removed", OLD, "rows_differ", None),
        ((COUNT,), (replace(DEDUP, id=0),), "operator-replaced", NEW, "refused", NOT_MATCH),
        # Deduplication does not look at values, and the keys fit.
        ((COUNT,), (replace(DEDUP, id=0),), "operator-replaced", OLD, "rows_differ", None),
    ],
)
def test_what_has_no_state_and_what_has_no_operator(
    before: Any, after: Any, id_: str, release: Any, answer: str, condition: str | None
) -> None:
    changes = judged(but(operators=after), but(operators=before), release)
    (change,) = [one for one in changes.found if one.id == id_]
    assert change.answer == answer
    assert (change.spark and change.spark.condition) == condition


def test_an_operator_nearer_the_sink_moves_the_others() -> None:
    moved = replace(COUNT, id=1)
    changes = judged(but(operators=(replace(DEDUP, id=0), moved)), release=NEW)
    assert [one.id for one in changes.found if one.answer == "refused"] == ["operator-added", "operators-moved"]


def test_what_state_is_missing_is_raised_as_the_release_has_it() -> None:
    (added,) = [one for one in judged(QUERY, but(operators=()), OLD).found if one.id == "operator-added"]
    assert added.spark
    assert added.spark.class_name == "java.io.FileNotFoundException"


def test_operators_that_are_not_told_are_not_known() -> None:
    (change,) = only(judged(but(operators=(), not_told=("operators",))), "operator-replaced")
    assert (change.answer, change.before) == ("unknown", "stateStoreSave")


def test_a_query_that_start_refuses_is_not_planned() -> None:
    said = SparkSays("org.apache.spark.sql.AnalysisException", None, "no")
    assert only(judged(but(operators=(), not_told=("operators",), spark_says=said))) == []
