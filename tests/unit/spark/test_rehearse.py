"""What a rehearsed job gets of Spark: which of its queries is meant, and which options its readers pass on. The rest is
in tests/differential/test_rehearse_vs_spark.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ckpttool.spark.rehearse import ReachedStart, Starts, limit, only_read, plain_place


def start(starts: Starts, *queries: tuple[str | None, str | None]) -> None:
    """Names and checkpoints, one after the other, until the one that is meant."""
    try:
        for name, checkpoint in queries:
            starts.take({"name": name, "checkpoint": checkpoint})
    except ReachedStart:
        return


ONE, TWO = ("one", "/ck/a"), ("two", "/ck/orders")


@pytest.mark.parametrize(
    ("pick", "queries", "meant"),
    [
        (None, [ONE], "one"),  # the only one, wherever it keeps its checkpoint
        (None, [ONE, TWO], "two"),  # by the place
        (None, [("orders", None), ONE], "orders"),  # by the last part of the place
        (None, [ONE, ("three", None)], None),
        ("one", [TWO, ONE], "one"),
        ("2", [TWO, ONE], "one"),
        ("four", [ONE], None),
    ],
)
def test_one_of_the_queries_is_meant(
    pick: str | None, queries: Sequence[tuple[str | None, str | None]], meant: str | None
) -> None:
    starts = Starts(pick, ["/ck/orders"])
    start(starts, *queries)
    assert (starts.meant() or {"name": None})["name"] == meant


def test_a_job_does_not_go_on_once_it_has_come_to_it() -> None:
    starts = Starts(None, ["/ck/orders"])
    start(starts, TWO, ONE)
    assert [one["name"] for one in starts.seen] == ["two"]


@pytest.mark.parametrize(
    "places",
    [
        ("/ck/orders", "/ck/orders/", "file:/ck/orders", "file:///ck/./orders"),
        ("s3://lake/ck", "s3a://lake/ck", "s3n://lake/ck/"),
    ],
)
def test_several_spellings_are_one_place(places: Sequence[str]) -> None:
    assert len(set(map(plain_place, places))) == 1


def reader_class() -> Any:
    """Stands in for Spark's, which a test may patch once only."""

    class Reader:
        def __init__(self) -> None:
            self.passed: dict[str, Any] = {}

        def format(self, source: str) -> Any:
            self.passed["format"] = source
            return self

        def option(self, key: str, value: Any) -> Any:
            self.passed[key] = value
            return self

        def options(self, **_given: Any) -> Any:
            raise AssertionError("each option goes by its own way")

        def load(self, path: Any = None, format: Any = None, schema: Any = None, **given: Any) -> Any:
            named = {"format": format, "schema": schema}
            return self.passed | given | {"path": path} | {key: one for key, one in named.items() if one}

        def json(self, path: Any) -> Any:
            return self.passed | {"path": path}

    return Reader


def test_consumers_get_groups_of_their_own() -> None:
    reader = reader_class()
    only_read(reader)
    named = reader().format("kafka").options(**{"kafka.group.id": "orders", "subscribe": "orders"}).load()
    assert named == {"format": "kafka", "kafka.group.id": "ckpt-rehearse-orders", "subscribe": "orders", "path": None}
    assert reader().format("kafka").option("groupIdPrefix", "p").load()["groupIdPrefix"] == "ckpt-rehearse-p"
    assert reader().load(format="kafka", subscribe="orders")["groupIdPrefix"] == "ckpt-rehearse"
    assert "groupIdPrefix" not in reader().format("delta").load("/table")


@pytest.mark.parametrize("key", ["cleanSource", "cleansource", "cloudFiles.cleanSource"])
def test_files_that_were_read_stay_where_they_are(key: str) -> None:
    """A job that cleans up would do so in production."""
    reader = reader_class()
    only_read(reader)
    assert reader().option(key, "delete").json("/in") == {key: "off", "path": "/in"}
    assert reader().options(**{key: "archive", "sourceArchiveDir": "/old"}).json("/in")[key] == "off"
    assert reader().load("/in", **{key: "archive"})[key] == "off"


def test_a_batch_takes_less_where_a_source_can_be_told() -> None:
    reader = reader_class()
    only_read(reader)
    limit(reader, 50)
    assert reader().format("kafka").option("maxOffsetsPerTrigger", 9).load()["maxOffsetsPerTrigger"] == 50
    assert reader().format("delta").load("/table")["maxFilesPerTrigger"] == 1
    assert reader().json("/in")["maxFilesPerTrigger"] == 1
    assert "maxFilesPerTrigger" not in reader().format("rate").load()
