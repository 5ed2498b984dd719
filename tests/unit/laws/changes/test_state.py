"""Keys, values and variables of operators that stay."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.judge import judge_changes
from ckpttool.model import Json
from ckpttool.query.model import Meaning, Query, QueryOperator, QueryWatermark, StateVariable
from tests.unit.laws.changes.queries import (
    COUNT,
    NEW,
    OLD,
    QUERY,
    WATERMARK,
    but,
    counting,
    held,
    judged,
    only,
    store,
    struct,
)

KEY, VALUE = struct("k string"), struct("count long!", "sum long")


@pytest.mark.parametrize(
    ("key", "value", "id_", "answer"),
    [
        (struct("k string", "g string"), VALUE, "state-key-changed", "refused"),
        (KEY, struct("count long!", "sum double"), "state-value-changed", "refused"),
        (struct("key string"), VALUE, "state-field-renamed", "harmless"),
        # The columns of an aggregation's value are called as its functions are.
        (KEY, struct("count long!", "max long"), "state-meaning-changed", "rows_differ"),
    ],
)
def test_columns_of_an_aggregation(key: Json, value: Json, id_: str, answer: str) -> None:
    (change,) = only(judged(counting(stores=(store(key, value),)), with_was=False), id_)
    assert (change.answer, change.told_by) == (answer, "checkpoint")


def test_the_same_query_has_no_change() -> None:
    assert judged(QUERY).found == ()
    assert judged(QUERY, with_was=False).found == ()
    assert judged(QUERY).assumes == ()


def test_deduplication_is_known_by_its_columns() -> None:
    dedup = replace(COUNT, name="dedupe", stores=(store(KEY, struct("__dummy__ void")),))
    by_two = replace(dedup, stores=(store(struct("k string", "g string"), struct("__dummy__ void")),))
    (change,) = only(judged(but(operators=(by_two,)), but(operators=(dedup,))), "dedup-columns-changed")
    assert change.answer == "refused"


def test_before_4_0_a_description_does_not_tell_which_columns_of_a_join_are_never_null() -> None:
    join = replace(
        COUNT, name="symmetricHashJoin", stores=(store(KEY, struct("k string!"), "left-keyWithIndexToValue"),)
    )
    told = replace(join, stores=(store(KEY, struct("k string"), "left-keyWithIndexToValue"),))
    wrote, new = but(operators=(join,)), but(operators=(told,))
    assert only(judged(new, wrote, OLD, with_was=False)) == []
    assert (
        "operator 0: k string of left-keyWithIndexToValue is never null, as before"
        in judged(new, wrote, OLD, with_was=False).assumes
    )
    (change,) = only(judged(new, wrote, NEW), "state-value-changed")
    assert change.answer == "refused"


def test_what_a_plan_below_a_watermark_tells_says_nothing_of_one_without() -> None:
    def joining(column: str, *watermarks: QueryWatermark) -> Query:
        stores = (store(KEY, struct(column), "left-keyWithIndexToValue"),)
        join = replace(COUNT, name="symmetricHashJoin", stores=stores)
        return but(operators=(join,), watermarks=watermarks, plan_sha256=column)

    wrote = joining("ts timestamp!", WATERMARK)
    (filtered,) = only(judged(joining("ts timestamp", WATERMARK), wrote, OLD), "state-value-changed")
    assert filtered.answer == "refused"
    changes = judged(joining("ts timestamp"), wrote, OLD)
    assert [one.answer for one in changes.found if one.id == "state-value-changed"] == ["unknown"]
    renamed = judged(joining("at timestamp", WATERMARK), wrote, OLD, with_was=False)
    assert only(renamed) == []
    assert "operator 0: at timestamp of left-keyWithIndexToValue is never null, as before" in renamed.assumes


def test_columns_that_change_places_are_taken_for_each_other() -> None:
    several = [
        replace(COUNT, stores=(store(struct(*keys), VALUE),))
        for keys in (("k string", "g string"), ("g string", "k string"))
    ]
    (change,) = only(
        judged(but(operators=(several[1],)), but(operators=(several[0],)), with_was=False), "state-meaning-changed"
    )
    assert (change.before, change.after, change.answer) == ("k, g", "g, k", "rows_differ")


# -- variables ---------------------------------------------------------------------------------------------------------


def kept(encoding: str, **variables: Json) -> Query:
    stores = tuple(
        store(KEY, schema, "default", name.replace("ttl_", "$ttl_"), encoding) for name, schema in variables.items()
    )
    return but(operators=(QueryOperator(0, "transformWithStateInPandasExec", stores=stores),))


SEEN, NOTE = struct("n integer"), struct("text string")


@pytest.mark.parametrize(
    ("encoding", "now", "id_", "answer"),
    [
        ("avro", {"seen": SEEN, "note": NOTE, "more": SEEN}, "state-variable-added", "harmless"),
        ("avro", {"seen": SEEN}, "state-variable-removed", "rows_differ"),
        ("avro", {"seen": struct("n long"), "note": NOTE}, "state-variable-retyped", "harmless"),
        ("unsaferow", {"seen": struct("n long"), "note": NOTE}, "state-variable-retyped", "refused"),
        ("avro", {"seen": struct("n string"), "note": NOTE}, "state-variable-retyped", "refused"),
        ("avro", {"seen": SEEN, "note": struct("text string", "m long")}, "state-variable-retyped", "unknown"),
        ("unsaferow", {"seen": SEEN, "note": struct("text string", "m long")}, "state-variable-retyped", "refused"),
    ],
)
def test_variables_have_families_of_their_own(encoding: str, now: dict[str, Any], id_: str, answer: str) -> None:
    (change,) = only(judged(kept(encoding, **now), kept(encoding, seen=SEEN, note=NOTE)), id_)
    assert change.answer == answer


def test_what_spark_keeps_beside_a_variable_is_none() -> None:
    with_ttl = kept("avro", seen=SEEN, ttl_seen=struct("n long"))
    assert only(judged(with_ttl, kept("avro", seen=SEEN))) == []


def test_a_variable_of_another_kind_is_refused() -> None:
    def kind(of: str) -> Query:
        (operator,) = kept("avro", seen=SEEN).operators
        return but(operators=(replace(operator, meaning=Meaning(variables=(StateVariable("seen", of),))),))

    before = replace(held(kind("ValueState")), operators=kind("ValueState").operators)
    (change,) = judge_changes(Deploy(kind("ListState"), before, NEW)).found
    assert (change.id, change.answer) == ("state-variable-retyped", "refused")
    assert change.spark
    assert change.spark.condition == "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE"
