"""How an entry becomes rows: by provider, shape and encoding."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.formats.state.types import BINARY, parse_type
from ckpttool.formats.state.unsafe import BadRow
from ckpttool.state.decoding import row_decoder
from ckpttool.state.tables import Shape, StateConf, StateTable
from tests import avro_rows
from tests.unsafe_rows import row, schema

KEY, VALUE = schema(("user", "string")), schema(("n", "long"))
ENTRY = row(KEY, ("ada",)), row(VALUE, (7,))
VERSIONED = b"\x00" + ENTRY[0], b"\x00" + ENTRY[1]
CONF = StateConf()


def table(shape: Shape, provider: Any = "hdfs", key: Any = KEY, value: Any = VALUE, **more: Any) -> StateTable:
    columns = {"key": parse_type(key), "value": parse_type(value)}
    return replace(StateTable(0, None, "default", "default", provider, shape), **columns, **more)


def rows(of: StateTable, key: bytes, value: bytes, conf: StateConf = CONF) -> list[tuple[Any, ...]]:
    return list(row_decoder(of, conf)(key, value))


def sized(*values: bytes, delimiter: bytes) -> bytes:
    return delimiter.join(len(value).to_bytes(4, "little") + value for value in values)


def test_bare_rows_and_rows_behind_their_version() -> None:
    assert rows(table("pairs"), *ENTRY) == [(("ada",), (7,))]
    assert rows(table("pairs", "rocksdb"), *VERSIONED) == [(("ada",), (7,))]
    with pytest.raises(BadRow, match="version byte"):
        rows(table("pairs", "rocksdb"), b"\x01" + ENTRY[0], VERSIONED[1])


def test_without_a_schema_the_bytes_are_shown() -> None:
    raw = StateTable(0, None, "default", "default", "hdfs", "raw")
    assert raw.key == raw.value == BINARY
    assert rows(raw, b"\x01", b"") == [(b"\x01", b"")]


@pytest.mark.parametrize("delimiter", [b",", b""])
def test_an_entry_of_several_values_is_several_rows(delimiter: bytes) -> None:
    several = table("list", "rocksdb", is_multi_valued=True)
    value = sized(VERSIONED[1], b"\x00" + row(VALUE, (8,)), delimiter=delimiter)
    found = rows(several, VERSIONED[0], value, replace(CONF, delimiter=delimiter))
    assert found == [(("ada",), (7,)), (("ada",), (8,))]
    assert rows(several, VERSIONED[0], b"") == []


def test_the_key_of_a_map_is_two_columns_and_a_timer_is_its_key_alone() -> None:
    both = schema(("key", KEY), ("user_map_key", VALUE))
    key = b"\x00" + row(both, (("ada",), (3,)))
    assert rows(table("map", "rocksdb", key=both), key, VERSIONED[1]) == [(("ada",), (3,), (7,))]
    assert rows(table("timers", "rocksdb", key=both), key, b"") == [(("ada",), (3,))]


def test_only_states_of_transform_with_state_are_avro() -> None:
    conf = replace(CONF, encoding="avro")
    header = b"\x00" + (0).to_bytes(2, "little")
    entry = header + avro_rows.record(KEY, ("ada",)), header + avro_rows.record(VALUE, (7,))
    of = table("pairs", "rocksdb", value_schemas={0: parse_type(VALUE)})
    assert rows(replace(of, operator_name="transformWithStateExec"), *entry, conf) == [(("ada",), (7,))]
    assert rows(replace(of, operator_name="dedupe"), *VERSIONED, conf) == [(("ada",), (7,))]
