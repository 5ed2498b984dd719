"""What a changelog does to the snapshot below it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.formats import limits
from ckpttool.formats.limits import OverLimit
from ckpttool.formats.state.entries import Batch, Kind, changelog_entries
from ckpttool.state.replay import Changes, replay_map
from tests.state_builders import lz4, plain, typed, utf


def test_range_deletes_and_merges_reach_into_the_snapshot() -> None:
    base = [(b"a1", b"one"), (b"a2", b"two"), (b"b1", b"three"), (b"c1", b"four")]
    log = typed(
        [
            (0x11, b"b1", b"merged"),
            (0x20, b"a1", None),
        ]
    )
    ranged = b"\x20" + plain([(b"a1", b"a9")], end=False)
    body = log[: log.index(b"\x20")] + ranged + typed([(0x11, b"a2", b"new"), (0x01, b"a3", b"put")])

    def changes() -> Changes:
        read = Changes(b",", row_checksums=False)
        read.apply(changelog_entries(lz4(utf("v2") + body)))
        return read

    assert dict(changes().over(base)) == {
        b"a2": b"new",
        b"a3": b"put",
        b"b1": b"three,merged",
        b"c1": b"four",
    }
    assert dict(changes().over([], b"a")) == {b"a2": b"new", b"a3": b"put"}


def test_deltas_put_and_delete_in_their_order() -> None:
    key, other = b"k" * 8, b"o" * 8
    files: list[list[Batch]] = [
        [("puts", [(key, bytes(8)), (other, bytes(8))])],
        [("deletes", [(key, b"")]), ("puts", [(other, b"1" * 8)])],
    ]
    assert replay_map(files, row_checksums=False) == {other: b"1" * 8}
    assert replay_map([*files, files[0]], row_checksums=False) == {key: bytes(8), other: bytes(8)}
    assert replay_map(files, row_checksums=False, only={key}) == {}


def test_a_range_that_was_removed_leaves_no_list_of_keys() -> None:
    put_and_deleted: list[Batch] = [("puts", [(b"a", b"1")]), ("deletes", [(b"b", b"")])]
    changes = Changes(b",", row_checksums=False)
    changes.apply(put_and_deleted)
    assert changes.keys() == {b"a", b"b"}
    assert dict(changes.over([(b"b", b"0"), (b"c", b"0")])) == {b"a": b"1", b"c": b"0"}
    changes.apply(put_and_deleted)
    changes.apply(changelog_entries(lz4(utf("v2") + b"\x20" + plain([(b"a", b"c")], end=False) + typed([]))))
    assert changes.keys() is None
    assert dict(changes.over([(b"b", b"0"), (b"c", b"0")])) == {b"c": b"0"}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["puts", "deletes", "merges", "range_deletes"]),
            st.binary(max_size=2),
            st.binary(max_size=2),
        ),
        max_size=30,
    ),
    st.dictionaries(st.binary(max_size=2), st.binary(max_size=2), max_size=10),
)
def test_changes_are_those_of_a_map_to_which_each_is_done_at_once(
    done: list[tuple[Kind, bytes, bytes]], base: dict[bytes, bytes]
) -> None:
    expected = dict(base)
    changes = Changes(b",", row_checksums=False)
    for kind, key, value in done:
        changes.apply([(kind, [(key, value)])])
        if kind == "puts":
            expected[key] = value
        elif kind == "deletes":
            expected.pop(key, None)
        elif kind == "merges":
            expected[key] = expected[key] + b"," + value if key in expected else value
        else:
            expected = {one: kept for one, kept in expected.items() if not key <= one < value}
    assert dict(changes.over(base.items())) == expected


def test_what_is_held_is_bounded_by_what_is_left_not_by_what_has_come() -> None:
    again: list[list[Batch]] = [[("puts", [(bytes(8), bytes(104))])] for _ in range(100)]
    with limits.changed({"entries": 1, "unpacked": 208}):
        assert replay_map(again, row_checksums=False) == {bytes(8): bytes(104)}
        with pytest.raises(OverLimit, match="--read-limit entries"):
            replay_map([*again, [("puts", [(b"1" * 8, b"")])]], row_checksums=False)
    with limits.changed({"unpacked": 208}), pytest.raises(OverLimit, match="--read-limit unpacked"):
        replay_map([*again, [("puts", [(b"1" * 8, bytes(104))])]], row_checksums=False)


def test_ranges_and_merges_cost_as_much_each_however_many_there_are() -> None:
    """Counted in comparisons of keys, which a range that is held against every key makes most of."""

    class Counted(bytes):
        compared = 0

        def __lt__(self, other: bytes) -> bool:
            Counted.compared += 1
            return bytes.__lt__(self, other)

    def compared(count: int) -> int:
        Counted.compared = 0
        changes = Changes(b",", row_checksums=False)
        for number in range(count):
            key = Counted(number.to_bytes(8, "big"))
            changes.apply([("puts", [(key, b"")]), ("range_deletes", [(key, Counted(key + b"1"))])])
        assert dict(changes.over([])) == {}
        return Counted.compared

    assert compared(2000) < 2.5 * compared(1000)


def test_a_range_that_is_removed_again_and_again_is_held_once() -> None:
    changes = Changes(b",", row_checksums=False)
    again: list[Batch] = [("range_deletes", [(b"a", b"c")]), ("puts", [(b"b", b"")])]
    with limits.changed({"entries": 10}):
        for _ in range(100):
            changes.apply(again)
        changes.apply([("range_deletes", [(b"a", b"b")])])
    assert list(changes.over([(b"a", b""), (b"c", b"")])) == [(b"c", b""), (b"b", b"")]
