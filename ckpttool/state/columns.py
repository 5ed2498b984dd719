"""Keys and values of a partition as columns of Arrow, all rows at a time, where their types and layout allow it.

Rows lie one after the other in a buffer; a field is gathered from all of them at once, and what its word points at is
held against the row for all at once. Whatever does not fit is left to `row_decoder`, which takes a row at a time, and
says what is wrong with it: then these functions return None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ckpttool.formats.state.types import DataType
from ckpttool.formats.state.unsafe import LARGEST_LONG_DECIMAL
from ckpttool.state.arrow import arrow_type, field_names
from ckpttool.state.contents import MOST_BYTES, PADDING
from ckpttool.state.framing import Rows

Numbers = Any  # an array of numpy, whose kinds of numbers are told by the code

_WIDEST = 256  # fields, whose words the padding has room for
_NARROW: dict[str, str] = {
    "byte": "<i1", "short": "<i2", "integer": "<i4", "date": "<i4", "float": "<f4",
}  # fmt: skip
_WIDE = ("long", "timestamp", "timestamp_ntz", "time", "day-time")


class _NotHere(Exception):
    """Something that is left to the other way."""


def rows_of(items: Sequence[bytes], skipped: int = 0) -> Rows | None:
    """Of texts of bytes, without the first `skipped` of each, which must be zero."""
    if not items:
        return None
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    starts = np.cumsum(sizes) - sizes
    data = memoryview(b"".join([*items, PADDING]))
    if len(data) > MOST_BYTES or int(sizes.min()) < skipped:
        return None
    if skipped and np.frombuffer(data, np.uint8)[starts].any():
        return None
    return Rows(data, starts + skipped, sizes - skipped)


def struct_column(kind: DataType, rows: Rows) -> pa.StructArray | None:
    try:
        return _struct(kind, rows, None)
    except _NotHere:
        return None


def _struct(kind: DataType, rows: Rows, nulls: Numbers | None) -> pa.StructArray:
    count = len(kind.fields)
    if not 0 < count <= _WIDEST:
        raise _NotHere
    words = (count + 63) // 64
    alive = slice(None) if nulls is None else ~nulls
    if int(rows.sizes[alive].min(initial=2**62)) < 8 * (words + count):
        raise _NotHere
    bits = [rows.word(at) for at in range(words)]
    in_any = [int(np.bitwise_or.reduce(one)) for one in bits]
    arrays = []
    for at, field in enumerate(kind.fields):
        missing = nulls
        if in_any[at // 64] >> (at % 64) & 1:
            of_field = (bits[at // 64] >> (at % 64) & 1).astype(bool)
            missing = of_field if nulls is None else of_field | nulls
        arrays.append(_column(field.type, rows, words + at, missing))
    mask = None if nulls is None else pa.array(nulls)
    return pa.StructArray.from_arrays(arrays, names=field_names(kind.fields), mask=mask)


def _column(kind: DataType, rows: Rows, at: int, mask: Numbers | None) -> pa.Array:
    word = rows.word(at)
    if kind.kind in _WIDE:
        return pa.array(word, pa.int64(), mask=mask).view(arrow_type(kind))
    if kind.kind == "double":
        return pa.array(word.view("<f8"), mask=mask)
    if kind.kind == "boolean":
        return pa.array((word & 0xFF).astype(bool), mask=mask)
    if kind.kind in _NARROW:
        code = _NARROW[kind.kind]
        values = word.view(code).reshape(len(word), -1)[:, 0]
        made = pa.array(np.ascontiguousarray(values), mask=mask)
        return made.view(pa.date32()) if kind.kind == "date" else made
    if kind.kind == "void":
        return pa.nulls(len(word))
    return _placed(kind, rows, word, mask)


def _placed(kind: DataType, rows: Rows, word: Numbers, mask: Numbers | None) -> pa.Array:
    if kind.kind == "decimal" and kind.precision <= LARGEST_LONG_DECIMAL:
        return _decimals(kind, word, mask)
    make = _MAKERS.get(kind.kind)
    if make is None:
        raise _NotHere
    offsets, sizes = word >> 32, word & 0xFFFFFFFF
    if mask is not None:
        offsets, sizes = np.where(mask, 0, offsets), np.where(mask, 0, sizes)
    if (offsets < 0).any() or (offsets + sizes > rows.sizes).any():
        raise _NotHere
    return make(kind, Rows(rows.data, rows.starts + offsets, sizes), mask)


def _decimals(kind: DataType, word: Numbers, mask: Numbers | None) -> pa.Array:
    limbs = np.empty((len(word), 2), "<i8")
    limbs[:, 0], limbs[:, 1] = word, word >> 63
    validity = None if mask is None else pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(arrow_type(kind), len(word), [validity, pa.py_buffer(limbs)])


def binaries(parts: Rows, mask: Numbers | None = None) -> pa.Array:
    """Pieces of the buffer, which must lie in their order. Begin and end of each stand in one list of offsets: every
    second piece between them is one."""
    count = len(parts.starts)
    offsets = np.empty(2 * count + 1, "<i4")
    offsets[0:-1:2], offsets[1::2] = parts.starts, parts.starts + parts.sizes
    offsets[-1] = offsets[-2] if count else 0
    if (np.diff(offsets) < 0).any():
        raise _NotHere
    every = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(parts.data)])
    indices = np.arange(0, 2 * count, 2)
    return every.take(pa.array(indices, mask=mask))


def _texts(_kind: DataType, parts: Rows, mask: Numbers | None) -> pa.Array:
    try:
        return binaries(parts, mask).cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8; Spark shows such bytes as well
        raise _NotHere from None


def _structs(kind: DataType, parts: Rows, mask: Numbers | None) -> pa.Array:
    return _struct(kind, parts, mask)


_MAKERS: dict[str, Callable[[DataType, Rows, Numbers | None], pa.Array]] = {
    "string": _texts,
    "binary": lambda _, parts, mask: binaries(parts, mask),
    "struct": _structs,
}
