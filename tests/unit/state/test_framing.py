"""Where records lie: the ways that are fast find what the walk from record to record finds, or leave the file to it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from ckpttool.state.framing import Frames, Rows, frame, frame_by_lanes, frame_by_steps, frame_of_one_size
from tests.state_builders import Record, plain

pytestmark = pytest.mark.extras

ALIKE: list[Record] = [(bytes([at]) * 8, bytes([at]) * 16) for at in range(50)]
MIXED: list[Record] = [(b"a" * 8, b"1" * 16), (b"b" * 16, b"2" * 8), (b"c" * 8, None), (b"d" * 24, b"")]


def cut_out(data: bytes, frames: Frames | None) -> list[Record]:
    """The records that frames say are in the data."""
    assert frames is not None
    found: list[Record] = []
    for key, key_size, value_size in zip(*(one.tolist() for one in frames), strict=True):
        value = key + key_size + 4
        found.append((data[key : key + key_size], None if value_size < 0 else data[value : value + value_size]))
    return found


def long_file(seed: int, key_sizes: Sequence[int], value_sizes: Sequence[int | None]) -> list[Record]:
    """More than a megabyte, which is what lanes are worth for."""
    source, records, size = Random(seed), list[Record](), 0
    while size < 2**20 + 2**16:
        value = source.choice(value_sizes)
        records.append((source.randbytes(source.choice(key_sizes)), None if value is None else source.randbytes(value)))
        size += 8 + len(records[-1][0]) + (value or 0)
    return records


@pytest.mark.parametrize("records", [ALIKE, MIXED, ALIKE + MIXED, []], ids=["alike", "mixed", "both", "none"])
def test_every_record_is_found_where_it_lies(records: list[Record]) -> None:
    assert cut_out(plain(records), frame(plain(records))) == records


def test_records_of_one_size_need_no_walk() -> None:
    assert cut_out(plain(ALIKE), frame_of_one_size(plain(ALIKE))) == ALIKE
    assert frame_of_one_size(plain(MIXED)) is None
    swapped = [*ALIKE, (bytes(16), bytes(8)), *ALIKE]  # as long as the others, and another key
    assert frame_of_one_size(plain(swapped)) is None


@pytest.mark.parametrize(
    ("key_sizes", "value_sizes"),
    [((8, 16, 24), (16,)), ((8, 16), (8, 24, 0)), ((8, 16), (8, None))],
    ids=["one size of values", "several", "deletes"],
)
def test_lanes_find_what_steps_find(key_sizes: Sequence[int], value_sizes: Sequence[int | None]) -> None:
    records = long_file(7, key_sizes, value_sizes)
    data = plain(records)
    assert cut_out(data, frame_by_lanes(data)) == cut_out(data, frame_by_steps(data)) == records


def test_what_lanes_cannot_be_sure_of_is_left_to_steps() -> None:
    short = plain(MIXED * 100)
    assert frame_by_lanes(short) is None, "lanes are not worth it"
    odd = [*long_file(1, (8,), (8,)), (bytes(8), b"123")]
    assert frame_by_lanes(plain(odd)) is None, "not all are of whole words"
    assert cut_out(plain(odd), frame(plain(odd))) == odd
    late = [*long_file(2, (8,), (16,)), *long_file(3, (32,), (40,))]  # sizes that the first records do not show
    assert cut_out(plain(late), frame(plain(late))) == late


def test_what_is_no_file_of_records_is_left_to_whoever_can_say_why() -> None:
    for records in (ALIKE, MIXED):
        whole = plain(records)
        assert frame(whole[:-1]) is None
        assert frame(whole[:-6]) is None
        assert frame(plain(records, end=False)) is None
    assert frame(b"") is None
    assert frame(b"\xff\xff\xff\xfe") is None, "a size below -1"


def test_words_are_taken_from_every_row_at_once() -> None:
    data = memoryview(b"".join(number.to_bytes(8, "little") for number in range(1, 6)) + bytes(16))
    frames = frame(plain([(b"x" * 8, b"y" * 8)]))
    assert frames is not None
    rows = Rows(data, frames.keys * 0 + 8, frames.key_sizes * 2)  # one row of two words, behind the first
    assert rows.word(0).tolist() == [2]
    assert rows.word(1).tolist() == [3]
    assert rows.word_or_zero(1).tolist() == [3]
    assert rows.word_or_zero(2).tolist() == [0], "behind the end of the row"
