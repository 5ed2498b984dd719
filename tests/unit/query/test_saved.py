"""Descriptions that come back from a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.errors import NotFound
from ckpttool.query.model import DescribedFrom, Description, Query, fields_of
from ckpttool.query.saved import BadDescription, parse_description, picked, split_pick

QUERIES = tuple(Query(name, None, None, ("plan",)) for name in ("orders", "returns", "returns", None))
SAVED = {"schema": "ckpt.query/1", **fields_of(Description(DescribedFrom("job", "a.py"), "4.2.0", QUERIES))}


def test_what_was_saved_is_read_back() -> None:
    body = json.dumps(SAVED | {"ckpt_version": "9", "later": 1}).encode()
    assert parse_description(body).queries == QUERIES


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "not JSON, or was cut short"),
        (b'{"a": ' + b"[" * 100_000, "not JSON, or was cut short"),
        (b"{}", "no schema ckpt.query/1"),
        (b"[]", "no schema ckpt.query/1"),
        (b'{"schema": "ckpt.inspect/1"}', "no schema ckpt.query/1"),
        (b'{"schema": "ckpt.query/2"}', "its schema is ckpt.query/2"),
        (json.dumps(SAVED | {"queries": [{"name": 1}]}).encode(), "not as ckpt writes it: Expected `str | null`"),
        (json.dumps(SAVED | {"queries": 3}).encode(), "not as ckpt writes it: Expected `array`"),
        (b"{" + b"[" * 4_000_000, "larger than any description"),
    ],
)
def test_what_is_no_description_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadDescription, match=why.replace("|", r"\|").replace("`", ".")) as error:
        parse_description(body)
    assert error.value.next_step


@pytest.mark.parametrize(("pick", "found"), [("orders", 0), ("1", 0), ("4", 3)])
def test_one_of_several_is_picked_by_name_or_number(pick: str, found: int) -> None:
    assert picked(QUERIES, pick) == (QUERIES[found],)


@pytest.mark.parametrize("pick", ["nobody", "0", "5", "returns", "٣", "9" * 30])
def test_a_pick_of_none_or_of_two_names_those_that_are_there(pick: str) -> None:
    with pytest.raises(NotFound) as error:
        picked(QUERIES, pick)
    assert error.value.next_step == "there are: orders, returns, returns, 4"


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("jobs/a.py::orders", ("jobs/a.py", "orders")),
        ("a.json::2", ("a.json", "2")),
        ("jobs/a.py", ("jobs/a.py", None)),
        ("zip://ck::s3://lake/a.zip", ("zip://ck::s3://lake/a.zip", None)),
        ("::x", ("::x", None)),
    ],
)
def test_what_is_picked_stands_behind_two_colons(source: str, parts: tuple[Any, ...]) -> None:
    assert split_pick(source) == parts
