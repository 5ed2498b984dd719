"""What Spark told of a job's queries, as a description."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ckpttool.query.from_spark import query_of
from ckpttool.query.model import QueryTrigger

COUNTED = {"type": "struct", "fields": [{"name": "count", "type": "long", "nullable": False, "metadata": {}}]}
KEYED = {"type": "struct", "fields": [{"name": "k", "type": "string", "nullable": True, "metadata": {}}]}


def source(**changed: Any) -> dict[str, Any]:
    return {"index": 0, "shared_with": None, "name": None, "api": "v1", "provider": "json", "schema": KEYED,
            "options": {"path": "/in"}, **changed}  # fmt: skip


def operator(**changed: Any) -> dict[str, Any]:
    told = {"keys": ["k"], "values": ["count(1)"]}
    return {"id": 0, "name": "stateStoreSave", "exec": "StateStoreSaveExec", "partitions": 3, "inputs": [0],
            "stores": [{"name": "default", "key": KEYED, "value": COUNTED}], "meaning": told, **changed}  # fmt: skip


def raw(**changed: Any) -> dict[str, Any]:
    return {"name": "orders", "where": "a.py:3", "checkpoint": "/ck", "output_mode": "append", "format": "noop",
            "trigger": {"given": {}, "interval_ms": None}, "place": None, "options": {}, "function": None,
            "sources": [source()], "watermarks": [], "output_schema": KEYED, "plan": ["source"], "conf": {},
            "spark_says": None, "operators": [], "files": {}, **changed}  # fmt: skip


def test_nothing_is_left_untold() -> None:
    assert query_of(raw()).not_told == ()
    assert query_of(raw()).trigger == QueryTrigger("default")


@pytest.mark.parametrize(
    ("given", "trigger"),
    [
        ({"processingTime": "1 minute"}, QueryTrigger("processing-time", 60_000)),
        ({"processingTime": None, "availableNow": True}, QueryTrigger("available-now", 60_000)),
        ({"once": True}, QueryTrigger("once", 60_000)),
        ({"continuous": "1 minute"}, QueryTrigger("continuous", 60_000)),
    ],
)
def test_triggers_are_named_by_what_was_given(given: dict[str, Any], trigger: QueryTrigger) -> None:
    assert query_of(raw(trigger={"given": given, "interval_ms": 60_000})).trigger == trigger


@pytest.mark.parametrize(
    ("provider", "kind", "format_"),
    [
        ("json", "file", "json"),
        ("PARQUET", "file", "parquet"),
        ("org.apache.spark.sql.execution.datasources.csv.CSVFileFormat", "file", "csv"),
        ("kafka", "kafka", None),
        ("rate", "rate", None),
    ],
)
def test_formats_of_files_are_one_kind_of_source(provider: str, kind: str, format_: str | None) -> None:
    (found,) = query_of(raw(sources=[source(provider=provider)])).sources
    assert (found.kind, found.format) == (kind, format_)


def test_sources_of_time_are_others_under_a_continuous_trigger() -> None:
    trigger = {"given": {"continuous": "1 second"}, "interval_ms": 1000}
    (found,) = query_of(raw(trigger=trigger, sources=[source(provider="rate", options={})])).sources
    assert found.kind == "rate-continuous"


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"path": "/in"}, "/in"),
        ({"Subscribe": "orders", "kafka.bootstrap.servers": "h:9"}, "orders"),
        ({"path": "s3a://key:secret@lake/in"}, "s3a://key:***@lake/in"),
        ({}, None),
    ],
)
def test_a_place_is_what_the_options_say(options: dict[str, str], place: str | None) -> None:
    assert query_of(raw(sources=[source(options=options)])).sources[0].place == place


def test_no_secret_gets_into_a_description() -> None:
    options = {
        "kafka.sasl.jaas.config": "x password='tiger'",
        "password": "tiger",
        "topic": "a",
        "checkpointLocation": "/c",
    }
    query = query_of(raw(sources=[source(options=options)], options=options, checkpoint="s3a://id:tiger@lake/ck"))
    told = json.dumps([dict(query.sources[0].options), query.sink and dict(query.sink.options), query.checkpoint])
    assert "tiger" not in told
    assert query.sink
    assert query.sink.options == {"kafka.sasl.jaas.config": "***", "password": "***", "topic": "a"}


def test_before_4_0_the_stores_are_as_the_nodes_have_them() -> None:
    conf = {"spark.sql.streaming.aggregation.stateFormatVersion": "2"}
    (found,) = query_of(raw(operators=[operator()], conf=conf)).operators
    assert (found.name, found.partitions, found.state_format) == ("stateStoreSave", 3, 2)
    assert [(one.name, one.key_schema, one.value_schema) for one in found.stores] == [("default", KEYED, COUNTED)]
    assert found.meaning
    assert found.meaning.values == ("count(1)",)


def schema_file(key: Any, value: Any) -> bytes:
    def chunk(text: str) -> bytes:
        return (1).to_bytes(4, "big") + len(text).to_bytes(2, "big") + text.encode()

    return b"\x00\x02v2" + chunk(json.dumps(key)) + chunk(json.dumps(value))


def test_since_4_0_they_are_what_spark_wrote_as_it_planned() -> None:
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 7}
    metadata = {"operatorInfo": {"operatorId": 0, "operatorName": "dedupe"}, "stateStoreInfo": [store]}
    files = {"state/0/_metadata/metadata": b"v1\n" + json.dumps(metadata).encode(),
             "state/0/0/_metadata/schema": schema_file(COUNTED, KEYED)}  # fmt: skip
    told = {path: base64.b64encode(body).decode() for path, body in files.items()}
    (found,) = query_of(raw(operators=[operator()], files=told)).operators
    assert found.name == "dedupe"
    assert [(one.key_schema, one.value_schema) for one in found.stores] == [(COUNTED, KEYED)]


def test_of_a_query_that_spark_refuses_the_operators_are_not_told() -> None:
    says = {"class": "A", "condition": "B", "message": "not supported;\n+- Join x#1"}
    query = query_of(raw(spark_says=says))
    assert query.not_told == ("operators",)
    assert query.spark_says
    assert query.spark_says.message == "not supported"
