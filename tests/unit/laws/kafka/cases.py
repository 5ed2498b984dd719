"""What the truth table of Kafka's laws is made of."""

from __future__ import annotations

from typing import Any

from ckpttool.releases import Release
from ckpttool.scene.scene import Failure

OLD: Release = (3, 5, 7)
NEW: Release = (4, 2, 0)
NAMED = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
PLAIN = "java.lang.IllegalStateException"
OUT_OF_RANGE = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException"
UNKNOWN_TOPIC = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"
START: Any = {"t": {0: 100}}
END: Any = {"t": {0: 200}}


def told(answer: tuple[Any, Any]) -> tuple[str | None, list[tuple[str, str]]]:
    """The class of the failure, and what else there is to be told."""
    obstacle, findings = answer
    assert obstacle is None or isinstance(obstacle, Failure)
    return (obstacle.class_name if obstacle else None), [(one.id, one.severity) for one in findings]
