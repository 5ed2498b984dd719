"""The query that `explain` printed, of a DataFrame that was not started or of a running query. Pure: text in.

The analysed plan tells what the query means, the physical one its stateful operators. Where only the physical plan is
printed, expressions are what the optimizer made of them: of these, only what it leaves alone is told. A plan that was
not started is always planned in append mode, and a running query's reads files in the place of sources. Options are
printed with what is secret in them: nothing of them is told but the topics and the path.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from typing import cast

import msgspec

from ckpttool.connectors import ALL
from ckpttool.errors import MalformedFile
from ckpttool.formats.explain import Explained, Node, Tree, is_cut, parse_explain
from ckpttool.formats.limits import check
from ckpttool.formats.plan_text import OPERATOR_NAMES, plan_lines
from ckpttool.query.from_checkpoint import FORMATS
from ckpttool.query.from_spark import kind_of
from ckpttool.query.meaning import SOURCES, PrintedPlan, UnreadablePlan, functions_of
from ckpttool.query.model import (
    DescribedFrom,
    DescribedSource,
    Description,
    Meaning,
    OutputMode,
    Query,
    QueryOperator,
    QueryWatermark,
)
from ckpttool.storage.urls import redact_url
from ckpttool.words import shown

_NEVER_TOLD = ("trigger", "sink", "output_schema", "conf", "sources.options", "sources.schema", "operators.stores")
_EXPECTED = "the plan of a streaming query, as explain() prints it"
_HAVE_MORE = re.compile(  # below them
    r".*(?:Project|Filter|(?<!Reused)Exchange|Sort|Union|Expand|Generate|Watermark|Restore|Save|Aggregate|Join|Limit|"
    r"Deduplicate|DeduplicateWithinWatermark|WithState|InPandas|InPySpark|FromObject|ToObject|Elements|Partitions|Python)"
)
_RUNS = re.compile(r"WriteTo(?:MicroBatch|Continuous|DataSourceV2)")
_STATE = re.compile(
    r"state info \[ checkpoint = (?P<place>.*?), runId = [^,]{1,99}, opId = (?P<id>\d{1,9}), ver = [^,]{1,99},"
    r" numPartitions = (?P<partitions>\d{1,9})"
)
_MODE = re.compile(r"(?:^|\][^,]{0,99}), (Append|Update|Complete), |, (Append|Update|Complete)$")
_FORMAT = re.compile(r", (\d{1,3})(?:, (?:Append|Update|Complete))?$")
_LEAF = re.compile(r"(?P<place>.*), (?P<columns>\[.*\])", re.DOTALL)
_COLUMN = re.compile(r"(.+?)#\d+L?(?:-T\d+ms)?(?:, |$)", re.DOTALL)
_V1 = re.compile(r"DataSource\([^,]*,(?P<provider>[^,()]+),List\(")
_KEYED = ("StateStoreSave", "StreamingDeduplicate", "StreamingDeduplicateWithinWatermark")
_TOPICS = ("subscribe", "subscribePattern", "assign")
_END_OF_VALUE = re.compile(r", [\w.-]+(?:=| -> )|\]|\),")


def describe_explain(text: str, origin: DescribedFrom) -> Description:
    """Raises MalformedFile for what is no plan of a streaming query."""
    return Description(origin, None, tuple(map(_query, parse_explain(text))))


def _query(explained: Explained) -> Query:
    _check_whole(explained.physical)
    plan = explained.analysed or explained.physical
    run = next((node.text for node in plan if _RUNS.match(node.name)), None)
    if run is None and not any(node.name in SOURCES for node in explained.physical):
        raise MalformedFile("this is no plan of a streaming query: it reads from no source", expected=_EXPECTED)
    read = PrintedPlan(plan, functions_of(explained.physical), reads=run is None)
    sources = _sources(explained) if run is None else None
    meanings = _meanings(explained, read, len(list(_states(explained.physical))))
    operators = tuple(_operators(explained.physical, read, meanings))
    watermarks = _watermarks(read)
    is_whole = explained.analysed is not None and run is None and not is_cut(plan)
    lines = tuple(plan_lines("\n".join(node.line for node in plan))) if is_whole else ()
    told = {
        "name": run and _option(run, "queryName"),
        "checkpoint": run and _checkpoint(explained.physical),
        "output_mode": run and _mode(explained.physical, run),
        "sources": sources,
        "sources.format": all(one.format for one in sources or () if one.kind == "file") or None,
        "sources.columns": all(one.columns is not None for one in sources or ()) or None,
        "watermarks": watermarks if run is None else None,  # whose sources they are of is not told
        "plan": lines or None,
        "operators.inputs": meanings if run is None else None,
        "operators.meaning": meanings,
    }
    return Query(
        name=cast(str | None, told["name"]),
        where=None,
        checkpoint=cast(str | None, told["checkpoint"]),
        not_told=(*(name for name, value in told.items() if value is None), *_NEVER_TOLD),
        output_mode=cast(OutputMode | None, told["output_mode"]),
        sources=sources or (),
        watermarks=watermarks,
        operators=operators,
        plan=lines,
        plan_sha256=hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else None,
    )


def _check_whole(physical: Tree) -> None:
    """What has others below it does not stand last."""
    last = (node for number, node in enumerate(physical) if node.end == number + 1)
    if cut := next((node.name for node in last if _HAVE_MORE.fullmatch(node.name)), None):
        raise MalformedFile(f"the plan was cut short below {shown(cut)}", expected=_EXPECTED)


# -- sources -----------------------------------------------------------------------------------------------------------


def _sources(explained: Explained) -> tuple[DescribedSource, ...] | None:
    """By the physical plan, which has no options; what it leaves out the analysed plan has, beside the same columns.
    None where the optimizer has left out a source."""
    leaves = [node.text for node in explained.physical if node.name in SOURCES]
    check("lines", len(leaves))
    matches = [match for leaf in leaves if (match := _LEAF.fullmatch(leaf))]
    if len(matches) != len(leaves):
        raise MalformedFile("a source is not printed as Spark does", expected=_EXPECTED)
    more: list[str | None] = [None] * len(leaves)
    if explained.analysed:
        more = [node.text for node in explained.analysed if node.name in SOURCES]
        if len(more) != len(leaves):
            return None
    return tuple(
        _source(index, match, of, next((number for number in range(index) if leaves[number] == leaves[index]), None))
        for index, (match, of) in enumerate(zip(matches, more, strict=True))
    )


def _source(index: int, match: re.Match[str], analysed: str | None, shared_with: int | None) -> DescribedSource:
    kind, format_, place = _kind(match["place"], analysed if match["columns"] in (analysed or "") else None)
    return DescribedSource(
        index=index,
        name=_own_name(analysed),
        kind=kind,
        place=place and redact_url(place),
        format=format_,
        columns=_columns(match["columns"]),
        shared_with=shared_with,
    )


def _kind(printed: str, analysed: str | None) -> tuple[str, str | None, str | None]:
    """Kind, format of files, place. Sources in Python are known by a class that only the analysed plan has."""
    provider = _V1.search(analysed, 0, 1000) if analysed else None
    if printed.startswith("FileSource[") and printed.endswith("]"):
        return "file", kind_of(provider["provider"])[1] if provider else None, printed.removeprefix("FileSource[")[:-1]
    if analysed is not None and ".python.PythonDataSourceV2@" in analysed[:200]:
        return "python", None, None
    kind, format_ = kind_of(printed)
    if analysed is None:
        return (kind if any(kind == one.KIND for one in ALL) else "unknown"), format_, None
    places = [value for name in (*_TOPICS, "path") if (value := _option(analysed, name))]
    return kind, format_, places[0] if len(places) == 1 else None


def _option(text: str, name: str) -> str | None:
    """What is printed of an option that is no secret, if it is printed in one way."""
    found: set[str] = set()
    lower = text.lower()
    for mark in (f"{name.lower()}=", f"{name.lower()} -> "):
        at = lower.find(mark)
        while at > 0 and len(found) < 2:
            if text[at - 1] in "[( ":
                end = _END_OF_VALUE.search(text, at + len(mark))
                found.add(text[at + len(mark) : end.start() if end else None])
            at = lower.find(mark, at + 1)
    return found.pop() if len(found) == 1 else None


def _columns(printed: str) -> tuple[str, ...] | None:
    names, at = [], 1
    while match := _COLUMN.match(printed, at, len(printed) - 1):
        names.append(match[1])
        at = match.end()
    return tuple(names) if at == len(printed) - 1 else None


def _own_name(analysed: str | None) -> str | None:
    """Since 4.2 sources may have names, which the analysed plan has."""
    _, mark, name = (analysed or "").rpartition(", name=")
    return name.strip('"') if mark and not name.startswith("<") else None


# -- operators ---------------------------------------------------------------------------------------------------------


def _operators(physical: Tree, read: PrintedPlan, meanings: list[Meaning] | None) -> Iterator[QueryOperator]:
    states = [(int(state["id"]), node, state) for node, state in _states(physical)]
    check("operators", len(states))
    if sorted(number for number, *_ in states) != list(range(len(states))):
        raise MalformedFile("its stateful operators are not numbered from 0 on", expected=_EXPECTED)
    for number, node, state in sorted(states):
        name = OPERATOR_NAMES[f"{node.name}Exec"]
        version = _FORMAT.search(node.text) if name in FORMATS else None
        yield QueryOperator(
            id=number,
            name=name,
            exec=f"{node.name}Exec",
            inputs=read.inputs(read.stateful[number]) if meanings else (),
            partitions=int(state["partitions"]),
            state_format=int(version[1]) if version else None,
            meaning=meanings[number] if meanings else _of_keys(node, physical),
        )


def _states(physical: Tree) -> Iterator[tuple[Node, re.Match[str]]]:
    for node in physical:
        if f"{node.name}Exec" in OPERATOR_NAMES:
            state = _STATE.search(node.text)
            if state is None:
                raise MalformedFile(f"{node.name} is not printed with its state", expected=_EXPECTED)
            yield node, state


def _meanings(explained: Explained, read: PrintedPlan, operators: int) -> list[Meaning] | None:
    """Of all operators, or of none: which of them a node becomes is known by their order."""
    if explained.analysed is None or len(read.stateful) != operators:
        return None
    try:
        return read.meanings()
    except (UnreadablePlan, msgspec.ValidationError):
        return None


def _of_keys(node: Node, physical: Tree) -> Meaning | None:
    if node.name not in _KEYED:
        return None
    try:
        return PrintedPlan(physical, (), reads=True).of_keys(node.text)
    except (UnreadablePlan, msgspec.ValidationError):
        return None


def _watermarks(read: PrintedPlan) -> tuple[QueryWatermark, ...] | None:
    try:
        return tuple(read.watermarks())
    except UnreadablePlan:
        return None


# -- a query that runs -------------------------------------------------------------------------------------------------


def _mode(physical: Tree, run: str) -> OutputMode | None:
    texts = [run, *(node.text for node, _ in _states(physical))]
    modes = {(match[1] or match[2]).lower() for text in texts for match in _MODE.finditer(text)}
    return cast(OutputMode, modes.pop()) if len(modes) == 1 else None


def _checkpoint(physical: Tree) -> str | None:
    places = {state["place"] for _, state in _states(physical)}
    return redact_url(posixpath.dirname(places.pop())) if len(places) == 1 else None
