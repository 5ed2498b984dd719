"""What a writer would start, in the process that holds it: `describe_query`. Nothing is started, no source is asked.

Writers keep what they were given in private fields of Spark's own object, so it is read from there: whoever made the
writer need not have known of us. Those of Spark Connect keep it in the message that they would send.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from ckpttool.errors import Refused
from ckpttool.query.from_connect import connected_query
from ckpttool.query.from_spark import query_of
from ckpttool.query.model import Query
from ckpttool.releases import since
from ckpttool.spark import describe, over_connect, planned

_TRIGGERS = {
    "ProcessingTimeTrigger": ("processingTime", "intervalMs"),
    "OneTimeTrigger": ("once", None),
    "AvailableNowTrigger": ("availableNow", None),
    "ContinuousTrigger": ("continuous", "intervalMs"),
    "RealTimeTrigger": ("realTime", "batchDurationMs"),
}
_NO_WRITER = "that is no writer of a streaming DataFrame which was not started"


def describe_query(writer: Any, *, table: str | None = None) -> Query:
    """The query that `writer.start()` would start, or `writer.toTable(table)`. Raises CkptError."""
    spark = session_of(writer)
    if hasattr(writer, "_write_proto"):
        return connected_query(over_connect.describe(writer, _caller(), sorted(since.PINNED), describe.code_of, table))
    frame, java = writer._df, writer._jwrite
    options = planned.plain_map(_field(java, "extraOptions").originalMap())
    default = spark.conf.get("spark.sql.sources.default")
    name = next((value for key, value in options.items() if key.lower() == "queryname"), None)
    started = {
        "frame": frame,
        "name": name,
        "where": _caller(),
        "checkpoint": describe.location(options, name, spark),
        "output_mode": str(_field(java, "outputMode").toString()).lower(),
        "format": describe.written_as(_field(java, "source"), table is not None, default),
        "place": table,
        "options": {key: value for key, value in options.items() if key.lower() != "queryname"},
        "function": _function(writer, java),
        **_trigger(_field(java, "trigger")),
    }
    return query_of(planned.describe(started, spark, sorted(since.PINNED), {}))


def session_of(writer: Any) -> Any:
    """The Spark that would start it, here or over Connect."""
    if hasattr(writer, "_write_proto"):
        return writer._session
    if not hasattr(writer, "_jwrite"):
        raise Refused(_NO_WRITER, "give df.writeStream with what it was given, before start()")
    return writer._df.sparkSession


def _field(java: Any, name: str) -> Any:
    field = java.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)


def _trigger(trigger: Any) -> dict[str, Any]:
    kind, interval = _TRIGGERS.get(planned.short_class(trigger), ("", None))
    length = int(_field(trigger, interval)) if interval else None
    if kind == "processingTime" and not length:  # which is what a writer begins with
        kind, length = "", None
    return {"trigger": {kind: True} if kind else {}, "interval_ms": length}


def _function(writer: Any, java: Any) -> Mapping[str, Any] | None:
    """Of foreachBatch, which Python keeps for the JVM to call."""
    if _field(java, "source") != "foreachBatch":
        return None
    with suppress(Exception):
        pool = writer._spark._sc._gateway.gateway_property.pool
        proxies = writer._spark._jvm.java.lang.reflect.Proxy
        for one in _captured(_field(java, "foreachBatchWriter")):
            if proxies.isProxyClass(one.getClass()):
                called = pool[_field(proxies.getInvocationHandler(one), "id")]
                return describe.code_of(getattr(called, "func", called))
    return {"name": "foreachBatch", "file": None, "line": None, "sha256": None}


def _captured(function: Any, depth: int = 0) -> Iterator[Any]:
    """What a closure of Scala holds, and those that it holds."""
    for field in function.getClass().getDeclaredFields() if "Lambda" in function.getClass().getName() else ():
        field.setAccessible(True)
        yield (held := field.get(function))
        if depth < 3:
            yield from _captured(held, depth + 1)


def _caller() -> str | None:
    """The line outside of ckpt that asked."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ckpttool"):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
