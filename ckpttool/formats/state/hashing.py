"""The partition that a key is in: Spark's Murmur3 of its columns, as `HashPartitioning` takes it.

Each column is hashed with the hash of those before it as seed; nulls are passed over. Texts and binaries are taken in
words of four bytes, and what is left of them byte by byte, which is Spark's own variant.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Context
from typing import Any

from ckpttool.formats.state.types import DataType
from ckpttool.formats.state.unsafe import LARGEST_LONG_DECIMAL

SEED = 42
_EXACT = Context(prec=100)
_WORD = 0xFFFFFFFF
_INTS = ("byte", "short", "integer", "date", "year-month")
_LONGS = ("long", "timestamp", "timestamp_ntz", "time", "day-time")


class CannotHash(Exception):
    """A type whose hash we do not know, or a value that it cannot have: the key may be in any partition, or in none."""


def partition_of(kinds: Sequence[DataType], values: Sequence[Any], partitions: int) -> int:
    hashed = _fold(kinds, values, SEED)
    signed = hashed - 2**32 if hashed >= 2**31 else hashed
    return signed % partitions


def _fold(kinds: Sequence[DataType], values: Sequence[Any], seed: int) -> int:
    for kind, value in zip(kinds, values, strict=True):
        if value is not None:
            seed = _hash(kind, value, seed)
    return seed


def _hash(kind: DataType, value: Any, seed: int) -> int:
    if kind.kind == "boolean":
        return _hash_int(int(value), seed)
    if kind.kind in _INTS:
        return _hash_int(value, seed)
    if kind.kind in _LONGS:
        return _hash_long(value, seed)
    if kind.kind == "float":
        return _hash_int(_bits("<f", "<i", value), seed)
    if kind.kind == "double":
        return _hash_long(_bits("<d", "<q", value), seed)
    if kind.kind == "string" and kind.name in ("string", "string collate UTF8_BINARY"):
        return _hash_bytes(value.encode(), seed)
    if kind.kind == "binary":
        return _hash_bytes(value, seed)
    if kind.kind == "decimal":
        if not value.is_finite() or value.adjusted() >= kind.precision - kind.scale:
            raise CannotHash(f"{kind.name} has no such value")
        unscaled = int(_EXACT.scaleb(value, kind.scale))
        if kind.precision <= LARGEST_LONG_DECIMAL:
            return _hash_long(unscaled, seed)
        bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length()  # as Java counts them: -128 is one byte
        return _hash_bytes(unscaled.to_bytes(bits // 8 + 1, "big", signed=True), seed)
    if kind.kind == "struct":
        return _fold([field.type for field in kind.fields], value, seed)
    if kind.kind == "array":
        assert kind.element
        return _fold([kind.element] * len(value), value, seed)
    raise CannotHash(kind.name)


def _bits(written: str, read: str, value: float) -> int:
    """As an integer of the same bits; negative zero counts as zero."""
    bits: int = struct.unpack(read, struct.pack(written, value or 0.0))[0]
    return bits


def _hash_int(value: int, seed: int) -> int:
    return _finished(_mixed(seed, value & _WORD), 4)


def _hash_long(value: int, seed: int) -> int:
    return _finished(_mixed(_mixed(seed, value & _WORD), value >> 32 & _WORD), 8)


def _hash_bytes(data: bytes, seed: int) -> int:
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        seed = _mixed(seed, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[words:]:
        seed = _mixed(seed, (byte - 256 if byte > 127 else byte) & _WORD)
    return _finished(seed, len(data))


def _mixed(seed: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _WORD
    word = (word << 15 | word >> 17) & _WORD
    seed ^= word * 0x1B873593 & _WORD
    seed = (seed << 13 | seed >> 19) & _WORD
    return (seed * 5 + 0xE6546B64) & _WORD


def _finished(seed: int, length: int) -> int:
    seed ^= length
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _WORD
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _WORD
    return seed ^ seed >> 16
