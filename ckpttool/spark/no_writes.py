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

Methods = dict[tuple[Any, str], Callable[..., Any]]  # of classes, by name

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
_OF_CATALOG = ("createTable", "createExternalTable", "recoverPartitions")
_OF_RDD = ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile", "saveAsHadoopDataset",
           "saveAsNewAPIHadoopFile", "saveAsNewAPIHadoopDataset")  # fmt: skip
_OF_DELTA = {
    "DeltaTable": ("delete", "update", "vacuum", "restoreToVersion", "restoreToTimestamp", "upgradeTableProtocol",
                   "addFeatureSupport", "dropFeatureSupport", "generate", "convertToDelta", "clone", "cloneAtVersion",
                   "cloneAtTimestamp"),
    "DeltaTableBuilder": ("execute",),
    "DeltaMergeBuilder": ("execute",),
    "DeltaOptimizeBuilder": ("executeCompaction", "executeZOrderBy"),
}  # fmt: skip


def take_writes_out() -> Methods:
    """Those that were there."""
    from pyspark import RDD
    from pyspark.sql import SparkSession
    from pyspark.sql.catalog import Catalog
    from pyspark.sql.readwriter import DataFrameWriter, DataFrameWriterV2

    taken: Methods = {(SparkSession, "sql"): SparkSession.sql}
    of_spark: Sequence[tuple[Any, Sequence[str]]] = (
        (DataFrameWriter, _V1),
        (DataFrameWriterV2, _V2),
        (Catalog, _OF_CATALOG),
        (RDD, _OF_RDD),
    )
    for kind, names in of_spark:
        taken |= _take_out(kind, names)
    with suppress(ImportError):  # since 4.0
        taken |= _take_out(importlib.import_module("pyspark.sql.merge").MergeIntoWriter, ("merge",))
    with suppress(ImportError):
        tables = importlib.import_module("delta.tables")
        for kind_of_delta, names in _OF_DELTA.items():
            taken |= _take_out(getattr(tables, kind_of_delta, None), names)
    SparkSession.sql = _only_queries(SparkSession.sql)
    return taken


def take_writes_of_clients_out() -> None:
    """The same of clients of Spark Connect, whose server alone could parse a statement: its first word counts."""
    session, writers = (importlib.import_module(f"pyspark.sql.connect.{name}") for name in ("session", "readwriter"))
    _take_out(writers.DataFrameWriter, _V1)
    _take_out(writers.DataFrameWriterV2, _V2)
    session.SparkSession.sql = _only_queries(session.SparkSession.sql)


def _take_out(kind: Any, names: Sequence[str]) -> Methods:
    taken = {(kind, name): getattr(kind, name) for name in names if hasattr(kind, name)}
    for _, name in taken:
        setattr(kind, name, _nothing)
    return taken


def _nothing(*_given: Any, **_named: Any) -> None:
    return None


def _only_queries(sql: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(sql)
    def query_or_nothing(spark: Any, text: str, *given: Any, **named: Any) -> Any:
        commands = commands_in(spark, text)
        if all(is_harmless(one) for one in commands):
            try:
                return sql(spark, text, *given, **named)
            except Exception:
                if not set(commands) & set(_MOVE):  # to a place that was not made here
                    raise
        return spark.createDataFrame([], "result string")

    return query_or_nothing


def commands_in(spark: Any, text: str) -> list[str]:
    """The classes of the commands in a statement, as Spark's parser has them."""
    with suppress(Exception):  # what is not Spark's grammar, or has parameters of Python's, Spark itself judges
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        command = spark._jvm.java.lang.Class.forName(_COMMANDS)
        return [name for node, name in nodes_of(plan) if command.isInstance(node) or name.startswith("Insert")]
    first, *_ = text.split(maxsplit=1) or [""]
    return [] if first.upper() in _READING and not _CHANGING.search(text) else [first]


def is_harmless(command: str) -> bool:
    return command in _HARMLESS or command.startswith(_SHOW)


def nodes_of(plan: Any) -> list[tuple[Any, str]]:
    children = plan.children()
    below = [one for number in range(children.size()) for one in nodes_of(children.apply(number))]
    return [(plan, plan.getClass().getSimpleName()), *below]
