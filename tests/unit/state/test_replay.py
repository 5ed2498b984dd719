"""What a changelog does to the snapshot below it."""

from __future__ import annotations

from ckpttool.formats.state.entries import Batch, changelog_entries
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
    changes = Changes(b",", row_checksums=False)
    changes.apply(changelog_entries(lz4(utf("v2") + body)))
    assert dict(changes.over(base)) == {
        b"a2": b"new",
        b"a3": b"put",
        b"b1": b"three,merged",
        b"c1": b"four",
    }
    assert dict(changes.over([], b"a")) == {b"a2": b"new", b"a3": b"put"}


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
    changes = Changes(b",", row_checksums=False)
    changes.apply([("puts", [(b"a", b"1")]), ("deletes", [(b"b", b"")])])
    assert changes.keys() == {b"a", b"b"}
    assert dict(changes.over([(b"b", b"0"), (b"c", b"0")])) == {b"a": b"1", b"c": b"0"}
    changes.apply(changelog_entries(lz4(utf("v2") + b"\x20" + plain([(b"a", b"c")], end=False) + typed([]))))
    assert changes.keys() is None
    assert dict(changes.over([(b"b", b"0"), (b"c", b"0")])) == {b"c": b"0"}
