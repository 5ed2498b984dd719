"""The guard before `start()`, over a writer that only remembers; a real one is in tests/differential."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

import ckpttool
from ckpttool import ChangeRefused, gather_evidence, guard, open_checkpoint
from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import Query, QuerySink

NAME = "4.2.0-windowed-agg-hdfs-sound"


class Writer:
    def __init__(self, given: dict[str, Any] | None = None) -> None:
        self.given = given or {}
        self._jwrite = object()
        self._df = SimpleNamespace(sparkSession=SimpleNamespace(version="4.2.0"))

    def option(self, key: str, value: Any) -> Writer:
        return Writer(self.given | {key: value})

    def options(self, **given: Any) -> Writer:
        return Writer(self.given | given)

    def outputMode(self, mode: str) -> Writer:
        return Writer(self.given | {"mode": mode})

    def start(self) -> dict[str, Any]:
        return self.given

    def toTable(self, name: str) -> str:
        return name


class ConnectWriter:
    """That of a client of Spark Connect has no DataFrame of a JVM."""

    _write_proto = object()
    _session = SimpleNamespace(version="4.2.0")

    def start(self) -> None:
        raise AssertionError


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Callable[[Query | Exception], None]:
    """What the writer is described as: Spark does that."""

    def stand_in(query: Query | Exception) -> None:
        def describe(_: Any, *, table: str | None) -> Query:
            if isinstance(query, Exception):
                raise query
            return replace(query, sink=QuerySink("table", table)) if table else query

        monkeypatch.setitem(ckpttool.__dict__, "describe_query", describe)

    return stand_in


@pytest.fixture
def same(sample: Callable[[str], Path]) -> Query:
    place = str(sample(NAME) / "checkpoint")
    return replace(query_of(gather_evidence(open_checkpoint(place))), checkpoint=place)


def test_the_query_that_wrote_it_starts(described: Any, same: Query) -> None:
    described(same)
    started = guard(Writer()).start("/out", outputMode="append", checkpointLocation="/ck", partitionBy=None)
    assert started == {"mode": "append", "checkpointLocation": "/ck", "path": "/out"}


def test_a_table_is_what_the_query_wrote_to_before(described: Any, same: Query) -> None:
    was = replace(same, sink=QuerySink("table", "lake.orders"), not_told=())
    described(replace(was, sink=QuerySink("parquet", None)))
    assert guard(Writer(), was=was).toTable("lake.orders") == "lake.orders"
    with pytest.raises(ChangeRefused, match=r"lake\.other"):
        guard(Writer(), was=was).toTable("lake.other")


def test_what_spark_would_refuse_is_not_started(described: Any, same: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    described(replace(same, operators=()))
    with pytest.raises(ChangeRefused, match="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA") as refused:
        guard(Writer()).start()
    assert refused.value.change.verdict == "refused"
    monkeypatch.setenv("CKPT_GUARD", "warn")
    with pytest.warns(RuntimeWarning, match="will refuse this query"):
        guard(Writer()).start()
    monkeypatch.setenv("CKPT_GUARD", "off")
    assert guard(Writer()).check() is None


def test_what_is_assumed_keeps_a_query_from_starting_only_where_one_is_strict(described: Any, same: Query) -> None:
    same = replace(same, sink=QuerySink("parquet", "/out"), not_told=())
    described(same)
    checked = guard(Writer()).check()
    assert checked
    assert checked.judged.assumes
    with pytest.raises(ChangeRefused, match="as far as the checkpoint tells"):
        guard(Writer(), strict=True).start()
    assert guard(Writer(), was=same, strict=True).start() == {}


def test_a_client_of_spark_connect_is_guarded_alike(described: Any, same: Query) -> None:
    described(replace(same, operators=()))
    with pytest.raises(ChangeRefused, match="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"):
        guard(ConnectWriter()).start()


def test_a_query_that_begins_anew_starts(described: Any, same: Query, tmp_path: Path) -> None:
    described(replace(same, checkpoint=str(tmp_path / "new")))
    assert guard(Writer(), strict=True).check() is None


def test_what_fails_in_the_guard_itself_keeps_no_query_from_starting(described: Any) -> None:
    described(ZeroDivisionError("in ckpt"))
    with pytest.warns(RuntimeWarning, match="starts unchecked: ZeroDivisionError: in ckpt"):
        assert guard(Writer()).start() == {}
    with pytest.raises(ZeroDivisionError):
        guard(Writer(), strict=True).start()
