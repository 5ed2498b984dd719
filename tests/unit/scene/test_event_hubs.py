"""Event Hubs, whose own connector writes what Kafka's does: the options tell the two apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.assumed import KAFKA_NOT_ASKED, NOT_ASKED
from tests.builders import build

ENDPOINT = {
    "kafka.bootstrap.servers": "n.servicebus.windows.net:9093",
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "PLAIN",
}
OWN = {"eventhubs.connectionString": "Endpoint=sb://n.servicebus.windows.net/;SharedAccessKey=hidden"}


def restart(root: Path, options: dict[str, str]) -> Diagnosis:
    return plan_restart(str(root), Restarted(options=options), now_ms=1_800_000_000_000)[0]


def test_through_its_kafka_endpoint_it_is_kafka(tmp_path: Path) -> None:
    diagnosis = restart(build(tmp_path, "k0-10 c | k10-20 c"), ENDPOINT)
    assert diagnosis.scene.kinds == {"kafka"}
    assert KAFKA_NOT_ASKED in diagnosis.prediction.assumes


@pytest.mark.parametrize("options", [OWN, {"EventHubs.name": "orders"}])
def test_by_its_own_connector_the_call_is_another(tmp_path: Path, options: dict[str, str]) -> None:
    diagnosis = restart(build(tmp_path, "k0-10 c | k10-20 c"), options)
    assert diagnosis.scene.kinds == {"eventhubs"}
    assert NOT_ASKED["eventhubs"] in diagnosis.prediction.assumes
    assert KAFKA_NOT_ASKED not in diagnosis.prediction.assumes


def test_a_range_that_goes_back_is_read_as_empty(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-20 c | k20-10")
    assert restart(root, OWN).prediction.outcome == "replay"
    assert restart(root, ENDPOINT).prediction.outcome == "error"
