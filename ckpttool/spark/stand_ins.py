"""Empty stand-ins for what a job reads and what is not here.

A description is made where the job is, which need not be where its data is: the file source looks for its directory
when it is made, a table's schema is asked of its catalog, and a connector may not be installed. Where the job gives the
schema, or Kafka's makes it known, nobody has to be asked. What is read as a batch, to be joined with a stream, is stood
in for as well: by a DataFrame without rows.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
STANDS_IN = "ckptstandsin"
_KAFKA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
_HEADERS = ", headers array<struct<key: string, value: binary>>"
_MISSING = re.compile(
    r"TABLE_OR_VIEW_NOT_FOUND[^`]*`([^`]+)`(?:\.`([^`]+)`)?(?:\.`([^`]+)`)?|Table or view not found: (\S+?);"
)
_FORMATS = ("json", "orc", "parquet", "text", "csv", "xml")


def patch_readers(tables: Json, stood_in_for: dict[str, Json], read: Callable[[Any, Any], Any]) -> None:
    """`tables`: the schemas of what is not there, by name or path. `stood_in_for`: what each stand-in is to be told as,
    filled as they are made. `read`: what a job gets for a stream that it reads."""
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming import DataStreamReader

    def stream(reader: Any, schema: Any, told: Json) -> Any:
        number = str(len(stood_in_for))
        stood_in_for[number] = told
        empty = reader._session.readStream.schema(schema).option(STANDS_IN, number)
        return DataStreamReader.json.__wrapped__(empty, tempfile.mkdtemp())

    def batch(reader: Any, schema: Any, _told: Json) -> Any:
        return reader._session.createDataFrame([], schema)

    _patch(DataStreamReader, tables, stream)
    for name in ("load", "table", *_FORMATS):
        if hasattr(DataStreamReader, name):
            setattr(DataStreamReader, name, _given_as(getattr(DataStreamReader, name), read))
    _patch(DataFrameReader, tables, batch)
    SparkSession.table = lambda spark, name: spark.read.table(name)
    SparkSession.sql = _of_views(SparkSession.sql, tables)


def _patch(kind: Any, tables: Json, empty: Callable[..., Any]) -> None:
    made = kind.__init__

    def init(reader: Any, spark: Any) -> None:
        made(reader, spark)
        reader._given = {"format": spark.conf.get("spark.sql.sources.default"), "schema": None, "options": {}}
        reader._session = spark

    kind.__init__ = init
    for name in ("format", "schema", "option", "options"):
        setattr(kind, name, _noted(name, getattr(kind, name)))
    for name in ("load", "table", *_FORMATS):
        if hasattr(kind, name):
            setattr(kind, name, _standing_in(name, getattr(kind, name), tables, empty))


def _given_as(method: Callable[..., Any], read: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def reads(reader: Any, *given: Any, **named: Any) -> Any:
        return read(reader._session, method(reader, *given, **named))

    reads.__wrapped__ = method.__wrapped__  # type: ignore[attr-defined]
    return reads


def _of_views(sql: Callable[..., Any], tables: Json) -> Callable[..., Any]:
    """A statement that reads what is not here reads views without rows in its place."""

    @functools.wraps(sql)
    def query(spark: Any, text: str, *given: Any, **named: Any) -> Any:
        try:
            return sql(spark, text, *given, **named)
        except Exception as error:
            lacks = _MISSING.search(str(error))
            if lacks is None:
                raise
            name = ".".join(filter(None, lacks.groups())).replace("`", "")
            if name not in tables:
                raise lacking(error, name) from None
            view = f"ckpt_{len(tables)}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
            spark.createDataFrame([], schema_of(tables[name])).createOrReplaceTempView(view)
            quoted = r"\.".join(f"`?{re.escape(part)}`?" for part in name.split("."))
            replaced = re.sub(rf"(?<![\w.`]){quoted}(?![\w.`])", view, text)
            if replaced == text:
                raise
            return query(spark, replaced, *given, **named)

    return query


def _noted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def note(reader: Any, *given: Any, **named: Any) -> Any:
        found = method(reader, *given, **named)
        if name == "options":
            reader._given["options"] |= {key: _text(value) for key, value in named.items()}
        elif name == "option":
            key, value = (*given, *named.values())
            reader._given["options"][key] = _text(value)
        else:
            reader._given[name] = (*given, *named.values())[0]
        return found

    return note


def _standing_in(name: str, read: Callable[..., Any], tables: Json, empty: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(read)
    def or_nothing(reader: Any, place: Any = None, *given: Any, **named: Any) -> Any:
        try:
            return read(reader, *(() if place is None else (place,)), *given, **named)
        except Exception as error:
            told = _told(name, reader._given, place, named)
            lacks, given_schema = str(told.pop("place") or told["provider"]), told.pop("schema")
            schema = schema_of(tables.get(lacks)) or given_schema or _known(told)
            if schema is None:
                raise lacking(error, lacks) from None
            return empty(reader, schema, told | {"stands_for": lacks} | ({"table": lacks} if name == "table" else {}))

    return or_nothing


def lacking(error: Any, name: str) -> Any:
    """Spark's own error, which a job may expect, with what is not there and has no schema here either."""
    error.lacks = name
    return error


def schema_of(given: Any) -> Any:
    """DDL, or a schema as Spark's JSON has it."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(given) if isinstance(given, dict) else given


def _told(name: str, noted: Json, place: Any, named: Json) -> Json:
    """What the job has said of it: by which name, with which options."""
    format_ = name if name in ("table", *_FORMATS) else named.get("format") or noted["format"]
    options = noted["options"] | ({"path": place} if place is not None and name != "table" else {})
    more = {key: _text(value) for key, value in named.items() if key not in ("format", "schema") and value is not None}
    path = place or {key.lower(): value for key, value in options.items()}.get("path")
    schema = named.get("schema") or noted["schema"]
    return {"provider": format_, "options": options | more, "place": path, "schema": schema, "api": None}


def _known(told: Json) -> str | None:
    if told["provider"] != "kafka":
        return None
    options = {key.lower(): value for key, value in told["options"].items()}
    return _KAFKA + (_HEADERS if options.get("includeheaders") == "true" else "")


def _text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
