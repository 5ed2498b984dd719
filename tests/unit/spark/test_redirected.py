"""Where the writes of a function go, with stand-ins for Spark's writers: real ones are in
tests/differential/test_rehearse_vs_spark.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckpttool.spark.redirected import Clones, NoClone, left_out, patch_tables, patch_writer, with_target


class Disk(Clones):
    """Which knows what is there without a Spark."""

    there: tuple[str, ...] = ()
    tables: Mapping[str, str] = {}

    def _is_there(self, place: str) -> bool:
        return place in self.there

    def _spelled(self, place: str) -> str:
        return place.rstrip("/")

    def table(self, name: str) -> str | None:
        return self.delta(self.tables[name]) if name in self.tables else None

    def _sql(self, text: str) -> Any:
        self.statement = text


@pytest.fixture
def writer() -> Any:
    class Writer:
        """Spark's own, which tells what it was given."""

        def __init__(self) -> None:
            self.told: list[Any] = []

        def format(self, source: str) -> Any:
            self.told.append(("format", source))
            return self

        def option(self, key: str, value: Any) -> Any:
            self.told.append((key, value))
            return self

        def save(self, *given: Any) -> None:
            self.told.append(("save", *given))

        def parquet(self, *given: Any, **named: Any) -> None:
            self.told.append(("parquet", *given, named))

        json = text = csv = orc = insertInto = parquet

    return Writer


def clones_of(writer: Any, folder: Path, **tables: str) -> Disk:
    names = ("save", "parquet", "json", "text", "csv", "orc", "insertInto")
    clones = Disk(None, folder, {(writer, name): getattr(writer, name) for name in names})
    clones.tables = tables
    patch_writer(writer, clones, "parquet")
    return clones


def test_files_go_to_a_directory_of_ours(writer: Any, tmp_path: Path) -> None:
    clones = clones_of(writer, tmp_path)
    clones.there = ("s3a://lake/orders",)
    one, two, three = writer(), writer(), writer()
    one.format("json").save("s3a://lake/orders", mode="append")
    two.option("path", "s3a://lake/orders/").option("compression", "gzip").format("json").save()
    three.parquet("/lake/other", mode="error")
    first, second = ((tmp_path / number).as_uri() for number in "12")
    assert one.told == [("format", "json"), ("save", first, "json", "append", None)]
    assert two.told == [("compression", "gzip"), ("format", "json"), ("save", first, "json", None, None)]
    assert three.told == [("parquet", second, {"mode": "error"})]
    assert (tmp_path / "1").is_dir()  # for a mode that minds what is there
    assert not (tmp_path / "2").exists()
    assert clones.left_out == {}


def test_a_table_is_cloned_once(writer: Any, tmp_path: Path) -> None:
    clones = clones_of(writer, tmp_path, orders="/lake/orders")
    clones.there = ("/lake/orders/_delta_log",)
    one, two = writer(), writer()
    one.saveAsTable("orders", "delta", "append")
    two.insertInto("orders")
    clone = (tmp_path / "1").as_uri()
    assert (one.told, two.told) == ([("save", clone, "delta", "append")], [("parquet", f"delta.`{clone}`", None, {})])
    assert f"delta.`{clone}` SHALLOW CLONE delta.`/lake/orders`" in clones.statement


def test_other_writes_are_left_out_and_told(writer: Any, tmp_path: Path) -> None:
    clones = clones_of(writer, tmp_path)
    one = writer()
    one.format("kafka").save()
    one.saveAsTable("orders")
    one.insertInto("orders")
    assert one.told == [("format", "kafka")]
    assert list(clones.left_out) == [
        "a write to kafka in its function",
        "a write to the table orders in its function",
    ]


def test_whatever_else_writes_is_left_out_too(tmp_path: Path) -> None:
    clones = Disk(None, tmp_path, {})
    left_out(clones, type("RDD", (), {}), "saveAsTextFile")("/out")
    assert list(clones.left_out) == ["RDD.saveAsTextFile in its function"]
    with pytest.raises(NoClone):
        left_out(clones, type("DeltaTableBuilder", (), {}), "execute")()


def test_in_another_directory_everything_is_cloned_anew(tmp_path: Path) -> None:
    clones = Disk(None, tmp_path / "old", {})
    before = clones.files("/lake/orders", "json")
    clones.go_to(tmp_path / "again")
    assert clones.files("/lake/orders", "json") == (tmp_path / "again" / "1").as_uri() != before


def test_a_table_of_deltas_own_api_is_a_clone_or_nothing(tmp_path: Path) -> None:
    class Tables:
        class DeltaTable:
            delete = update = None

            @classmethod
            def forPath(cls, _spark: Any, path: str) -> str:
                return path

        class DeltaMergeBuilder:
            execute = None

    table, merge = Tables.DeltaTable, Tables.DeltaMergeBuilder
    own = {(kind, name): name for kind, name in ((table, "delete"), (table, "update"), (merge, "execute"))}
    clones = Disk(None, tmp_path, own)  # type: ignore[arg-type]
    clones.tables = {"orders": "/lake/orders"}
    tables: Any = Tables
    patch_tables(tables, clones)
    clone = (tmp_path / "1").as_uri()
    assert tables.DeltaTable.forPath(None, "/lake/orders") == tables.DeltaTable.forName(None, "orders") == clone
    assert tables.DeltaMergeBuilder.execute == "execute"
    with pytest.raises(NoClone):
        tables.DeltaTable.forName(None, "users")
    assert list(clones.left_out) == ["what its function does from users on, of which no clone can be made"]


@pytest.mark.parametrize(
    ("text", "target", "moved"),
    [
        ("MERGE INTO orders AS o USING new_orders n ON o.id = n.id", ["orders"],
         "MERGE INTO X AS o USING new_orders n ON o.id = n.id"),
        ("INSERT INTO `shop`.Orders SELECT * FROM shop.orders", ["shop", "orders"], "INSERT INTO X SELECT * FROM X"),
        ("DELETE FROM delta.`/lake/a.b` WHERE x", ["delta", "/lake/a.b"], "DELETE FROM X WHERE x"),
        ("MERGE INTO orders USING n ON orders.id = n.id", ["orders"], None),  # its columns would have no table
        ("DELETE FROM other", ["orders"], None),
    ],
)  # fmt: skip
def test_the_target_of_a_statement_becomes_another(text: str, target: list[str], moved: str | None) -> None:
    assert with_target(text, target, "X") == moved
