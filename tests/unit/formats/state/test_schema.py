"""State schema files: bytes of Spark 3.1, 3.5 and a development build of 4.0; version 3 framed by hand."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.model import ColumnFamilySchema


def _field(name: str, kind: str, nullable: str = "true") -> bytes:
    return f'{{"name":"{name}","type":"{kind}","nullable":{nullable},"metadata":{{}}}}'.encode()


def _struct(*fields: bytes) -> bytes:
    return b'{"type":"struct","fields":[' + b",".join(fields) + b"]}"


KEY = _struct(_field("_1", "string"))
VALUE = _struct(_field("__dummy__", "void"))
TWO_KEYS = _struct(_field("_1", "string"), _field("_2", "string"))
COUNT = _struct(_field("value", "long", "false"))
NAME = _struct(_field("value", "string"))
ENCODER = b'{"keyStateEncoderType":"NoPrefixKeyStateEncoderSpec"}'

V1 = bytes.fromhex("0002 7631 0094") + TWO_KEYS + bytes.fromhex("005a") + COUNT
V2 = bytes.fromhex("0002 7632 00000001 0058") + KEY + bytes.fromhex("00000001 005d") + VALUE
PRE_RELEASE_V3 = (
    bytes.fromhex("0002 7633 00000001 000a")
    + b"countState"
    + bytes.fromhex("00000001 005b")
    + NAME
    + bytes.fromhex("00000001 005a")
    + COUNT
    + bytes.fromhex("00000001 0035")
    + ENCODER
    + bytes.fromhex("00000001 0006")
    + b"{    }"
)
V3 = (
    bytes.fromhex("0002 7633 00000002 000a")
    + b"countState"
    + bytes.fromhex("0000 00000001 005b")
    + NAME
    + bytes.fromhex("0001 00000001 005a")
    + COUNT
    + bytes.fromhex("00000001 0035")
    + ENCODER
    + bytes.fromhex("00000001 0006")
    + b"{    }"
    + bytes.fromhex("0001 6d")
    + bytes.fromhex("0003 00000001 005b")
    + NAME
    + bytes.fromhex("0000 00000001 005a")
    + COUNT
    + bytes.fromhex("00000001 0035")
    + ENCODER
    + bytes.fromhex("00000001 0058")
    + KEY
)

NAME_JSON = {
    "type": "struct",
    "fields": [{"name": "value", "type": "string", "nullable": True, "metadata": {}}],
}
COUNT_JSON = {
    "type": "struct",
    "fields": [{"name": "value", "type": "long", "nullable": False, "metadata": {}}],
}
ENCODER_JSON = {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"}


def test_version_1() -> None:
    schema = parse_state_schema(V1)
    (family,) = schema.column_families
    assert (schema.version, family.name) == (1, "default")
    assert [field["name"] for field in family.key["fields"]] == ["_1", "_2"]
    assert family.value == COUNT_JSON


def test_version_2() -> None:
    schema = parse_state_schema(V2)
    (family,) = schema.column_families
    assert (schema.version, family.name, family.encoder, family.user_key) == (2, "default", None, None)
    assert [field["name"] for field in family.key["fields"]] == ["_1"]
    assert [field["name"] for field in family.value["fields"]] == ["__dummy__"]


def test_version_3_before_the_release_has_no_ids() -> None:
    schema = parse_state_schema(PRE_RELEASE_V3)
    assert schema.version == 3
    assert schema.column_families == (
        ColumnFamilySchema("countState", NAME_JSON, COUNT_JSON, 0, 0, ENCODER_JSON, None),
    )


def test_version_3_has_ids_and_a_user_key_for_maps() -> None:
    first, second = parse_state_schema(V3).column_families
    assert (first.name, first.key_schema_id, first.value_schema_id, first.user_key) == ("countState", 0, 1, None)
    assert (second.name, second.key_schema_id, second.value_schema_id) == ("m", 3, 0)
    assert second.encoder == ENCODER_JSON
    assert second.user_key["fields"][0]["name"] == "_1"


def test_version_3_without_families() -> None:
    assert parse_state_schema(bytes.fromhex("0002 7633 00000000")).column_families == ()


def test_bytes_after_the_last_schema_are_not_read() -> None:
    assert parse_state_schema(V2 + b"\xff") == parse_state_schema(V2)


@pytest.mark.parametrize("data", [V1, V2, V3, PRE_RELEASE_V3])
def test_every_shorter_file_is_malformed(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(MalformedFile):
            parse_state_schema(data[:size])


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("0002 7633 ffffffff"),
        bytes.fromhex("0002 7633 7fffffff"),
        bytes.fromhex("0002 7632 7fffffff"),
        bytes.fromhex("0002 7632 00000000 00000000"),
        bytes.fromhex("0002 7631 0002 5b5d 0002 7b7d"),
        bytes.fromhex("0002 7631 0002 7b7d 0001 7b"),
        V1[2:],
    ],
)
def test_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_state_schema(data)


def test_broken_json_is_placed_in_the_file() -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_state_schema(V2.replace(b'"void"', b"'void'"))
    assert caught.value.position is not None
    assert caught.value.position.byte == len(V2) - len(VALUE) - len(bytes.fromhex("00000001 005d"))


def test_a_newer_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_state_schema(bytes.fromhex("0002 7634"))
