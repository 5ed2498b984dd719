"""Variants, printed as JSON, and the damage that must not be followed."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.spark_json import json_renderer
from ckpttool.formats.state.types import parse_type
from ckpttool.formats.state.unsafe import Variant

METADATA = bytes.fromhex("0102000102") + b"ab"  # two names of one letter


VARIANTS = [
    ("00", "null"),
    ("04", "true"),
    ("08", "false"),
    ("0cff", "-1"),
    ("180000000000000080", "-9223372036854775808"),
    ("1c000000000000f83f", "1.5"),
    ("200219000000", "0.25"),
    ("20026400000000"[:12], "1"),
    ("2c0b4d0000", '"2024-01-01"'),
    ("3080d0b8e29d0d0600", None),
    ("0d616263", '"abc"'),
    ("3c020000000001", '"AAE="'),
    ("02020001000203" + "0c01" + "00", '{"a":1,"b":null}'),
    ("0302000203" + "0c07" + "04", "[7,true]"),
    ("50" + "00112233445566778899aabbccddeeff", '"00112233-4455-6677-8899-aabbccddeeff"'),
]


@pytest.mark.parametrize(("value", "text"), VARIANTS)
def test_variants_are_printed_as_json(value: str, text: str | None) -> None:
    shown = json_renderer(parse_type("variant"))(Variant(bytes.fromhex(value), METADATA))
    assert text is None or shown == text


@pytest.mark.parametrize("value", ["", "03", "0201", "ff", "0dff", "7c00000000", "02ff0000"])
def test_damaged_variants_are_refused(value: str) -> None:
    with pytest.raises(MalformedFile):
        json_renderer(parse_type("variant"))(Variant(bytes.fromhex(value), METADATA))


def test_a_variant_that_holds_itself_is_refused() -> None:
    """Offsets may lead back: an array of one element that begins where the array does, by a wrapped offset."""
    value = bytes.fromhex("0f01000000" + "fcffffff" + "00000000")
    with pytest.raises(MalformedFile):
        json_renderer(parse_type("variant"))(Variant(value, METADATA))


def array(content: bytes, count: int) -> bytes:
    """Of elements that all begin at the first place."""
    return bytes([0x03, count]) + bytes(count + 1) + content


def test_a_variant_that_unfolds_to_more_than_its_bytes_is_refused() -> None:
    """A hundred elements that are the same array, of a hundred elements that are the same array, …"""
    value = b"\x00"
    for _ in range(40):
        value = array(value, 100)
    with pytest.raises(MalformedFile, match="more values"):
        json_renderer(parse_type("variant"))(Variant(value, METADATA))


def test_a_name_is_not_repeated_without_end() -> None:
    name = b"x" * 60_000
    metadata = b"\x41" + (1).to_bytes(2, "little") + bytes(2) + len(name).to_bytes(2, "little") + name
    value = b"\x00"
    fields = bytes([0x42]) + (60_000).to_bytes(4, "little") + bytes(60_000) + bytes(60_001) + value
    with pytest.raises(MalformedFile, match="more values"):
        json_renderer(parse_type("variant"))(Variant(fields, metadata))


def test_nesting_ends_in_a_refusal_and_before_python_does() -> None:
    value = b"\x00"
    for _ in range(600):
        value = b"\x0f\x01" + bytes(8) + value
    with pytest.raises(MalformedFile, match="nested"):
        json_renderer(parse_type("variant"))(Variant(value, METADATA))
