"""Laws of reading state: it does not matter which way leads to a version, nor in what order files are listed, and no
byte can change without being noticed where a checksum covers it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpttool.state.difference import compare_rows, touched_entries
from ckpttool.state.reader import open_state
from ckpttool.storage.store import LocalStore
from tests.state_builders import ROCKSDB, checkpoint, lineage, lz4, plain, snappy, typed, utf, zstd

pytestmark = pytest.mark.property

keys = st.binary(min_size=8, max_size=8)
values = st.binary(min_size=16, max_size=16)
batches = st.lists(st.dictionaries(keys, values | st.none(), max_size=6), min_size=1, max_size=8)
Changes = list[dict[bytes, bytes | None]]


def folded(changes: Changes) -> dict[bytes, bytes]:
    state: dict[bytes, bytes] = {}
    for batch in changes:
        for key, value in batch.items():
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
    return state


@contextmanager
def placed(files: dict[str, bytes], batch: int, **more: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as root:
        yield checkpoint(Path(root), {f"0/0/{name}": data for name, data in files.items()}, batch, **more)


def rows_at(store: LocalStore) -> tuple[dict[bytes, bytes], int]:
    reader = open_state(store)
    (table,) = reader.tables
    return dict(row.values for row in reader.rows(table)), len(reader.findings)


class Shuffled(LocalStore):
    """A store that lists in another order."""

    def __init__(self, root: str, order: Callable[[list[str]], list[str]]) -> None:
        super().__init__(root)
        self.order = order

    def list(self, path: str = "") -> list[str]:
        return self.order(super().list(path))


@given(batches, st.sampled_from([lz4, zstd, snappy]), st.data())
def test_every_way_to_a_version_leads_to_the_same_rows(
    changes: Changes, compress: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    """Deltas alone, or any snapshots among them; whatever lies beyond the version does not count."""
    expected = folded(changes)
    files = {f"{at}.delta": compress(plain(batch.items())) for at, batch in enumerate(changes, 1)}
    for version in data.draw(st.sets(st.integers(1, len(changes)))):
        files[f"{version}.snapshot"] = compress(plain(folded(changes[:version]).items()))
        if data.draw(st.booleans()):
            del files[f"{version}.delta"]
    files[f"{len(changes) + 1}.delta"] = b"not to be opened"
    files[f"{len(changes) + 2}.snapshot"] = b"not to be opened"
    with placed(files, len(changes) - 1) as root:
        assert rows_at(LocalStore(str(root))) == (expected, 0)


@given(batches, st.randoms(use_true_random=False))
def test_the_order_of_listings_does_not_matter(changes: Changes, random: Any) -> None:
    files = {f"{at}.delta": lz4(plain(batch.items())) for at, batch in enumerate(changes, 1)}

    def shuffled(names: list[str]) -> list[str]:
        random.shuffle(names)
        return names

    with placed(files, len(changes) - 1) as root:
        assert rows_at(Shuffled(str(root), shuffled)) == (folded(changes), 0)


@given(batches, st.booleans(), st.booleans())
def test_changelogs_of_every_version_lead_to_the_same_rows(changes: Changes, with_ids: bool, with_kinds: bool) -> None:
    def changelog(version: int, batch: dict[bytes, bytes | None]) -> bytes:
        number = (2 if with_kinds else 1) + (2 if with_ids else 0)
        head = utf(f"v{number}") if number > 1 else b""
        if with_ids:
            head += lineage(*((one, f"id{one}") for one in range(1, version)))
        if not with_kinds:
            return lz4(head + plain(batch.items()))
        return lz4(head + typed((0x10 if value is None else 0x01, key, value) for key, value in batch.items()))

    names = "{0}_id{0}.changelog" if with_ids else "{0}.changelog"
    files = {names.format(at): changelog(at, batch) for at, batch in enumerate(changes, 1)}
    more: dict[str, Any] = {"unique_ids": [f"id{len(changes)}"]} if with_ids else {}
    with placed(files, len(changes) - 1, provider=ROCKSDB, **more) as root:
        assert rows_at(LocalStore(str(root))) == (folded(changes), 0)


@given(st.lists(st.dictionaries(keys, values | st.none(), max_size=6), min_size=2, max_size=8), st.data())
def test_a_difference_is_the_same_from_the_changes_alone(changes: Changes, data: st.DataObject) -> None:
    """Deltas, with snapshots among them, and changelogs: what the batches between did is what the folds differ in."""
    first = data.draw(st.integers(0, len(changes) - 2))
    last = data.draw(st.integers(first + 1, len(changes) - 1))
    suffix, more = data.draw(st.sampled_from([("delta", {}), ("changelog", {"provider": ROCKSDB})]))
    files = {f"{at}.{suffix}": lz4(plain(batch.items())) for at, batch in enumerate(changes, 1)}
    lost = set()
    for version in data.draw(st.sets(st.integers(1, len(changes)))) if suffix == "delta" else ():
        files[f"{version}.snapshot"] = lz4(plain(folded(changes[:version]).items()))
        if data.draw(st.booleans()):
            del files[f"{version}.delta"]
            lost.add(version)
    old, new = folded(changes[: first + 1]), folded(changes[: last + 1])
    expected = {key: (old.get(key), new.get(key)) for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    with placed(files, len(changes) - 1, **more) as root:
        earlier, later = (open_state(LocalStore(str(root)), batch) for batch in (first, last))
        (table,) = later.tables
        found = {
            (one.before or one.after or (b"",))[0]: (one.before and one.before[1], one.after and one.after[1])
            for one in compare_rows(earlier, later, table, table)
        }
        assert found == expected
        if not lost:
            before, after = touched_entries(earlier, later, table, 0) or pytest.fail("the changes are all there")
            named = {key for batch in changes[first + 1 : last + 1] for key in batch}
            assert before == {key: value for key, value in old.items() if key in named}
            assert dict(after) == {key: value for key, value in new.items() if key in named}


@given(batches, st.data())
def test_a_changed_byte_of_a_block_is_noticed(changes: Changes, data: st.DataObject) -> None:
    """LZ4 blocks carry a checksum of their contents: a byte that changes is a finding, or it changes nothing."""
    files = {f"{at}.delta": bytearray(lz4(plain(batch.items()))) for at, batch in enumerate(changes, 1)}
    changed = files[data.draw(st.sampled_from(sorted(files)))]
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] ^= data.draw(st.integers(1, 255))
    with placed({name: bytes(content) for name, content in files.items()}, len(changes) - 1) as root:
        rows, findings = rows_at(LocalStore(str(root)))
        assert findings or rows == folded(changes)
