"""`ckpt query describe`: what queries are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ckpttool.formats.state.types import parse_type, spell_type
from ckpttool.model import Json
from ckpttool.query.model import (
    Description,
    Query,
    QueryOperator,
    QuerySink,
    QueryTrigger,
    StoreSchema,
    fields_of,
)
from ckpttool.report.document import Document, Fields, Line, Section, Table, Toned
from ckpttool.report.layout import spell_duration
from ckpttool.words import counted

_UNTOLD = "?"


def query_document(description: Description) -> Document:
    def data() -> Fields:
        return {
            "from": fields_of(description.origin),
            "spark_version": description.spark_version,
            "queries": [fields_of(query) for query in description.queries],
        }

    checkpoint = description.origin.place if description.origin.form == "checkpoint" else None
    return Document("query", checkpoint, data, lambda: _sections(description))


def _sections(description: Description) -> Iterator[Section]:
    for query in description.queries:
        yield list(_head(description, query))
        yield [_sources(query)] if query.sources else []
        yield [_operators(query)] if query.operators else []
        yield list(_schemas(query.operators))
        yield list(_foot(query))


def _head(description: Description, query: Query) -> Iterator[Line]:
    of_checkpoint = description.origin.form == "checkpoint"
    name = query.name or ("the query of this checkpoint" if of_checkpoint else "a query")
    version = f"   Spark {description.spark_version}" if description.spark_version else ""
    yield Toned(f"{name}   {query.where or description.origin.place}{version}", "title")
    if query.spark_says:
        said = query.spark_says
        yield Toned(f"  Spark refuses to start it: {said.condition or said.class_name}: {said.message}", "error")
    if query.checkpoint and not of_checkpoint:
        yield f"  Checkpoint   {query.checkpoint}"
    if query.output_mode or query.trigger:
        yield f"  Runs         {query.output_mode or _UNTOLD} mode, {_spell_trigger(query.trigger)}"
    if query.sink:
        yield f"  Writes to    {_spell_sink(query.sink)}"
    for one in query.watermarks or ():
        of = f" (source {', '.join(map(str, one.sources))})" if one.sources else ""
        yield f"  Watermark    {one.column}, {spell_duration(one.delay_ms)} behind{of}"


def _spell_trigger(trigger: QueryTrigger | None) -> str:
    if trigger is None:
        return "with a trigger that is not told"
    if trigger.kind == "default":
        return "one batch after the other"
    every = f" every {spell_duration(trigger.interval_ms)}" if trigger.interval_ms is not None else ""
    return f"{trigger.kind}{every}"


def _spell_sink(sink: QuerySink) -> str:
    function = sink.function
    where = f" {function.name} ({function.file}:{function.line})" if function else ""
    return f"{sink.kind}{where}{f' {sink.place}' if sink.place else ''}"


def _sources(query: Query) -> Table:
    rows = [
        [
            source.name or str(source.index),
            " ".join(filter(None, (source.kind, source.format))),
            source.place or _UNTOLD,
            _spell_options(source.options) if "sources.options" not in query.not_told else _UNTOLD,
            "" if source.shared_with is None else f"the same as source {source.shared_with}",
        ]
        for source in query.sources
    ]
    return Table(["Source", "Kind", "Place", "Options", ""], rows)


def _spell_options(options: Mapping[str, str]) -> str:
    """But for those that say where, which stand beside it."""
    return ", ".join(f"{key}={value}" for key, value in options.items() if key.lower() != "path")


def _operators(query: Query) -> Table:
    untold = _UNTOLD if "operators.meaning" in query.not_told else ""
    rows = [
        [str(one.id), one.name or _UNTOLD, str(one.partitions or _UNTOLD), *_spell_meaning(one, untold)]
        for one in query.operators
    ]
    return Table(["Operator", "Name", "Partitions", "Keys", "Values"], rows, {0, 2})


def _spell_meaning(operator: QueryOperator, untold: str) -> tuple[str, str]:
    found = operator.meaning
    if found is None:
        return untold, untold
    limit = f"limit {found.limit}" if found.limit is not None else ""
    joined = f"{found.join_type} on {found.condition}" if found.join_type else ""
    variables = ", ".join(f"{one.name} ({one.kind})" for one in found.variables)
    return ", ".join(found.keys) or untold, ", ".join(filter(None, (*found.values, joined, limit, variables))) or untold


def _schemas(operators: Sequence[QueryOperator]) -> Iterator[Line]:
    for operator in operators:
        for store in operator.stores:
            if store.key_schema is not None:
                name = store.column_family or store.name
                yield f"  State of operator {operator.id}, {name}: {_spell_store(store)}"


def _spell_store(store: StoreSchema) -> str:
    return f"{_spell(store.key_schema)} → {_spell(store.value_schema)}"


def _spell(schema: Json) -> str:
    return spell_type(parse_type(schema)).removeprefix("struct<").removesuffix(">").replace(",", ", ").replace(":", " ")


def _foot(query: Query) -> Iterator[Line]:
    if query.plan:
        yield Toned(
            f"  {counted(len(query.plan), 'node')} in its plan, sha256 {(query.plan_sha256 or '')[:12]}", "faint"
        )
    if query.not_told:
        yield f"  Not told: {', '.join(query.not_told)}"
