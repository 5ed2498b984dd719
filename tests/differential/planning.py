"""Spark's planner, asked about queries that are data (`sweep.changes.query`): what each is, and what it has against the
next batch of one on the state of another. Runs inside a Spark environment, and speaks the protocol of
`tests/samples/jobs.py`. No query is started."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ckpttool.spark.planned import describe, refusal_on
from tests.differential.sweep.changes.in_spark import frame_of, source, started
from tests.samples.jobs import Place, serve

Json = dict[str, Any]
KNOWN: dict[str, Json] = {}  # what was described already


def answer(spark: SparkSession, request: Json) -> Json:
    """`said`: of each query, on the state of each of them."""
    if "lines" in request:
        return with_lines(spark, request)
    place = Place(spark, Path(request["root"]), "checkpoint")
    told = [described(place, asked, request["pinned"]) for asked in request["queries"]]
    plain = [number for number, one in enumerate(told) if "failed" not in one and not one["spark_says"]]
    queries = {
        at: started(place, asked, frame_of(place, asked)) for at, asked in enumerate(request["queries"]) if at in plain
    }
    said = [[old, new, refusal_of(told[old], queries[new], spark)] for old in plain for new in plain]
    return {"queries": told, "said": said}


def with_lines(spark: SparkSession, request: Json) -> Json:
    """The new query with lines of code that somebody was told to write, on the state of the old one."""
    place, asked = Place(spark, Path(request["root"]), "checkpoint"), request["new"]
    old = described(place, request["old"], request["pinned"])
    names: Json = {"F": F, "spark": spark, "result": frame_of(place, asked)}
    names |= {"rows": source(place, asked["sources"][0]), "keys": list(map(F.expr, asked["keys"]))}
    for line in request["lines"]:
        exec(line, names)
    frame = names["result"]
    if asked["keys"]:
        frame = names["rows"].groupBy(*names["keys"]).agg(*map(F.expr, asked["values"]))
    elif asked["dedup"]:
        frame = names["rows"].dropDuplicates(asked["dedup"])
    query = started(place, asked, frame)
    return {"edited": describe(query, spark, request["pinned"], {}), "said": refusal_of(old, query, spark)}


def refusal_of(old: Json, query: Json, spark: SparkSession) -> Json | None:
    """On the state that the old query has."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder)
        for path, body in {**old["files"], "offsets/1": ""}.items():
            (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
            (checkpoint / path).write_bytes(base64.b64decode(body))
        return refusal_on(query, spark, checkpoint, 1, {})


def described(place: Place, asked: Json, pinned: list[str]) -> Json:
    key = json.dumps([str(place.root), asked])
    if key not in KNOWN:
        try:
            KNOWN[key] = describe(started(place, asked, frame_of(place, asked)), place.spark, pinned, {})
        except Exception as error:  # Spark does not analyse it
            KNOWN[key] = {"failed": f"{type(error).__name__}: {error}"[:500]}
    return KNOWN[key]


if __name__ == "__main__":
    serve(answer)
