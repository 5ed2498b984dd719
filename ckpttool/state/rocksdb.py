"""A RocksDB snapshot as a database that can be read: its files put together in a temporary directory and opened there.

The only module that writes, and only below a temporary directory, which is gone when the reading is over: opening a
database, even to read it, leaves a file beside it, so it must not be opened in the checkpoint.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ckpttool.errors import MalformedFile, Refused
from ckpttool.formats.state.names import LOG_DIRECTORY
from ckpttool.formats.state.rocksdb import Snapshot
from ckpttool.model import SparkError
from ckpttool.storage.store import LocalStore, Store, read_pieces
from ckpttool.storage.temporary import temporary_directory

_TEMPORARY = "ckpt-state-"
# Compiled by `re` when first used.
_SMALL_FILES = r"(?:CURRENT|IDENTITY|(?:MANIFEST|OPTIONS)-[0-9]{1,20}|[0-9]{1,20}\.log)\Z"
_TABLES = r"[0-9]{1,20}\.(?:sst|log)\Z"
_MERGE_OPERATOR = rb"(?m)^([ \t]*merge_operator=).*$"
_ELSEWHERE = rb"(?m)^[ \t]*(?:wal_dir|db_log_dir)=.*$"  # directories of the machine that wrote it


class MissingRocksdict(Refused):
    """The extra that reads SST files is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "reading this RocksDB snapshot needs the package rocksdict",
            "pip install 'ckpttool[state]', or export the state where it is installed",
        )


@contextmanager
def opened_snapshot(
    store: Store, path: str, snapshot: Snapshot, entries: Mapping[str, bytes], delimiter: bytes
) -> Iterator[Any]:
    """The database of a zip in the store directory `path`; `entries` are the zip's."""
    rocksdict = _rocksdict()
    with temporary_directory(_TEMPORARY, store) as directory:
        for name, content in entries.items():
            if re.match(_SMALL_FILES, name):
                fixed = _fitting(content, delimiter) if name.startswith("OPTIONS-") else content
                _place(f"{directory}/{name}", [fixed])
        for file in snapshot.files:
            _place_table(store, f"{path}/{file.path}", directory, file.local_name, file.size_bytes)
        try:
            database = rocksdict.Rdict(directory, access_type=rocksdict.AccessType.read_only())
        except Exception as error:  # rocksdict's own class is private
            raise _damaged(error) from None
        try:
            yield database
        finally:
            database.close()


def pairs(database: Any, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """All entries whose keys begin so. The iterators that rocksdict calls `items` end without a word at a damaged
    place; this one is asked how it fared."""
    iterator = database.iter()
    if prefix:
        iterator.seek(prefix)
    else:
        iterator.seek_to_first()
    while iterator.valid():
        key = iterator.key()
        if not key.startswith(prefix):
            break
        yield key, iterator.value()
        iterator.next()
    try:
        iterator.status()
    except Exception as error:
        raise _damaged(error) from None


def _rocksdict() -> Any:
    try:
        import rocksdict
    except ImportError:
        raise MissingRocksdict() from None
    return rocksdict


def _fitting(options: bytes, delimiter: bytes) -> bytes:
    """Spark 4.2 joins merged values without a delimiter, and its file of options does not say so. That of 3.3 and
    before says where the log of its RocksDB was."""
    operator = b"{id=StringAppendOperator;delimiter=" + delimiter + b";}"
    return re.sub(_ELSEWHERE, b"", re.sub(_MERGE_OPERATOR, lambda found: found[1] + operator, options))


def _place_table(store: Store, path: str, directory: str, name: str, size: int) -> None:
    if not re.match(_TABLES, name):
        raise MalformedFile(f"a table with the name {name[:60]!r}", expected="a number and `.sst`")
    target = f"{directory}/{name}"
    if f"/{LOG_DIRECTORY}/" in path:
        os.makedirs(f"{directory}/archive", exist_ok=True)
        target = f"{directory}/archive/{name}"
    if isinstance(store, LocalStore):
        source = store.real_path(path)
        found = os.path.getsize(source)
        os.symlink(source, target)
    else:
        found = _place(target, read_pieces(store, path))
    if found != size:
        raise MalformedFile(f"{path} has {found} bytes", expected=f"{size} bytes, as the snapshot says")


def _place(target: str, pieces: Iterable[bytes]) -> int:
    with open(target, "wb") as file:
        return sum(file.write(piece) for piece in pieces)


def _damaged(error: Exception) -> MalformedFile:
    first = next(iter(str(error).splitlines()), type(error).__name__)
    message = re.sub(rf"\S*/{_TEMPORARY}[^/]*/", "", first)[:200]  # where we have put it together is nobody's concern
    return MalformedFile(
        f"RocksDB: {message}", expected="a database as Spark left it", spark=SparkError("org.rocksdb.RocksDBException")
    )
