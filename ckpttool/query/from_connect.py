"""What was told of queries whose plan nobody could be asked for but as a text: by a client of Spark Connect
(`ckpttool.spark.over_connect`), and by a Spark whose planner is another (`ckpttool.spark.by_batch`). Pure.

Types of state are in no text: they are told where a batch has left its files.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ckpttool.query.from_explain import describe_explain
from ckpttool.query.from_spark import kind_of, place_of, query_of, shown_options, stores_in
from ckpttool.query.model import DescribedFrom, DescribedSource, Query

_TOLD = ("name", "checkpoint", "output_mode", "trigger", "sink", "output_schema", "conf")
_OF_SOURCES = ("sources.options", "sources.format")
_INTERVAL = re.compile(
    r"\s*(?:interval\s+)?(\d+(?:\.\d+)?)\s*(millisecond|second|minute|hour|day|week)s?\s*", re.IGNORECASE
)
_UNITS_MS = {"millisecond": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000,
             "week": 604_800_000}  # fmt: skip


def connected_query(raw: Mapping[str, Any]) -> Query:
    """Raises MalformedFile where the server's text cannot be read."""
    (printed,) = describe_explain(raw["explained"], DescribedFrom("explain", "Spark Connect")).queries
    nothing: dict[str, Any] = {
        "sources": [],
        "watermarks": [],
        "operators": [],
        "files": {},
        "plan": [],
        "spark_says": None,
    }
    trigger = {"given": raw["trigger"], "interval_ms": _interval_ms(raw["trigger"])}
    given = query_of({**nothing, **raw, "trigger": trigger, "files": {}})
    found = raw.get("reads", ())
    reads = found if len(found) == len(printed.sources) else None
    files = {path: base64.b64decode(body) for path, body in raw.get("files", {}).items()}
    stores = {one.id: tuple(stores_in(files, one.id, given.conf)) for one in printed.operators}
    told = {*_TOLD, *(_OF_SOURCES if reads else ()), *(("operators.stores",) if all(stores.values()) else ())}
    return replace(
        given,
        not_told=tuple(name for name in printed.not_told if name not in told),
        sources=tuple(map(_with_options, printed.sources, reads)) if reads else printed.sources,
        watermarks=printed.watermarks,
        operators=tuple(replace(one, stores=stores[one.id]) for one in printed.operators),
        plan=printed.plan,
        plan_sha256=printed.plan_sha256,
    )


def _with_options(source: DescribedSource, read: Mapping[str, Any]) -> DescribedSource:
    return replace(
        source,
        provider=read["provider"],
        format=kind_of(read["provider"])[1],
        place=read["table"] or place_of(read["options"]) or source.place,
        options=shown_options(read["options"]),
    )


def _interval_ms(trigger: Mapping[str, Any]) -> int | None:
    given = next((text for text in trigger.values() if isinstance(text, str)), "")
    match = _INTERVAL.fullmatch(given)
    return round(float(match[1]) * _UNITS_MS[match[2].lower()]) if match else None
