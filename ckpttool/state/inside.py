"""Reads RocksDB's tables through: damage inside shows when their blocks are read, and no sooner, to Spark as to us."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.errors import CkptError, InFile, MalformedFile
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.scene.state_chain import Fault, StateFiles, StoreFiles, chains, is_doubtful
from ckpttool.state import rocksdb
from ckpttool.storage.store import Store, read_whole

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
