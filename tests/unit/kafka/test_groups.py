"""A consumer group's offsets, where the cluster does not answer or says that it has none. A real one has its turn in
tests/differential."""

from __future__ import annotations

import pytest

from ckpttool.kafka.base import BrokerFault
from ckpttool.kafka.client import Connection
from ckpttool.kafka.groups import Group, ask_group, write_group
from ckpttool.kafka.settings import Settings
from tests.parts.mock_broker import MockBroker

pytestmark = pytest.mark.extras
NOBODY = Connection("127.0.0.1:1", timeout_s=3)


def test_a_cluster_that_is_down_is_a_fault_and_no_error() -> None:
    for told in (ask_group(NOBODY, "g"), write_group(NOBODY, "g", {("t", 0): 5})):
        assert isinstance(told, BrokerFault)
        assert told.reason in ("unreachable", "timeout")
        assert told.next_step


def test_settings_that_the_client_refuses_are_told_without_their_secret() -> None:
    refused = Connection("127.0.0.1:1", Settings({"no.such.setting": "x", "sasl.password": "hunter2"}))
    told = ask_group(refused, "g")
    assert isinstance(told, BrokerFault)
    assert told.reason == "configuration"
    assert "no.such.setting" in told.message
    assert "hunter2" not in told.message


def test_a_cluster_that_cannot_tell_of_groups_is_a_fault() -> None:
    with MockBroker("t") as mock:
        told = ask_group(Connection(mock.address, timeout_s=5), "g")
    assert isinstance(told, BrokerFault)
    assert "not supported" in told.message


def test_what_was_written_is_what_the_cluster_then_has_and_not_what_was_sent() -> None:
    """The mock takes offsets, and lists none."""
    with MockBroker("t") as mock:
        assert write_group(Connection(mock.address, timeout_s=5), "g", {("t", 0): 5}) == Group()
