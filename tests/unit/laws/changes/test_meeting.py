"""What Spark refuses of the stores that are there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.meeting import pairs_of, schema_refused, shaped_otherwise
from tests.unit.laws.changes.queries import COUNT, NEW, OLD, QUERY, but, held, store, struct

STORES = "org.apache.spark.sql.execution.streaming.state."


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("k long", "count long!", "StateSchemaNotCompatible", "StateStoreKeySchemaNotCompatible"),
        ("k string", "count double", "StateSchemaNotCompatible", "StateStoreValueSchemaNotCompatible"),
    ],
)
def test_a_schema_is_refused_as_the_release_says_it(key: str, value: str, old: str, new: str) -> None:
    operator = replace(COUNT, stores=(store(struct(key), struct(value, "sum long")),))
    for release, name in ((OLD, old), (NEW, new)):
        deploy = Deploy(but(operators=(operator,)), held(), release)
        (pair,) = pairs_of(held().operators[0], operator)
        failure = schema_refused(deploy, pair)
        assert failure
        assert failure.class_name == STORES + name


def test_the_format_that_is_pinned_decides_what_a_value_has_in_it() -> None:
    with_key = replace(
        COUNT, state_format=1, stores=(store(struct("k string"), struct("k string", "count long!", "sum long")),)
    )
    for one, other in ((with_key, COUNT), (COUNT, with_key)):
        (pair,) = pairs_of(one, other)
        assert pair.value_fits


def test_a_description_under_another_setting_tells_other_schemas() -> None:
    setting = "spark.sql.streaming.join.stateFormatVersion"
    join = replace(COUNT, name="symmetricHashJoin")
    new, old = but(operators=(join,), conf={setting: "3"}), replace(held(), conf={setting: "2"})
    told = shaped_otherwise(Deploy(new, old, NEW), join)
    assert told == f"{setting} is 3 in the description, and the checkpoint pins 2"
    assert shaped_otherwise(Deploy(new, old, NEW), COUNT) is None
    assert shaped_otherwise(Deploy(QUERY, held(), NEW), join) is None
