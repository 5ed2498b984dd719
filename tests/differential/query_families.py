"""Queries that are each other changed in what they keep: as values, for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential.sweep.changes.query import Asked, From

# Of one name columns of several types, and each of them null sometimes or never.
_TYPED = {
    "a": ("v", "cast(v AS INT)", "cast(v AS DOUBLE)", "cast(v AS STRING)", "cast(v AS DECIMAL(12, 2))", "v > 1"),
    "b": ("k", "coalesce(k, '')", "g", "cast(k AS BINARY)", "upper(k)", "n"),
    "c": ("id", "coalesce(id, 0L)", "cast(id AS SMALLINT)", "coalesce(cast(id AS INT), 0)", "n"),
    "d": ("ts2", "cast(ts2 AS DATE)", "coalesce(ts2, timestamp_seconds(0))", "unix_timestamp(ts2)"),
    "e": ("array(v)", "array(coalesce(v, 0L))", "array(n)", "array(k)"),
    "f": (
        "named_struct('x', v, 'y', k)",
        "named_struct('x', coalesce(v, 0L), 'y', k)",
        "named_struct('y', k, 'x', v)",
        "named_struct('x', v)",
        "named_struct('p', v, 'q', k)",
    ),
}
COLUMNS = tuple(f"{made_of} AS {name}" for name, all_of in _TYPED.items() for made_of in all_of)
_FUNCTIONS = {
    "p": ("count(*)", "count(v)", "sum(v)", "sum(n)", "max(v)", "min(v)", "bit_and(v)", "first(v)"),
    "q": ("sum(cast(v AS DOUBLE))", "avg(v)", "sum(cast(v AS DECIMAL(12, 2)))", "stddev(v)"),
    "r": ("min(k)", "max(g)", "collect_list(k)", "collect_set(n)", "max(struct(v, k))", "max(array(v))"),
    "s": ("count(k)", "sum(coalesce(v, 0L))", "approx_count_distinct(k)", "sum(v) / count(v)"),
}
VALUES = tuple(f"{function} AS {name}" for name, all_of in _FUNCTIONS.items() for function in all_of)
KINDS = ("count", "window", "session", "dedup", "within", "join", "outer", "limit", "stateless", "unique-count")
_LATE = ("ts", "5 seconds")
_NEAR = "l.ts BETWEEN r.ts - INTERVAL 4 SECONDS AND r.ts + INTERVAL 4 SECONDS"


def name_of(column: str) -> str:
    return column.rpartition(" AS ")[2]


def some(pool: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(pool), min_size=least, max_size=most, unique_by=name_of).map(tuple)


@st.composite
def changed(draw: st.DrawFn, before: tuple[str, ...], pool: tuple[str, ...], least: int) -> tuple[str, ...]:
    """Nothing, one more or fewer, two in other places, one of another type or under another name."""
    columns = list(before)
    what = draw(st.sampled_from(("added", "removed", "swapped", "retyped", "renamed", "same")))
    at = draw(st.integers(0, max(0, len(columns) - 1)))
    names = set(map(name_of, columns))
    if what == "added" and (more := [one for one in pool if name_of(one) not in names]):
        columns.insert(at, draw(st.sampled_from(more)))
    elif what == "removed" and len(columns) > least:
        del columns[at]
    elif what == "swapped" and len(columns) > 1:
        columns[at], columns[at - 1] = columns[at - 1], columns[at]
    elif what == "retyped" and columns:
        alike = [one for one in pool if name_of(one) == name_of(columns[at])]
        columns[at] = draw(st.sampled_from(alike or [columns[at]]))
    elif what == "renamed" and columns:
        columns[at] = f"{columns[at].rpartition(' AS ')[0]} AS z"
    return tuple(columns)


def asked(kind: str, columns: tuple[str, ...], values: tuple[str, ...]) -> Asked:
    plain = Asked(columns=("*",), mode="update")
    if kind == "count":
        return plain.but(keys=columns, values=values)
    if kind in ("window", "session"):
        by = "window(ts, '10 seconds')" if kind == "window" else "session_window(ts, '3 seconds')"
        return plain.but(watermark=_LATE, keys=(by, *columns), values=values, mode="append")
    if kind in ("dedup", "within"):
        kept = ("ts", "k AS other", *columns)
        names = tuple(map(name_of, columns))
        return plain.but(columns=kept, watermark=_LATE, dedup=names, within=kind == "within", mode="append")
    if kind in ("join", "outer"):
        by = name_of(columns[0])
        both = plain.but(sources=(From(), From("in2")), columns=("ts", *columns), watermark=_LATE, mode="append")
        how = "inner" if kind == "join" else "left_outer"
        taken = tuple(f"{side}.{name_of(one)} AS {side}{name_of(one)}" for one in columns for side in "lr")
        return both.but(join=(how, f"l.{by} = r.{by} AND {_NEAR}"), select=taken)
    if kind == "limit":
        return plain.but(limit=7, select=("k",), mode="append")
    if kind == "unique-count":
        windowed = plain.but(watermark=_LATE, dedup=("id", "ts"), mode="append")
        return windowed.but(keys=("window(ts, '10 seconds')", *columns), values=values)
    return plain.but(select=("id", "k"), mode="append")


@st.composite
def families(draw: st.DrawFn, most: int) -> tuple[Asked, ...]:
    """A query, and what it is changed to: each of them may have been there before any other."""
    kind = draw(st.sampled_from(KINDS))
    columns, values = draw(some(COLUMNS, 1, 3)), draw(some(VALUES, 1, 3))
    found = [asked(kind, columns, values)]
    for _ in range(most - 1):
        touched = draw(st.sampled_from(("columns", "values", "both", "kind")))
        other = draw(st.sampled_from(KINDS)) if touched == "kind" else kind
        now = draw(changed(columns, COLUMNS, 1)) if touched in ("columns", "both") else columns
        kept = draw(changed(values, VALUES, 1)) if touched in ("values", "both") else values
        found.append(asked(other, now, kept))
    return tuple({str(one): one for one in found}.values())
