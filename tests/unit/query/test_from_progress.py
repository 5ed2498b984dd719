"""What progress tells of a query. `printed/` has some of real queries; lines of event logs: test_progress.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.query.from_progress import describe_progress
from ckpttool.query.model import DescribedFrom, Query

PRINTED = Path(__file__).with_name("printed")
ORIGIN = DescribedFrom("progress", "progress.json")


def printed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PRINTED / f"{name}.json").read_text(encoding="utf-8"))
    return found


def described(*progress: object) -> Query:
    (query,) = describe_progress(json.dumps([*progress]).encode(), ORIGIN).queries
    return query


def test_sources_and_operators_are_told_in_their_order() -> None:
    query = described(printed("both-progress-4.2.0"))
    assert query.name == "both"
    assert [(one.kind, one.place) for one in query.sources] == [("file", "file:/data/in"), ("rate", None)]
    assert query.sink
    assert query.sink.kind == "noop"
    (operator,) = described(printed("twice-progress-4.2.0")).operators
    assert (operator.id, operator.name, operator.partitions) == (0, "stateStoreSave", 3)


def test_a_dataframe_that_is_read_twice_is_told_once_so_the_number_of_sources_is_open() -> None:
    query = described(printed("twice-progress-4.2.0"))
    assert len(query.sources) == 1
    assert "sources.shared_with" in query.not_told


def test_session_windows_have_no_name_in_3_x() -> None:
    assert described(printed("sessions-progress-3.5.7")).operators[0].name is None


@pytest.mark.parametrize(
    ("description", "kind", "place"),
    [
        ("KafkaV2[Subscribe[orders, returns]]", "kafka", "orders,returns"),
        ("KafkaV2[SubscribePattern[or.*]]", "kafka", "or.*"),
        ("KafkaV2[Assign[orders-0]]", "kafka", None),
        ("DeltaSource[file:/lake/clicks]", "delta", "file:/lake/clicks"),
        ("FileStreamSource[s3a://user:tiger@lake/in]", "file", "s3a://user:***@lake/in"),
        ("com.example.Own$@1f", "unknown", None),
        ("", "unknown", None),
    ],
)
def test_sources_are_known_by_what_they_call_themselves(description: str, kind: str, place: str | None) -> None:
    (source,) = described({"id": "a", "sources": [{"description": description}], "batchId": 1}).sources
    assert (source.kind, source.place) == (kind, place)


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("ForeachBatchSink", "foreachBatch"),
        ("org.apache.spark.sql.execution.streaming.ConsoleTable$@1f", "console"),
        ("DeltaSink[file:/lake/out]", "delta"),
        ("org.example.Own", None),
    ],
)
def test_sinks_too(description: str, kind: str | None) -> None:
    sink = described({"id": "a", "sources": [], "sink": {"description": description}}).sink
    assert (sink and sink.kind) == kind


def test_the_newest_progress_of_each_query_counts() -> None:
    of_one, later = ({"id": "a", "name": name, "sources": []} for name in ("before", "after"))
    queries = describe_progress(json.dumps([of_one, {"id": "b", "sources": []}, later]).encode(), ORIGIN).queries
    assert [query.name for query in queries] == ["after", None]


def test_an_event_log_tells_the_release() -> None:
    event = {"Event": "QueryProgressEvent", "progress": printed("both-progress-4.2.0")}
    lines = ['{"Event":"SparkListenerLogStart","Spark Version":"4.2.0"}', '{"Event":"Other"}', json.dumps(event)]
    description = describe_progress("\n".join(lines).encode(), ORIGIN)
    assert description.spark_version == "4.2.0"
    assert [query.name for query in description.queries] == ["both"]


def test_a_drivers_log_has_progress_between_its_lines() -> None:
    remark = "26/11/20 04:29:09 INFO MicroBatchExecution: Streaming query made progress: "
    log = "".join(f"{remark}{json.dumps(printed('both-progress-4.2.0'), indent=2)}\n26/11/20 INFO Other\n" * 2)
    (query,) = describe_progress(f'26/11/20 INFO Begins\n{log}{remark}{{\n  "id'.encode(), ORIGIN).queries
    assert query.name == "both"


@pytest.mark.parametrize("body", [b"[]", b'{"batchId": 1}', b"[[[", b"\xff\xfe", b'[{"sources": 3}]'])
def test_what_tells_of_no_query_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedFile):
        describe_progress(body, ORIGIN)
