"""The queries that progress tells of: of listeners, an event log or a driver's log. Pure: bytes in, values out.

Of each query its newest progress counts. A DataFrame that is read twice is one of its sources and two of the offsets:
how many sources there are is not told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ckpttool.errors import MalformedFile
from ckpttool.formats.limits import check, weigh_json
from ckpttool.formats.progress import every_progress
from ckpttool.model import Json
from ckpttool.query.model import (
    DescribedFrom,
    DescribedSource,
    Description,
    Query,
    QueryOperator,
    QuerySink,
)
from ckpttool.storage.urls import redact_url

NOT_TOLD = (
    "checkpoint",
    "output_mode",
    "trigger",
    "watermarks",
    "sink",
    "output_schema",
    "plan",
    "conf",
    "sources.options",
    "sources.schema",
    "sources.columns",
    "sources.shared_with",
    "operators.exec",
    "operators.inputs",
    "operators.state_format",
    "operators.stores",
    "operators.meaning",
)
_SOURCES = {
    "FileStreamSource": "file",
    "KafkaV2": "kafka",
    "KafkaSource": "kafka",
    "DeltaSource": "delta",
    "RateStreamV2": "rate",
    "RatePerMicroBatchStream": "rate-micro-batch",
    "TextSocketV2": "socket",
}
_SINKS = {
    "ForeachBatchSink": "foreachBatch",
    "DeltaSink": "delta",
    "MemorySink": "memory",
    "NoopTable": "noop",
    "ConsoleTable": "console",
    "KafkaTable": "kafka",
    "FileSink": "file",  # of whatever format
}
_DESCRIBED = re.compile(r"(?:[\w.]+[.$])?(?P<class>\w+)\$?(?:@[0-9a-f]+|\[(?P<given>.*)\])?", re.DOTALL)
_TOPICS = re.compile(r"Subscribe(?:Pattern)?\[(?P<topics>.*)\]", re.DOTALL)
_VERSION = re.compile(rb'^\{"Event":"SparkListenerLogStart","Spark Version":"(\d+(?:\.\d+){1,3})')
_NAMELESS = "defaultName"  # what 3.x calls session windows


def describe_progress(body: bytes, origin: DescribedFrom) -> Description:
    """Raises MalformedFile."""
    lines = body.split(b"\n")
    if len(lines) > 1 and all(line[:1] in (b"{", b"") for line in lines):  # an event log, most of which is of jobs
        if lines[-1] and not lines[-1].endswith(b"}"):  # the one that is being written
            del lines[-1]
        body = b"\n".join([*lines[:1], *(line for line in lines[1:] if b'"batchId"' in line)])
    check("values", weigh_json(body))
    newest = {str(one.get("id")): one for one in every_progress(body)}
    if not newest:
        raise MalformedFile("it tells of no progress of a query", expected="what a listener or an event log gives")
    version = _VERSION.match(body)
    return Description(origin, version and version[1].decode(), tuple(map(_query, newest.values())))


def _query(progress: Mapping[str, Json]) -> Query:
    sources, operators, name = progress.get("sources"), progress.get("stateOperators"), progress.get("name")
    check("lines", len(_objects(sources)))
    check("operators", len(_objects(operators)))
    return Query(
        name=name if isinstance(name, str) and name else None,
        where=None,
        checkpoint=None,
        not_told=NOT_TOLD,
        sources=tuple(_source(index, one) for index, one in enumerate(_objects(sources))),
        watermarks=None,
        operators=tuple(_operator(number, one) for number, one in enumerate(_objects(operators))),
        sink=_sink(_described(progress.get("sink"))),
    )


def _objects(value: Json) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _source(index: int, source: Mapping[str, Json]) -> DescribedSource:
    name, given = _described(source)
    kind = _SOURCES.get(name, "unknown")
    topics = _TOPICS.fullmatch(given or "") if kind == "kafka" else None
    place = given if kind in ("file", "delta") else topics["topics"].replace(", ", ",") if topics else None
    return DescribedSource(index, None, kind, place=place and redact_url(place))


def _described(value: Json) -> tuple[str, str | None]:
    """What a source or sink calls itself: its class, and what it was given."""
    text = value.get("description") if isinstance(value, dict) else None
    match = _DESCRIBED.match(text) if isinstance(text, str) and len(text) < 100_000 else None
    return (match["class"], match["given"]) if match else ("", None)


def _operator(number: int, operator: Mapping[str, Json]) -> QueryOperator:
    """In the order of their ids."""
    name, partitions = operator.get("operatorName"), operator.get("numShufflePartitions")
    return QueryOperator(
        id=number,
        name=name if isinstance(name, str) and name != _NAMELESS else None,
        partitions=partitions if type(partitions) is int and partitions > 0 else None,
    )


def _sink(described: tuple[str, str | None]) -> QuerySink | None:
    name, given = described
    kind = _SINKS.get(name)
    return QuerySink(kind, place=redact_url(given) if given and kind in ("file", "delta") else None) if kind else None
