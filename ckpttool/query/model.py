"""A description: what a streaming query is, as one value that is made where Spark is and read where no JVM is.

Its fields are those of `ckpt.query/1`. Whatever the form it was made from does not tell is None, or empty, and is named
in `not_told`: nobody may take that for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ckpttool.model import Json

SCHEMA = "ckpt.query/1"
Form = Literal["job", "checkpoint", "explain", "progress", "writer", "several"]
TriggerKind = Literal["default", "processing-time", "once", "available-now", "continuous", "real-time"]
OutputMode = Literal["append", "update", "complete"]


class QueryTrigger(Struct, frozen=True):
    kind: TriggerKind
    interval_ms: int | None = None


class DescribedSource(Struct, frozen=True):
    """One line of `offsets/N`. `shared_with`: the source before it that is the same DataFrame, whose log it shares.

    `place`: topics, a directory, a table. `columns`: their names, where the schema is not told. `stands_for`: what an
    empty stand-in was put in for, as it was not there."""

    index: int
    name: str | None
    kind: str
    provider: str | None = None
    api: Literal["v1", "v2"] | None = None
    place: str | None = None
    format: str | None = None
    options: Mapping[str, str] = {}
    schema: Json = None
    columns: tuple[str, ...] | None = None
    shared_with: int | None = None
    stands_for: str | None = None


class QueryWatermark(Struct, frozen=True):
    """`sources`: those whose rows it is taken from."""

    column: str
    delay_ms: int
    sources: tuple[int, ...] = ()


class StoreSchema(Struct, frozen=True):
    """A store of an operator, or one column family in it, with the schemas of its rows as Spark's JSON."""

    name: str
    column_family: str | None
    key_schema: Json
    value_schema: Json
    encoding: str | None = None


class StateVariable(Struct, frozen=True):
    """One state variable of transformWithState. `kind`: value, list, map, timer."""

    name: str
    kind: str
    has_ttl: bool = False


class Meaning(Struct, frozen=True):
    """What no schema of state tells: what a column was computed from. Expressions are Spark's SQL, without ids."""

    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    window_ms: int | None = None
    slide_ms: int | None = None
    gap: str | None = None
    join_type: str | None = None
    condition: str | None = None
    limit: int | None = None
    timeout: str | None = None
    variables: tuple[StateVariable, ...] = ()


class QueryOperator(Struct, frozen=True):
    """`id` is Spark's: 0 is nearest the sink. `inputs`: the sources below it."""

    id: int
    name: str | None
    exec: str | None = None
    inputs: tuple[int, ...] = ()
    partitions: int | None = None
    state_format: int | None = None
    stores: tuple[StoreSchema, ...] = ()
    meaning: Meaning | None = None


class BatchFunction(Struct, frozen=True):
    """What `foreachBatch` was given. It is never called; `sha256` is of its code."""

    name: str
    file: str | None
    line: int | None
    sha256: str | None


class QuerySink(Struct, frozen=True):
    kind: str
    place: str | None = None
    options: Mapping[str, str] = {}
    function: BatchFunction | None = None


class SparkSays(Struct, frozen=True, rename={"class_name": "class"}):
    """What `start()` itself refuses, before it looks at any checkpoint."""

    class_name: str
    condition: str | None
    message: str


class Query(Struct, frozen=True):
    """`where`: file and line of its `start`. `plan`: the analysed plan, a node a line, with neither ids nor sources in
    it; `conf`: what a checkpoint pins, as the session has it."""

    name: str | None
    where: str | None
    checkpoint: str | None
    not_told: tuple[str, ...]
    output_mode: OutputMode | None = None
    trigger: QueryTrigger | None = None
    sources: tuple[DescribedSource, ...] = ()
    watermarks: tuple[QueryWatermark, ...] | None = None
    operators: tuple[QueryOperator, ...] = ()
    sink: QuerySink | None = None
    output_schema: Json = None
    plan: tuple[str, ...] = ()
    plan_sha256: str | None = None
    conf: Mapping[str, str] = {}
    spark_says: SparkSays | None = None

    def to_json(self) -> str:
        """As `ckpt query describe --format json` prints it, so that it can be kept."""
        origin = DescribedFrom("writer", self.where or self.name or "writer")
        description = fields_of(Description(origin, None, (self,)))
        return json.dumps({"schema": SCHEMA, **description}, ensure_ascii=False, indent=2) + "\n"


class DescribedFrom(Struct, frozen=True):
    """What a description was made from."""

    form: Form
    place: str
    sha256: str | None = None


class Description(Struct, frozen=True, rename={"origin": "from"}):
    origin: DescribedFrom
    spark_version: str | None
    queries: tuple[Query, ...]


def together(descriptions: Sequence[Description]) -> Description:
    """The queries of several, as one."""
    first, *others = descriptions
    if not others:
        return first
    places = ", ".join(one.origin.place for one in descriptions)
    form = first.origin.form if all(one.origin.form == first.origin.form for one in others) else "several"
    version = first.spark_version if all(one.spark_version == first.spark_version for one in others) else None
    return Description(
        DescribedFrom(form, places), version, tuple(query for one in descriptions for query in one.queries)
    )


def comparable(query: Query) -> Query:
    """Only what may be held against another query's. A form may tell of a field a part, or what it is likely to be:
    people are shown it."""
    untold = (*query.not_told, *(("sources",) if "sources.shared_with" in query.not_told else ()))
    operators = query.operators
    if "operators.meaning" in untold:
        operators = tuple(replace(one, meaning=None) for one in operators)
    watermarks = None if "watermarks" in untold else query.watermarks
    return replace(query, not_told=untold, operators=operators, watermarks=watermarks)


def fields_of(value: Any) -> Any:
    """As JSON has it."""
    return msgspec.to_builtins(value, str_keys=True)


def named(queries: Sequence[Query]) -> list[str]:
    """By what one of several is picked: its name, or its number."""
    return [query.name or str(number) for number, query in enumerate(queries, 1)]
