"""What a source of one kind makes of what another one has left."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.query.model import DescribedSource, Query
from tests.unit.laws.changes.queries import FILES, but, judged, only

RATE = DescribedSource(0, None, "rate")
COUNTER = DescribedSource(0, None, "rate-micro-batch")
KAFKA = DescribedSource(0, None, "kafka", place="orders", options={"subscribe": "orders"})
NUMBER = "java.lang.NumberFormatException"


def reading(*sources: DescribedSource) -> Query:
    return but(sources=tuple(replace(one, index=index) for index, one in enumerate(sources)), operators=())


@pytest.mark.parametrize(
    ("kind", "raised"),
    [(RATE, ("init", NUMBER)), (COUNTER, ("batch", "org.json4s.MappingException")), (KAFKA, None)],
)
def test_it_fails_on_what_it_reads_first(kind: DescribedSource, raised: tuple[str, str] | None) -> None:
    (change,) = only(judged(reading(kind), reading(FILES)), "source-kind-changed")
    assert change.answer == "refused"
    assert (change.spark and (change.spark.phase, change.spark.class_name)) == raised


def test_of_several_the_first_that_fails_is_told_where_all_are_known() -> None:
    files = reading(FILES, replace(FILES, place="file:/in2"))
    (known,) = only(judged(reading(COUNTER, RATE), files), "foreign-query")
    assert known.spark
    assert (known.spark.class_name, known.spark.path) == (NUMBER, "sources/1/0")
    (unknown,) = only(judged(reading(KAFKA, RATE), files), "foreign-query")
    assert (unknown.answer, unknown.spark) == ("refused", None)


def test_names_of_one_kind_are_no_change() -> None:
    assert only(judged(reading(replace(RATE, kind="rate-continuous")), reading(RATE))) == []
