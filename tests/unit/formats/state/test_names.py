"""Names in a store's directory: which version a file is of, and which provider wrote it."""

from __future__ import annotations

import pytest

from ckpttool.formats.state.names import by_batch, parse_state_versions, provider_by_conf, provider_of


def test_versions_are_those_of_files_of_either_provider() -> None:
    names = [
        "10.delta",
        "9.snapshot",
        "3.zip",
        "4_a-b.changelog",
        "SSTs",
        "_metadata",
        "5.crc",
        ".6.delta.tmp",
        "x.zip",
    ]
    assert parse_state_versions(names) == (3, 4, 9, 10)
    assert parse_state_versions(["\u0663.delta", "9" * 30 + ".delta"]) == ()


@pytest.mark.parametrize(
    ("names", "provider"),
    [
        (["1.delta"], "hdfs"),
        (["1.zip", "SSTs"], "rocksdb"),
        (["1.delta", "1.zip"], None),
        ([".1.delta"], None),
        ([], None),
    ],
)
def test_a_provider_is_known_by_its_files(names: list[str], provider: str | None) -> None:
    assert provider_of(names) == provider


def test_a_provider_that_is_not_sparks_keeps_its_own_name() -> None:
    key, package = "spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state"
    assert provider_by_conf({key: f"{package}.RocksDBStateStoreProvider"}) == "rocksdb"
    assert provider_by_conf({key: "com.example.Ours"}) == "Ours"
    assert provider_by_conf({}) is None


def test_schema_files_are_in_the_order_of_their_batches() -> None:
    assert sorted(["10_a", "9_b", "x", "9_a"], key=by_batch) == ["x", "9_a", "9_b", "10_a"]
