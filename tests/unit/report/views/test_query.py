"""A description as people read it."""

from __future__ import annotations

from ckpttool.query.model import (
    BatchFunction,
    DescribedFrom,
    DescribedSource,
    Description,
    Meaning,
    Query,
    QueryOperator,
    QuerySink,
    QueryTrigger,
    QueryWatermark,
    SparkSays,
)
from ckpttool.report.renderers import render
from ckpttool.report.style import plain
from ckpttool.report.views.query import query_document


def shown(query: Query) -> str:
    description = Description(DescribedFrom("job", "jobs/orders.py"), "4.2.0", (query,))
    return "".join(map(str, render(query_document(description), "text", plain)))


def test_the_first_lines_say_which_query_it_is_and_where_it_writes() -> None:
    function = BatchFunction("upsert", "jobs/orders.py", 9, None)
    query = Query("orders", "jobs/orders.py:17", "/ck/orders", (), "update", QueryTrigger("processing-time", 60_000),
                  sink=QuerySink("foreachBatch", function=function),
                  watermarks=(QueryWatermark("ts", 600_000, (0,)),))  # fmt: skip
    assert shown(query).splitlines()[:5] == [
        "orders   jobs/orders.py:17   Spark 4.2.0",
        "  Checkpoint   /ck/orders",
        "  Runs         update mode, processing-time every 60 s",
        "  Writes to    foreachBatch upsert (jobs/orders.py:9)",
        "  Watermark    ts, 10 min behind (source 0)",
    ]


def test_a_shared_source_and_what_operators_compute_are_told() -> None:
    sources = (DescribedSource(0, None, "kafka", place="orders"), DescribedSource(1, None, "kafka", shared_with=0))
    meaning = Meaning(("k",), ("sum(v)",), join_type="LEFT OUTER", condition="(a = b)", limit=7)
    text = shown(Query(None, "a.py:1", None, (), sources=sources, operators=(QueryOperator(0, "x", meaning=meaning),)))
    assert "the same as source 0" in text
    assert "sum(v), LEFT OUTER on (a = b), limit 7" in text


def test_what_spark_refuses_comes_first() -> None:
    text = shown(Query("orders", "a.py:1", None, ("operators",), spark_says=SparkSays("A", "B.C", "no")))
    assert text.splitlines()[1] == "  Spark refuses to start it: B.C: no"
    assert text.rstrip().endswith("Not told: operators")
