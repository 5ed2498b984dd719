"""Which brokers have which source."""

from __future__ import annotations

from ckpttool.cli.brokers import parse_clusters
from ckpttool.kafka.base import Clusters


def test_clusters_by_source() -> None:
    assert parse_clusters(("h:1,g:2", "1=x:3")) == Clusters("h:1,g:2", {1: "x:3"})
    assert Clusters("h:1", {1: "x:3"}).of(1) == "x:3"
    assert Clusters(None, {1: "x:3"}).of(0) is None
