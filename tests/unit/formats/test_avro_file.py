"""Avro's own files: every type, the codecs, and what is cut or made up."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.avro_file import parse_avro
from tests.avro_files import SYNC, avro_file, long, mapping, text

STAT = {"type": "record", "name": "Stat", "namespace": "x", "fields": [{"name": "path", "type": ["null", "string"]}]}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Commit",
    "fields": [
        {"name": "stats", "type": {"type": "map", "values": {"type": "array", "items": STAT}}},
        {"name": "one", "type": ["null", "x.Stat"]},
        {"name": "flag", "type": "boolean"},
        {"name": "half", "type": "float"},
        {"name": "whole", "type": {"type": "double"}},
        {"name": "raw", "type": "bytes"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "fixed", "type": {"type": "fixed", "name": "Two", "size": 2}},
        {"name": "number", "type": "long"},
    ],
}
RECORD = (
    mapping({"p": long(1) + long(1) + text("f") + long(0)})
    + long(1)
    + long(0)
    + b"\x01"
    + struct.pack("<f", 0.5)
    + struct.pack("<d", 2.0)
    + text(b"\xff")
    + long(1)
    + b"ab"
    + long(-70)
)
VALUE = {
    "stats": {"p": [{"path": "f"}]},
    "one": {"path": None},
    "flag": True,
    "half": 0.5,
    "whole": 2.0,
    "raw": "\xff",
    "kind": "B",
    "fixed": "ab",
    "number": -70,
}


@pytest.mark.parametrize("codec", [None, "null", "deflate"])
def test_records_of_every_type(codec: str | None) -> None:
    assert list(parse_avro(avro_file(SCHEMA, [RECORD, RECORD], codec))) == [VALUE, VALUE]


def test_items_whose_block_says_its_size() -> None:
    schema = {"type": "array", "items": "long"}
    assert list(parse_avro(avro_file(schema, [long(-2) + long(2) + long(3) + long(4) + long(0)]))) == [[3, 4]]


def test_every_cut_is_told() -> None:
    whole = avro_file(SCHEMA, [RECORD])
    header = whole.index(SYNC) + len(SYNC)  # which alone is a file without records
    for end in {*range(len(whole))} - {header}:
        with pytest.raises(MalformedFile):
            list(parse_avro(whole[:end]))


@pytest.mark.parametrize(
    ("schema", "record", "said"),
    [
        ({"type": "array", "items": "long"}, long(10**9), "items, where"),
        (["null"], long(3), "branch 3"),
        ({"type": "record", "name": "R"}, long(0), "none of Avro's"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, long(7), "none of Avro's"),
        ({"type": "fixed", "name": "F", "size": "x"}, long(7), "none of Avro's"),
        ("null", b"", "1 records in 0 bytes"),
        ("nothing-like-it", long(0), "a type that Avro does not have"),
        ("string", long(-5), "-5 bytes"),
        ("long", b"\xff" * 11, "does not end"),
        ({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}, long(0), "nested too deeply"),
    ],
)
def test_what_no_writer_writes(schema: Any, record: bytes, said: str) -> None:
    with pytest.raises(MalformedFile, match=said):
        list(parse_avro(avro_file(schema, [record])))


def test_other_codecs_and_other_files() -> None:
    with pytest.raises(MalformedFile, match="snappy"):
        list(parse_avro(avro_file("long", [long(1)], "snappy")))
    with pytest.raises(MalformedFile, match="not an Avro file"):
        list(parse_avro(b"PAR1"))
