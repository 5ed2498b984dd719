"""Empty stand-ins for what a job reads and what is not here. Loaded by `describe`, in the Python that has Spark.

A description is made where the job is, which need not be where its data is: the file source looks for its directory
when it is made, a table's schema is asked of its catalog, and a connector may not be installed. Where the job gives the
schema, or Kafka's makes it known, nobody has to be asked.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
STANDS_IN = "ckptstandsin"
_KAFKA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
_HEADERS = ", headers array<struct<key: string, value: binary>>"
_FORMATS = ("json", "orc", "parquet", "text", "csv", "xml")


class SchemaNeeded(Exception):
    """What is not there, and has no schema here either."""

    def __init__(self, lacks: str, error: Exception) -> None:
        super().__init__(str(error))
        self.lacks = lacks


def patch_readers(tables: Json, stood_in_for: dict[str, Json]) -> None:
    """`tables`: the schemas of what is not there, by name or path. `stood_in_for`: what each stand-in is to be told as,
    filled as they are made."""
    from pyspark.sql.streaming import DataStreamReader

    made = DataStreamReader.__init__

    def init(reader: Any, spark: Any) -> None:
        made(reader, spark)
        reader._given = {"format": spark.conf.get("spark.sql.sources.default"), "schema": None, "options": {}}
        reader._session = spark

    DataStreamReader.__init__ = init
    for name in ("format", "schema", "option", "options"):
        setattr(DataStreamReader, name, _noted(name, getattr(DataStreamReader, name)))
    for name in ("load", "table", *_FORMATS):
        if hasattr(DataStreamReader, name):
            read = getattr(DataStreamReader, name)
            setattr(DataStreamReader, name, _standing_in(name, read, tables, stood_in_for))


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


def _standing_in(
    name: str, read: Callable[..., Any], tables: Json, stood_in_for: dict[str, Json]
) -> Callable[..., Any]:
    @functools.wraps(read)
    def or_nothing(reader: Any, place: Any = None, *given: Any, **named: Any) -> Any:
        try:
            return read(reader, *(() if place is None else (place,)), *given, **named)
        except Exception as error:
            told = _told(name, reader._given, place, named)
            schema = tables.get(told["place"]) or told.pop("schema") or _known(told)
            if schema is None:
                raise SchemaNeeded(told["place"] or told["provider"], error) from error
            number = str(len(stood_in_for))
            stood_in_for[number] = {key: value for key, value in told.items() if key != "place"} | {
                "stands_for": told["place"] or told["provider"],
                **({"table": told["place"]} if name == "table" else {}),
            }
            empty = reader._session.readStream.schema(schema).option(STANDS_IN, number)
            return read_empty(empty)

    def read_empty(reader: Any) -> Any:
        return type(reader).json.__wrapped__(reader, tempfile.mkdtemp())

    return or_nothing


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
