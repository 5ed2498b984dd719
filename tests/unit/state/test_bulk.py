"""The newest record of each key, of all files at once: what replaying them one after the other leaves."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from ckpttool.formats.state.entries import delta_entries
from ckpttool.state.bulk import newest_records
from ckpttool.state.framing import Rows
from ckpttool.state.replay import replay_map
from tests.state_builders import Record, lz4, plain

pytestmark = pytest.mark.extras


def taken(files: Sequence[Sequence[Record]], has_base: bool = False) -> dict[bytes, bytes] | None:
    found = newest_records([(lz4(plain(records)), "lz4") for records in files], has_base)
    if found is None:
        return None
    keys, values = map(cut, found)
    assert len(set(keys)) == len(keys), "a key comes once"
    return dict(zip(keys, values, strict=True))


def cut(rows: Rows) -> list[bytes]:
    places = zip(rows.starts.tolist(), rows.sizes.tolist(), strict=True)
    return [bytes(rows.data[start : start + size]) for start, size in places]


def replayed(files: Sequence[Sequence[Record]]) -> dict[bytes, bytes]:
    return replay_map([delta_entries(lz4(plain(records))) for records in files], row_checksums=False)


def key(number: int, words: int = 1) -> bytes:
    return b"\x00" * 8 + b"".join((number + at).to_bytes(8, "big") for at in range(words))


def value(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_the_last_of_each_key_is_left() -> None:
    files = [[(key(1), value(1)), (key(2), value(2))], [(key(1), value(3)), (key(3), value(4))]]
    assert taken(files, has_base=True) == {key(2): value(2), key(1): value(3), key(3): value(4)}


def test_what_was_deleted_last_is_gone_and_what_was_put_again_is_there() -> None:
    files: list[list[Record]] = [
        [(key(1), value(1)), (key(2), value(2))],
        [(key(1), None), (key(2), None), (key(9), None)],
        [(key(2), value(5))],
    ]
    assert taken(files) == {key(2): value(5)}


def test_a_snapshot_alone_is_taken_as_it_is() -> None:
    records = [(key(number), value(number)) for number in range(100)]
    assert taken([records], has_base=True) == dict(records)
    assert taken([[]], has_base=True) == {}


@pytest.mark.parametrize("seed", range(4))
def test_many_files_give_what_replaying_them_gives(seed: int) -> None:
    """Keys of several lengths, again and again."""
    source = Random(seed)
    files: list[list[Record]] = []
    for _ in range(source.randrange(2, 6)):
        numbers = [source.randrange(3_000) for _ in range(source.randrange(20_000))]
        some = [(key(number, 1 + number % 3), None if source.random() < 0.2 else value(number)) for number in numbers]
        files.append([(one, of and source.randbytes(16)) for one, of in some])
    assert taken(files) == replayed(files)


def test_what_is_not_as_it_should_be_is_left_to_the_other_way() -> None:
    sound = [(key(1), value(1)), (key(2), value(2))]
    assert taken([[*sound, (key(3), None)]], has_base=True) is None, "a snapshot deletes nothing"
    assert taken([sound, [(key(3), b"1234")]]) is None, "a value that is no row"
    assert taken([sound, [(b"123", value(3))]]) is None, "a key that is no row"
    assert taken([sound, [(bytes(2_000), value(3))]]) is None, "a key that is too long to be hashed here"
    assert newest_records([(lz4(plain(sound, end=False)), "lz4")], has_base=False) is None, "a file without its end"
