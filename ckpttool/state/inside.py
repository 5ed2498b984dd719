"""Looks inside the stores. Damage in RocksDB's tables shows when their blocks are read, and no sooner, to Spark as to
us; that rows of a join are gone shows beside the number of rows that it keeps for each key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from msgspec.structs import replace

from ckpttool.errors import CkptError, InFile, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.scene.state_chain import Fault, StateFiles, StoreFiles, chains, is_doubtful
from ckpttool.state import rocksdb
from ckpttool.state.stores import Stores
from ckpttool.storage.store import Store, read_whole
from ckpttool.words import counted

_DELIMITER = b","  # of merged values, which nobody looks at here


def with_tables_read(store: Store, files: StateFiles) -> StateFiles:
    """The files with what reading their tables met; as they are, where rocksdict is not installed."""
    try:
        stores = tuple(_read_through(store, one, files.version) for one in files.stores)
    except rocksdb.MissingRocksdict:
        return files
    return replace(files, stores=stores, tables_read=True)


def _read_through(store: Store, files: StoreFiles, version: int) -> StoreFiles:
    base = next(chains(files, version)).base
    snapshot = files.snapshots.get(base or "")
    if base is None or snapshot is None or not snapshot.files or is_doubtful(files, base):
        return files
    try:
        entries = read_zip_entries(read_whole(store, f"{files.path}/{base}"))
        with rocksdb.opened_snapshot(store, files.path, base, snapshot, entries, _DELIMITER) as database:
            rocksdb.count(database)
    except MalformedFile as error:
        if isinstance(error, InFile) and error.is_deadly:
            return replace(files, faults={**files.faults, base: Fault("deadly", error.message, error.expected)})
        return replace(files, damage=error.message)
    except rocksdb.MissingRocksdict:
        raise
    except CkptError:
        return files  # gone in between: nothing is known of it
    return files


Count = Callable[[StoreFiles], int | None]


def counted_in(stores: Stores) -> Count:
    def count(files: StoreFiles) -> int | None:
        try:
            return stores.count(files, None, partitions=1)
        except CkptError:
            return None  # what cannot be read is told of its file

    return count


def with_joins_compared(files: StateFiles, keys: Count) -> StateFiles:
    """Each key of a join that has a number of rows has one of them at least: Spark comes to a row that is not there
    when it looks for partners of the key, or lets go of it."""
    damaged = dict(_short_of_rows(files, keys))
    if not damaged:
        return files
    told = (replace(one, damage=one.damage or damaged.get(one.path)) for one in files.stores)
    return replace(files, stores=tuple(told))


def _short_of_rows(files: StateFiles, keys: Count) -> Iterator[tuple[str, str]]:
    by_place = {(one.operator, one.partition, one.name): one for one in files.stores if not one.has_families}
    sides = zip(layout.JOIN_STORES[::2], layout.JOIN_STORES[1::2], strict=True)
    for (of_numbers, of_rows), numbers in product(sides, files.stores):
        rows = by_place.get((numbers.operator, numbers.partition, of_rows))
        if numbers.name != of_numbers or rows is None:
            continue
        wanted, there = keys(numbers), keys(rows)
        if wanted is not None and there is not None and there < wanted:
            yield rows.path, f"{counted(there, 'row')} for {counted(wanted, 'key')} that each have one at least"
