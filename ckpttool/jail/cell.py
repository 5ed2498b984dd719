"""What the child does: it is asked for one thing at a time, and answers. Messages are parts, told by their sizes.

Sizes and small parts go through pipes, larger ones through memory that both see, where there is such: half of it is
for questions, half for answers. An answer begins with `+`; or with `-`, and then says what a library has raised.
Whatever else happens in here is seen from outside: by the child's end, or by its silence.
"""

from __future__ import annotations

import os
import stat
import time
from array import array
from itertools import accumulate, pairwise
from mmap import mmap
from struct import Struct

from ckpttool.formats.state.native import unpack_here
from ckpttool.jail.walls import limit_seconds, wall_in

TYPE_CHECKING = False  # so that little is loaded before the first question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, BinaryIO

    from ckpttool.jail import Buffer

    Parts = Sequence[Buffer]

COUNT = Struct("<II")  # parts of a message, and seconds of the processor for it; then the size of each
TAKEN = Struct("<iqi")  # of a file: errno, size (-1: it is no regular one), descriptor
HALF_BYTES = 2**22  # of the memory
_SMALL_BYTES = 2**12
OUT_OF_MEMORY = 77  # the status that it ends with
DONE, MORE = b"", b"+"  # how going through a database ended; else with what it raised

_CHUNK_BYTES = 2**19
_CHUNK_PAIRS = 2**14
_COUNTED_AT_ONCE = 2**17
_ROWS_AT_ONCE = 2**14
_LONGEST_COMPLAINT = 1000
_WRITTEN_AT_ONCE = 1000  # parts


def main(parent: int, memory: int | None) -> None:
    shared = None if memory is None else memoryview(mmap(memory, 2 * HALF_BYTES))
    wall_in(parent)
    replies = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    serve(os.fdopen(0, "rb"), replies, shared)


def serve(requests: BinaryIO, replies: int, shared: memoryview | None) -> None:
    limit = 0
    while head := requests.read(COUNT.size):
        count, seconds = COUNT.unpack(head)
        sizes = array("Q", requests.read(8 * count))
        if shared is not None and goes_by_memory(sizes):
            body = shared[: sum(sizes)]
        else:
            body = memoryview(requests.read(sum(sizes)))
        operation, *parts = parted(body, sizes)
        if (spent := int(time.process_time()) + seconds) != limit:
            limit = spent
            limit_seconds(limit)
        left = message(0, answer(bytes(operation).decode(), parts), shared and shared[HALF_BYTES:])
        while left:
            left = unwritten(left, os.writev(replies, left[:_WRITTEN_AT_ONCE]))
        _work_ahead()


def goes_by_memory(sizes: Sequence[int]) -> bool:
    return _SMALL_BYTES < sum(sizes) <= HALF_BYTES


def message(seconds: int, parts: Parts, shared: memoryview | None) -> list[Buffer]:
    """What of it goes through the pipe."""
    sizes = array("Q", map(len, parts))
    head = COUNT.pack(len(parts), seconds) + sizes.tobytes()
    if shared is None or not goes_by_memory(sizes):
        return [head, *parts]
    at = 0
    for part in parts:
        shared[at : at + len(part)] = part
        at += len(part)
    return [head]


def parted(body: memoryview, sizes: Sequence[int]) -> list[memoryview]:
    ends = list(accumulate(sizes, initial=0))
    return [body[start:end] for start, end in pairwise(ends)]


def answer(operation: str, parts: Parts) -> Parts:
    try:
        return [b"+", *OPERATIONS[operation](*parts)]
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException as error:  # libraries in Rust panic with one that is no Exception
        return [b"-", _complaint(error)]


def unwritten(parts: Sequence[Buffer], written: int) -> list[Buffer]:
    for at, part in enumerate(parts):
        if written < len(part):
            return [memoryview(part)[written:], *parts[at + 1 :]]
        written -= len(part)
    return []


def _complaint(error: BaseException) -> bytes:
    return (str(error) or type(error).__name__)[:_LONGEST_COMPLAINT].encode("utf-8", "replace")


# -- decompressors -----------------------------------------------------------------------------------------------------


_place = memoryview(mmap(-1, HALF_BYTES))  # for what becomes no more than this, over and over


def _unpack(codec: Buffer, sizes: Buffer, *blocks: Buffer) -> Parts:
    most = array("Q", bytes(sizes))
    return unpack_here(bytes(codec).decode(), blocks, most, _place if sum(most) <= HALF_BYTES else None)


# -- databases ---------------------------------------------------------------------------------------------------------


class _Database:
    """An open one, and how far its iterator has come: whoever asks says where to go on."""

    def __init__(self, directory: str) -> None:
        import rocksdict

        self._database: Any = rocksdict.Rdict(directory, access_type=rocksdict.AccessType.read_only())
        self._iterator: Any = None
        self._last: bytes | None = None
        self._ahead: tuple[bytes, bytes, Parts] | None = None

    def close(self) -> None:
        self._iterator = None
        self._database.close()

    def pairs(self, prefix: bytes, after: bytes | None) -> Parts:
        found = self._ahead[2] if self._ahead and self._ahead[:2] == (prefix, after) else self._read(prefix, after)
        self._ahead = None
        if found[2] == MORE and self._last is not None:
            _ahead[:] = [(self, prefix, self._last)]
        return found

    def read_ahead(self, prefix: bytes, after: bytes) -> None:
        self._ahead = (prefix, after, self._read(prefix, after))

    def _read(self, prefix: bytes, after: bytes | None) -> Parts:
        pieces: list[bytes] = []
        total = 0
        iterator = self._at(prefix, after)
        key, get, valid, step = iterator.key, iterator.value, iterator.valid, iterator.next
        end = DONE
        while valid():
            one = key()
            if prefix and not one.startswith(prefix):
                break
            value = get()
            pieces += one, value
            total += len(one) + len(value)
            step()
            if total > _CHUNK_BYTES or len(pieces) > _CHUNK_PAIRS:
                end = MORE
                break
        self._last = pieces[-2] if pieces else after
        return [array("I", map(len, pieces)).tobytes(), b"".join(pieces), end or self._ended()]

    def count(self, prefix: bytes, after: bytes | None) -> Parts:
        """Keys, from where an earlier count came to; and the last of them."""
        iterator = self._at(prefix, after)
        key, valid, step = iterator.key, iterator.valid, iterator.next
        for count in range(_COUNTED_AT_ONCE):
            if not valid() or (prefix and not key().startswith(prefix)):
                self._last = None
                return [count.to_bytes(8, "little"), after or b"", self._ended()]
            if count == _COUNTED_AT_ONCE - 1:
                self._last = after = key()
            step()
        return [_COUNTED_AT_ONCE.to_bytes(8, "little"), after or b"", MORE]

    def _at(self, prefix: bytes, after: bytes | None) -> Any:
        if self._iterator is not None and after is not None and after == self._last:
            return self._iterator
        self._iterator = iterator = self._database.iter()
        if prefix or after is not None:
            iterator.seek(prefix if after is None else after)
        else:
            iterator.seek_to_first()
        if after is not None and iterator.valid() and iterator.key() == after:
            iterator.next()
        return iterator

    def _ended(self) -> bytes:
        """Its own iterators end without a word at a damaged place; this one is asked how it fared."""
        try:
            self._iterator.status()
        except Exception as error:  # its own class is private
            return _complaint(error)
        return DONE


_databases: dict[str, _Database] = {}
_ahead: list[tuple[_Database, bytes, bytes]] = []  # what is going to be asked for next, and from where on


def _work_ahead() -> None:
    """While the answer is being looked at."""
    while _ahead:
        database, prefix, after = _ahead.pop()
        try:
            database.read_ahead(prefix, after)
        except Exception:  # who asks will be told
            return


_taken: dict[str, list[int]] = {}


def _take(directory: Buffer, *paths: Buffer) -> Parts:
    """Files that a database is to be opened over, looked at when they are open: a name may be given to something else
    at any time, what is open stays what it is."""
    return [_opened(bytes(path), _taken.setdefault(_text(directory), [])) for path in paths]


def _opened(path: bytes, kept: list[int]) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return TAKEN.pack(error.errno or 0, -1, -1)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return TAKEN.pack(0, -1, -1)
    kept.append(descriptor)
    return TAKEN.pack(0, found.st_size, descriptor)


def _pairs(directory: Buffer, prefix: Buffer, *after: Buffer) -> Parts:
    return _database(_text(directory)).pairs(bytes(prefix), bytes(after[0]) if after else None)


def _count(directory: Buffer, prefix: Buffer, *after: Buffer) -> Parts:
    return _database(_text(directory)).count(bytes(prefix), bytes(after[0]) if after else None)


def _database(directory: str) -> _Database:
    if directory not in _databases:
        _databases[directory] = _Database(directory)
    return _databases[directory]


def _close(directory: Buffer) -> Parts:
    _ahead.clear()
    if database := _databases.pop(_text(directory), None):
        database.close()
    for descriptor in _taken.pop(_text(directory), ()):
        os.close(descriptor)
    return ()


def _text(directory: Buffer) -> str:
    return os.fsdecode(bytes(directory))


# -- Parquet -----------------------------------------------------------------------------------------------------------


def _parquet(body: Buffer, *columns: Buffer) -> Parts:
    """What stands in these columns as JSON, a line for each value that is not null: `{"<column>": …}`."""
    import json

    import pyarrow
    from pyarrow import parquet

    pyarrow.set_cpu_count(1)
    file = parquet.ParquetFile(pyarrow.BufferReader(body))
    wanted = [name for name in (bytes(one).decode() for one in columns) if name in file.schema_arrow.names]
    batches = file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=wanted, use_threads=False) if wanted else ()
    return ["\n".join(json.dumps(row, default=str) for row in _rows(batches)).encode()]


def _rows(batches: Any) -> Iterator[dict[str, Any]]:
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for value in column.drop_null().to_pylist(maps_as_pydicts="lossy"):
                yield {name: value}


OPERATIONS: dict[str, Callable[..., Parts]] = {
    "unpack": _unpack,
    "take": _take,
    "pairs": _pairs,
    "count": _count,
    "close": _close,
    "parquet": _parquet,
}
