"""The two checksums of state files that Python's library lacks: xxHash32 (LZ4 blocks) and CRC-32C (Spark's sidecars).

Both are had from containers that cramjam writes around any data: an LZ4 frame ends in the xxHash32 of its contents, a
snappy frame begins each chunk with its CRC-32C. That is a hundred times faster than computing them in Python.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any

_WORD = 0xFFFFFFFF
_STRIPE = Struct("<4I")
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_INVERSE_OF_PRIME_2 = pow(_PRIME_2, -1, 2**32)

CRC32C_CHUNK_BYTES = 65_536
_SNAPPY_CRC_AT = 14  # after the stream's header of ten bytes, and type and size of its first chunk
_CRC32C_POLYNOMIAL = 0x82F63B78


def xxh32(data: bytes | memoryview, seed: int) -> int:
    """The seed only enters the first stripe: adding it there gives the frame's hash, whose seed is zero."""
    if (fast := _xxhash()) is not None:
        value: int = fast(data, seed)
        return value
    if len(data) < _STRIPE.size:
        return _xxh32_of_little(bytes(data), seed)
    from cramjam import lz4

    shift = seed * _INVERSE_OF_PRIME_2
    seeded = bytearray(data)
    _STRIPE.pack_into(seeded, 0, *((word + shift) & _WORD for word in _STRIPE.unpack_from(data)))
    return int.from_bytes(bytes(lz4.compress(seeded, level=1))[-4:], "little")


@cache
def _xxhash() -> Any:
    """The function of the package xxhash, which is ten times faster still and comes with the extra `state`."""
    try:
        import xxhash
    except ImportError:
        return None
    return xxhash.xxh32_intdigest


def _xxh32_of_little(data: bytes, seed: int) -> int:
    """Of less than a stripe."""
    value = seed + _PRIME_5 + len(data)
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = _rotate(value + int.from_bytes(data[at : at + 4], "little") * _PRIME_3, 17) * _PRIME_4
    for byte in data[words:]:
        value = _rotate(value + byte * _PRIME_5, 11) * _PRIME_1
    value &= _WORD
    value = (value ^ value >> 15) * _PRIME_2 & _WORD
    value = (value ^ value >> 13) * _PRIME_3 & _WORD
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= _WORD
    return (value << bits | value >> 32 - bits) & _WORD


def crc32c(data: bytes) -> int:
    """Chunk by chunk: the CRC of what came before is carried over the length of the next chunk."""
    from cramjam import snappy

    whole = 0
    view = memoryview(data)
    for start in range(0, len(data), CRC32C_CHUNK_BYTES):
        chunk = view[start : start + CRC32C_CHUNK_BYTES]
        masked = int.from_bytes(memoryview(snappy.compress(chunk))[_SNAPPY_CRC_AT : _SNAPPY_CRC_AT + 4], "little")
        turned = masked - 0xA282EAD8 & _WORD
        own = (turned << 15 | turned >> 17) & _WORD
        whole = _applied(_columns(len(chunk)), whole) ^ own if start else own
    return whole


@cache
def _columns(zero_bytes: int) -> list[int]:
    """What becomes of each single bit of a CRC by so many zero bytes more: the operator of one bit, squared and
    multiplied up to the length."""
    power = [_CRC32C_POLYNOMIAL, *(1 << bit for bit in range(31))]
    columns = [1 << bit for bit in range(32)]
    left = 8 * zero_bytes
    while left:
        if left & 1:
            columns = [_applied(power, column) for column in columns]
        power = [_applied(power, column) for column in power]
        left >>= 1
    return columns


def _applied(operator: list[int], bits: int) -> int:
    """Linear in the bits, so their columns are added up."""
    result = 0
    while bits:
        lowest = bits & -bits
        result ^= operator[lowest.bit_length() - 1]
        bits ^= lowest
    return result
