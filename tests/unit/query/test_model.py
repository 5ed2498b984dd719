"""The fields of `ckpt.query/1`."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.query.model import (
    DescribedFrom,
    DescribedSource,
    Description,
    Meaning,
    Query,
    QueryOperator,
    QueryWatermark,
    SparkSays,
    comparable,
    fields_of,
    named,
)


def test_words_that_python_keeps_for_itself_are_spelled_as_json_has_them() -> None:
    fields = fields_of(Description(DescribedFrom("job", "orders.py"), "4.2.0", ()))
    assert fields["from"] == {"form": "job", "place": "orders.py", "sha256": None}
    assert fields_of(SparkSays("A", None, "no"))["class"] == "A"


def test_a_query_without_a_name_is_known_by_its_number() -> None:
    queries = [Query(name, None, None, ()) for name in ("orders", None)]
    assert named(queries) == ["orders", "2"]


def test_what_is_only_shown_is_compared_with_nothing() -> None:
    operator = QueryOperator(0, "stateStoreSave", meaning=Meaning(("k",)))
    sources, watermarks = (DescribedSource(0, None, "kafka"),), (QueryWatermark("ts", 10),)
    query = Query("a", None, None, (), operators=(operator,), sources=sources, watermarks=watermarks)
    assert comparable(query) == query
    shown = replace(query, not_told=("sources.shared_with", "watermarks", "operators.meaning"))
    found = comparable(shown)
    assert found.operators[0].meaning is None
    assert found.watermarks is None
    assert found.not_told == (*shown.not_told, "sources")
