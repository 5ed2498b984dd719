"""Takes out what writes: a job that is described changes no table.

What a session alone knows, such as a temporary view, is made all the same: the job's queries may read it.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_COMMANDS = "org.apache.spark.sql.catalyst.plans.logical.Command"
# Commands that change nothing but the session, or only show something.
_HARMLESS = (
    "CreateViewCommand",  # temporary ones: the others are parsed to CreateView
    "CreateTempViewUsing",
    "CreateFunctionCommand",  # as above
    "CreateVariable",
    "SetVariable",
    "SetCommand",
    "ResetCommand",
    "SetCatalogCommand",
    "SetNamespaceCommand",
    "SetCatalogAndNamespace",
    "AddJarCommand",
    "AddJarsCommand",
    "AddFilesCommand",
    "ExplainCommand",
)
_SHOW = ("Show", "Describe", "List")
_READING = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "LIST", "SET", "RESET")
_CHANGING = re.compile(r"\b(?:INSERT|MERGE|UPDATE|DELETE)\b", re.IGNORECASE)
_MOVE = ("SetCatalogCommand", "SetNamespaceCommand", "SetCatalogAndNamespace")
_V1 = ("save", "insertInto", "saveAsTable", "json", "parquet", "text", "csv", "orc", "jdbc", "xml", "excel")
_V2 = ("create", "replace", "createOrReplace", "append", "overwrite", "overwritePartitions")
_OF_DELTA = {
    "DeltaTable": ("delete", "update", "vacuum", "restoreToVersion", "restoreToTimestamp", "upgradeTableProtocol",
                   "addFeatureSupport", "dropFeatureSupport", "generate"),
    "DeltaMergeBuilder": ("execute",),
    "DeltaOptimizeBuilder": ("executeCompaction", "executeZOrderBy"),
}  # fmt: skip


def take_writes_out() -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

    _take_out(DataFrameWriter, _V1)
    _take_out(DataFrameWriterV2, _V2)
    with suppress(ImportError):  # since 4.0
        importlib.import_module("pyspark.sql.merge").MergeIntoWriter.merge = _nothing
    with suppress(ImportError):
        tables = importlib.import_module("delta.tables")
        for kind, names in _OF_DELTA.items():
            _take_out(getattr(tables, kind, None), names)
    SparkSession.sql = _only_queries(SparkSession.sql)


def take_writes_of_clients_out() -> None:
    """The same of clients of Spark Connect, whose server alone could parse a statement: its first word counts."""
    session, writers = (importlib.import_module(f"pyspark.sql.connect.{name}") for name in ("session", "readwriter"))
    _take_out(writers.DataFrameWriter, _V1)
    _take_out(writers.DataFrameWriterV2, _V2)
    session.SparkSession.sql = _only_queries(session.SparkSession.sql)


def _take_out(kind: Any, names: Sequence[str]) -> None:
    for name in names:
        if hasattr(kind, name):
            setattr(kind, name, _nothing)


def _nothing(*_given: Any, **_named: Any) -> None:
    return None


def _only_queries(sql: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(sql)
    def query_or_nothing(spark: Any, text: str, *given: Any, **named: Any) -> Any:
        commands = _commands(spark, text)
        if all(_is_harmless(one) for one in commands):
            try:
                return sql(spark, text, *given, **named)
            except Exception:
                if not set(commands) & set(_MOVE):  # to a place that was not made here
                    raise
        return spark.createDataFrame([], "result string")

    return query_or_nothing


def _commands(spark: Any, text: str) -> list[str]:
    """The classes of the commands in a statement, as Spark's parser has them."""
    with suppress(Exception):  # what is not Spark's grammar, or has parameters of Python's, Spark itself judges
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        command = spark._jvm.java.lang.Class.forName(_COMMANDS)
        return [name for node, name in _nodes(plan) if command.isInstance(node) or name.startswith("Insert")]
    first, *_ = text.split(maxsplit=1) or [""]
    return [] if first.upper() in _READING and not _CHANGING.search(text) else [first]


def _is_harmless(command: str) -> bool:
    return command in _HARMLESS or command.startswith(_SHOW)


def _nodes(plan: Any) -> list[tuple[Any, str]]:
    children = plan.children()
    below = [one for number in range(children.size()) for one in _nodes(children.apply(number))]
    return [(plan, plan.getClass().getSimpleName()), *below]
