"""Logs in every form: words that Spark printed, in the layouts that people have around them."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from ckpttool.laws.recognise import causes_of
from ckpttool.logs.driver_log import DriverLog, read_log

LOGS = Path(__file__).parents[2] / "driver_logs"
QUERY = "2abd3c3e-3179-4a6b-8c7d-9e0f1a2b3c4d"
PLACE = "hdfs://nn:8020/ckpt/orders"
# Of each log: form, class, condition, release, checkpoint, and the likeliest law.
TOLD = {
    "databricks-driver-topic-recreated.log": (
        "log",
        "KafkaIllegalStateException",
        "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED",
        None,
        None,
        "topic-recreated-lower-end",
    ),
    "databricks-notebook-conflict.txt": (
        "text",
        "StreamingQueryException",
        "CONCURRENT_STREAM_LOG_UPDATE",
        None,
        None,
        "commit-write",
    ),
    "docker-input-moved.log": ("json-log", "IllegalArgumentException", None, None, None, "input-out-of-place"),
    "emr-sources-changed.log": ("log", "AssertionError", None, "3.4.1", None, "source-count-changed"),
    "event-log-table-recreated": (
        "event-log",
        "DeltaIllegalStateException",
        "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
        "3.5.1",
        None,
        "delta-source-table-id-changed",
    ),
    "jsonlayout-state-gone.log": ("json-log", "FileNotFoundException", None, None, PLACE, "state-file-missing"),
    "kubernetes-aged-out.log": (
        "log",
        "OffsetOutOfRangeException",
        "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE",
        None,
        None,
        "offset-aged-out",
    ),
    "log4j2-commit-cut.log": ("log", "JsonEOFException", None, "3.5.7", PLACE, "newest-commit-malformed"),
    "log4j2-iceberg-expired.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "iceberg-snapshot-gone"),
    "log4j2-location-not-empty.log": (
        "log",
        "StateStoreCheckpointLocationNotEmpty",
        "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
        "4.1.0",
        PLACE,
        "location-not-empty",
    ),
    "log4j2-offset-gone.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "previous-offset-missing"),
    "log4j2-offsets-malformed.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "newest-offsets-malformed"),
    "log4j2-partitions-gone.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "partitions-deleted"),
    "log4j2-source-log-short.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "last-range-again"),
    "log4j2-state-cut.log": ("log", "EOFException", None, "3.5.7", PLACE, "state-file-corrupt"),
    "log4j2-state-directory.log": (
        "log",
        "SparkRuntimeException",
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
        "4.2.0",
        PLACE,
        "state-directory-missing",
    ),
    "own-code-fails.log": ("log", "ValueError", None, "3.5.7", PLACE, None),
    "progress.json": ("progress", None, None, None, None, None),
    "py4j-memory-sink.txt": ("text", "AnalysisException", None, None, PLACE, "memory-sink"),
    "pyspark-metadata-missing.txt": (
        "text",
        "SparkRuntimeException",
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        None,
        PLACE,
        "metadata-missing",
    ),
    "pyspark-offsets-cut.txt": ("text", "JsonEOFException", None, None, None, "newest-offsets-malformed"),
    "secrets.log": ("log", "IllegalStateException", None, "3.5.7", PLACE, "previous-offset-missing"),
    "snippet-metadata.txt": ("text", "IllegalArgumentException", None, None, None, "metadata-corrupt"),
    "snippet-no-class.txt": ("text", None, None, None, "/ckpt/orders", "location-not-empty"),
    "structured-source-log.json.log": (
        "json-log",
        "FileNotFoundException",
        None,
        "4.1.0",
        PLACE,
        "file-source-log",
    ),
}
OF_NO_QUERY = {"py4j-memory-sink.txt", "pyspark-metadata-missing.txt", "snippet-metadata.txt", "snippet-no-class.txt"}
OF_A_SAMPLE = {"pyspark-offsets-cut.txt": "d6c83127-5451-42c2-8b3c-4a83fd56e709"}
WITH_OFFSETS = {"event-log-table-recreated", "log4j2-state-cut.log", "progress.json"}


def read(name: str) -> DriverLog:
    return read_log([(LOGS / name).read_bytes()])


def told(log: DriverLog) -> tuple[str | None, ...]:
    failure = log.failures[0] if log.failures else None
    causes = causes_of(failure.text if failure else log.text)
    return (
        log.form,
        failure.cause.short_name if failure else None,
        next(iter(failure.conditions), None) if failure else None,
        log.release,
        log.checkpoint,
        causes[0].law.id if causes else None,
    )


def test_each_log_is_told_of() -> None:
    assert {path.name for path in LOGS.iterdir()} == TOLD.keys()


@pytest.mark.parametrize("name", TOLD)
def test_what_failed_and_the_likeliest_law(name: str) -> None:
    assert told(read(name)) == TOLD[name]


@pytest.mark.parametrize("name", TOLD)
def test_the_query_is_known_by_its_id(name: str) -> None:
    query = read(name).query
    assert (query.id if query else None) == (None if name in OF_NO_QUERY else OF_A_SAMPLE.get(name, QUERY))
    assert bool(query and query.progress) is (name in WITH_OFFSETS)


@pytest.mark.parametrize("name", TOLD)
def test_a_compressed_log_in_small_pieces_tells_the_same(name: str) -> None:
    body = gzip.compress((LOGS / name).read_bytes())
    assert told(read_log(body[at : at + 50] for at in range(0, len(body), 50))) == TOLD[name]


def test_of_several_failures_the_one_that_ended_a_query_comes_first_and_then_the_newest() -> None:
    once = (LOGS / "log4j2-offset-gone.log").read_text()
    others = "".join(f"24/11/18 15:00:0{n} WARN X: y\njava.io.IOException: {word}\n" for n, word in enumerate("ab"))
    log = read_log([(once + once + others).encode()])
    assert [(one.cause.short_name, one.cause.message.strip(), one.times) for one in log.failures] == [
        ("IllegalStateException", "batch 4 doesn't exist", 2),
        ("IOException", "b", 1),
        ("IOException", "a", 1),
    ]


def test_the_offsets_are_those_of_the_newest_batch() -> None:
    query = read("event-log-table-recreated").query
    assert query
    assert query.progress
    assert query.progress.batch_id == 8
    assert json.loads(query.progress.ends[0] or "")["reservoirVersion"] == 9


def test_a_log_of_thousands_of_errors_is_held_to_a_few() -> None:
    lines = (f"24/11/18 15:00:00 ERROR X: y\njava.io.{word}Exception: z\n" for word in map(word_of, range(2_000)))
    log = read_log(line.encode() for line in lines)
    assert len(log.failures) == 40


def word_of(number: int) -> str:
    return "X" + "".join("abcdefghij"[int(digit)] for digit in str(number))


@pytest.mark.parametrize("name", TOLD)
def test_whatever_is_in_a_log_it_is_read(name: str) -> None:
    chance, body = random.Random(name), (LOGS / name).read_bytes()
    for _ in range(40):
        broken = bytearray(body)
        for _ in range(chance.randrange(1, 30)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        log = read_log([bytes(broken[: chance.randrange(1, len(broken))])])
        causes_of(log.failures[0].text if log.failures else log.text)


@pytest.mark.parametrize(
    "text",
    ["{" * 5_000, '{"a":' * 5_000, "[" * 5_000 + "]", '{"Event": 5}', '{"class": {"class": 1}}', "[]", "{\n" * 99],
)
def test_json_that_is_none_stops_nothing(text: str) -> None:
    assert read_log([text.encode()]).failures == ()
