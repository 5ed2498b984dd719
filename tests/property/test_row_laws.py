"""Laws of decoding rows: what was written is read, whatever was not written is refused, and JSON stays JSON."""

from __future__ import annotations

import contextlib
import json
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.layouts import ValueSchemas, rocksdb_key, rocksdb_value, split_values
from ckpttool.formats.state.spark_json import json_renderer
from ckpttool.formats.state.types import parse_type
from ckpttool.formats.state.unsafe import row_reader
from tests import avro_rows, unsafe_rows
from tests.property.strategies import ints, longs, texts

pytestmark = pytest.mark.property


def _float32(value: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-(10**precision) + 1, 10**precision - 1).map(
        lambda unscaled: Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    )


LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "byte": st.integers(-128, 127),
    "short": st.integers(-(2**15), 2**15 - 1),
    "integer": ints,
    "long": longs,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "date": ints,
    "timestamp": longs,
    "timestamp_ntz": longs,
    "string": texts,
    "binary": st.binary(max_size=20),
    "decimal(12,3)": decimals(12, 3),
    "decimal(38,18)": decimals(38, 18),
}
ONLY_UNSAFE: dict[str, st.SearchStrategy[Any]] = {
    "time(6)": st.integers(0, 86_399_999_999_999),
    "interval year to month": ints,
    "interval day to second": longs,
    "interval": st.tuples(ints, ints, longs),
}


def typed(leaves: dict[str, st.SearchStrategy[Any]], depth: int = 2) -> st.SearchStrategy[tuple[Any, Any]]:
    """A type and a strategy for its values."""
    flat = st.sampled_from(sorted(leaves)).map(lambda name: (name, leaves[name]))
    if depth == 0:
        return flat
    inner = typed(leaves, depth - 1)
    arrays = inner.map(lambda one: (unsafe_rows.array_of(one[0]), st.lists(one[1] | st.none(), max_size=4)))
    maps = inner.map(
        lambda one: (
            unsafe_rows.map_of("string", one[0]),
            st.lists(st.tuples(texts, one[1] | st.none()), max_size=3, unique_by=lambda pair: pair[0]),
        )
    )
    return flat | arrays | maps | st.lists(inner, min_size=1, max_size=3).map(_struct)


def _struct(kinds: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    named = [(f"f{at}", kind) for at, (kind, _) in enumerate(kinds)]
    return unsafe_rows.schema(*named), st.tuples(*(values | st.none() for _, values in kinds))


@st.composite
def rows(draw: st.DrawFn, leaves: dict[str, st.SearchStrategy[Any]], most: int = 5) -> tuple[Any, tuple[Any, ...]]:
    kinds = draw(st.lists(typed(leaves), min_size=1, max_size=most))
    kind, values = _struct(kinds)
    return kind, draw(values)


@given(rows(LEAVES | ONLY_UNSAFE))
def test_what_was_written_is_read(case: tuple[Any, Any]) -> None:
    kind, values = case
    data = unsafe_rows.row(kind, values)
    assert row_reader(parse_type(kind))(data, 0, len(data)) == values


@given(st.lists(longs | st.none(), min_size=60, max_size=200))
def test_rows_of_many_fields_are_read(values: list[int | None]) -> None:
    kind = unsafe_rows.schema(*((f"f{at}", "long") for at in range(len(values))))
    data = unsafe_rows.row(kind, values)
    assert row_reader(parse_type(kind))(b"\x00" + data, 1, len(data)) == tuple(values)


@given(rows(LEAVES | ONLY_UNSAFE), st.data())
def test_any_other_bytes_are_read_or_refused(case: tuple[Any, Any], data: st.DataObject) -> None:
    """Cut, changed or made up: never an error of ours, and never more than the bytes can hold."""
    kind, values = case
    written = bytearray(unsafe_rows.row(kind, values))
    for _ in range(data.draw(st.integers(0, 4))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    read = row_reader(parse_type(kind))
    render = json_renderer(parse_type(kind))
    for content in (bytes(written), bytes(written[: data.draw(st.integers(0, len(written)))])):
        try:
            decoded = read(content, 0, len(content))
        except MalformedFile:
            continue
        json.loads(render(decoded))


@given(rows(LEAVES))
def test_what_was_written_as_avro_is_read(case: tuple[Any, Any]) -> None:
    kind, values = case
    written = b"\x00\x00\x00" + avro_rows.record(kind, avro_rows.without_nulls_inside(kind, values))
    decode = rocksdb_value(ValueSchemas(parse_type(kind), {0: parse_type(kind)}), "avro")
    assert decode(written) == avro_rows.without_nulls_inside(kind, values)


@given(rows(LEAVES), st.data())
def test_any_other_avro_is_read_or_refused(case: tuple[Any, Any], data: st.DataObject) -> None:
    kind, values = case
    written = bytearray(b"\x00\x00\x00" + avro_rows.record(kind, avro_rows.without_nulls_inside(kind, values)))
    for _ in range(data.draw(st.integers(0, 4))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    decode = rocksdb_value(ValueSchemas(parse_type(kind), {0: parse_type(kind)}), "avro")
    try:
        decoded = decode(bytes(written))
    except MalformedFile:
        return
    json.loads(json_renderer(parse_type(kind))(decoded))


ENCODERS: dict[str, dict[str, Any]] = {
    "none": {"keyStateEncoderType": "NoPrefixKeyStateEncoderSpec"},
    "prefix": {"keyStateEncoderType": "PrefixKeyScanStateEncoderSpec", "numColsPrefixKey": 1},
    "postfix": {"keyStateEncoderType": "TimestampAsPostfixKeyStateEncoderSpec"},
    "first": {"keyStateEncoderType": "TimestampAsPrefixKeyStateEncoderSpec"},
}


@given(st.sampled_from(sorted(ENCODERS)), texts, ints, longs)
def test_keys_are_put_together_again(encoder: str, text: str, number: int, time: int) -> None:
    fields = [("text", "string"), ("number", "integer"), ("time", "long")]
    kind = unsafe_rows.schema(*fields)
    values = (text, number, time)

    def part(start: int, end: int) -> bytes:
        return b"\x00" + unsafe_rows.row(unsafe_rows.schema(*fields[start:end]), values[start:end])

    stamp = (time + 2**63).to_bytes(8, "big")
    written = {
        "none": part(0, 3),
        "prefix": len(part(0, 1)).to_bytes(4, "little") + part(0, 1) + part(1, 3),
        "postfix": part(0, 2) + stamp,
        "first": stamp + part(0, 2),
    }[encoder]
    assert rocksdb_key(parse_type(kind), ENCODERS[encoder], "unsaferow")(written) == values


RANGED = {"byte": ">b", "short": ">h", "integer": ">i", "long": ">q", "float": ">f", "double": ">d"}


@given(st.sampled_from(sorted(RANGED)).flatmap(lambda kind: st.tuples(st.just(kind), LEAVES[kind] | st.none())), texts)
def test_ordered_keys_are_read(ordered: tuple[str, Any], text: str) -> None:
    kind, value = ordered
    raw = _sortable(kind, value)
    prefix = b"\x00" + unsafe_rows.row(unsafe_rows.schema(("0", "binary")), (raw,))
    rest = b"\x00" + unsafe_rows.row(unsafe_rows.schema(("text", "string")), (text,))
    encoder = {"keyStateEncoderType": "RangeKeyScanStateEncoderSpec", "orderingOrdinals": [1]}
    whole = parse_type(unsafe_rows.schema(("text", "string"), ("at", kind)))
    decode = rocksdb_key(whole, encoder, "unsaferow")
    assert decode(len(prefix).to_bytes(4, "little") + prefix + rest) == (text, value)


def _sortable(kind: str, value: Any) -> bytes:
    """A marker and the value, which sort as bytes the way the values do."""
    width = struct.calcsize(RANGED[kind])
    if value is None:
        return b"\x02" + bytes(width)
    raw = struct.pack(RANGED[kind], value)
    negative = raw[0] & 0x80 != 0
    if kind in ("float", "double") and negative:
        raw = bytes(byte ^ 0xFF for byte in raw)
    return (b"\x00" if negative else b"\x01") + raw


@given(st.lists(st.binary(max_size=30), min_size=1), st.sampled_from([b"", b","]))
def test_values_under_one_key_are_told_apart(values: list[bytes], delimiter: bytes) -> None:
    joined = delimiter.join(len(value).to_bytes(4, "little") + value for value in values)
    assert list(split_values(joined, delimiter)) == values


@given(st.binary(max_size=40), st.sampled_from([b"", b","]))
def test_any_bytes_are_told_apart_or_refused(data: bytes, delimiter: bytes) -> None:
    with contextlib.suppress(MalformedFile):
        assert sum(len(one) + 4 for one in split_values(data, delimiter)) <= len(data)


@given(ints)
def test_dates_are_reckoned_alike_by_hand_and_by_python(days: int) -> None:
    from ckpttool.formats.state import text

    assert text._far_date(days % 3_000_000 - 719_000) == text.date_text(days % 3_000_000 - 719_000)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_single_floats_lead_back_to_themselves(value: float) -> None:
    from ckpttool.formats.state.text import java_number

    shown = java_number(value, single=True)
    assert _float32(float(shown)) == value
    assert len(shown.replace("-", "").replace(".", "").lstrip("0").partition("e")[0].rstrip("0")) <= 9
