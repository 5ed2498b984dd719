"""Every offsets and commits file of every sample, as Spark's own classes read it and as we do."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.model import CommitLogEntry, OffsetLogEntry, SinkCommit
from tests.parts.spark import ensure_java, ensure_spark
from tests.samples.place import REPOSITORY, about, sample_names

pytestmark = pytest.mark.spark

SPARK_PARSER = Path(__file__).with_name("spark_parser.py")
SPARKS = ["3.5.7", "4.2.0"]
# The newest versions that a Spark reads: above them it refuses what we, and later Sparks, can read.
NEWEST_READ = {"3.5.7": {"offsets": 1, "commits": 1}, "4.2.0": {"offsets": 2, "commits": 3}}
WITH_LOGS = [name for name in sample_names() if about(name)["expect"]["mode"] != "dstreams"]


@cache
def read_by_spark(version: str) -> dict[str, Any]:
    """One Spark reads all samples; sample → log → batch → what it made of the file."""
    ensure_java()
    paths = {str(REPOSITORY / name / about(name)["checkpoint"]): name for name in WITH_LOGS}
    ran = subprocess.run(
        [str(ensure_spark(version)), str(SPARK_PARSER), *paths], capture_output=True, text=True, check=True, timeout=600
    )
    return {paths[path]: logs for path, logs in json.loads(ran.stdout).items()}


@pytest.mark.parametrize("name", WITH_LOGS)
@pytest.mark.parametrize("version", SPARKS)
def test_offsets_are_read_as_spark_reads_them(version: str, name: str) -> None:
    for batch, theirs in read_by_spark(version)[name]["offsets"].items():
        data = (REPOSITORY / name / about(name)["checkpoint"] / "offsets" / batch).read_bytes()
        try:
            ours = parse_offset_log(data, int(batch))
        except MalformedFile as error:
            assert_same_refusal(error, theirs, version)
        else:
            if ours.version > NEWEST_READ[version]["offsets"]:
                assert "error" in theirs
            else:
                assert offsets_fields(ours) == without_version(theirs["parsed"])


@pytest.mark.parametrize("name", WITH_LOGS)
@pytest.mark.parametrize("version", SPARKS)
def test_commits_are_read_as_spark_reads_them(version: str, name: str) -> None:
    for batch, theirs in read_by_spark(version)[name]["commits"].items():
        data = (REPOSITORY / name / about(name)["checkpoint"] / "commits" / batch).read_bytes()
        try:
            ours = parse_commit_log(data, int(batch))
        except MalformedFile as error:
            assert_same_refusal(error, theirs, version)
        else:
            if ours.version > NEWEST_READ[version]["commits"]:
                assert "error" in theirs
            else:
                parsed = without_version(theirs["parsed"])
                assert {field: commit_fields(ours)[field] for field in parsed} == parsed


def assert_same_refusal(error: MalformedFile, theirs: dict[str, Any], version: str) -> None:
    assert "error" in theirs, f"we refuse ({error.message}) what Spark reads"
    assert error.spark is not None
    # Errors with a condition got a class of their own in 4.0; before, Spark raised its superclass.
    renamed = {"org.apache.spark.SparkIllegalStateException": "java.lang.IllegalStateException"}
    ours = renamed.get(error.spark.class_name, error.spark.class_name) if version < "4" else error.spark.class_name
    assert ours == theirs["error"]["class"]


def offsets_fields(entry: OffsetLogEntry) -> dict[str, Any]:
    metadata = entry.metadata
    sources: Any = {source.name: source.text for source in entry.sources}
    if entry.version == 1:
        sources = [source.text for source in entry.sources]
    return {
        "metadata": metadata
        and {
            "batchWatermarkMs": metadata.watermark_ms,
            "batchTimestampMs": metadata.timestamp_ms,
            "conf": dict(metadata.conf),
        },
        "sources": sources,
    }


def commit_fields(entry: CommitLogEntry) -> dict[str, Any]:
    ids = entry.state_unique_ids
    return {
        # Spark's default for a commit that names no watermark.
        "nextBatchWatermarkMs": entry.next_watermark_ms or 0,
        "stateUniqueIds": None if ids is None else {str(o): [list(p) for p in ps] for o, ps in ids.items()},
        "sinkMetadataMap": {sink.name: sink_fields(sink) for sink in entry.sinks},
    }


def sink_fields(sink: SinkCommit) -> dict[str, Any]:
    return {
        "sinkName": sink.name,
        "commitOffset": sink.commit_offset,
        "providerName": sink.provider,
        "apiVersion": sink.api_version,
        "isActive": sink.is_active,
    }


def without_version(parsed: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in parsed.items() if field != "version"}
