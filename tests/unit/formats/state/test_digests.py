"""CRC-32C and XXH32, held against slow ones that are spelled out."""

from __future__ import annotations

import random

import pytest

from ckpttool.formats.state import digests
from ckpttool.formats.state.digests import CRC32C_CHUNK_BYTES, crc32c, xxh32


def slow_crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def test_crc32c_of_the_check_value() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


@pytest.mark.parametrize("size", [1, CRC32C_CHUNK_BYTES - 1, CRC32C_CHUNK_BYTES, CRC32C_CHUNK_BYTES + 1, 140_000])
def test_crc32c_across_chunks(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert crc32c(data) == slow_crc32c(data)


# From the specification of xxHash and its reference implementation.
@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0x02CC5D05),
        (b"abc", 0, 0x32D153FF),
        (b"a", 0, 0x550D7456),
        (b"Nobody inspects the spammish repetition", 0, 0xE2293B2F),
    ],
)
def test_xxh32(data: bytes, seed: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert xxh32(data, seed) == expected
    monkeypatch.setattr(digests, "_xxhash", lambda: None)
    assert xxh32(data, seed) == expected


def slow_xxh32(data: bytes, seed: int) -> int:
    primes = (2654435761, 2246822519, 3266489917, 668265263, 374761393)

    def rotate(value: int, bits: int) -> int:
        value %= 2**32
        return (value << bits | value >> 32 - bits) % 2**32

    at = 0
    value = seed + primes[4]
    if len(data) >= 16:
        lanes = [seed + primes[0] + primes[1], seed + primes[1], seed, seed - primes[0]]
        while at <= len(data) - 16:
            for lane in range(4):
                word = int.from_bytes(data[at + 4 * lane : at + 4 * lane + 4], "little")
                lanes[lane] = rotate(lanes[lane] + word * primes[1], 13) * primes[0]
            at += 16
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    value += len(data)
    while at <= len(data) - 4:
        value = rotate(value + int.from_bytes(data[at : at + 4], "little") * primes[2], 17) * primes[3]
        at += 4
    for byte in data[at:]:
        value = rotate(value + byte * primes[4], 11) * primes[0]
    value %= 2**32
    value = (value ^ value >> 15) * primes[1] % 2**32
    value = (value ^ value >> 13) * primes[2] % 2**32
    return value ^ value >> 16


@pytest.mark.parametrize("size", [0, 3, 15, 16, 17, 31, 32, 1000, 32_768])
@pytest.mark.parametrize("with_package", [True, False])
def test_xxh32_with_a_seed(size: int, with_package: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_package:
        monkeypatch.setattr(digests, "_xxhash", lambda: None)
    data = random.Random(size).randbytes(size)
    assert xxh32(data, 0x9747B28C) == slow_xxh32(data, 0x9747B28C)
