"""Rows of two codes, held against each other."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from ckpttool.rehearsal.rows import SAMPLES, compare


def lines(*rows: object) -> list[str]:
    return [json.dumps(row) for row in rows]


def test_the_same_rows_in_another_order_of_rows_and_columns_are_the_same() -> None:
    found = compare(['{"a":1,"b":null}', '{"a":2,"b":3}'], ['{"b":3,"a":2}', '{"b":null,"a":1}'])
    assert (found.is_same, found.same) == (True, 2)


def test_a_row_of_the_same_identity_has_changed() -> None:
    old, new = {"k": "a", "s": 1}, {"k": "a", "s": 2}
    found = compare(lines(old, {"k": "b", "s": 1}), lines(new, {"k": "c", "s": 1}), ["k"])
    assert (found.changed, found.only_old, found.only_new, found.same) == (1, 1, 1, 0)
    assert next((one.identity, one.old, one.new) for one in found.samples) == ({"k": "a"}, old, new)


def test_without_an_identity_a_row_is_lost_and_another_one_comes() -> None:
    found = compare(lines({"k": "a", "s": 1}), lines({"k": "a", "s": 2}))
    assert (found.changed, found.only_old, found.only_new, found.doubled) == (0, 1, 1, 0)


def test_a_row_that_comes_once_more_is_doubled() -> None:
    found = compare(lines({"k": 1}, {"k": 2}), lines({"k": 1}, {"k": 1}, {"k": 2}, {"k": 3}))
    assert (found.only_new, found.doubled, found.same) == (2, 1, 2)


def test_null_and_no_column_differ() -> None:
    assert not compare(lines({"k": 1, "v": None}), lines({"k": 1})).is_same


def test_decimals_differ_in_their_last_digit() -> None:
    """A float holds neither."""
    old, new = (f'{{"d":1234567890.123456789012345678{last}}}' for last in (1, 2))
    found = compare([old, '{"d":1.50}'], [new, '{"d":1.5}'])
    assert (found.only_old, found.only_new, found.same) == (1, 1, 1)


def test_what_is_nested_deeper_than_python_goes_is_compared_and_shown() -> None:
    """As a variant may be."""
    deep, other = (f'{{"v":{"[" * 5_000}{inside}{"]" * 5_000}}}' for inside in "12")
    found = compare([deep, deep], [deep, other], ["v"])
    assert (found.same, found.only_old + found.changed) == (1, 1)
    assert json.dumps(found.samples[0].old, indent=2)


def test_no_more_than_some_are_shown() -> None:
    assert len(compare(lines(*({"k": one} for one in range(50))), []).samples) == SAMPLES


ROWS = st.lists(st.fixed_dictionaries({"k": st.integers(0, 3), "v": st.integers(0, 2)}), max_size=12)


@given(ROWS, ROWS, st.sampled_from([(), ("k",), ("k", "v"), ("nothing",)]))
def test_every_row_is_counted_once(old: list[object], new: list[object], identity: tuple[str, ...]) -> None:
    found = compare(lines(*old), lines(*new), identity)
    assert found.same + found.changed + found.only_old == len(old)
    assert found.same + found.changed + found.only_new == len(new)
    assert found.is_same == (sorted(lines(*old)) == sorted(lines(*new)))
