"""Queries that read files and are started again with another `path`: a source's log holds whole URLs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.sweep.bases import Base, query

Json = dict[str, Any]


def at(path: str, **made: str) -> Json:
    """`{root}` is the directory in which the query's `input` lies. `made`: what is there besides, and what it is."""
    return {"reader": {"path": f"{{root}}/{path}"}, "made": made}


CHANGES: tuple[Json, ...] = (
    at("input"),
    at("input/"),
    at("./input"),
    {"reader": {"path": "file:{root}/input"}},
    {"reader": {"path": "file://{root}/input"}},
    at("inp*"),
    at("{input,other}"),
    at("other", other="copy"),
    at("other", other="empty"),
    at("other", other="link"),
    at("in", **{"in": "empty"}),
    at("input2", input2="copy"),
    at("other*", other="copy"),
    at("input/000.json"),
    at("nowhere"),
)


def place_bases() -> Iterator[Base]:
    each, two = query("file", "stateless", "each"), query("two", "stateless", "each")
    yield Base("place-committed", each, changes=CHANGES, suite="places")
    yield Base("place-first", each, files=1, changes=CHANGES, suite="places")
    yield Base("place-replay", each | {"fail_in": ["before", 3]}, changes=CHANGES, suite="places")
    yield Base("place-replay-first", each | {"fail_in": ["before", 0]}, changes=CHANGES, suite="places")
    yield Base("place-stateful", query("file", "window", "each"), changes=CHANGES, suite="places")
    yield Base("place-two", two, starts=3, changes=CHANGES, suite="places")
