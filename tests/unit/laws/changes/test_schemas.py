"""Types and places of columns, as Spark compares state with a query."""

from __future__ import annotations

import pytest

from ckpttool.laws.changes.schemas import fits, unlike
from ckpttool.model import Json
from tests.unit.laws.changes.queries import struct

ARRAY: Json = {"type": "array", "elementType": "long", "containsNull": True}
MAP: Json = {"type": "map", "keyType": "string", "valueType": ARRAY, "valueContainsNull": True}


@pytest.mark.parametrize(
    ("stored", "new", "taken"),
    [
        (struct("k string"), struct("other string"), True),
        (struct("k string"), struct("k string!"), True),
        (struct("k string!"), struct("k string"), False),
        (struct("k string"), struct("k long"), False),
        (struct("k string"), struct("k string", "g string"), False),
        (ARRAY, ARRAY | {"containsNull": False}, True),
        (ARRAY | {"containsNull": False}, ARRAY, False),
        (MAP, MAP | {"valueContainsNull": False}, True),
        (MAP, MAP | {"keyType": "long"}, False),
        ("long", struct("k long"), False),
    ],
)
def test_types_and_places_decide_and_what_may_be_null(stored: Json, new: Json, taken: bool) -> None:
    assert fits(stored, new) is taken


def test_each_column_that_is_another_is_told() -> None:
    found = list(unlike(struct("k string", "n long!", "s long"), struct("key string", "n long")))
    assert [(one.place, one.before, one.after, one.fits) for one in found] == [
        ("0", "k string", "key string", True),
        ("1", "n bigint not null", "n bigint", False),
        ("2", "s bigint", None, False),
    ]
    assert list(unlike(struct("k string"), struct("k string!"))) == []
