"""`ckpt kafka diff` against a cluster that hesitates: what passes, what stays, and what comes late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.differential.kafka_cases import Case, nothing
from tests.differential.test_kafka_security import TIMEOUT_S, diff, said
from tests.parts.mock_broker import LIST_OFFSETS, NOT_LEADER, REQUEST_TIMED_OUT, THROTTLED, MockBroker

PARTITIONS = 3
EACH = pytest.mark.parametrize("error", [NOT_LEADER, REQUEST_TIMED_OUT, THROTTLED])


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    Case("orders", nothing, [{"orders": dict.fromkeys(range(PARTITIONS), 0)}]).write_checkpoint(folder)
    return folder


@EACH
def test_a_fault_that_passes_is_not_told(checkpoint: Path, error: int) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.answers(LIST_OFFSETS, error)
        said(diff(mock.address, checkpoint), 0, "ok")


def test_a_leader_that_is_not_found_for_some_time_is_waited_for(checkpoint: Path) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.answers(LIST_OFFSETS, NOT_LEADER, NOT_LEADER, NOT_LEADER)
        said(diff(mock.address, checkpoint), 0, "ok")


@EACH
def test_a_fault_that_stays_is_told_in_time(checkpoint: Path, error: int) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.answers(LIST_OFFSETS, *[error] * 1000)
        told = diff(mock.address, checkpoint, "--format", "json")
        shown = json.loads(told.out)
        assert told.code == 5
        assert shown["verdict"] == "unknown"
        assert {one["id"] for one in shown["findings"]} == {"source-unreachable"}


def test_slow_answers_are_answers(checkpoint: Path) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.is_slow(300)
        said(diff(mock.address, checkpoint), 0, "ok")


def test_answers_that_come_too_late_are_none(checkpoint: Path) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.is_slow(TIMEOUT_S * 1000 + 2000)
        said(diff(mock.address, checkpoint), 5, "no answer within", mock.address)


def test_a_broker_that_answers_for_half_of_the_partitions_leaves_the_others_unknown(checkpoint: Path) -> None:
    with MockBroker("orders", PARTITIONS) as mock:
        mock.leave_without_leader(1)
        told = diff(mock.address, checkpoint, "--format", "json")
        shown = json.loads(told.out)
    assert (told.code, shown["verdict"]) == (5, "unknown")
    told_of = {one["partition"]: one["status"] for one in shown["sources"][0]["topics"][0]["partitions"]}
    assert told_of == {0: "ok", 1: "unknown", 2: "ok"}
    assert "orders-1 is not told" in shown["headline"]
