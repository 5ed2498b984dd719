"""Records as they are cut out of contents, whatever their sizes and kinds, and wherever the pieces end."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from ckpttool.errors import LeftUnread
from ckpttool.formats.state.entries import read_entries
from ckpttool.formats.state.records import PLAIN, TYPED
from tests.state_builders import plain, typed

Record = tuple[bytes, bytes | None]
SIZES = (0, 8, 16, 24, 70_000)


def records(source: Random) -> Iterator[Record]:
    """Long runs of one size, then many sizes and deletes between each other."""
    for _ in range(6):
        key, value = source.choice(SIZES[1:4]), source.choice(SIZES[:4])
        yield from ((source.randbytes(key), source.randbytes(value)) for _ in range(source.randrange(300)))
        for _ in range(source.randrange(200)):
            deletes = source.random() < 0.3
            value = source.choice(SIZES) if source.random() < 0.02 else source.choice(SIZES[:4])
            yield source.randbytes(source.choice(SIZES[1:4])), None if deletes else source.randbytes(value)


def pieces(source: Random, content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        size = source.choice((1, 7, 500, 40_000, 2**20))
        yield content[at : at + size]
        at += size


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_typed", [False, True])
def test_records_come_in_their_order(seed: int, is_typed: bool) -> None:
    source = Random(seed)
    expected = list(records(source))
    if is_typed:
        content = typed((0x10 if value is None else 0x01, key, value) for key, value in expected)
    else:
        content = plain(expected)
    batches = read_entries(pieces(source, content), TYPED if is_typed else PLAIN)
    found = [(key, None if kind == "deletes" else value) for kind, pairs in batches for key, value in pairs]
    assert found == expected


def test_nothing_is_gathered_for_a_record_that_is_too_large() -> None:
    taken: list[None] = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(None)
            yield b"\x7f" * 1000

    with pytest.raises(LeftUnread, match="too large"):
        list(read_entries(endless(), PLAIN))
    assert len(taken) == 1
