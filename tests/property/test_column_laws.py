"""Laws of taking whole columns at a time: the values are those that rows give one by one, or it is not done at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.compression import Codec
from ckpttool.formats.state.layouts import bare_row
from ckpttool.formats.state.types import parse_type
from ckpttool.state.arrow import converter
from ckpttool.state.bulk import newest_records
from ckpttool.state.columns import rows_of, struct_column
from ckpttool.state.framing import Rows, frame_by_lanes, frame_by_steps
from tests import unsafe_rows
from tests.property.strategies import texts
from tests.property.test_row_laws import decimals
from tests.state_builders import lz4, plain, snappy, zstd

pytestmark = [pytest.mark.property, pytest.mark.extras]

LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "byte": st.integers(-128, 127),
    "short": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "date": st.integers(-700_000, 2_900_000),
    "timestamp": st.integers(-(2**55), 2**55),
    "timestamp_ntz": st.integers(-(2**55), 2**55),
    "string": texts,
    "binary": st.binary(max_size=20),
    "decimal(12,3)": decimals(12, 3),
    "void": st.none(),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, list[tuple[Any, ...]]]:
    flat = st.sampled_from(sorted(LEAVES)).map(lambda name: (name, LEAVES[name]))
    nested = st.lists(flat, min_size=1, max_size=3).map(_struct)
    kinds = draw(st.lists(flat | nested, min_size=1, max_size=6))
    kind, values = _struct(kinds)
    return kind, draw(st.lists(values, min_size=1, max_size=12))


def _struct(kinds: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    named = [(f"f{at}", kind) for at, (kind, _) in enumerate(kinds)]
    return unsafe_rows.schema(*named), st.tuples(*(values | st.none() for _, values in kinds))


@given(tables(), st.sampled_from([0, 1]))
def test_columns_hold_what_rows_hold(table: tuple[Any, list[Any]], skipped: int) -> None:
    kind, values = table
    rows = rows_of([bytes(skipped) + unsafe_rows.row(kind, one) for one in values], skipped)
    assert rows is not None
    column = struct_column(parse_type(kind), rows)
    assert column is not None
    convert = converter(parse_type(kind))
    expected = pa.array([convert(one) for one in values], column.type)
    assert column.equals(expected)


@given(tables(), st.data())
def test_rows_that_do_not_fit_are_left_alone(table: tuple[Any, list[Any]], data: st.DataObject) -> None:
    """What row by row is refused, is not made up column by column."""
    kind, values = table
    written = [bytearray(unsafe_rows.row(kind, one)) for one in values]
    one = data.draw(st.sampled_from(range(len(written))))
    for _ in range(data.draw(st.integers(1, 3))):
        written[one][data.draw(st.integers(0, len(written[one]) - 1))] = data.draw(st.integers(0, 255))
    items = [bytes(content) for content in written]
    rows = rows_of(items)
    assert rows is not None
    column = struct_column(parse_type(kind), rows)
    try:
        decoded = [bare_row(parse_type(kind))(item) for item in items]
    except MalformedFile:
        assert column is None
        return
    if column is not None:
        assert len(column) == len(decoded)


COMPRESSIONS: list[tuple[Callable[[bytes], bytes], Codec]] = [(lz4, "lz4"), (zstd, "zstd"), (snappy, "snappy")]
pieces = st.sampled_from([0, 8, 16, 24]).flatmap(lambda size: st.binary(min_size=size, max_size=size))
alike = st.binary(min_size=16, max_size=16)


@given(
    st.sampled_from([(alike, alike), (pieces, pieces | st.none()), (alike, pieces | st.none())]).flatmap(
        lambda of: st.lists(st.dictionaries(of[0], of[1], max_size=9), min_size=1, max_size=5)
    ),
    st.booleans(),
    st.booleans(),
    st.sampled_from(COMPRESSIONS),
    st.booleans(),
)
def test_the_newest_records_are_those_of_a_replay(
    files: list[dict[bytes, bytes | None]],
    has_base: bool,
    of_one_word: bool,
    compression: tuple[Callable[[bytes], bytes], Codec],
    with_arrow: bool,
) -> None:
    """However they are compressed, and whether Arrow decompresses them or not."""
    compress, codec = compression
    if of_one_word:
        files = [{bytes(8) + (key + bytes(8))[:8]: value for key, value in one.items()} for one in files]
    if has_base:
        files[0] = {key: value for key, value in files[0].items() if value is not None}
    state: dict[bytes, bytes] = {}
    for one in files:
        for key, value in one.items():
            state.pop(key, None)
            if value is not None:
                state[key] = value
    with pytest.MonkeyPatch.context() as patch:
        if not with_arrow:
            patch.delitem(sys.modules, "pyarrow")
        found = newest_records([(compress(plain(one.items())), codec) for one in files], has_base)
    assert found is not None
    keys, values = (pieces_of(half) for half in found)
    assert len(keys) == len(set(keys))
    assert dict(zip(keys, values, strict=True)) == state


def pieces_of(rows: Rows) -> list[bytes]:
    return [bytes(rows.data[start : start + size]) for start, size in zip(rows.starts, rows.sizes, strict=True)]


@given(
    st.lists(st.sampled_from([0, 8, 16, 24, 32, 40]), min_size=1, max_size=4),
    st.sampled_from([b"\x00\x00\x00\x10\x00\x00\x00\x08", b"\x00\x00\x00\x08" * 2, bytes(8), b"contents"]),
    st.sampled_from([1, 7, 64, 4096]),
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from([0, 0.0005, 1]),
)
def test_lanes_find_every_record_or_decline(
    sizes: list[int], content: bytes, lanes: int, seed: int, deletes: bool, differing: float
) -> None:
    """Also where contents look like sizes, and where all values, or all but a few, have one size: what is found is what
    a walk finds."""
    source = Random(seed)
    records: list[tuple[bytes, bytes | None]] = []
    written = 0
    while written < 2**20 + 100:
        key_size, value_size = source.choice(sizes), source.choice(sizes) if source.random() < differing else sizes[0]
        key, value = (content * 5)[:key_size], (content * 5)[:value_size]
        records.append((key, None if deletes and source.random() < 0.1 else value))
        written += 8 + len(key) + len(value)
    data = plain(records)
    expected = frame_by_steps(data)
    assert expected is not None
    assert [len(one) for one in expected] == [len(records)] * 3
    found = frame_by_lanes(data, lanes)
    if found is not None:
        assert all((ours == theirs).all() for ours, theirs in zip(found, expected, strict=True))


def test_lanes_are_taken_for_ordinary_files() -> None:
    source = Random(1)
    records = [(source.randbytes(source.choice((24, 32, 40))), source.randbytes(32)) for _ in range(30_000)]
    found, expected = frame_by_lanes(plain(records)), frame_by_steps(plain(records))
    assert found is not None
    assert expected is not None
    assert all((ours == theirs).all() for ours, theirs in zip(found, expected, strict=True))


def test_what_is_no_file_of_records_is_left_alone() -> None:
    whole = plain([(bytes(16), bytes(16))])
    for other in (whole[:-4], whole[:-1], whole[:7], b"", b"\xff\xff\xff\xfe", plain([(bytes(16), bytes(12))])):
        assert newest_records([(lz4(one), "lz4") for one in (whole, other)], False) is None


def test_nothing_is_no_rows() -> None:
    assert rows_of([]) is None
