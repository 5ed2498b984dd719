"""A RocksDB snapshot as a database that can be read: its files put together in a temporary directory and opened there,
in the jail.

The only module that writes, and only below a temporary directory, which is gone when the reading is over. Of the
snapshot's small files the database gets those that say which tables there are, never its options: with those a file
would choose directories and classes for us. What Spark sets is known, and written anew.
"""

from __future__ import annotations

import errno
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import NamedTuple

from ckpttool.errors import Deadly, InFile, MalformedFile, NotFound, Refused, Unavailable
from ckpttool.formats.limits import check
from ckpttool.formats.state.names import LOG_DIRECTORY
from ckpttool.formats.state.rocksdb import Snapshot
from ckpttool.jail.cell import DONE, MORE, TAKEN
from ckpttool.jail.warden import JAIL, Child, LibraryError, is_installed, wrong_answer
from ckpttool.model import SparkError
from ckpttool.storage.store import LocalStore, Store, not_a_file, read_pieces
from ckpttool.storage.temporary import temporary_directory

_TEMPORARY = "ckpt-state-"
# Compiled by `re` when first used.
_SMALL_FILES = r"(?:CURRENT|IDENTITY|MANIFEST-[0-9]{1,20}|[0-9]{1,20}\.log)\Z"
_TABLES = r"[0-9]{1,20}\.(?:sst|log)\Z"
_LOCAL_FILES = "/proc/self/fd"  # the descriptors of whoever looks
_CONFIGURATION = "rocksdict-config.json"  # which rocksdict writes wherever it opens, and may write nothing

# Keys are in the order of their bytes, and all in one family: Spark's own are in front of the keys. Values that
# were appended are joined. All else is RocksDB's default, as it is Spark's, or is told by the tables themselves.
_OPTIONS = """[Version]
  rocksdb_version=8.11.4
  options_file_version=1.1
[DBOptions]
  max_open_files=256
  max_file_opening_threads=1
[CFOptions "default"]
  comparator=leveldb.BytewiseComparator
  merge_operator={{id=StringAppendOperator;delimiter={delimiter};}}
[TableOptions/BlockBasedTable "default"]
"""


class MissingRocksdict(Refused):
    """The extra that reads SST files is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "reading this RocksDB snapshot needs the package rocksdict",
            "pip install 'ckpttool[state]', or export the state where it is installed",
        )


class _Table(NamedTuple):
    """A file of the local disk that the database is to see under a name; `path` is what people know it by."""

    name: str
    path: str
    real_path: str
    size_bytes: int


@contextmanager
def opened_snapshot(
    store: Store, path: str, base: str, snapshot: Snapshot, entries: Mapping[str, bytes], delimiter: bytes
) -> Iterator[Database]:
    """The database of the zip `base` in the store directory `path`; `entries` are the zip's."""
    if not is_installed("rocksdict"):
        raise MissingRocksdict
    if not isinstance(store, LocalStore):
        check("tables", sum(file.size_bytes for file in snapshot.files))
    with temporary_directory(_TEMPORARY, store) as directory:
        for name, content in entries.items():
            if re.match(_SMALL_FILES, name):
                _place(f"{directory}/{name}", [content])
        _place(f"{directory}/OPTIONS-000001", [_OPTIONS.format(delimiter=delimiter.decode()).encode()])
        os.symlink(os.devnull, f"{directory}/{_CONFIGURATION}")
        tables = [
            table
            for file in snapshot.files
            for table in _placed(store, f"{path}/{file.path}", directory, file.local_name, file.size_bytes)
        ]
        database = Database(directory, tables, f"{path}/{base}")
        try:
            yield database
        finally:
            database.close()


class Database:
    """An open one. It is opened anew, and read on from where it was, if the child that had it open has died."""

    def __init__(self, directory: str, tables: Sequence[_Table], path: str) -> None:
        self._path = path
        self._directory = directory
        self._tables = tables
        self._size = sum(table.size_bytes for table in tables)
        self._opened_in: Child | None = None

    def ask(self, operation: str, prefix: bytes, after: bytes | None) -> list[memoryview]:
        def conversation(child: Child) -> list[memoryview]:
            if child is not self._opened_in:
                self._hand_over(child)
            known = (os.fsencode(self._directory), prefix, *(() if after is None else (after,)))
            return child.ask(operation, *known, about=self._size)

        try:
            return JAIL.talk(conversation)
        except LibraryError as error:
            raise _damaged(error.message) from None
        except Deadly as error:
            raise InFile(self._path, error) from None

    def close(self) -> None:
        if self._opened_in is not None:
            JAIL.tell(self._opened_in, "close", os.fsencode(self._directory))

    def _hand_over(self, child: Child) -> None:
        """The child opens the tables itself, looks at what it has opened, and keeps it open under a number."""
        paths = [os.fsencode(table.real_path) for table in self._tables]
        taken = child.ask("take", os.fsencode(self._directory), *paths)
        if len(taken) != len(self._tables):
            raise wrong_answer("pairs of keys and values")
        for table, found in zip(self._tables, taken, strict=True):
            _link(f"{self._directory}/{table.name}", table, *TAKEN.unpack(found))
        self._opened_in = child


def pairs(database: Database, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """All entries whose keys begin so."""
    after, ended = None, MORE
    while ended == MORE:
        sizes, content, ended = _three(database.ask("pairs", prefix, after))
        pieces = _pieces(sizes, content)
        if len(pieces) % 2 or (ended == MORE and not pieces):
            raise wrong_answer("pairs of keys and values")
        yield from zip(pieces[::2], pieces[1::2], strict=True)
        after = pieces[-2] if pieces else after
    if ended != DONE:
        raise _damaged(ended.decode("utf-8", "replace"))


def count(database: Database, prefix: bytes = b"") -> int:
    """How many there are, by reading all of them."""
    total, after, ended = 0, None, MORE
    while ended == MORE:
        number, after, ended = _three(database.ask("count", prefix, after))
        total += int.from_bytes(number, "little")
    if ended != DONE:
        raise _damaged(ended.decode("utf-8", "replace"))
    return total


def _three(answer: Sequence[memoryview]) -> tuple[bytes, bytes, bytes]:
    if len(answer) != 3:
        raise wrong_answer("pairs of keys and values")
    one, other, ended = map(bytes, answer)
    return one, other, ended


def _pieces(sizes: bytes, content: bytes) -> list[bytes]:
    if len(sizes) % array("I").itemsize:
        raise wrong_answer("pairs of keys and values")
    ends = list(accumulate(array("I", sizes), initial=0))
    if ends[-1] != len(content):
        raise wrong_answer("pairs of keys and values")
    return [content[start:end] for start, end in pairwise(ends)]


def _placed(store: Store, path: str, directory: str, name: str, size: int) -> Iterator[_Table]:
    """Those of the local disk, which are not copied."""
    if not re.match(_TABLES, name):
        raise MalformedFile(f"a table with the name {name[:60]!r}", expected="a number and `.sst`")
    if f"/{LOG_DIRECTORY}/" in path:
        os.makedirs(f"{directory}/archive", exist_ok=True)
        name = f"archive/{name}"
    if isinstance(store, LocalStore):
        yield _Table(name, path, store.real_path(path), size)
        return
    _check_size(path, _place(f"{directory}/{name}", _up_to(size, read_pieces(store, path))), size)


def _up_to(size: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """And one piece more, where there is more: enough to be told from what was to be there."""
    come = 0
    for piece in pieces:
        yield piece
        come += len(piece)
        if come > size:
            return


def _link(target: str, table: _Table, error: int, size: int, descriptor: int) -> None:
    if error:
        raise NotFound(f"{table.path} does not exist") if error == errno.ENOENT else _unavailable(table.path, error)
    if size < 0:
        raise InFile(table.path, not_a_file())
    _check_size(table.path, size, table.size_bytes)
    if os.path.lexists(target):  # of a child that has died
        os.unlink(target)
    os.symlink(f"{_LOCAL_FILES}/{descriptor}" if os.path.isdir(_LOCAL_FILES) else table.real_path, target)


def _check_size(path: str, found: int, expected: int) -> None:
    if found != expected:
        raise MalformedFile(f"{path} has {found} bytes", expected=f"{expected} bytes, as the snapshot says")


def _unavailable(path: str, error: int) -> Unavailable:
    return Unavailable(f"{path} cannot be read: {os.strerror(error)}")


def _place(target: str, pieces: Iterable[bytes]) -> int:
    with open(target, "wb") as file:
        return sum(file.write(piece) for piece in pieces)


def _damaged(text: str) -> MalformedFile:
    first = next(iter(text.splitlines()), "no reason given")
    message = re.sub(rf"\S*/{_TEMPORARY}[^/]*/", "", first)[:200]  # where we have put it together is nobody's concern
    return MalformedFile(
        f"RocksDB: {message}", expected="a database as Spark left it", spark=SparkError("org.rocksdb.RocksDBException")
    )
