"""The code that Spark takes: of a query that it refuses, the one that could have been written in its place. Pure.

An edit is a line of Python, and the query that comes of it; whoever offers it diagnoses that query first. `rows` is the
DataFrame that the changed operator is made over, `result` the one that is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats.state.types import parse_type, spell_type
from ckpttool.laws.changes.base import Altered
from ckpttool.laws.changes.meeting import AGGREGATE, DEDUP, SESSION, WITHIN
from ckpttool.laws.changes.schemas import columns
from ckpttool.literals import python_literal
from ckpttool.model import Json
from ckpttool.plan.repair import Refusal
from ckpttool.query.model import DescribedSource, Query, QueryOperator, StoreSchema
from ckpttool.scene.scene import Scene
from ckpttool.state.tables import JOIN

KEEP = "keep-old-shape"
_WITH_WAS = "what it was is in no checkpoint: give the query that wrote this one with --was"
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_MS = re.compile(r"\b(\d+) ms\b")
_GAP = re.compile(r"^(session_window\([^,]+), ([^()',]+)\)$")
# By the type of a column, a value in the place of null; of the other types none is in every release of Spark.
_IN_PLACE_OF_NULL: Mapping[str, str] = {
    "string": "''",
    "binary": "X''",
    "boolean": "false",
    "tinyint": "0Y",
    "smallint": "0S",
    "int": "0",
    "bigint": "0L",
    "float": "0F",
    "double": "0D",
    "date": "DATE '1970-01-01'",
    "timestamp": "TIMESTAMP '1970-01-01 00:00:00'",
}


class Rewrite(Struct, frozen=True):
    """`lines`: of Python, with what each is for. `query`: what is described of the code with them."""

    lines: tuple[tuple[str, str], ...]
    query: Query
    traps: tuple[str, ...] = ()


class NoRewrite(Exception):
    """Why no line helps."""


Edit = Callable[[Scene, Query, Altered], Rewrite]


def keep_old_shape(scene: Scene, wrong: Sequence[Altered]) -> Rewrite | Refusal | None:
    """All that is refused of the query, put right line by line. None: lines of code have nothing to do with it."""
    query, lines, traps = scene.query, dict[tuple[str, str], None](), dict[str, None]()
    if query is None or not wrong or any(change.id not in _EDITS for change in wrong):
        return None
    try:
        for change in wrong:
            done = _EDITS[change.id](scene, query, change)
            query = done.query
            lines |= dict.fromkeys(done.lines)
            traps |= dict.fromkeys(done.traps)
    except NoRewrite as why:
        return Refusal(KEEP, str(why))
    return Rewrite(tuple(lines), query, tuple(traps))


# -- a source that went ------------------------------------------------------------------------------------------------


def _with_stub(scene: Scene, query: Query, change: Altered) -> Rewrite:
    """Its line of the offsets stays, and none of its rows come: the offsets go on, and so do its logs."""
    was = scene.was.sources if scene.was and "sources" not in scene.was.not_told else ()
    left = [(one.kind, one.place) for one in query.sources]
    known = [(one.kind, one.place) for one in was]
    gone = [
        at for at in range(len(known)) if [*known[:at], *known[at + 1 :]] == left
    ]  # a checkpoint may tell no places
    number = change.where.source if change.where.source in gone else next(iter(gone), change.where.source)
    source = next((one for one in was if one.index == number), None) if gone else None
    if source is None:
        raise NoRewrite(_WITH_WAS)
    if number not in (0, len(query.sources)):
        raise NoRewrite(f"source {number} was between others: read it there, and filter all of its rows out")
    if "***" in source.options.values():
        raise NoRewrite(f"source {number} was given options that a description leaves out: read it, and filter all out")
    nothing = [
        f"CAST(NULL AS {_spelled(column['type'])}) AS {_quoted(column['name'])}"
        for column in columns(query.output_schema)
    ]
    if not nothing:
        raise NoRewrite("the description does not tell the columns that are written")
    taken = ", ".join(map(python_literal, nothing))
    put = "stub.union(result)" if number == 0 else "result.union(stub)"
    stub = f'stub = {_reader(source)}.where("false").selectExpr({taken})'
    lines = (
        (stub, f"source {number} is read, and none of its rows are taken"),
        (f"result = {put}", "so that its line of the offsets has a source"),
    )
    return Rewrite(lines, _inserted(query, source))


def _reader(source: DescribedSource) -> str:
    options = dict(source.options)
    made = f"spark.readStream.format({python_literal(source.format or source.kind)})"
    if source.name:
        made += f".name({python_literal(source.name)})"
    if source.kind == "file":
        named = ", ".join(f"{_quoted(one['name'])} {_spelled(one['type'])}" for one in columns(source.schema))
        made += f".schema({python_literal(named)})"
        options.pop("path", None)
    for key, value in options.items():
        made += f".option({python_literal(key)}, {python_literal(value)})"
    place = python_literal(source.place) if source.kind == "file" and source.place else ""
    return f"{made}.load({place})"


def _inserted(query: Query, source: DescribedSource) -> Query:
    """With one source more, and the others numbered behind it."""

    def at(index: int) -> int:
        return index + (index >= source.index)

    others = [
        replace(one, index=at(one.index), shared_with=None if one.shared_with is None else at(one.shared_with))
        for one in query.sources
    ]
    operators = [replace(one, inputs=tuple(map(at, one.inputs))) for one in query.operators]
    watermarks = [replace(one, sources=tuple(map(at, one.sources))) for one in query.watermarks or ()]
    return replace(
        query,
        sources=tuple(sorted([*others, source], key=lambda one: one.index)),
        operators=tuple(operators),
        watermarks=None if query.watermarks is None else tuple(watermarks),
    )


# -- what is kept of a key ---------------------------------------------------------------------------------------------


def _with_old_state(scene: Scene, query: Query, change: Altered) -> Rewrite:
    """A column that is null now and never was gets a value for that; all else goes into a second query."""
    operator = next((one for one in query.operators if one.id == change.where.operator), None)
    if operator is None:
        raise NoRewrite("the query has no such operator")
    old = _old_operator(scene, operator)
    if operator == old:  # another column of it is put right already
        return Rewrite((), query)
    is_key = (change.where.field or "").startswith("key.")
    if _only_null_now(change) and (is_key or operator.name not in (AGGREGATE, SESSION)):
        return _never_null(query, operator, change)
    if operator.name in (AGGREGATE, SESSION):
        return _in_a_second_query(query, operator, old)
    raise NoRewrite(f"no line of code gives operator {operator.id} the state that it had")


def _only_null_now(change: Altered) -> bool:
    """Its name may be another one."""
    kind = (change.after or " ").rpartition(" ")[2]
    return (change.before or "").endswith(f" {kind} not null")


def _old_operator(scene: Scene, operator: QueryOperator) -> QueryOperator | None:
    was = scene.was.operators if scene.was and "operators" not in scene.was.not_told else ()
    return next((one for one in was if (one.id, one.name) == (operator.id, operator.name)), None)


def _never_null(query: Query, operator: QueryOperator, change: Altered) -> Rewrite:
    part, _, number = (change.where.field or "").rpartition(".")
    store = next((one for one in operator.stores if (one.column_family or one.name) == change.where.store), None)
    fields = columns(store and (store.key_schema if part == "key" else store.value_schema))
    if store is None or not number.isdecimal() or int(number) >= len(fields):
        raise NoRewrite("the description does not tell which column that is")
    column = fields[int(number)]
    name, kind = str(column["name"]), _spelled(column["type"])
    value = _IN_PLACE_OF_NULL.get(kind)
    if value is None:
        raise NoRewrite(f"{name} may be null now, and no value of {kind} is known here to stand for that")
    made_of = _made_of(operator, part, int(number), name)
    fresh = f"F.expr({python_literal(f'coalesce({made_of}, {value})')})"
    if operator.name in (DEDUP, WITHIN) or (operator.name == JOIN and part == "value"):
        line = f"rows = rows.withColumn({python_literal(name)}, {fresh})", "before the operator: it is never null then"
    elif operator.name == AGGREGATE and part == "key":
        line = f"keys[{number}] = {fresh}.alias({python_literal(name)})", "in groupBy: the key is never null then"
    else:
        raise NoRewrite(f"{name} may be null now, and where it is computed is not known here")
    trap = f"rows of which {name} is null count as {value}"
    return Rewrite((line,), _with_store(query, operator, store, part, int(number)), (trap,))


def _made_of(operator: QueryOperator, part: str, number: int, name: str) -> str:
    keys = operator.meaning.keys if operator.meaning else ()
    told = keys[number] if part == "key" and operator.name == AGGREGATE and number < len(keys) else name
    return _quoted(told) if told == name else told


def _with_store(query: Query, operator: QueryOperator, store: StoreSchema, part: str, number: int) -> Query:
    """In which this column is never null; of a join the same column has its place in several stores."""
    schema = store.key_schema if part == "key" else store.value_schema
    never = [column | {"nullable": False} if at == number else column for at, column in enumerate(columns(schema))]
    changed = replace(store, **{f"{part}_schema": {"type": "struct", "fields": never}})
    stores = tuple(changed if one == store else one for one in operator.stores)
    return _with_operator(query, replace(operator, stores=stores))


def _with_operator(query: Query, operator: QueryOperator) -> Query:
    return replace(query, operators=tuple(operator if one.id == operator.id else one for one in query.operators))


def _in_a_second_query(query: Query, operator: QueryOperator, old: QueryOperator | None) -> Rewrite:
    if old is None or old.meaning is None or operator.meaning is None:
        raise NoRewrite(_WITH_WAS)
    keys, values = (
        ", ".join(f"F.expr({python_literal(_as_sql(one))})" for one in told)
        for told in (operator.meaning.keys, operator.meaning.values)
    )
    before = f"{', '.join(old.meaning.values)} by {', '.join(old.meaning.keys)}"
    lines = (
        (
            f"second = rows.groupBy({keys}).agg({values})",
            f"the first query goes on with {before}, as it was",
        ),
        (
            'second = second.writeStream.option("checkpointLocation", "<a directory of its own>")',
            "what is new has a checkpoint of its own, and begins where its sources are told to",
        ),
    )
    return Rewrite(lines, _with_operator(query, old))


# -- how it is spelled -------------------------------------------------------------------------------------------------


def _spelled(kind: Json) -> str:
    return spell_type(parse_type(kind))


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _as_sql(expression: str) -> str:
    """Descriptions have `window(ts, 10000 ms, 10000 ms)` and `session_window(ts, 3 seconds)`."""
    return _GAP.sub(r"\1, '\2')", _MS.sub(r"'\1 milliseconds'", expression))


_EDITS: Mapping[str, Edit] = {
    "source-removed": _with_stub,
    "state-key-changed": _with_old_state,
    "state-value-changed": _with_old_state,
    "dedup-columns-changed": _with_old_state,
}
