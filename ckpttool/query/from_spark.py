"""What a job's Spark told of its queries (`ckpttool.spark.describe`), as descriptions. Pure: text in, values out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from ckpttool.connectors.options import shown_value
from ckpttool.formats import layout
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.model import Json, OperatorMetadata
from ckpttool.query.from_checkpoint import state_format, state_variables, stores_of
from ckpttool.query.model import (
    BatchFunction,
    DescribedSource,
    Meaning,
    Query,
    QueryOperator,
    QuerySink,
    QueryTrigger,
    QueryWatermark,
    SparkSays,
    StoreSchema,
    TriggerKind,
)
from ckpttool.storage.urls import redact_url

Raw = Mapping[str, Any]

# Formats of files, by the names and the classes that Spark takes for them.
_FILES = ("json", "parquet", "csv", "text", "orc", "avro", "xml", "binaryfile")
_TRIGGERS: Mapping[str, TriggerKind] = {
    "processingTime": "processing-time",
    "once": "once",
    "availableNow": "available-now",
    "continuous": "continuous",
    "realTime": "real-time",
}
_OTHERWISE_CONTINUOUS = ("rate", "socket")  # whose offsets are others then
# Which option of a source or sink says where it reads or writes, the first that is there.
_PLACES = ("subscribe", "assign", "subscribepattern", "topic", "path", "table", "dbtable")


def query_of(raw: Raw) -> Query:
    lines = tuple(raw["plan"])
    conf = dict(raw["conf"])
    refused, trigger = raw["spark_says"], _trigger(raw["trigger"])
    return Query(
        name=raw["name"],
        where=raw["where"],
        checkpoint=raw["checkpoint"] and redact_url(raw["checkpoint"]),
        not_told=("operators",) if refused else (),
        output_mode=raw["output_mode"],
        trigger=trigger,
        sources=tuple(_source(source, trigger) for source in raw["sources"]),
        watermarks=tuple(
            QueryWatermark(one["column"], one["delay_ms"], tuple(one["sources"])) for one in raw["watermarks"]
        ),
        operators=tuple(_operators(raw, conf)),
        sink=_sink(raw),
        output_schema=raw["output_schema"],
        plan=lines,
        plan_sha256=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        conf=conf,
        spark_says=refused and SparkSays(refused["class"], refused["condition"], _first_line(refused["message"])),
    )


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0].rstrip(";")


def _trigger(given: Raw) -> QueryTrigger:
    name = next((name for name, value in given["given"].items() if value and name in _TRIGGERS), None)
    return QueryTrigger("default") if name is None else QueryTrigger(_TRIGGERS[name], given["interval_ms"])


# -- sources and sinks -------------------------------------------------------------------------------------------------


def _source(raw: Raw, trigger: QueryTrigger) -> DescribedSource:
    kind, format_ = kind_of(raw["provider"])
    kind += "-continuous" if kind in _OTHERWISE_CONTINUOUS and trigger.kind == "continuous" else ""
    return DescribedSource(
        index=raw["index"],
        name=raw["name"],
        kind=kind,
        provider=raw["provider"],
        api=raw["api"],
        place=raw.get("table") or place_of(raw["options"]),
        format=format_,
        options=shown_options(raw["options"]),
        schema=raw["schema"],
        shared_with=raw["shared_with"],
        stands_for=raw.get("stands_for"),
    )


def kind_of(provider: str) -> tuple[str, str | None]:
    """A source's kind, and of files the format. Spark takes a class for a short name."""
    name = provider.rpartition(".")[2].lower().removesuffix("fileformat").removesuffix("dsv2")
    return ("file", name) if name in _FILES else (name, None)


def place_of(options: Mapping[str, str]) -> str | None:
    given = {key.lower(): value for key, value in options.items()}
    return next((redact_url(given[key]) for key in _PLACES if given.get(key)), None)


def shown_options(options: Mapping[str, str | None]) -> dict[str, str]:
    return {key: shown_value(key, value) for key, value in sorted(options.items()) if value is not None}


def _sink(raw: Raw) -> QuerySink:
    function, options = raw["function"], raw["options"]
    return QuerySink(
        kind=raw["format"],
        place=(raw["place"] and redact_url(raw["place"])) or place_of(options),
        options=shown_options({key: value for key, value in options.items() if key.lower() != "checkpointlocation"}),
        function=function and BatchFunction(**function),
    )


# -- operators ---------------------------------------------------------------------------------------------------------


def _operators(raw: Raw, conf: Mapping[str, str]) -> Iterator[QueryOperator]:
    files = {path: base64.b64decode(body) for path, body in raw["files"].items()}
    for one in raw["operators"]:
        metadata = _metadata(files, one["id"])
        name = metadata.name if metadata else one["name"]
        meaning = one["meaning"] and msgspec.convert(one["meaning"], Meaning)
        variables = state_variables(metadata)
        yield QueryOperator(
            id=one["id"],
            name=name,
            exec=one["exec"],
            inputs=tuple(one["inputs"]),
            partitions=one["partitions"],
            state_format=state_format(name, conf),
            stores=tuple(_stores(files, one["id"], metadata, conf) if metadata else map(_store, one["stores"])),
            meaning=replace(meaning, variables=variables) if meaning and variables else meaning,
        )


def _metadata(files: Mapping[str, bytes], operator: int) -> OperatorMetadata | None:
    places = (layout.operator_run(operator, 0), layout.operator_metadata_file(operator))
    return next((parse_operator_metadata(files[place]) for place in places if place in files), None)


def stores_in(files: Mapping[str, bytes], operator: int, conf: Mapping[str, str]) -> Iterator[StoreSchema]:
    """Of the state of a batch. Before 4.0 no metadata names its stores, but their directories do."""
    if metadata := _metadata(files, operator):
        yield from _stores(files, operator, metadata, conf)
        return
    for path in files:
        store = path.split("/")[3] if path.count("/") == 5 else layout.DEFAULT_STORE
        if path == layout.schema_file(operator, store):
            yield from stores_of(store, parse_state_schema(files[path]), conf)


def _stores(
    files: Mapping[str, bytes], operator: int, metadata: OperatorMetadata, conf: Mapping[str, str]
) -> Iterator[StoreSchema]:
    for store in metadata.stores:
        versions = layout.schema_versions(operator, store.name)
        found = [path for path in files if path.startswith(f"{versions}/")]
        path = next(iter(found), layout.schema_file(operator, store.name))
        yield from stores_of(store.name, parse_state_schema(files[path]), conf)


def _store(raw: Json) -> StoreSchema:
    return StoreSchema(raw["name"], None, raw["key"], raw["value"], "unsaferow")
