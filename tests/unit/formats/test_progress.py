"""A query's progress in every form in which somebody has it, and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import MalformedFile
from ckpttool.formats.progress import BatchProgress, parse_progress

QUERY_ID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"


def told(batch: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": QUERY_ID,
        "runId": QUERY_ID,
        "timestamp": "2026-11-18T14:00:00.123Z",
        "batchId": batch,
        "durationMs": {"addBatch": 12, "walCommit": 3},
        "eventTime": {"watermark": "2026-11-18T13:00:00.000Z"},
        "sources": [
            {"description": "FileStreamSource[file:/in]", "startOffset": {"logOffset": batch - 1},
             "endOffset": {"logOffset": batch}},
            {"description": "rate", "startOffset": None, "endOffset": 7},
        ],
        **fields,
    }  # fmt: skip


def as_in_event_log(progress: dict[str, Any]) -> dict[str, Any]:
    sources = [{**one, **{name: one[name] and json.dumps(one[name], separators=(",", ":")) for name in
                          ("startOffset", "endOffset")}} for one in progress["sources"]]  # fmt: skip
    event = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    return {"Event": event, "progress": {**progress, "sources": sources}}


def lines(*values: object) -> bytes:
    return "\n".join(map(json.dumps, values)).encode() + b"\n"


EXPECTED = BatchProgress(QUERY_ID, 4, 1795010400123, 1795006800000, ('{"logOffset":3}', None), ('{"logOffset":4}', "7"))
IDLE = told(4, durationMs={"latestOffset": 1}, sources=[{"startOffset": {"logOffset": 3}, "endOffset": None}])


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(told(4)).encode(),
        json.dumps(told(4), indent=2).encode(),
        json.dumps([told(3), told(4), told(5)]).encode(),
        lines(told(3), told(4), told(4), told(5)),
        lines({"Event": "SparkListenerLogStart"}, as_in_event_log(told(3)), as_in_event_log(told(4))),
        lines(IDLE, told(4)),
    ],
    ids=["one", "indented", "recent", "lines", "event-log", "idle-before"],
)
def test_every_form_tells_the_same(body: bytes) -> None:
    assert parse_progress(body, 4) == EXPECTED


def test_without_event_time_there_is_no_watermark() -> None:
    assert parse_progress(json.dumps(told(4, eventTime={})).encode(), 4).watermark_ms == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "not text"),
        (b"\x28\xb5\x2f\xfd\x00", "not text"),
        (b"null", "null"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "none that ran batch 4"),
        (lines(told(3), told(5)), "none that ran batch 4"),
        (lines(IDLE), "none that ran batch 4"),
        (lines(told(4), told(4, id=QUERY_ID.replace("0", "1"))), "in 2 ways"),
        (lines(told(4), told(4, sources=[])), "in 2 ways"),
        (lines(told(4))[:-10], "ends too early"),
        (json.dumps(told(4, timestamp="yesterday")).encode(), "no time"),
        (json.dumps(told(4, timestamp="2026-11-18T14:00:00")).encode(), "no time"),
        (json.dumps(told(4, id=7)).encode(), "without `id`"),
        (json.dumps(told(4, id="orders")).encode(), "without `id`"),
        (json.dumps(told(4, sources=[{"endOffset": "\ud800"}])).encode(), "half a character"),
        (json.dumps(told(4, sources=[{"endOffset": "1\n2"}])).encode(), "several lines"),
    ],
)
def test_what_is_none_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(MalformedFile, match=message):
        parse_progress(body, 4)


def test_a_truth_is_no_number() -> None:
    with pytest.raises(MalformedFile, match="without `id`"):
        parse_progress(json.dumps(told(True)).encode(), 1)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:0123 \n"batchIdsourcesend', max_size=200).map(str.encode))
def test_nothing_else_comes_out_of_it(body: bytes) -> None:
    try:
        parse_progress(body, 4)
    except MalformedFile:
        return
