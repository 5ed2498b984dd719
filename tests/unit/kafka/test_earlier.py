"""What is kept of an earlier look, as the command wrote it and as somebody may have changed it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from ckpttool.kafka.earlier import Earlier, parse_earlier
from ckpttool.kafka.when import samples_of
from ckpttool.report.views.kafka import view_fields
from tests.unit.kafka.scenes import broker, look, query

NOW = 1_700_000_000_000


def test_ids_and_samples_live_through_json() -> None:
    [seen] = look(query({"t": {0: 10, 1: 10}}), broker({"t": {0: (3, 50), 1: (0, 10)}}, {"t": "A"}))
    earlier = parse_earlier(json.dumps({"asked_ms": NOW, "sources": [view_fields(seen)]}).encode())
    assert earlier.known_ids == {(0, "t"): "A"}
    assert earlier.samples == samples_of([seen], NOW)


def test_the_cluster_is_known_again() -> None:
    answer = replace(broker({"t": {0: (3, 50)}}, {"t": "A"}), cluster_id="lkc-1")
    [seen] = look(query({"t": {0: 10}}), answer)
    earlier = parse_earlier(json.dumps({"sources": [view_fields(seen)]}).encode())
    assert earlier.known_clusters == {0: "lkc-1"}


def test_without_a_time_there_are_no_samples() -> None:
    topic = {"topic": "t", "topic_id": "A", "partitions": [{"partition": 0, "earliest": 3}]}
    earlier = parse_earlier(json.dumps({"sources": [{"index": 1, "topics": [topic]}]}).encode())
    assert (earlier.known_ids, earlier.samples) == ({(1, "t"): "A"}, {})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff{}",
        b"[" * 100_000,
        b'{"sources": 7}',
        b'{"sources": [7, {"topics": [{}]}]}',
        b'{"sources": [{"index": true, "topics": []}]}',
        b'{"asked_ms": true, "sources": []}',
        b'{"sources": [{"index": 0, "topics": [{"topic": "\\ud800", "topic_id": "A"}]}]}',
    ],
)
def test_anything_else_told_nothing(text: bytes) -> None:
    assert parse_earlier(text) == Earlier()
