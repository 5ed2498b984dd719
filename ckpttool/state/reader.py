"""Opens the state of a checkpoint as it was after a batch, and reads its tables, one partition at a time.

What cannot be read of one partition is a finding, and the others are read all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.errors import CkptError, Deadly, InFile, MalformedFile, NotFound, Refused, Unavailable
from ckpttool.formats import layout
from ckpttool.formats.limits import PIECE_BYTES
from ckpttool.formats.state.operator import parse_operator_metadata
from ckpttool.formats.state.schema import parse_state_schema
from ckpttool.formats.state.types import has_one_size
from ckpttool.model import Checkpoint, Finding, Operator, OperatorMetadata, OperatorStore, StateSchema
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.reading.io_plan import last_run
from ckpttool.reading.state_files import StateLoader, expected_partitions, expected_stores
from ckpttool.scene.state_chain import StoreFiles
from ckpttool.state.tables import Schemas, StateConf, StateTable, state_conf, tables_of
from ckpttool.storage.store import Store

if TYPE_CHECKING:
    from ckpttool.state.replay import Held
    from ckpttool.state.stores import Stores

OUT_OF_REACH = "state-out-of-reach"
STORES_AHEAD = 32  # whose files are fetched together

T = TypeVar("T")


class Row(Struct, frozen=True):
    """One row of a table: its values in the order of the table's columns."""

    partition: int
    values: tuple[Any, ...]


class StateReader:
    """The state after a committed batch, which is version batch + 1.

    What cannot be read is met while rows are taken from it, and it goes on with the next partition: `findings` grows on
    the way, and is whole when all that was asked for has been taken. So a verdict comes after the last row."""

    def __init__(self, store: Store, checkpoint: Checkpoint, batch: int) -> None:
        self.store = store
        self.checkpoint = checkpoint
        self.batch = batch
        self.findings: list[Finding] = []
        self._partitions: dict[int, range] = {}

    @property
    def version(self) -> int:
        return self.batch + 1

    def at(self, batch: int) -> StateReader:
        """Another batch of the same checkpoint, with nothing found yet."""
        return StateReader(self.store, self.checkpoint, batch)

    # -- what there is -------------------------------------------------------------------------------------------------

    @cached_property
    def conf(self) -> StateConf:
        return state_conf(self._pinned, self._loader.provider)

    @cached_property
    def tables(self) -> tuple[StateTable, ...]:
        """All, operator by operator."""
        return tuple(
            table
            for operator in self.operators.values()
            for table in tables_of(operator, self.conf, self._schemas(operator))
        )

    def described(self, table: StateTable, schema: StateSchema) -> StateTable:
        """A table of a store without a schema, as this one says."""
        found = tables_of(self.operators[table.operator], self.conf, {table.store: Schemas(schema)})
        return next(one for one in found if one.store == table.store)

    @cached_property
    def operators(self) -> dict[int, Operator]:
        """As the batch had them: of metadata that each run writes anew, the last before it."""
        return {one.id: self._at_batch(one) for one in self.checkpoint.operators}

    def partitions(self, operator: int) -> range:
        """Asked for each of them again."""
        if operator not in self._partitions:
            inside = self._loader.names(layout.operator(operator)) or frozenset()
            self._partitions[operator] = expected_partitions(self.operators[operator], self.conf.partitions, inside)
        return self._partitions[operator]

    def files(self, operator: int, partition: int, store: str) -> StoreFiles:
        """What is there of one store of one partition, as far as names tell."""
        names = expected_stores(self.operators[operator])
        ids = self.unique_ids.get(operator, ())
        of_partition = ids[partition] if partition < len(ids) else ()
        number = names.index(store) if store in names else -1
        unique_id = of_partition[number] if len(of_partition) == len(names) and number >= 0 else None
        return self._loader.list_store(operator, partition, store, unique_id)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def rows(self, table: StateTable, partitions: Sequence[int] | None = None) -> Iterator[Row]:
        for partition in self.ahead(table, self.partitions(table.operator) if partitions is None else partitions):
            try:
                for values in self.values(table, partition):
                    yield Row(partition, values)
            except Refused:
                raise
            except CkptError as error:
                self.note(layout.store(table.operator, partition), error)

    @property
    def is_out_of_reach(self) -> bool:
        """Whether something could not be asked for, so that nobody knows whether it is sound."""
        return self.checkpoint.unreachable or any(finding.id == OUT_OF_REACH for finding in self.findings)

    def note(self, path: str, error: CkptError) -> None:
        """What could not be read, as a finding."""
        self.findings.append(unread(path, error))

    def ahead(self, table: StateTable, partitions: Sequence[int]) -> Iterator[int]:
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
            chain, files = self.stores.chain(files)
        except CkptError:
            return  # it is told when the store's turn comes
        for name in filter(None, (chain.base, *chain.changes)):
            found = self.store.stat(f"{files.path}/{name}")
            if found and (found.size_bytes or 0) <= PIECE_BYTES:
                yield f"{files.path}/{name}"

    def values(self, table: StateTable, partition: int, held: Held | None = None) -> Iterator[tuple[Any, ...]]:
        """The rows of one partition; raises what is wrong with its files. `held`: what else is in memory."""
        from ckpttool.state.decoding import row_decoder
        from ckpttool.state.joined import joined_rows, stamped_rows
        from ckpttool.state.replay import Held

        if table.parts:
            held = held or Held()
            whole, *numbers = (self.values(part, partition, held) for part in table.parts)
            has_matched = len(table.value.fields) < len(table.parts[0].value.fields)
            yield from joined_rows(whole, numbers[0], has_matched, held) if numbers else stamped_rows(whole)
            return
        decode = row_decoder(table, self.conf)
        files = self.files(table.operator, partition, table.store)
        with self.stores.entries(files, table.family, held=held) as pairs:
            for key, value in pairs:
                yield from decode(key, value)

    def count(self, table: StateTable, partition: int) -> int:
        """How many rows there are: without decoding them, unless they are put together or several under a key."""
        if table.parts or table.is_multi_valued:
            return sum(1 for _ in self.values(table, partition))
        files = self.files(table.operator, partition, table.store)
        return self.stores.count(files, table.family, len(self.partitions(table.operator)))

    def count_by_headers(self, table: StateTable, partition: int) -> int | None:
        """Of a snapshot of rows of one size, with nothing after it; the number is certain if the file is sound."""
        of_rows = table.provider == "hdfs" and table.shape == "pairs" and not (table.parts or table.is_multi_valued)
        if not of_rows or self.conf.row_checksums or not (has_one_size(table.key) and has_one_size(table.value)):
            return None
        return self.stores.count_by_headers(self.files(table.operator, partition, table.store))

    @cached_property
    def stores(self) -> Stores:
        """Imported by whoever opens a file of rows: names, and what a snapshot has recorded, are told without."""
        from ckpttool.formats.state.compression import pinned_codec
        from ckpttool.state.stores import Stores

        return Stores(self.store, self.version, self.conf, pinned_codec(self._loader.conf))

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
        run = last_run(self._names_in, operator.id, until=self.batch)
        if run is None:
            return operator
        metadata = self._parsed(layout.operator_run(operator.id, run), parse_operator_metadata)
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
                    directory = layout.schema_versions(operator.id, store.name)
                    names = [path.rstrip("/").rpartition("/")[2] for path in one.schema_paths]
                    there = self._names_in(directory) if names else ()
                    read = [self._parsed(f"{directory}/{name}", parse_state_schema) for name in names if name in there]
                    every = [schema for schema in read if schema is not None]
            newest = every[-1] if every else store.schema
            if newest is not None:
                found[store.name] = Schemas(newest, tuple(every))
        return found

    def _names_in(self, path: str) -> Sequence[str]:
        return list(self._loader.names(path) or ())

    def _parsed(self, path: str, parse: Callable[[bytes], T]) -> T | None:
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
    if layout.COMMITS in checkpoint.root_names or not checkpoint.last_offset_batch:
        return checkpoint.last_commit_batch
    return checkpoint.last_offset_batch - 1


def unread(path: str, error: CkptError) -> Finding:
    """What could not be read, or could not be asked for."""
    malformed = error if isinstance(error, MalformedFile) else None
    kind = "state-file-missing" if isinstance(error, NotFound) else "state-unreadable"
    if isinstance(error, Deadly) or (isinstance(error, InFile) and error.is_deadly):
        kind = "state-file-corrupt"
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
