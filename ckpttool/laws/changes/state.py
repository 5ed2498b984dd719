"""The stores of operators that stay: their keys, their values, and the variables of transformWithState."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.changes.base import Altered, Answer, Assumption, ChangeLaw, Deploy, RowsMeant, Spot
from ckpttool.laws.changes.meeting import (
    AGGREGATE,
    DEDUP,
    SCHEMA_CHECK,
    SESSION,
    WITHIN,
    StorePair,
    evolution_refused,
    kind_refused,
    pairs_of,
    schema_refused,
    schemas_checked,
    shaped_otherwise,
)
from ckpttool.laws.changes.operators import steps
from ckpttool.laws.changes.schemas import Unlike, columns, fits, may_be_null, unlike
from ckpttool.model import Json
from ckpttool.query.model import QueryOperator
from ckpttool.releases import since
from ckpttool.scene.scene import Failure
from ckpttool.state.tables import JOIN, TRANSFORM

_PLACES = "columns of one type have changed places: what was kept of one is taken for the other"
_BITS = "rows that are stored are read as what they are not"
# By the kind of a join, the sides of which Spark filters no nulls.
_NEVER_FILTERED = {"FULL OUTER": ("left", "right"), "LEFT OUTER": ("left",), "RIGHT OUTER": ("right",)}
# The buffers of functions that keep as much as each other.
_FUNCTIONS = frozenset(("sum", "count", "min", "max", "first", "last", "avg", "bit_and", "bit_or", "bit_xor"))
_WIDER = {("integer", "long"), ("integer", "float"), ("integer", "double"), ("long", "float"), ("long", "double"),
          ("float", "double")}  # fmt: skip


def look(deploy: Deploy) -> Iterator[Altered | Assumption]:
    if not deploy.tells_operators:
        return
    for step in steps(deploy):
        if step.stays and step.held and step.new and step.held.id == step.new.id:
            yield from _of_operator(deploy, step.held, step.new)


def _of_operator(deploy: Deploy, held: QueryOperator, new: QueryOperator) -> Iterator[Altered | Assumption]:
    if new.name in TRANSFORM:
        yield from _variables(deploy, held, new)
        return
    if held.stores and not new.stores:
        yield from _not_described(deploy, new)
        return
    for pair in pairs_of(held, new):
        if pair.is_known:
            yield from _columns(deploy, new, pair)
        elif pair.held is not None and pair.new is not None:
            yield Assumption(f"operator {new.id}: the state of {pair.name}, whose schema no file tells, is of this one")
        else:
            yield _other_stores(deploy, new, pair)


def _not_described(deploy: Deploy, new: QueryOperator) -> Iterator[Altered]:
    """A text tells no schema, nor does a description of a plan that was not known when it was made."""
    if deploy.was is not None and deploy.was.plan_sha256 == deploy.new.plan_sha256 is not None:
        return
    why = f"state/{new.id} has a schema, and the description tells none of {new.name}"
    yield Altered("state-value-changed", Spot(operator=new.id), None, None, "checkpoint", "unknown", why)


def _other_stores(deploy: Deploy, new: QueryOperator, pair: StorePair) -> Altered:
    """Formats of a join's state have different stores."""
    why = shaped_otherwise(deploy, new) or "the description and the checkpoint have different stores"
    before, after = (pair.name if one else None for one in (pair.held, pair.new))
    where = Spot(operator=new.id, store=pair.name)
    return Altered("state-value-changed", where, before, after, "checkpoint", "unknown", why)


def _columns(deploy: Deploy, new: QueryOperator, pair: StorePair) -> Iterator[Altered | Assumption]:
    held, described = pair.held, pair.new
    if held is None or described is None:
        return
    failure, doubt = schema_refused(deploy, pair), shaped_otherwise(deploy, new)
    key_id = "dedup-columns-changed" if new.name in (DEDUP, WITHIN) else "state-key-changed"
    parts = [("key", key_id, held.key_schema, described.key_schema)]
    if new.name != DEDUP:
        parts.append(("value", "state-value-changed", held.value_schema, described.value_schema))
    for part, id_, stored, wanted in parts:
        if places := _places_changed(stored, wanted):
            spot = Spot(operator=new.id, store=pair.name, field=part)
            answer: Answer = "unknown" if doubt else "rows_differ"
            rows = None if doubt else RowsMeant(_PLACES)
            yield Altered("state-meaning-changed", spot, *places, "checkpoint", answer, doubt or _PLACES, rows=rows)
            continue
        for one in unlike(stored, wanted):
            where = Spot(operator=new.id, store=pair.name, field=f"{part}.{one.place}")
            if one.fits:
                yield _renamed(where, one, is_function=part == "value" and new.name in (AGGREGATE, SESSION))
                continue
            if _may_be_hidden(deploy, new, pair, one):
                if untold := _hidden(deploy, new, pair, where, one):
                    yield untold
                continue
            answer, why = _answer(part, stored, wanted, failure, doubt)
            rows = RowsMeant(why) if answer == "rows_differ" else None
            spark = failure if answer == "refused" else None
            yield Altered(id_, where, one.before, one.after, "checkpoint", answer, why, spark, rows)


def _places_changed(stored: Json, wanted: Json) -> tuple[str, str] | None:
    """The names of all columns, where these are the same in another order: they fit, and are each other's."""
    before, after = ([column["name"] for column in columns(schema)] for schema in (stored, wanted))
    if before == after or sorted(before) != sorted(after) or not fits(stored, wanted):
        return None
    return ", ".join(before), ", ".join(after)


def _renamed(where: Spot, one: Unlike, *, is_function: bool) -> Altered:
    """Spark calls the columns of an aggregation's value as its functions are called."""
    before, after = (str(text).partition(" ")[0] for text in (one.before, one.after))
    if is_function and before in _FUNCTIONS and after in _FUNCTIONS:
        why = f"of each key {after} goes on from what was {before}: a mixture of both"
        rows = RowsMeant(why)
        return Altered("state-meaning-changed", where, before, after, "checkpoint", "rows_differ", why, rows=rows)
    why = "Spark goes by the places and types of columns, and not by their names"
    return Altered("state-field-renamed", where, one.before, one.after, "checkpoint", "harmless", why)


def _may_be_hidden(deploy: Deploy, new: QueryOperator, pair: StorePair, one: Unlike) -> bool:
    """Before 4.0 whether a column of a join may be null is seen where its filter stands, and a description plans a
    projection between that and the join which the running query need not have."""
    is_join = new.name == JOIN and deploy.release < since.OPERATOR_METADATA
    joined = new.meaning.join_type if new.meaning else None
    if joined in _NEVER_FILTERED and pair.name.startswith(_NEVER_FILTERED[joined]):
        return False  # nothing is taken from a side of which all rows are kept
    before, after = (str(text).partition(" ")[2] for text in (one.before, one.after))
    return is_join and None not in (one.before, one.after) and before == f"{after} not null"


def _hidden(
    deploy: Deploy, new: QueryOperator, pair: StorePair, where: Spot, one: Unlike
) -> Altered | Assumption | None:
    """The description of the query that wrote it shows whether such a column is told, and the same plan plans alike. A
    filter stays above a watermark, and so what is told of a plan with one says nothing of a plan without."""
    old = deploy.old_operator(new.id)
    if deploy.was is None or old is None:
        return Assumption(f"operator {new.id}: {one.after} of {pair.name} is never null, as before")
    if deploy.was.plan_sha256 == deploy.new.plan_sha256 is not None:
        return None
    told = [
        column
        for same in pairs_of(old, old)
        if same.name == pair.name
        for column in columns(same.new and same.new.value_schema)
    ]
    place = int((where.field or "").rpartition(".")[2])
    is_told = bool(deploy.was.watermarks) == bool(deploy.new.watermarks)
    if is_told and place < len(told) and not may_be_null(told[place]):
        why = "it may be null now, and never was in the rows that are stored"
        failure = schema_refused(deploy, pair)
        return Altered("state-value-changed", where, one.before, one.after, "checkpoint", "refused", why, failure)
    why = "before 4.0 a description does not tell whether this column may be null in the running query"
    return Altered("state-value-changed", where, one.before, one.after, "checkpoint", "unknown", why)


def _answer(part: str, stored: Json, wanted: Json, failure: Failure | None, doubt: str | None) -> tuple[Answer, str]:
    if doubt:
        return "unknown", doubt
    if failure:
        return "refused", failure.why
    off = f"{SCHEMA_CHECK} is off"
    old, new = columns(stored), columns(wanted)
    if part == "value" and len(new) < len(old) and not any(True for _ in unlike(_first(stored, len(new)), wanted)):
        return "harmless", f"{off}: the columns that stay are where they were, and the others are passed over"
    if part == "value" and len(new) == len(old):
        return "rows_differ", f"{off}, and {_BITS}"
    return "unknown", f"{off}: what becomes of rows of another width depends on what is in them"


def _first(schema: Json, number: int) -> Json:
    return {"type": "struct", "fields": list(columns(schema))[:number]}


# -- variables of transformWithState -----------------------------------------------------------------------------------


def _variables(deploy: Deploy, held: QueryOperator, new: QueryOperator) -> Iterator[Altered]:
    """Each has a column family of its name; those that begin with `$` are Spark's own, beside them."""
    yield from _other_kinds(deploy, held, new)
    for pair in pairs_of(held, new):
        if pair.name.startswith("$") or (pair.held and pair.held.column_family is None):
            continue
        where = Spot(operator=new.id, store=pair.name)
        before = _spelled(pair.held.value_schema) if pair.held else None
        after = _spelled(pair.new.value_schema) if pair.new else None
        if pair.held is None:
            why = "a variable that is new begins empty"
            yield Altered("state-variable-added", where, before, after, "checkpoint", "harmless", why)
        elif pair.new is None:
            why = "what it holds is not read any more"
            rows = RowsMeant(why)
            yield Altered("state-variable-removed", where, before, after, "checkpoint", "rows_differ", why, rows=rows)
        elif not (pair.key_fits and pair.value_fits):
            answer, why, failure = _retyped(deploy, pair)
            yield Altered("state-variable-retyped", where, before, after, "checkpoint", answer, why, failure)


def _other_kinds(deploy: Deploy, held: QueryOperator, new: QueryOperator) -> Iterator[Altered]:
    before, after = _kinds(held), _kinds(new)
    for name in before:
        if name in after and before[name] != after[name]:
            failure = kind_refused(deploy, new.id, name, before[name], after[name])
            spot, told = Spot(operator=new.id, store=name), (before[name], after[name])
            yield Altered("state-variable-retyped", spot, *told, "checkpoint", "refused", failure.why, failure)


def _kinds(operator: QueryOperator) -> dict[str, str]:
    return {one.name: one.kind for one in operator.meaning.variables} if operator.meaning else {}


def _retyped(deploy: Deploy, pair: StorePair) -> tuple[Answer, str, Failure | None]:
    if failure := schema_refused(deploy, pair):
        return "refused", failure.why, failure
    if not schemas_checked(deploy):
        return "unknown", f"{SCHEMA_CHECK} is off", None
    stored = pair.held.value_schema if pair.held else None
    wanted = pair.new.value_schema if pair.new else None
    old = {column["name"]: column["type"] for column in columns(stored)}
    now = {column["name"]: column["type"] for column in columns(wanted)}
    retyped = [(old[name], now[name]) for name in old.keys() & now.keys() if old[name] != now[name]]
    if not all(_is_wider(before, after) for before, after in retyped):
        failure = evolution_refused(deploy, pair)
        return "refused", failure.why, failure
    if old.keys() == now.keys():
        return "harmless", "Avro reads the stored rows as the wider type", None
    why = "Spark takes a field that came or went. Code that writes as many fields as before fails in the batch"
    return "unknown", why, None


def _is_wider(before: Json, after: Json) -> bool:
    return isinstance(before, str) and isinstance(after, str) and (before, after) in _WIDER


def _spelled(schema: Json) -> str:
    return ", ".join(one.before or "" for one in unlike(schema, {"type": "struct", "fields": []}))


def look_at_check(deploy: Deploy) -> Iterator[Altered | Assumption]:
    if not schemas_checked(deploy):
        why = "Spark does not compare schemas of state any more: what would be refused goes on"
        yield Altered("state-check-off", Spot(), "on", "off", "query", "harmless", why)


_KEEP = ("keep-old-shape", "new-query-beside", "start-state-anew", "old-code-first")
_REFUSES = "It refuses before any row is written: the driver from 4.0 on, before that a task."
_NO_ROWS = "none: no batch runs"
LAWS = (
    ChangeLaw(
        "state-key-changed",
        "a key that state is kept by has another type, came, or went",
        look,
        _REFUSES,
        _NO_ROWS,
        "real restarts: keys added, removed, retyped, nullable, and windows sliding",
        _KEEP,
    ),
    ChangeLaw(
        "state-value-changed",
        "what is kept of a key has another type, came, or went",
        look,
        _REFUSES,
        _NO_ROWS,
        "real restarts: aggregates added, removed, retyped, reordered, and columns of joins",
        _KEEP,
    ),
    ChangeLaw(
        "dedup-columns-changed",
        "duplicates are known by other columns",
        look,
        _REFUSES,
        _NO_ROWS,
        "real restarts: columns added, removed, swapped, retyped",
        _KEEP,
    ),
    ChangeLaw(
        "state-field-renamed",
        "a column of state has another name",
        look,
        "It goes by places and types.",
        "as the query means them",
        "real restarts: aliases of keys and aggregates, fields of a state of one's own",
    ),
    ChangeLaw(
        "state-variable-added",
        "a variable of transformWithState that has no state yet",
        look,
        "It begins empty.",
        "as the query means them",
        "real restarts in both encodings",
        since=since.TRANSFORM_WITH_STATE,
    ),
    ChangeLaw(
        "state-variable-removed",
        "a variable of transformWithState that is not in the query any more",
        look,
        "It goes on without a word.",
        "what the variable holds is not read any more",
        "real restarts in both encodings",
        ("old-code-first",),
        since=since.TRANSFORM_WITH_STATE,
    ),
    ChangeLaw(
        "state-variable-retyped",
        "a variable of transformWithState has another type",
        look,
        "As rows of Spark's own it refuses. As Avro it takes what Avro reads.",
        "none where it is refused. A field that came is null in old rows",
        "real restarts in both encodings: wider, to a string, a field added",
        ("keep-old-shape", "old-code-first", "start-state-anew"),
        since=since.TRANSFORM_WITH_STATE,
    ),
    ChangeLaw(
        "state-check-off",
        "schemas of state are not compared",
        look_at_check,
        "It reads stored rows as whatever the query has.",
        "right by their places, or bits of one type read as another",
        "real restarts with the check off: a value removed, a long read as a double",
        ("old-code-first",),
    ),
)
