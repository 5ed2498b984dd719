"""Spark's planner and the laws, where they differ."""

from __future__ import annotations

import pytest

from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.judge import judge_changes
from ckpttool.laws.changes.planner import PlannerSays, disagreement
from ckpttool.query.model import Query
from ckpttool.releases import parse_release
from tests.unit.laws.changes.queries import QUERY, counting, held, store, struct

VALUE, KEY = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
RETYPED = counting(stores=(store(struct("k string"), struct("count long!", "sum double")),))
TAKEN = PlannerSays("accepted")


def refused(condition: str) -> PlannerSays:
    return PlannerSays("refused", "org.apache.spark.SparkUnsupportedOperationException", condition, "it does not fit")


@pytest.mark.parametrize(
    ("new", "said", "told"),
    [
        (QUERY, TAKEN, None),
        (RETYPED, refused(VALUE), None),
        (QUERY, PlannerSays("unknown", message="no worker"), None),
        (QUERY, refused(KEY), f"refuses the query with {KEY}, and nothing that is told here says so: it does not fit"),
        (RETYPED, refused(KEY), f"refuses the query with {KEY}, and what is told here is {VALUE}: it does not fit"),
        (RETYPED, TAKEN, f"takes the query, and what is told here is {VALUE}"),
    ],
)
def test_a_disagreement_is_of_what_planning_compares(new: Query, said: PlannerSays, told: str | None) -> None:
    found = disagreement(judge_changes(Deploy(new, held(), parse_release("4.2.0"))), said)
    assert (found and found.message) == (told and f"Spark's planner {told}")
