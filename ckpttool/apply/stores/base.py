"""What has to be possible where something is changed. Beside `storage.Store`, which only reads; nobody but this package
imports it."""

from __future__ import annotations

import io
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from hashlib import sha256
from threading import BoundedSemaphore, RLock
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from ckpttool.errors import Refused
from ckpttool.storage.remote import PATIENCE_S
from ckpttool.storage.store import Store

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

MOST_BYTES = 16 * 2**20  # a plan of 100,000 files has that
_LARGE = 4 * 2**20
_SLOWEST = 2**19  # bytes a second
_LOOKS_AT_LARGE = 4


class AlreadyThere(Refused):
    """An exclusive create found something."""


class Changed(Refused):
    """What is there is not what it was expected to be."""


class TooLarge(Refused):
    """What is there in the place of a small file of ours is none."""


class OwnerDiffers(Refused):
    """The file would belong to somebody else than the one it replaces."""


class Bearing(Struct, frozen=True):
    """What a file has beside its bytes; None where the store has no such thing. `owner`, `group`: numbers on the local
    disk, names in HDFS. `modified_ns` None: the time of its writing."""

    mode: int | None = None
    owner: int | str | None = None
    group: int | str | None = None
    modified_ns: int | None = None


class Found(Struct, frozen=True):
    """A file as it is there. `version`: changes whenever somebody writes it; a conditional change names it."""

    size: int
    sha256: str
    version: str
    bearing: Bearing


class WritableStore(Protocol):
    """A directory tree. Every path is taken as it stands: no link is followed, neither at its end nor on the way.

    `requests`: how often something was read, listed, written or deleted. `settle_s`: how long to wait between two
    looks, unless somebody says otherwise. `at_once`: of changes that do not depend on each other. `has_owners`: whether
    files have an owner and a mode. `keeps_times`: whether times can be set."""

    url: str
    requests: Counter[str]
    settle_s: float = 2.0
    at_once: int = 1
    has_owners: bool = True
    keeps_times: bool = True

    def look_anew(self, parts: Sequence[str] = ()) -> None:  # noqa: ARG002
        """What was seen before may be otherwise now. `parts`: directories of which very many files are looked at."""
        return

    def reading(self) -> Store:
        """The same tree for those who only read, as of the newest look."""

    def look(self, path: str) -> Found | None:
        """What is there, read to its end; None if there is nothing. Raises Refused for what is no regular file."""

    def pieces(self, path: str) -> Iterator[bytes]:
        """The file's bytes."""

    def names(self, path: str) -> dict[str, bool] | None:
        """Each name in a directory, and whether it is a directory itself; None if there is none."""

    def sizes_below(self, path: str) -> dict[str, int]:
        """Every file in a directory and those in it, with its size."""

    def bearing_of(self, path: str) -> Bearing | None:
        """Of a file or a directory, without reading it; None also where directories are nothing but parts of names."""

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:
        """Whole or not at all, with the directories that it takes; raises AlreadyThere."""

    def copy(self, path: str, target: str, found: Found) -> str | None:
        """The file as it was found, once more under a name of ours; raises Changed if the copy has other bytes. Its
        version, if by that it can be told later that it still is what it was."""

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:
        """In one go, with no moment without a file; raises Changed if it is not that version any more."""

    def delete(self, path: str, version: str) -> None:
        """Raises Changed if it is not that version any more."""

    def remove_below(self, path: str) -> int:
        """A directory of ours with all that is in it; tells how many bytes."""

    def make_root(self) -> None:
        """The tree's own directory, with those around it, where directories are more than parts of names."""
        return

    def remove_root(self) -> None:
        """If it is there, and empty."""
        return

    def make_directory(self, path: str, bearing: Bearing) -> None:
        """No error if it is there."""

    def remove_directory(self, path: str) -> None:
        """If it is there, and empty."""

    def set_time(self, path: str, modified_ns: int) -> bool:
        """Of a directory; False where times cannot be set."""

    def free_bytes(self) -> int | None:
        """Room for more; None where there is no bound."""

    def is_still(self, path: str, version: str) -> bool:
        """Whether it is this version, of which `copy` told; nothing is read."""

    def clock_s(self, path: str) -> float | None:
        """What time it is for whoever has given that file its time; None where that is not told."""

    def may_give(self, bearing: Bearing) -> bool:
        """Whether a new file can belong to that owner."""

    def sweep(self) -> None:
        """Remove what a write of ours left that was interrupted."""


def patience_s(size: int) -> float:
    """For a request that moves so many bytes."""
    return PATIENCE_S + size / _SLOWEST


class _LaidDown(io.BufferedRandom):
    """A temporary file. Whoever sends it may close it, and send it once more."""

    def close(self) -> None:
        self.seek(0)

    def remove(self) -> None:
        super().close()


class Whole(Struct, frozen=True):
    """A body as it is sent: bytes, or a large one from a temporary file."""

    size: int
    sha256: str
    data: bytes | _LaidDown

    def anew(self) -> Any:
        """For a request, from its beginning."""
        if not isinstance(self.data, bytes):
            self.data.seek(0)
        return self.data


class Large:
    """Bodies that are large: to be sent one is laid down in a temporary file, and no other beside it; of those that are
    only looked at, a few pieces at a time are held."""

    def __init__(self) -> None:
        self._alone, self._looks = RLock(), BoundedSemaphore(_LOOKS_AT_LARGE)

    @contextmanager
    def looked_at(self, size: int) -> Iterator[None]:
        with self._looks if size > _LARGE else nullcontext():
            yield

    @contextmanager
    def sent(self, body: Iterable[bytes]) -> Iterator[Whole]:
        """What it takes is there until it was sent."""
        digest, size, held = sha256(), 0, list[bytes]()
        pieces = iter(body)
        with ExitStack() as alone:
            file: _LaidDown | None = None
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                held.append(piece)
                if size > _LARGE:
                    if file is None:
                        alone.enter_context(self._alone)
                        file = _lay_down()
                        alone.callback(file.remove)
                    file.writelines(held)
                    held.clear()
            yield Whole(size, digest.hexdigest(), file or b"".join(held))


def _lay_down() -> _LaidDown:
    descriptor, path = tempfile.mkstemp(prefix="ckpttool-")
    os.unlink(path)
    return _LaidDown(io.FileIO(descriptor, "r+"))


def small_body(store: WritableStore, path: str) -> bytes:
    """Of a file that is there, and that is held whole: plans, records and copies of `metadata` are small."""
    body = bytearray()
    for piece in store.pieces(path):
        body += piece
        if len(body) > MOST_BYTES:
            raise TooLarge(f"{path} is larger than ckpt writes it: {MOST_BYTES:,} bytes are read at most")
    return bytes(body)


def together(store: WritableStore, call: Callable[[Asked], Answered], items: Sequence[Asked]) -> list[Answered]:
    """As many at once as the store takes; the first that fails ends those that have not begun."""
    if store.at_once == 1 or len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(min(store.at_once, len(items))) as pool:
        under_way = [pool.submit(call, item) for item in items]
        try:
            return [one.result() for one in under_way]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
