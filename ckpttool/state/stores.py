"""Opens the stores of one version of the state: keys and values, however they are kept.

What is wrong with a file is raised with its path.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain as concatenated
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import CkptError, MalformedFile, NotFound, told_of
from ckpttool.formats.limits import most
from ckpttool.formats.state.changelog import open_changelog
from ckpttool.formats.state.compression import SMALL_FILE_BYTES, Codec, lz4_together, sniff_compression
from ckpttool.formats.state.entries import (
    Batch,
    changelog_entries,
    delta_entries,
    plain_delta_entries,
    snapshot_entries,
)
from ckpttool.formats.state.hdfs import count_rows_of_one_size, sniffed
from ckpttool.formats.state.layouts import checked_rocksdb_values
from ckpttool.formats.state.rocksdb import METADATA, parse_snapshot_metadata, read_zip_entries
from ckpttool.scene.state_chain import Chain, StoreFiles, chains
from ckpttool.state import rocksdb
from ckpttool.state.replay import Changes, Held, Pair, gathered, replay_map
from ckpttool.state.tables import StateConf
from ckpttool.storage.store import Store, read_whole

_TOGETHER = 64  # deltas that are unpacked at a time
_WORTH_NUMPY_BYTES = 2**21  # of a table's compressed files; less is counted before numpy is loaded

Parse = Callable[[bytes, Codec | None], Iterator[Batch]]


class Stores(Struct, frozen=True):
    """`codec`: the one that is pinned, None if that is none."""

    store: Store
    version: int
    conf: StateConf
    codec: Codec | None

    def chain(self, files: StoreFiles) -> tuple[Chain, StoreFiles]:
        """The newest way to load the version whose files are all there."""
        files = self._with_lineage(files)
        missing = None
        for chain in chains(files, self.version):
            if chain.missing is None and not chain.incomplete:
                return chain, files
            missing = missing or chain.missing
        raise NotFound(f"{missing or 'a base'} is not there", "see which versions can be loaded: ckpt state verify")

    def changes_since(self, files: StoreFiles, version: int, unique_id: str | None) -> list[Iterator[Batch]] | None:
        """What was done to the store after an earlier version, batch by batch; None if not all of it is there, or does
        not rest on the version of that id."""
        files = self._with_lineage(files)
        for chain in chains(files, self.version):
            names = [name for name in (chain.base, *chain.changes) if name]
            is_known = unique_id is None or any(name.startswith(f"{version}_{unique_id}.") for name in names)
            if chain.base_version <= version < self.version and not (chain.missing or chain.incomplete) and is_known:
                parse = delta_entries if files.provider == "hdfs" else changelog_entries
                return [self._parsed_entries(files, name, parse) for name in chain.changes[version - self.version :]]
        return None

    def _with_lineage(self, files: StoreFiles) -> StoreFiles:
        """With ids, a changelog names those that it goes back to; older ones are asked in turn."""
        if files.unique_id is None or f"{self.version}_{files.unique_id}.zip" in files.names:
            return files
        asked: set[tuple[int, str]] = set()
        oldest = (self.version, files.unique_id)
        while oldest not in asked:
            asked.add(oldest)
            name = f"{oldest[0]}_{oldest[1]}.changelog"
            if name not in files.names:
                break
            body = self._read(files, name)
            with told_of(f"{files.path}/{name}"):
                header, _, _ = open_changelog(body, self._codec(body))
            if files.lineage is None:
                files = replace(files, lineage=header.lineage or ())
            else:
                files = replace(files, ancestry=(*files.ancestry, *(header.lineage or ())))
            known = (*(files.lineage or ()), *files.ancestry)
            if any(f"{version}_{id}.zip" in files.names for version, id in known):
                break
            oldest = min(known, default=oldest)
        return files

    def _replayed(
        self, files: StoreFiles, chain: Chain, only: Container[bytes] | None = None, held: Held | None = None
    ) -> dict[bytes, bytes]:
        base = [self._parsed_entries(files, chain.base, snapshot_entries)] if chain.base else []
        return replay_map(concatenated(base, self._deltas(files, chain.changes)), self.conf.row_checksums, only, held)

    def _deltas(self, files: StoreFiles, names: Sequence[str]) -> Iterator[Iterator[Batch]]:
        """There may be hundreds between snapshots, of a few rows each: to ask for each of them would be most of the
        work."""
        left = deque(names)
        while left:
            together = self._small_ones(files, left)
            for name, contents in zip(together, lz4_together([*together.values()]), strict=True):
                left.popleft()
                if contents is None:
                    yield self._entries_of(files, name, together[name], delta_entries)
                else:
                    yield self._plain_entries(files, name, contents)
            if not together:
                yield self._parsed_entries(files, left.popleft(), delta_entries)

    def _small_ones(self, files: StoreFiles, names: Iterable[str]) -> dict[str, bytes]:
        """The first of these, as long as they are small; what cannot be read is told when its turn comes."""
        found: dict[str, bytes] = {}
        for name in islice(names, _TOGETHER):
            stat = self.store.stat(f"{files.path}/{name}")
            if stat is None or not 0 < (stat.size_bytes or 0) <= SMALL_FILE_BYTES:
                break
            try:
                found[name] = self._read(files, name)
            except CkptError:
                break
        return found

    def _plain_entries(self, files: StoreFiles, name: str, contents: bytes) -> Iterator[Batch]:
        with told_of(f"{files.path}/{name}"):
            yield from plain_delta_entries(contents)

    @contextmanager
    def _rocksdb(
        self, files: StoreFiles, chain: Chain, family: str | None, held: Held | None
    ) -> Iterator[Iterator[Pair]]:
        changes = Changes(self.conf.delimiter, self.conf.row_checksums, held)
        for name in chain.changes:
            changes.apply(self._parsed_entries(files, name, changelog_entries))
        with self._base(files, chain, family) as (database, prefix):
            if prefix is None:
                yield iter(())
            else:
                base = rocksdb.pairs(database, prefix) if database else ()
                yield self._plain(changes.over(base, prefix), family)

    @contextmanager
    def _base(
        self, files: StoreFiles, chain: Chain, family: str | None
    ) -> Iterator[tuple[rocksdb.Database | None, bytes | None]]:
        """The snapshot that a chain begins with, unless there is nothing in it, and what the family's keys begin with:
        nothing where it is one that the schema has and the store never made."""
        if chain.base is None:
            yield None, _prefix(None, family)
            return
        body = self._read(files, chain.base)
        with told_of(f"{files.path}/{chain.base}"):
            entries = read_zip_entries(body)
            snapshot = parse_snapshot_metadata(entries.get(METADATA, b""), tuple(entries))
        if family is not None and snapshot.column_families is not None and family not in snapshot.column_families:
            yield None, None
            return
        prefix = _prefix(snapshot.column_families, family)
        if not snapshot.files and not any(name.endswith(".log") and body for name, body in entries.items()):
            yield None, prefix
            return
        with rocksdb.opened_snapshot(
            self.store, files.path, chain.base, snapshot, entries, self.conf.delimiter
        ) as database:
            yield database, prefix

    def _plain(self, pairs: Iterator[Pair], family: str | None) -> Iterator[Pair]:
        """Without the number of the family before keys, and checksums before values."""
        begin = 2 if family is not None else 0
        if not self.conf.row_checksums:
            return ((key[begin:], value) for key, value in pairs) if begin else pairs
        delimiter = self.conf.delimiter
        checked = ((key, checked_rocksdb_values(key, value, delimiter)) for key, value in pairs)
        return ((key[begin:], delimiter.join(parts)) for key, parts in checked)

    def _read(self, files: StoreFiles, name: str) -> bytes:
        with told_of(f"{files.path}/{name}"):
            return read_whole(self.store, f"{files.path}/{name}")

    def _parsed_entries(self, files: StoreFiles, name: str, parse: Parse) -> Iterator[Batch]:
        yield from self._entries_of(files, name, self._read(files, name), parse)

    def _entries_of(self, files: StoreFiles, name: str, body: bytes, parse: Parse) -> Iterator[Batch]:
        with told_of(f"{files.path}/{name}"):
            yield from parse(body, self._codec(body))

    def _codec(self, body: bytes) -> Codec | None:
        """What the first bytes tell, and otherwise what is pinned: a session may have been told another codec since."""
        return sniff_compression(body) or self.codec

    @contextmanager
    def entries(
        self, files: StoreFiles, family: str | None = None, held: Held | None = None
    ) -> Iterator[Iterator[Pair]]:
        """The keys and values of one store at the version; of a column family, without its number before the keys.
        `held`: what else is in memory at the time."""
        chain, files = self.chain(files)
        if files.provider == "hdfs":
            yield iter(self._replayed(files, chain, held=held).items())
        else:
            with self._rocksdb(files, chain, family, held) as pairs:
                yield pairs

    def in_memory(
        self, files: StoreFiles, family: str | None, held: Held, only: Container[bytes] | None = None
    ) -> dict[bytes, bytes]:
        """The same, those that are wanted alone, to be looked up."""
        if files.provider == "hdfs":
            chain, files = self.chain(files)
            return self._replayed(files, chain, only, held)
        with self.entries(files, family, held=held) as pairs:
            return gathered(pairs if only is None else (pair for pair in pairs if pair[0] in only), held)

    def whole_files(self, files: StoreFiles) -> tuple[list[tuple[bytes, Codec]], bool] | None:
        """The snapshot and the deltas after it, of an HDFS-backed store, and whether there is a snapshot. None if they
        are too much to be held together."""
        chain, files = self.chain(files)
        if self._stored_bytes(files, chain) > most("state"):
            return None
        found = []
        for name in (*([chain.base] if chain.base else ()), *chain.changes):
            body = self._read(files, name)
            with told_of(f"{files.path}/{name}"):
                found.append((body, self._codec(body) or sniffed(body)))
        return found, chain.base is not None

    def count(self, files: StoreFiles, family: str | None, partitions: int) -> int:
        """How many keys there are. `partitions`: how many like this one are counted."""
        if files.provider == "hdfs":
            chain, files = self.chain(files)
            at_once = self._count_at_once(files, chain, partitions)
            return len(self._replayed(files, chain)) if at_once is None else at_once
        chain, files = self.chain(files)
        if not chain.changes and not self.conf.row_checksums:  # nobody has to look at them
            with self._base(files, chain, family) as (database, prefix):
                return 0 if database is None or prefix is None else rocksdb.count(database, prefix)
        with self.entries(files, family) as pairs:
            return sum(1 for _ in pairs)

    def count_by_headers(self, files: StoreFiles) -> int | None:
        """Of an HDFS-backed store of rows of one size, if it is a snapshot with nothing after it."""
        chain, files = self.chain(files)
        return None if chain.base is None or chain.changes else count_rows_of_one_size(self._read(files, chain.base))

    def _count_at_once(self, files: StoreFiles, chain: Chain, partitions: int) -> int | None:
        """Of large tables, where there is numpy and records are such that it can be done."""
        size = self._stored_bytes(files, chain) * partitions
        if self.conf.row_checksums or size < _WORTH_NUMPY_BYTES:
            return None
        try:
            from ckpttool.state.bulk import newest_records
        except ImportError:
            return None
        whole = self.whole_files(files)
        records = newest_records(*whole) if whole else None
        return None if records is None else len(records[0].starts)

    def _stored_bytes(self, files: StoreFiles, chain: Chain) -> int:
        stats = [self.store.stat(f"{files.path}/{name}") for name in (chain.base, *chain.changes) if name]
        return sum(one.size_bytes or 0 for one in stats if one)


def _prefix(families: Mapping[str, int] | None, family: str | None) -> bytes:
    """What the keys of a column family begin with."""
    if family is None:
        return b""
    if families is None or family not in families:
        raise MalformedFile(
            f"no snapshot tells the number of the column family {family!r}", expected="a zip whose metadata has it"
        )
    return families[family].to_bytes(2, "little", signed=True)
