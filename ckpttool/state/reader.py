"""Opens the state of a checkpoint as it was after a batch, and reads its tables, one partition at a time.

What cannot be read of one partition is a finding, and the others are read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from ckpttool.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.errors import CkptError, MalformedFile, NotFound, Refused, Unavailable
from ckpttool.formats.names import parse_log_names
from ckpttool.formats.state.changelog import open_changelog
from ckpttool.formats.state.compression import Codec, sniff_compression
from ckpttool.formats.state.entries import Batch, changelog_entries, delta_entries, snapshot_entries
from ckpttool.formats.state.hdfs import count_rows_of_one_size, sniffed
from ckpttool.formats.state.layouts import checked_rocksdb_values
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.rocksdb import METADATA, parse_snapshot_metadata, read_zip_entries
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.formats.state.types import has_one_size
from ckpttool.frozen import frozen
from ckpttool.model import Checkpoint, Finding, Operator, OperatorMetadata, OperatorStore, StateSchema
from ckpttool.state import rocksdb
from ckpttool.state.joined import joined_rows, stamped_rows
from ckpttool.state.replay import Changes, Pair, replay_map
from ckpttool.state.tables import Schemas, StateConf, Table, row_decoder, state_conf, tables_of
from ckpttool.state_bodies import pinned_codec
from ckpttool.state_chain import Chain, StoreFiles, chains
from ckpttool.state_files import StateLoader, expected_partitions, expected_stores
from ckpttool.storage import READ_LIMIT_BYTES, Store, read_whole

OUT_OF_REACH = "state-out-of-reach"
_WORTH_NUMPY_BYTES = 2**21  # of a table's compressed files; less is counted before numpy is loaded

STORES_AHEAD = 32  # whose files are fetched together

T = TypeVar("T")
Parse = Callable[[bytes, Codec | None], Iterator[Batch]]


@frozen
class Row:
    """One row of a table: its values in the order of the table's columns."""

    partition: int
    values: tuple[Any, ...]


@dataclass
class StateReader:
    """The state after a committed batch, which is version batch + 1. `findings`: what could not be read so far."""

    store: Store
    checkpoint: Checkpoint
    batch: int
    findings: list[Finding] = field(default_factory=list)

    @property
    def version(self) -> int:
        return self.batch + 1

    # -- what there is -------------------------------------------------------------------------------------------------

    @cached_property
    def conf(self) -> StateConf:
        return state_conf(self._pinned, self._loader.provider)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """All, operator by operator."""
        return tuple(
            table
            for operator in self.operators.values()
            for table in tables_of(operator, self.conf, self._schemas(operator))
        )

    def described(self, table: Table, schema: StateSchema) -> Table:
        """A table of a store without a schema, as this one says."""
        found = tables_of(self.operators[table.operator], self.conf, {table.store: Schemas(schema)})
        return next(one for one in found if one.store == table.store)

    @cached_property
    def operators(self) -> dict[int, Operator]:
        """As the batch had them: of metadata that each run writes anew, the last before it."""
        return {one.id: self._at_batch(one) for one in self.checkpoint.operators}

    def partitions(self, operator: int) -> range:
        inside = self._loader.names(f"state/{operator}") or frozenset()
        return expected_partitions(self.operators[operator], self.conf.partitions, inside)

    def files(self, operator: int, partition: int, store: str) -> StoreFiles:
        """What is there of one store of one partition, as far as names tell."""
        names = expected_stores(self.operators[operator])
        ids = self.unique_ids.get(operator, ())
        of_partition = ids[partition] if partition < len(ids) else ()
        number = names.index(store) if store in names else -1
        unique_id = of_partition[number] if len(of_partition) == len(names) and number >= 0 else None
        return self._loader.list_store(operator, partition, store, unique_id)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def rows(self, table: Table, partitions: Sequence[int] | None = None) -> Iterator[Row]:
        for partition in self.ahead(table, self.partitions(table.operator) if partitions is None else partitions):
            try:
                for values in self.values(table, partition):
                    yield Row(partition, values)
            except Refused:
                raise
            except CkptError as error:
                self.note(f"state/{table.operator}/{partition}", error)

    @property
    def is_out_of_reach(self) -> bool:
        """Whether something could not be asked for, so that nobody knows whether it is sound."""
        return self.checkpoint.unreachable or any(finding.id == OUT_OF_REACH for finding in self.findings)

    def note(self, path: str, error: CkptError) -> None:
        """What could not be read, as a finding."""
        self.findings.append(_finding(path, error))

    def ahead(self, table: Table, partitions: Sequence[int]) -> Iterator[int]:
        """These partitions, one after the other; what several of them need is fetched together."""
        names = [part.store for part in table.parts or (table,)]
        for group in batched(partitions):
            self.announce(self.files(table.operator, partition, name) for partition in group for name in names)
            yield from group

    def announce(self, stores: Iterable[StoreFiles]) -> None:
        """That what these stores need will be read, once; what that is, is found out only where it pays."""
        self.store.prefetch(lambda: [path for files in stores for path in self._paths_of(files)])

    def _paths_of(self, files: StoreFiles) -> Iterator[str]:
        try:
            chain, files = self.chain(files)
        except CkptError:
            return  # it is told when the store's turn comes
        for name in filter(None, (chain.base, *chain.changes)):
            found = self.store.stat(f"{files.path}/{name}")
            if found and (found.size_bytes or 0) <= READ_LIMIT_BYTES:
                yield f"{files.path}/{name}"

    def values(self, table: Table, partition: int) -> Iterator[tuple[Any, ...]]:
        """The rows of one partition; raises what is wrong with its files."""
        if table.parts:
            whole, *numbers = (self.values(part, partition) for part in table.parts)
            has_matched = len(table.value.fields) < len(table.parts[0].value.fields)
            yield from joined_rows(whole, numbers[0], has_matched) if numbers else stamped_rows(whole)
            return
        decode = row_decoder(table, self.conf)
        with self.entries(self.files(table.operator, partition, table.store), table.family) as pairs:
            for key, value in pairs:
                yield from decode(key, value)

    def count(self, table: Table, partition: int) -> int:
        """How many rows there are: without decoding them, unless they are put together or several under a key."""
        files = self.files(table.operator, partition, table.store)
        if table.parts or table.is_multi_valued:
            return sum(1 for _ in self.values(table, partition))
        if table.provider == "hdfs":
            chain, files = self.chain(files)
            at_once = self._count_at_once(files, chain)
            return len(self._replayed(files, chain)) if at_once is None else at_once
        with self.entries(files, table.family) as pairs:
            return sum(1 for _ in pairs)

    def count_by_headers(self, table: Table, partition: int) -> int | None:
        """Of a snapshot of rows of one size, with nothing after it; the number is certain if the file is sound."""
        of_rows = table.provider == "hdfs" and table.shape == "pairs" and not (table.parts or table.is_multi_valued)
        if not of_rows or self.conf.row_checksums or not (has_one_size(table.key) and has_one_size(table.value)):
            return None
        chain, files = self.chain(self.files(table.operator, partition, table.store))
        if chain.base is None or chain.changes:
            return None
        return count_rows_of_one_size(self._read(files, chain.base))

    def _count_at_once(self, files: StoreFiles, chain: Chain) -> int | None:
        """Of large tables, where there is numpy and records are such that it can be done."""
        stats = [self.store.stat(f"{files.path}/{name}") for name in (chain.base, *chain.changes) if name]
        size = sum(one.size_bytes or 0 for one in stats if one) * len(self.partitions(files.operator))
        if self.conf.row_checksums or size < _WORTH_NUMPY_BYTES:
            return None
        try:
            from ckpttool.state.bulk import newest_records
        except ImportError:
            return None
        records = newest_records(*self.whole_files(files))
        return None if records is None else len(records[0].starts)

    def whole_files(self, files: StoreFiles) -> tuple[list[tuple[bytes, Codec]], bool]:
        """The snapshot and the deltas after it, of an HDFS-backed store, and whether there is a snapshot."""
        chain, files = self.chain(files)
        found = []
        for name in (*([chain.base] if chain.base else ()), *chain.changes):
            body = self._read(files, name)
            with _told_of(f"{files.path}/{name}"):
                found.append((body, self._codec(body) or sniffed(body)))
        return found, chain.base is not None

    @contextmanager
    def entries(
        self, files: StoreFiles, family: str | None = None, only: Container[bytes] | None = None
    ) -> Iterator[Iterator[Pair]]:
        """The keys and values of one store at the version; of a column family, without its number before the keys.
        `only`: the keys that are wanted, so that others need not be kept; there may be more all the same."""
        chain, files = self.chain(files)
        if files.provider == "hdfs":
            yield iter(self._replayed(files, chain, only).items())
        else:
            with self._rocksdb(files, chain, family) as pairs:
                yield pairs

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
            with _told_of(f"{files.path}/{name}"):
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

    def _replayed(self, files: StoreFiles, chain: Chain, only: Container[bytes] | None = None) -> dict[bytes, bytes]:
        base = [self._parsed_entries(files, chain.base, snapshot_entries)] if chain.base else []
        changes = [self._parsed_entries(files, name, delta_entries) for name in chain.changes]
        return replay_map([*base, *changes], self.conf.row_checksums, only)

    @contextmanager
    def _rocksdb(self, files: StoreFiles, chain: Chain, family: str | None) -> Iterator[Iterator[Pair]]:
        changes = Changes(self.conf.delimiter, self.conf.row_checksums)
        for name in chain.changes:
            changes.apply(self._parsed_entries(files, name, changelog_entries))
        if chain.base is None:
            yield self._plain(changes.over((), _prefix(None, family)), family)
            return
        body = self._read(files, chain.base)
        with _told_of(f"{files.path}/{chain.base}"):
            entries = read_zip_entries(body)
            snapshot = parse_snapshot_metadata(entries.get(METADATA, b""), tuple(entries))
        if family is not None and snapshot.column_families is not None and family not in snapshot.column_families:
            yield iter(())  # one that the schema has and the store never made
            return
        prefix = _prefix(snapshot.column_families, family)
        if not snapshot.files and not any(name.endswith(".log") and body for name, body in entries.items()):
            yield self._plain(changes.over((), prefix), family)  # a snapshot of nothing
            return
        with rocksdb.opened_snapshot(self.store, files.path, snapshot, entries, self.conf.delimiter) as database:
            yield self._plain(changes.over(rocksdb.pairs(database, prefix), prefix), family)

    def _plain(self, pairs: Iterator[Pair], family: str | None) -> Iterator[Pair]:
        """Without the number of the family before keys, and checksums before values."""
        begin = 2 if family is not None else 0
        for key, value in pairs:
            if self.conf.row_checksums:
                parts = checked_rocksdb_values(key, value, self.conf.delimiter)
                value = self.conf.delimiter.join(parts)
            yield key[begin:], value

    def _read(self, files: StoreFiles, name: str) -> bytes:
        with _told_of(f"{files.path}/{name}"):
            return read_whole(self.store, f"{files.path}/{name}")

    def _parsed_entries(self, files: StoreFiles, name: str, parse: Parse) -> Iterator[Batch]:
        body = self._read(files, name)
        with _told_of(f"{files.path}/{name}"):
            yield from parse(body, self._codec(body))

    def _codec(self, body: bytes) -> Codec | None:
        """What the first bytes tell, and otherwise what is pinned: a session may have been told another codec since."""
        return sniff_compression(body) or pinned_codec(self._loader.conf)

    # -- what the operators were ---------------------------------------------------------------------------------------

    @cached_property
    def _loader(self) -> StateLoader:
        return StateLoader(self.store, self.checkpoint, self.version, "full")

    @property
    def _pinned(self) -> Mapping[str, str]:
        """What the batch's own offsets pin, or else the newest that there are."""
        entries = self.checkpoint.offsets
        entry = entries.get(self.batch) or (entries[max(entries)] if entries else None)
        return entry.metadata.conf if entry and entry.metadata else {}

    @property
    def unique_ids(self) -> Mapping[int, tuple[tuple[str, ...], ...]]:
        commit = self.checkpoint.commits.get(self.batch)
        return (commit.state_unique_ids if commit else None) or {}

    def _at_batch(self, operator: Operator) -> Operator:
        if operator.metadata is None or operator.metadata.version < 2:
            return operator
        directory = f"state/{operator.id}/_metadata/v2"
        runs = [run for run in parse_log_names(list(self._loader.names(directory) or ())).ids if run <= self.batch]
        metadata = self._parsed(f"{directory}/{runs[-1]}", parse_operator_metadata) if runs else None
        if metadata is None:
            return operator
        stores = tuple(self._store_of(operator, metadata, store.name) for store in metadata.stores)
        return replace(operator, metadata=metadata, name=metadata.name, stores=stores)

    def _store_of(self, operator: Operator, metadata: OperatorMetadata, name: str) -> OperatorStore:
        known = next((one for one in operator.stores if one.name == name), None)
        partitions = next(one.partitions for one in metadata.stores if one.name == name)
        return known or OperatorStore(name, partitions, self._loader.provider)

    def _schemas(self, operator: Operator) -> dict[str, Schemas]:
        """By store. Metadata names schema files by where the checkpoint once was: only their own names count."""
        found = {}
        for store in operator.stores:
            every: list[StateSchema] = []
            for one in operator.metadata.stores if operator.metadata else ():
                if one.name == store.name:
                    directory = f"state/{operator.id}/_stateSchema/{store.name}"
                    names = [path.rstrip("/").rpartition("/")[2] for path in one.schema_paths]
                    there = self._loader.names(directory) or frozenset() if names else frozenset()
                    read = [self._parsed(f"{directory}/{name}", parse_state_schema) for name in names if name in there]
                    every = [schema for schema in read if schema is not None]
            newest = every[-1] if every else store.schema
            if newest is not None:
                found[store.name] = Schemas(newest, tuple(every))
        return found

    def _parsed(self, path: str, parse: Any) -> Any:
        try:
            return parse(self.store.read(path))
        except CkptError as error:
            self.note(path, error)
            return None


def open_state(store: Store, batch: int | None = None, *, batches: int = ONLY_OPENED) -> StateReader:
    """The state after `batch`, or after the last committed one. `batches`: how many of the newest to read the logs of,
    for readers of other batches."""
    checkpoint = load_checkpoint(store, batches=batches, also=() if batch is None else (batch,), beside=False)
    last = _last_finished(checkpoint)
    if not checkpoint.operators:
        raise NotFound(f"{checkpoint.url} holds no state", "a query without stateful operators keeps none")
    if last is None:
        raise NotFound(f"no batch of {checkpoint.url} is committed", "state is read as it was after a committed batch")
    if batch is None and last not in checkpoint.offsets:
        checkpoint = load_checkpoint(store, batches=batches, also=(last,), beside=False)
    if batch is not None and batch > last:
        raise NotFound(f"batch {batch} of {checkpoint.url} is not committed", f"the last committed batch is {last}")
    return StateReader(store, checkpoint, last if batch is None else batch)


def batched(items: Sequence[T], size: int = STORES_AHEAD) -> Iterator[Sequence[T]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _last_finished(checkpoint: Checkpoint) -> int | None:
    """The last committed batch. Spark 2.1 had no commit log: a batch was finished when the next one was planned."""
    if "commits" in checkpoint.root_names or not checkpoint.last_offset_batch:
        return checkpoint.last_commit_batch
    return checkpoint.last_offset_batch - 1


def _prefix(families: Mapping[str, int] | None, family: str | None) -> bytes:
    """What the keys of a column family begin with."""
    if family is None:
        return b""
    if families is None or family not in families:
        raise MalformedFile(
            f"no snapshot tells the number of the column family {family!r}", expected="a zip whose metadata has it"
        )
    return families[family].to_bytes(2, "little", signed=True)


class InFile(MalformedFile):
    """Damage of which the file is known."""

    def __init__(self, path: str, error: MalformedFile) -> None:
        super().__init__(error.message, expected=error.expected, position=error.position, spark=error.spark)
        self.path = path


@contextmanager
def _told_of(path: str) -> Iterator[None]:
    try:
        yield
    except InFile:
        raise
    except MalformedFile as error:
        raise InFile(path, error) from None


def _finding(path: str, error: CkptError) -> Finding:
    malformed = error if isinstance(error, MalformedFile) else None
    kind = "state-file-missing" if isinstance(error, NotFound) else "state-unreadable"
    return Finding(
        id=OUT_OF_REACH if isinstance(error, Unavailable) else kind,
        severity="warning" if isinstance(error, Unavailable) else "error",
        path=error.path if isinstance(error, InFile) else path,
        message=error.message,
        expected=malformed.expected if malformed else None,
        next_step=error.next_step,
        position=malformed.position if malformed else None,
        spark=malformed.spark if malformed else None,
    )
