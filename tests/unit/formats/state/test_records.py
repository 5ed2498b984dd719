"""Records framed by their sizes: counted whatever the pieces, and refused where a size cannot be true."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.formats.state.records import PLAIN, SNAPSHOT, TYPED, BadSize, FramedRecords, frame_records
from tests import state_builders as made
from tests.unit.formats.state.contents import some


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 10**9])
@pytest.mark.parametrize("key_sizes", [(16,), (0, 8, 16, 24, 32), tuple(range(40))])
def test_counts_whatever_the_pieces(piece_bytes: int, key_sizes: tuple[int, ...]) -> None:
    data = made.plain(some(300, key_sizes, deletes=150))
    pieces = (data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes))
    assert frame_records(pieces, PLAIN) == FramedRecords(puts=300, deletes=150)


def test_sizes_that_only_look_regular() -> None:
    """Long runs of one size, broken by another in between: the fast way must not step over it."""
    records = some(200) + some(1, (40,)) + some(200) + [(b"k", None)] + some(70)
    assert frame_records(iter([made.plain(records)]), PLAIN) == FramedRecords(puts=471, deletes=1)


def test_payload_that_imitates_records() -> None:
    inner = made.plain(some(50))
    records: list[made.Record] = [(inner, inner)] * 100
    assert frame_records(iter([made.plain(records)]), PLAIN).puts == 100


def test_what_follows_the_end_mark_is_not_asked_for() -> None:
    def pieces() -> Iterator[bytes]:
        yield made.plain(some(3))
        raise AssertionError("asked for more")

    assert frame_records(pieces(), PLAIN).puts == 3


@pytest.mark.parametrize("lost", [1, 4, 5, 30])
def test_no_end_mark(lost: int) -> None:
    data = made.plain(some(80))[:-lost]
    with pytest.raises(MalformedFile, match="end mark") as fault:
        frame_records(iter([data]), PLAIN)
    assert fault.value.spark is not None
    assert fault.value.spark.class_name == "java.io.EOFException"


def test_a_negative_key_size_says_where() -> None:
    start = made.plain(some(100), end=False)
    with pytest.raises(BadSize) as fault:
        frame_records(iter([start + b"\xff\xff\xff\xfe"]), PLAIN)
    assert (fault.value.of, fault.value.size) == ("key", -2)
    assert fault.value.position is not None
    assert fault.value.position.byte == len(start)


def test_a_snapshot_removes_nothing() -> None:
    with pytest.raises(BadSize) as fault:
        frame_records(iter([made.plain([(b"k", None)])]), SNAPSHOT)
    assert fault.value.of == "value"


def test_a_record_that_claims_gigabytes_is_not_waited_for() -> None:
    with pytest.raises(LeftUnread):
        frame_records(iter([b"\x7f\xff\xff\xff", bytes(1000)]), PLAIN)


def test_typed_records() -> None:
    records = [(0x01, b"a", b"1")] * 200 + [(0x10, b"a", None)] * 100 + [(0x11, b"a", b"2")] * 90 + [(0x20, b"a", b"b")]
    counts = frame_records(iter([made.typed(records)]), TYPED)
    assert counts == FramedRecords(puts=200, deletes=100, merges=90, range_deletes=1)
    assert counts.total == 391


def test_typed_records_of_an_unknown_kind() -> None:
    with pytest.raises(MalformedFile, match="0x7f"):
        frame_records(iter([b"\x7f" + bytes(20)]), TYPED)


def test_row_checksums_show_in_the_sizes() -> None:
    with_checksums = made.plain([(bytes(8), bytes(20)), (bytes(16), bytes(12))])
    assert frame_records(iter([with_checksums]), PLAIN).row_checksums
    assert not frame_records(iter([made.plain(some(3))]), PLAIN).row_checksums
