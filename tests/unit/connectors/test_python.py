"""Sources written in Python: known by the blanks of their writer, compared for equality only."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import Order
from ckpttool.connectors.python import parse_offset


def test_is_known_by_the_blanks_of_its_writer() -> None:
    offset = recognise_offset('{"cursor": "2024", "page": 3}')
    assert (offset.kind, offset.certainty) == ("python", "likely")
    assert recognise_offset('{"cursor":"2024","page":3}').kind == "unknown"
    assert recognise_offset('{"cursor":"2024","page":3}', "python").kind == "python"


def test_ascii_escapes() -> None:
    assert recognise_offset('{"name": "caf\\u00e9"}').kind == "python"
    assert recognise_offset('{"name": "café"}').kind == "unknown"


def test_nesting_that_cannot_be_written_again_is_nobodys() -> None:
    nested: dict[str, object] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    assert parse_offset(nested, "", None) is None


def test_equality_is_all_there_is() -> None:
    one, two = recognise_offset('{"p": 1}'), recognise_offset('{"p": 2}')
    assert one.order(two) is Order.UNKNOWN
    assert one.order(recognise_offset('{"p": 1}')) is Order.EQUAL
    assert two.step_from(one).amount is None
    assert two.step_from(two).amount == 0
