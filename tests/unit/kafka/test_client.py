"""What is told of a cluster that does not answer: the reason, in one line. No broker takes part."""

from __future__ import annotations

import pytest

from ckpttool.kafka import client
from ckpttool.kafka.base import BrokerFault, PartitionAnswer, Question
from ckpttool.kafka.settings import Settings
from tests.parts.mock_broker import MockBroker


@pytest.mark.parametrize(
    ("name", "text", "reason", "shown"),
    [
        (
            "_TRANSPORT",
            "b:1/bootstrap: Connect to ipv4#1.2.3.4:1 failed: Connection refused (after 0ms in state CONNECT)",
            "unreachable",
            "Connect to ipv4#1.2.3.4:1 failed: Connection refused",
        ),
        (
            "_TRANSPORT",
            "sasl_ssl://b:1/7: SSL handshake failed: certificate verify failed (after 5ms in state SSL_HANDSHAKE,"
            " 1 identical error(s) suppressed)",
            "tls",
            "SSL handshake failed: certificate verify failed",
        ),
        (
            "_AUTHENTICATION",
            "SASL authentication error: no hunter2",
            "authentication",
            "SASL authentication error: no ***",
        ),
        ("TOPIC_AUTHORIZATION_FAILED", "Broker: Topic authorization failed", "authorisation", None),
        ("UNKNOWN_TOPIC_OR_PART", "Broker: Unknown topic or partition", "unknown_topic", None),
        ("_TIMED_OUT", "Failed while waiting for controller: Local: Timed out", "timeout", None),
        ("_INVALID_ARG", 'No such configuration property: "foo"', "configuration", None),
        ("NOT_LEADER_FOR_PARTITION", "Broker: Not leader for partition", "passing", None),
        ("SOMETHING_NEW", "x", "other", None),
        ("_BAD_MSG", "b:1/bootstrap: Receive failed: Invalid response size 1213486160 (0..1)", "unreachable", None),
        ("_BAD_MSG", "b:1/bootstrap: Receive failed: Invalid response size 352518912 (0..1)", "tls", None),
        (
            "",
            "b:1/bootstrap: Disconnected: connection reset by peer (after 1ms in state APIVERSION_QUERY)",
            "tls",
            None,
        ),
    ],
)
def test_the_reason(name: str, text: str, reason: str, shown: str | None) -> None:
    fault = client._fault_of(name, text, Settings({"sasl.password": "hunter2"}))
    assert fault.reason == reason
    assert shown is None or fault.message == shown


def test_partial_answers() -> None:
    no_leader = BrokerFault("other", "no leader")
    assert client._answer(3, 9, -1) == PartitionAnswer(3, 9, 9)
    assert client._answer(3, 9, None) == PartitionAnswer(3, 9, None)
    assert client._answer(3, 9, 5) == PartitionAnswer(3, 9, 5)
    assert client._answer(3, 9, no_leader) == PartitionAnswer(3, 9, None)
    assert client._answer(3, no_leader, 5) == PartitionAnswer(3, None, 5, no_leader)


def test_names_that_no_topic_can_have() -> None:
    for name in ("", "a b", "../x", "\x00", "x" * 250, "ä"):
        assert not client._LEGAL.fullmatch(name)
        assert not client._illegal(name).exists


def test_the_first_bytes_of_a_file_that_is_not_there() -> None:
    assert client.first_bytes("/no/such/file") == b""


@pytest.mark.extras
def test_the_cluster_is_told_from_others() -> None:
    with MockBroker("orders") as one, MockBroker("orders") as other:
        told = [client.ask(client.Connection(mock.address), Question(0, ("orders",))) for mock in (one, other)]
    assert all(answer.cluster_id and answer.topics["orders"].exists for answer in told)
    assert told[0].cluster_id != told[1].cluster_id
