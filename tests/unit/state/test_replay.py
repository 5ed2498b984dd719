"""What a changelog does to the snapshot below it."""

from __future__ import annotations

from ckpttool.formats.state.entries import changelog_entries
from ckpttool.state.replay import Changes
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
