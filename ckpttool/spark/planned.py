"""What Spark plans of a streaming query that was not started, told as plain values, in the Python that has Spark.

`IncrementalExecution(…).executedPlan()` plans a streaming DataFrame as a batch, as its `explain()` does; no source is
created by that. Since 4.0 the same planning, pointed at an empty directory, writes there what Spark keeps of each
stateful operator: its metadata, and the schemas of its stores.
"""

from __future__ import annotations

import base64
import functools
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..formats import plan_text as texts
from .stand_ins import STANDS_IN

Json = dict[str, Any]
_STREAMING = "org.apache.spark.sql.execution.streaming."


# -- what Spark plans --------------------------------------------------------------------------------------------------


class Planner:
    """Of one session."""

    def __init__(self, spark: Any) -> None:
        self.spark, self.jvm = spark, spark._jvm
        self.release = tuple(int(part) for part in re.findall(r"\d+", spark.version)[:2])
        self.runtime = _STREAMING + ("runtime." if self.release >= (4, 1) else "")
        self.checkpointing = _STREAMING + ("checkpointing." if self.release >= (4, 1) else "")

    def executed(self, frame: Any, mode: Any, where: str, batch_id: int = 0) -> Any:
        """The physical plan of the first batch after a start, as a release of Spark makes it."""
        id_ = self.jvm.java.util.UUID.randomUUID()
        plan = frame._jdf.queryExecution().analyzed()
        partitions = self.spark.conf.get("spark.sql.shuffle.partitions")
        logged = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {"spark.sql.shuffle.partitions": partitions}}
        metadata = self._object(f"{self.checkpointing}OffsetSeqMetadata").apply(json.dumps(logged))
        given = [frame._jdf.sparkSession(), plan, mode, where, id_, id_, batch_id]
        given += [self.jvm.scala.Option.empty()] if self.release >= (3, 4) else []
        given += [metadata]
        given += [self._object(f"{self.runtime}WatermarkPropagator").noop()] if self.release >= (3, 5) else []
        if self.release >= (4, 0):
            execute = self._object("org.apache.spark.sql.execution.CommandExecutionMode").ALL()
            given += [True, self._empty_map(), self._empty_map(), execute]
        given += [False] if self.release >= (4, 1) else []  # isTerminatingTrigger
        given += [False] if self.release >= (4, 3) else []  # isRealTimeMode
        return self._named(f"{self.runtime}IncrementalExecution")(*given).executedPlan()

    def refusal(self, frame: Any, mode: Any) -> Json | None:
        """What `start()` has against the plan, whatever the checkpoint."""
        checker = self._object("org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker")
        with self._active(frame._jdf.sparkSession()):
            try:
                checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode)
            except Exception as error:
                return said(error)
        return None

    @contextmanager
    def _active(self, session: Any) -> Iterator[None]:
        """What is asked goes by the settings of this session, as what `start()` asks does."""
        classic = "classic." if self.release >= (4, 0) else ""
        sessions = self._object(f"org.apache.spark.sql.{classic}SparkSession")
        before = sessions.getActiveSession()
        sessions.setActiveSession(session)
        try:
            yield
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()

    def watermark(self, node: Any, leaves: list[Any]) -> Json:
        delay = self._object("org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark").getDelayMs(node.delay())
        return {"column": node.eventTime().name(), "delay_ms": delay, "sources": below(node, leaves)}

    def interval_ms(self, given: Json) -> int | None:
        """Of what `trigger` was given, as Spark reads the text."""
        made_by = {"processingTime": "ProcessingTime", "continuous": "Continuous", "realTime": "RealTime"}
        for name, text in given.items():
            if name in made_by and isinstance(text, str):
                trigger = getattr(self.jvm.org.apache.spark.sql.streaming.Trigger, made_by[name])(text)
                return int(trigger.batchDurationMs() if name == "realTime" else trigger.intervalMs())
        return None

    def mode(self, name: str) -> Any:
        modes = self.jvm.org.apache.spark.sql.streaming.OutputMode
        return {"append": modes.Append, "update": modes.Update, "complete": modes.Complete}[name]()

    def _named(self, name: str) -> Any:
        return functools.reduce(getattr, name.split("."), self.jvm)

    def _object(self, name: str) -> Any:
        return getattr(self._named(f"{name}$"), "MODULE$")

    def _empty_map(self) -> Any:
        return self._object("scala.collection.mutable.HashMap").empty()


def said(error: Exception) -> Json:
    """The class, condition and words of the root cause."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None and java.getCause() is not None and java.getCause() != java:
        java = java.getCause()
    if java is None:
        return {"class": type(error).__name__, "condition": None, "message": str(error)}
    condition = None
    for asked in ("getCondition", "getErrorClass"):
        with suppress(Exception):
            condition = condition or getattr(java, asked)()
    return {"class": java.getClass().getName(), "condition": condition, "message": java.getMessage()}


def listed(seq: Any) -> list[Any]:
    """Of a Scala Seq."""
    return [seq.apply(number) for number in range(seq.size())]


def short_class(java: Any) -> str:
    return str(java.getClass().getSimpleName()).rstrip("$")


def nodes(plan: Any) -> Iterator[Any]:
    """Depth first, each before what is below it, as Spark numbers sources and operators."""
    yield plan
    for child in listed(plan.children()):
        yield from nodes(child)


# -- columns and expressions -------------------------------------------------------------------------------------------


class Columns:
    """What each column of a plan was computed from, by the number that Spark gave it."""

    def __init__(self, plan: Any) -> None:
        self.names: dict[str, str] = {}
        self.made_of: dict[str, str] = {}
        for node in nodes(plan):
            if not listed(node.children()):
                self.names |= {str(one.exprId().id()): one.name() for one in listed(node.output())}
            for alias in self._aliases(node):
                self._learn(alias, alias.child())
            if short_class(node) == "Expand":  # of each row one for every window that it lies in
                for column, made_of in zip(listed(node.output()), listed(node.projections().head()), strict=True):
                    if short_class(made_of) != "AttributeReference":
                        self._learn(column, made_of)

    def _learn(self, column: Any, made_of: Any) -> None:
        number = str(column.exprId().id())
        self.names[number] = column.name()
        self.made_of.setdefault(number, made_of.toString())

    def _aliases(self, node: Any) -> Iterator[Any]:
        waiting = listed(node.expressions())
        while waiting:
            one = waiting.pop()
            if short_class(one) == "Alias":
                yield one
            waiting += listed(one.children())

    def text(self, expression: str) -> str:
        return str(texts.spell(expression, self.names, self.made_of))


# -- the query ---------------------------------------------------------------------------------------------------------


def describe(started: Json, spark: Any, pinned: list[str], stood_in_for: dict[str, Json]) -> Json:
    """`started`: what the writer was given. `pinned`: the settings that are told. `stood_in_for`: what is not there."""
    planner, frame = Planner(spark), started["frame"]
    plan = frame._jdf.queryExecution().analyzed()
    mode = planner.mode(started["output_mode"])
    leaves = [node for node in nodes(plan) if short_class(node) in ("StreamingRelation", "StreamingRelationV2")]
    columns = Columns(plan)
    query = plain(started) | {
        "trigger": {
            "given": started["trigger"],
            "interval_ms": started.get("interval_ms") or planner.interval_ms(started["trigger"]),
        },
        "sources": [source | stood_in_for.get(marked(source), {}) for source in sources_of(leaves)],
        "watermarks": [
            planner.watermark(node, leaves) for node in nodes(plan) if short_class(node) == "EventTimeWatermark"
        ],
        "output_schema": json.loads(frame.schema.json()),
        "plan": texts.plan_lines(plan.treeString()),
        "conf": {key: value for key in pinned if (value := setting(spark, key)) is not None},
        "spark_says": planner.refusal(frame, mode),
        "operators": [],
        "files": {},
    }
    if query["spark_says"] is None:
        with tempfile.TemporaryDirectory() as where:
            (Path(where) / "offsets").mkdir()
            (Path(where) / "offsets" / "0").touch()  # the metadata of transformWithState is looked for beside it
            state = Path(where) / "state"
            try:
                executed = planner.executed(frame, mode, str(state))
            except Exception as error:
                if "AnalysisException" not in [kind.__name__ for kind in type(error).__mro__]:
                    raise
                return query | {"spark_says": said(error)}  # no batch of it can be planned
            query["operators"] = list(operators_of(executed, plan, columns, leaves))
            query["files"] = files_below(state)
    return query


LIVE = ("frame", "called", "taken_out")  # in Spark, or in the job


def plain(started: Json) -> Json:
    """What of it can be told."""
    return {key: value for key, value in started.items() if key not in LIVE}


def refusal_on(started: Json, spark: Any, checkpoint: Path, batch_id: int, conf: dict[str, str]) -> Json | None:
    """What planning a batch has against the operators of a checkpoint, whose schemas it may write anew."""
    planner = Planner(spark)
    for key, value in conf.items():
        with suppress(Exception):  # a static one stays as the session has it
            spark.conf.set(key, value)
    mode = planner.mode(started["output_mode"])
    try:
        planner.executed(started["frame"], mode, str(checkpoint / "state"), batch_id)
    except Exception as error:
        return said(error)
    return None


def setting(spark: Any, key: str) -> str | None:
    """As it was set, or Spark's default; None in a release that has no such setting."""
    with suppress(Exception):
        return str(spark.conf.get(key))
    return None


def files_below(state: Path) -> dict[str, str]:
    found = sorted(path for path in state.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    return {str(path.relative_to(state.parent)): base64.b64encode(path.read_bytes()).decode() for path in found}


def sources_of(leaves: list[Any]) -> Iterator[Json]:
    for index, leaf in enumerate(leaves):
        same = next((number for number, other in enumerate(leaves[:index]) if other.equals(leaf)), None)
        yield {"index": index, "shared_with": same, "name": source_name(leaf), **relation(leaf)}


def marked(source: Json) -> str:
    """An option that only stand-ins have."""
    return str({key.lower(): value for key, value in source["options"].items()}.get(STANDS_IN, ""))


def source_name(leaf: Any) -> str | None:
    """Sources may be given names since 4.2."""
    with suppress(Exception):
        named = leaf.sourceIdentifyingName()
        return str(named.name()) if short_class(named) == "UserProvided" else None
    return None


def relation(leaf: Any) -> Json:
    schema = {"type": "struct", "fields": [field_of(one) for one in listed(leaf.output())]}
    if short_class(leaf) == "StreamingRelation":
        source = leaf.dataSource()
        options = plain_map(source.options())
        return {"api": "v1", "provider": source.className(), "options": options, "schema": schema}
    options = dict(leaf.extraOptions().asCaseSensitiveMap())
    by = leaf.source()
    provider = "python" if by.isDefined() and short_class(by.get()) == "PythonDataSourceV2" else leaf.sourceName()
    table = leaf.identifier().get().toString() if leaf.identifier().isDefined() else None
    return {"api": "v2", "provider": provider, "options": options, "schema": schema, "table": table}


def field_of(attribute: Any) -> Json:
    return {
        "name": attribute.name(),
        "type": json.loads(attribute.dataType().json()),
        "nullable": attribute.nullable(),
        "metadata": json.loads(attribute.metadata().json()),
    }


def plain_map(found: Any) -> dict[str, str]:
    keys = found.keysIterator()
    options = {}
    while keys.hasNext():
        key = keys.next()
        options[key] = found.apply(key)
    return options


def below(node: Any, leaves: list[Any]) -> list[int]:
    under = list(nodes(node))
    return [index for index, leaf in enumerate(leaves) if any(one is leaf or one.equals(leaf) for one in under)]


# -- operators ---------------------------------------------------------------------------------------------------------


def operators_of(executed: Any, plan: Any, columns: Columns, leaves: list[Any]) -> Iterator[Json]:
    stateful = [node for node in nodes(plan) if short_class(node) in texts.STATEFUL and is_stateful(node)]
    writers = {
        node.stateInfo().get().operatorId(): node
        for node in nodes(executed)
        if short_class(node) in texts.OPERATOR_NAMES
    }
    for number, writer in sorted(writers.items()):
        kind = short_class(writer)
        told = stateful[number] if len(stateful) == len(writers) else None
        yield {
            "id": number,
            "name": texts.OPERATOR_NAMES[kind],
            "exec": kind,
            "partitions": writer.stateInfo().get().numPartitions(),
            "stores": stores_of(kind, writer),
            "inputs": below(told, leaves) if told is not None else [],
            "meaning": meaning_of(told, columns) if told is not None else None,
        }


def is_stateful(node: Any) -> bool:
    if short_class(node) == "Join":
        return bool(node.left().isStreaming() and node.right().isStreaming())
    return bool(node.isStreaming())


def meaning_of(node: Any, columns: Columns) -> Json:
    kind = short_class(node)
    if kind == "Aggregate":
        return aggregation(node, columns)
    if kind.startswith("Deduplicate"):
        return {"keys": [columns.text(one.toString()) for one in listed(node.keys())]}
    if kind == "Join":
        condition = node.condition()
        on = columns.text(condition.get().toString()) if condition.isDefined() else None
        return {"join_type": node.joinType().sql(), "condition": on}
    if kind == "GlobalLimit":
        return {"limit": int(node.limitExpr().toString())}
    keys = []
    with suppress(Exception):
        keys = [columns.text(one.toString()) for one in listed(node.groupingAttributes())]
    timeout = None
    with suppress(Exception):
        timeout = node.timeout().toString()
    return {"keys": keys, "timeout": timeout}


def aggregation(node: Any, columns: Columns) -> Json:
    windows = [texts.window_of(columns.text(one.toString())) for one in listed(node.groupingExpressions())]
    lengths = [{key: value for key, value in one.items() if key != "key"} for one in windows]
    values = []
    for waiting in [[one] for one in listed(node.aggregateExpressions())]:
        while waiting:
            one = waiting.pop(0)
            if short_class(one) == "AggregateExpression":
                values.append(columns.text(one.toString()))
            else:
                waiting = [*listed(one.children()), *waiting]
    found: Json = {"keys": [one["key"] for one in windows], "values": list(dict.fromkeys(values))}
    return functools.reduce(lambda one, other: one | other, lengths, found)


def stores_of(kind: str, node: Any) -> list[Json]:
    """As `init` of the node's state store has them; Spark from 4.0 on writes the same to files while it plans."""

    def store(name: str, key: list[Json], value: list[Json]) -> Json:
        return {"name": name, "key": {"type": "struct", "fields": key}, "value": {"type": "struct", "fields": value}}

    def column(name: str, kind: str, *, nullable: bool = True) -> Json:
        return {"name": name, "type": kind, "nullable": nullable, "metadata": {}}

    if kind == "StateStoreSaveExec":
        keys = [field_of(one) for one in listed(node.keyExpressions())]
        names = {one.exprId().id() for one in listed(node.keyExpressions())}
        values = [field_of(one) for one in listed(node.child().output()) if one.exprId().id() not in names]
        return [store("default", keys, values)]
    if kind == "SessionWindowStateStoreSaveExec":
        keys = [field_of(one) for one in listed(node.keyWithoutSessionExpressions())]
        start = column("sessionStartTime", "timestamp", nullable=False)
        return [store("default", [*keys, start], [field_of(one) for one in listed(node.child().output())])]
    if kind == "StreamingDeduplicateExec":
        keys = [field_of(one) for one in listed(node.keyExpressions())]
        return [store("default", keys, [column("__dummy__", "void")])]
    if kind == "StreamingDeduplicateWithinWatermarkExec":
        keys = [field_of(one) for one in listed(node.keyExpressions())]
        return [store("default", keys, [column("expiresAtMicros", "long", nullable=False)])]
    if kind == "StreamingGlobalLimitExec":
        return [store("default", [column("key", "void")], [column("value", "long")])]
    if kind in ("FlatMapGroupsInPandasWithStateExec", "FlatMapGroupsWithStateExec"):
        keys = [field_of(one) for one in listed(node.groupingAttributes())]
        return [store("default", keys, json.loads(node.stateManager().stateSchema().json())["fields"])]
    if kind == "StreamingSymmetricHashJoinExec":
        return [one for side in ("left", "right") for one in side_of(node, side, store, column)]
    return []


def side_of(node: Any, side: str, store: Callable[..., Json], column: Callable[..., Json]) -> list[Json]:
    keys = listed(getattr(node, f"{side}Keys")())
    fields = [column(f"field{n}", json.loads(key.dataType().json()), nullable=key.nullable())
              for n, key in enumerate(keys)]  # fmt: skip
    output = [field_of(one) for one in listed(getattr(node, side)().output())]
    by_index, values = [*fields, column("index", "long")], [*output, column("matched", "boolean")]
    counts = store(f"{side}-keyToNumValues", fields, [column("value", "long")])
    return [counts, store(f"{side}-keyWithIndexToValue", by_index, values)]
