"""Azure Event Hubs: `{"hub":{"<partition>":<sequence number>}}`, written by azure-event-hubs-spark 2.3.

A number is the next sequence number to read, so a batch is `[start, end)`. The line and the file `sources/<n>/0` look
exactly like Kafka's: only a hint tells the two apart. A start that the hub has already dropped is lifted silently, so a
step is an upper bound.
"""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import Options, TopicOffset, topics_of
from ckpttool.model import Json
from ckpttool.words import listed

KIND = "eventhubs"
OPTIONS = Options(
    each=(
        "eventhubs.connectionString eventhubs.consumerGroup eventhubs.endingPosition eventhubs.endingPositions "
        "eventhubs.maxRatePerPartition eventhubs.maxRatesPerPartition eventhubs.receiverTimeout "
        "eventhubs.maxSilentTime eventhubs.operationTimeout eventhubs.prefetchCount eventhubs.threadPoolSize "
        "eventhubs.useExclusiveReceiver eventhubs.metricPlugin eventhubs.slowPartitionAdjustment "
        "eventhubs.throttlingStatusPlugin eventhubs.maxAcceptableBatchReceiveTime eventhubs.useAadAuth "
        "eventhubs.aadAuthCallback eventhubs.AadAuthCallbackParams eventhubs.DynamicPartitionDiscovery "
        "maxEventsPerTrigger partitionPreferredLocationStrategy"
    ),
    first="eventhubs.startingPosition eventhubs.startingPositions",
)
EXAMPLES: tuple[str, ...] = ('{"ehName1":{"0":456,"1":789}}', '{"ehName1":{"0":500,"1":789}}')


class EventHubsOffset(TopicOffset, frozen=True):
    kind: ClassVar[str] = KIND

    def problems(self) -> list[str]:
        if not any(self.topics.values()):
            return ["no partition is named"]
        negative = [name for name, position in self.positions().items() if position < 0]
        return [f"a negative number is no sequence number: {listed(negative)}"] if negative else []


def parse_offset(value: Json, text: str, hint: str | None) -> EventHubsOffset | None:  # noqa: ARG001
    topics = topics_of(value) if hint == KIND else None
    return None if topics is None else EventHubsOffset("certain", topics)
