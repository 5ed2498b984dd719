"""What checkpoints have in common: the id of their query, the tables that they lie in, what they read."""

from __future__ import annotations

from typing import Any

from ckpttool.fleet.scan import Sighting
from ckpttool.fleet.shared import Shared, shared_by

TABLE = "delta", "s3://lake/table"
ORDERS = Sighting("s3://lake/ck/orders", 0, "id-1", sources=(("kafka", "orders"),), sink=TABLE)


def other(url: str, query_id: str | None = None, **more: Any) -> Sighting:
    return Sighting(url, 0, query_id, **more)


def test_one_checkpoint_shares_nothing() -> None:
    assert shared_by([ORDERS]) == ()
    assert shared_by([ORDERS, other("s3://lake/ck/x", "id-2"), other("s3://lake/ck/y"), other("s3://lake/ck/z")]) == ()


def test_ids_come_first_then_sinks_then_sources() -> None:
    copy = other("s3://lake/copy", "id-1", sources=ORDERS.sources, sink=TABLE)
    both = (copy.url, ORDERS.url)
    assert shared_by([ORDERS, copy]) == (
        Shared("query id", None, "id-1", tuple(sorted(both))),
        Shared("sink", "delta", "s3://lake/table", tuple(sorted(both))),
        Shared("source", "kafka", "orders", tuple(sorted(both))),
    )


def test_a_name_means_another_thing_in_another_system() -> None:
    assert shared_by([ORDERS, other("x", sources=(("eventhubs", "orders"),))]) == ()


def test_a_checkpoint_that_reads_a_topic_twice_does_not_share_it_with_itself() -> None:
    assert shared_by([other("x", sources=(("kafka", "orders"), ("kafka", "orders")))]) == ()
