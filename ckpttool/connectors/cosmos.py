"""Azure Cosmos DB: `{"id":"spark.cosmos.changeFeed.offset.v1","state":"<base64>","partitions":[…]}`.

Written by azure-cosmos-spark 4. `state` holds the feed's continuations, `partitions` the
ranges of the partition key's hash with the last log sequence number planned (`endLsn`). An end offset without
`partitions` stops the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from ckpttool.connectors.base import Offset, OffsetStep, Order, is_long, order_of_parts, went_down
from ckpttool.model import Json
from ckpttool.words import counted, shown

KIND = "cosmos"
EXAMPLES: tuple[str, ...] = (
    '{"id":"spark.cosmos.changeFeed.offset.v1","state":"eyJWIjoyfQ==","partitions":[{"range":["","AA"],"endLsn":99},'
    '{"range":["AA","FF"]}]}',
    '{"id":"spark.cosmos.changeFeed.offset.v1","state":"eyJWIjozfQ==","partitions":[{"range":["","FF"],"endLsn":120}]}',
    '{"id":"spark.cosmos.changeFeed.offset.v1","state":"eyJWIjo0fQ==","partitions":[{"range":["","FF"],"endLsn":150}]}',
)

IDS = (
    "spark.cosmos.changeFeed.offset.v1",
    "azure_cosmos_spark.com.azure.cosmos.spark.changeFeed.offset.v1",  # the same class, relocated
)


class CosmosOffset(Offset, frozen=True):
    """`end_lsns`: range → its `endLsn`, None where it has none; the whole None: no readable `partitions`."""

    kind: ClassVar[str] = KIND
    unit: ClassVar[str] = "changes"
    state: str
    end_lsns: Mapping[str, int | None] | None

    def summary(self) -> str:
        return "no partitions" if self.end_lsns is None else counted(len(self.end_lsns), "partition range")

    def order_to(self, other: Self) -> Order:
        if (self.state, self.end_lsns) == (other.state, other.end_lsns):
            return Order.EQUAL
        one, two = self._positions(), other._positions()
        return order_of_parts(one, two) if one and one.keys() == two.keys() else Order.UNKNOWN

    def step_since(self, start: Self) -> OffsetStep:
        if (start.state, start.end_lsns) == (self.state, self.end_lsns):
            return OffsetStep(0, self.unit, exact=True)
        note = "log sequence numbers do not count changes"
        return OffsetStep(None, self.unit, note=note, backwards=went_down(start._positions(), self._positions()))

    def details(self) -> list[tuple[str, str]]:
        lsns = self.end_lsns or {}
        return [(shown(hashes, 140), "no endLsn" if lsn is None else f"endLsn {lsn}") for hashes, lsn in lsns.items()]

    def problems(self) -> list[str]:
        return ["`partitions` is missing or damaged: the connector asserts on it"] if not self.end_lsns else []

    def _positions(self) -> dict[str, int]:
        """Empty unless every range has its number."""
        known = {hashes: lsn for hashes, lsn in (self.end_lsns or {}).items() if lsn is not None}
        return known if self.end_lsns is not None and len(known) == len(self.end_lsns) else {}


def parse_offset(value: Json, text: str, hint: str | None) -> CosmosOffset | None:  # noqa: ARG001
    if not isinstance(value, dict) or value.get("id") not in IDS or not isinstance(value.get("state"), str):
        return None
    return CosmosOffset("certain", value["state"], _end_lsns(value.get("partitions")))


def _end_lsns(partitions: Json) -> dict[str, int | None] | None:
    if not isinstance(partitions, list):
        return None
    end_lsns: dict[str, int | None] = {}
    for partition in partitions:
        hashes = partition.get("range") if isinstance(partition, dict) else None
        if not isinstance(hashes, list) or len(hashes) != 2 or not all(isinstance(end, str) for end in hashes):
            return None
        lsn = partition.get("endLsn")
        if not (lsn is None or is_long(lsn)):
            return None
        end_lsns[f"[{hashes[0]}, {hashes[1]})"] = lsn
    return end_lsns
