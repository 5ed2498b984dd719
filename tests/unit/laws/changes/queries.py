"""Queries as a job describes them, and as their checkpoint shows them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ckpttool.laws.changes.base import Altered, Deploy
from ckpttool.laws.changes.judge import QueryChanges, judge_changes
from ckpttool.model import Json
from ckpttool.query.from_checkpoint import NOT_TOLD
from ckpttool.query.model import (
    BatchFunction,
    DescribedSource,
    Meaning,
    Query,
    QueryOperator,
    QuerySink,
    QueryTrigger,
    QueryWatermark,
    StoreSchema,
)
from ckpttool.releases import Release, parse_release

OLD, NEW = parse_release("3.5.7"), parse_release("4.2.0")


def struct(*fields: str) -> Json:
    """`k string`, `n long!`: one that is never null."""
    parts = [field.split(" ", 1) for field in fields]
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind.rstrip("!"), "nullable": not kind.endswith("!"), "metadata": {}}
            for name, kind in parts
        ],
    }


def store(key: Json, value: Json, name: str = "default", family: str | None = None, encoding: str = "unsaferow") -> Any:
    return StoreSchema(name, family, key, value, encoding)


COUNT = QueryOperator(
    0,
    "stateStoreSave",
    inputs=(0,),
    partitions=2,
    state_format=2,
    stores=(store(struct("k string"), struct("count long!", "sum long")),),
    meaning=Meaning(keys=("k",), values=("count(1)", "sum(v)")),
)
FILES = DescribedSource(0, None, "file", place="file:/in", format="json", schema=struct("k string", "v long"))
QUERY = Query(
    name="orders",
    where="job.py:3",
    checkpoint="file:/ck",
    not_told=(),
    output_mode="update",
    trigger=QueryTrigger("available-now"),
    sources=(FILES,),
    watermarks=(),
    operators=(COUNT,),
    sink=QuerySink("foreachBatch", function=BatchFunction("upsert", "job.py", 1, "aa")),
    output_schema=struct("k string", "n long"),
    plan=("Aggregate", "+- source"),
    plan_sha256="aaaa",
    conf={"spark.sql.streaming.aggregation.stateFormatVersion": "2"},
)


def but(**changed: Any) -> Query:
    return replace(QUERY, **changed)


def counting(**changed: Any) -> Query:
    """With another operator."""
    return but(operators=(replace(COUNT, **changed),))


def held(query: Query = QUERY) -> Query:
    """As the checkpoint of the query shows it."""
    operators = tuple(replace(one, inputs=(), meaning=None) for one in query.operators)
    sources = tuple(replace(one, options={}, schema=None, format=None) for one in query.sources)
    return replace(
        query, name=None, where=None, not_told=NOT_TOLD, output_mode=None, trigger=None, watermarks=None, sink=None,
        output_schema=None, plan=(), plan_sha256=None, operators=operators, sources=sources,
    )  # fmt: skip


def judged(new: Query, before: Query = QUERY, release: Release = NEW, *, with_was: bool = True) -> QueryChanges:
    return judge_changes(Deploy(new, held(before), release, before if with_was else None))


def only(changes: QueryChanges, *ids: str) -> list[Altered]:
    """Those, and no others are there but what says no more than that something is another."""
    told = [change for change in changes.found if change.id not in ("plan-changed",)]
    assert [change.id for change in told] == list(ids)
    return told


WATERMARK = QueryWatermark("ts", 5000, (0,))
