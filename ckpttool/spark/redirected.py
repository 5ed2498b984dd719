"""What a function of foreachBatch writes goes to clones of ours, and nowhere else, in the Python that has Spark.

A directory of files becomes a new one, and a Delta table a shallow clone: its files are read where they are, and
whatever is changed lies with us. Every other write is left out, and told.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from .no_writes import Methods, commands_in, is_harmless, nodes_of

Json = dict[str, Any]
FILES = ("json", "parquet", "text", "csv", "orc")
CHANGING = ("MergeIntoTable", "UpdateTable", "DeleteFromTable", "InsertIntoStatement")  # what a statement is parsed to


class NoClone(Exception):
    """The function wants a table that it must not get."""


class Clones:
    """By the place that they stand for. `folder`: where they go, one after the other."""

    def __init__(self, spark: Any, folder: Path, spark_own: Methods) -> None:
        """`spark_own`: the methods that were taken out."""
        self.spark, self.folder, self.own = spark, folder, spark_own
        self.made: dict[str, tuple[str, Path]] = {}  # by place, with its format
        self.left_out: dict[str, None] = {}
        self._count = 0

    def go_to(self, folder: Path) -> None:
        """Clones are recreated in another one."""
        if folder != self.folder:
            self.folder, self._count = folder, 0
            self.made.clear()
            self.left_out.clear()

    # -- places

    def files(self, place: str, kind: str) -> str:
        def make(clone: Path) -> None:
            if self._is_there(place):  # which a mode of writing may mind
                clone.mkdir(parents=True)

        return self._clone(place, kind, make)

    def delta(self, place: str) -> str | None:
        """None where this Spark cannot make one. Without deletion vectors, which not every release reads."""

        def make(clone: Path) -> None:
            if self._is_there(f"{place}/_delta_log"):
                off = "TBLPROPERTIES (delta.enableDeletionVectors = false)"
                self._sql(f"CREATE TABLE delta.`{clone.as_uri()}` SHALLOW CLONE delta.`{place}` {off}")

        try:
            return self._clone(place, "delta", make)
        except Exception:
            return None

    def table(self, name: str) -> str | None:
        """The clone of a Delta table that a catalog knows; None for any other."""
        with suppress(Exception):
            (told,) = self._sql(f"DESCRIBE DETAIL {name}").select("format", "location").collect()
            if told["format"] == "delta":
                return self.delta(told["location"])
        return None

    def _clone(self, place: str, kind: str, make: Callable[[Path], None]) -> str:
        if (place := self._spelled(place)) not in self.made:
            self._count += 1
            clone = self.folder / str(self._count)
            make(clone)
            self.made[place] = kind, clone
        return self.made[place][1].as_uri()

    def _is_there(self, place: str) -> bool:
        path, files = self._in_files(place)
        return bool(files.exists(path))

    def _spelled(self, place: str) -> str:
        """The same however a function spells it."""
        path, files = self._in_files(place)
        return str(files.makeQualified(path).toString())

    def _in_files(self, place: str) -> tuple[Any, Any]:
        path = self.spark._jvm.org.apache.hadoop.fs.Path(place)
        return path, path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())

    def leave_out(self, what: str) -> None:
        self.left_out[what] = None

    def give_up(self, table: str) -> NoReturn:
        self.leave_out(f"what its function does from {table} on, of which no clone can be made")
        raise NoClone

    def _sql(self, text: str) -> Any:
        from pyspark.sql import SparkSession

        return self.own[SparkSession, "sql"](self.spark, text)

    # -- what is in them

    def changes(self, shown: Callable[[Any], Any]) -> Iterator[tuple[str, str, Any]]:
        """Of each place the rows that came, and those of a table that went. `shown`: rows as they are told."""
        for place, (kind, clone) in self.made.items():
            if not any(one for one in clone.rglob("*") if one.is_file() and one.name[0] not in "._"):
                continue
            now = self.spark.read.format(kind).load(clone.as_uri())
            if kind != "delta" or not self._is_there(f"{place}/_delta_log"):
                yield place, "added", shown(now)
            else:
                before = shown(like(self.spark.read.format("delta").option("versionAsOf", 0).load(clone.as_uri()), now))
                yield place, "added", shown(now).exceptAll(before)
                yield place, "removed", before.exceptAll(shown(now))


def like(before: Any, now: Any) -> Any:
    """With the columns that have come, which are null there."""
    from pyspark.sql import functions as F

    def column(field: Any) -> Any:
        return F.col(f"`{field.name}`") if field.name in before.columns else F.lit(None).cast(field.dataType)

    return before.select(*(column(field).alias(field.name) for field in now.schema.fields))


# -- what the function calls -------------------------------------------------------------------------------------------


def redirect(clones: Clones) -> None:
    """From here on, in this process."""
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

    for kind, name in clones.own:
        setattr(kind, name, left_out(clones, kind, name))
    patch_writer(DataFrameWriter, clones, clones.spark.conf.get("spark.sql.sources.default"))
    _patch_second_writer(DataFrame, DataFrameWriterV2, clones)
    SparkSession.sql = _into_clones(clones)
    with suppress(ImportError):
        patch_tables(importlib.import_module("delta.tables"), clones)


def patch_writer(writer: Any, clones: Clones, default: str) -> None:
    format_, option, save, own = writer.format, writer.option, clones.own[writer, "save"], clones.own

    def with_format(self: Any, source: str) -> Any:
        self._kind = source
        return format_(self, source)

    def with_option(self: Any, key: str, value: Any) -> Any:
        if key.lower() == "path":
            self._place = value
            return self
        return option(self, key, value)

    def with_options(self: Any, **given: Any) -> Any:
        for key, value in given.items():
            self.option(key, value)
        return self

    def saved(self: Any, path: Any = None, format: Any = None, *more: Any, **named: Any) -> None:
        kind, (mode, partitions) = format or getattr(self, "_kind", default), (*more, None, None)[:2]
        mode, partitions = named.pop("mode", mode), named.pop("partitionBy", partitions)
        self.options(**named)
        place, clone = path or getattr(self, "_place", None), None
        if place is not None and kind in (*FILES, "delta"):
            clone = clones.delta(place) if kind == "delta" else clones.files(place, kind)
        if clone is None:
            clones.leave_out(f"a write to {kind} in its function")
        else:
            save(self, clone, kind, mode, partitions)

    def saved_as_table(self: Any, name: str, _format: Any = None, *more: Any, **named: Any) -> None:
        if (clone := clones.table(name)) is None:
            clones.leave_out(f"a write to the table {name} in its function")
        else:
            named.pop("format", None)
            save(self, clone, "delta", *more, **named)

    def inserted(self: Any, name: str, overwrite: Any = None) -> None:
        if (clone := clones.table(name)) is None:
            clones.leave_out(f"a write to the table {name} in its function")
        else:
            own[writer, "insertInto"](self, f"delta.`{clone}`", overwrite)

    def of(kind: str) -> Callable[..., None]:
        return lambda self, path, *more, **named: own[writer, kind](self, clones.files(path, kind), *more, **named)

    writer.format, writer.option, writer.options = with_format, with_option, with_options
    writer.save, writer.saveAsTable, writer.insertInto = saved, saved_as_table, inserted
    for kind in FILES:
        setattr(writer, kind, of(kind))


def _patch_second_writer(frame: Any, writer: Any, clones: Clones) -> None:
    """Which is given its table as it is made."""
    write_to = frame.writeTo

    def into(self: Any, table: str) -> Any:
        clone = clones.table(table)
        made = write_to(self, f"delta.`{clone}`" if clone else table)
        made._left_out = None if clone else f"a write to the table {table} in its function"
        return made

    def unless_left_out(name: str) -> Callable[..., Any]:
        def write(self: Any, *given: Any) -> None:
            if self._left_out:
                clones.leave_out(self._left_out)
            else:
                clones.own[writer, name](self, *given)

        return write

    frame.writeTo = into
    for kind, name in clones.own:
        if kind is writer:
            setattr(writer, name, unless_left_out(name))


def patch_tables(tables: Any, clones: Clones) -> None:
    """Of Delta's own API: what changes rows is done to a clone, and what looks after tables is left out."""
    table, merge = tables.DeltaTable, tables.DeltaMergeBuilder
    for_path = table.forPath

    def named(spark: Any, name: str) -> Any:
        return for_path(spark, clones.table(name) or clones.give_up(name))

    def at(spark: Any, path: str, *_conf: Any, **_named: Any) -> Any:
        return for_path(spark, clones.delta(path) or clones.give_up(path))

    table.forPath = staticmethod(at)
    table.forName = staticmethod(named)
    for kind, name in ((table, "delete"), (table, "update"), (merge, "execute")):
        setattr(kind, name, clones.own[kind, name])


def _into_clones(clones: Clones) -> Callable[..., Any]:
    from pyspark.sql import SparkSession

    sql = clones.own[SparkSession, "sql"]

    @functools.wraps(sql)
    def query(spark: Any, text: str, *given: Any, **named: Any) -> Any:
        if all(map(is_harmless, commands_in(spark, text))):
            return sql(spark, text, *given, **named)
        target = target_of(spark, text)
        clone = clones.table(".".join(f"`{part}`" for part in target)) if target else None
        moved = clone and with_target(text, target, f"delta.`{clone}`")
        if moved:
            return sql(spark, moved, *given, **named)
        clones.leave_out(f"a statement in its function: {' '.join(text.split()[:3])} …")
        return spark.createDataFrame([], "result string")

    return query


def target_of(spark: Any, text: str) -> list[str]:
    """The parts of the name of the one table that a statement changes."""
    with suppress(Exception):
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        for node, name in nodes_of(plan):
            if name in CHANGING:
                found = node.targetTable() if "Merge" in name else node.table()
                while found.children().size():
                    found = found.children().apply(0)
                parts = found.multipartIdentifier()
                return [parts.apply(number) for number in range(parts.size())]
    return []


def with_target(text: str, target: list[str], other: str) -> str | None:
    """None where its columns are called by its name, which the other one has not."""
    name = r"\s*\.\s*".join(f"(?:`{re.escape(part)}`|{re.escape(part)})" for part in target)
    found = re.compile(rf"(?<![\w.`]){name}(?![\w`])(\s*\.)?", re.IGNORECASE)
    if any(one[1] for one in found.finditer(text)):
        return None
    moved = found.sub(lambda _: other, text)
    return None if moved == text else moved


def left_out(clones: Clones, kind: Any, name: str) -> Callable[..., None]:
    called = f"{kind.__name__}.{name}"
    if kind.__name__ == "DeltaTableBuilder":  # whoever calls it goes on with the table
        return lambda *_given, **_named: clones.give_up(called)
    return lambda *_given, **_named: clones.leave_out(f"{called} in its function")
