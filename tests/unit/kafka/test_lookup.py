"""Which cluster is asked, and what is said where none can be. No broker takes part."""

from __future__ import annotations

from typing import Any

import pytest

from ckpttool.kafka.base import BrokerFault, Clusters
from ckpttool.kafka.client import Connection
from ckpttool.kafka.lookup import Brokers, connection_to, load_settings, look_at_kafka
from ckpttool.kafka.settings import Settings
from tests.unit.kafka.scenes import query


def test_passwords_are_not_shown() -> None:
    assert "hunter2" not in repr(Brokers(Clusters("h:1"), direct={"sasl.password": "hunter2"}))


def test_a_source_without_brokers_names_the_option() -> None:
    missing = connection_to(Brokers(Clusters(None, {1: "x:3"})), Settings({}), 0)
    assert isinstance(missing, BrokerFault)
    assert (missing.reason, missing.next_step) == ("configuration", "--bootstrap-server 0=HOST:PORT")


@pytest.mark.parametrize(("index", "servers"), [(0, "h:1"), (1, "x:3")])
def test_each_source_has_its_cluster(index: int, servers: str) -> None:
    reached = connection_to(Brokers(Clusters("h:1", {1: "x:3"}), timeout_s=3), Settings({}), index)
    assert isinstance(reached, Connection)
    assert (reached.servers, reached.timeout_s) == (servers, 3)


def test_what_cannot_be_translated_is_a_fault_of_every_source() -> None:
    refused: dict[str, Any] = {"kafka.sasl.mechanism": "AWS_MSK_IAM"}
    brokers = Brokers(Clusters("h:1"))
    assert isinstance(load_settings(brokers, refused), BrokerFault)
    told = look_at_kafka(query([{"t": {0: 1}}, {"u": {0: 2}}], **refused), brokers)
    assert {index: answer.fault and answer.fault.reason for index, answer in told.answers.items()} == {
        0: "unsupported",
        1: "unsupported",
    }
