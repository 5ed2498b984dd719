"""The door to the files: one small `Store` for the local disk and for everything fsspec opens. It only reads, and of
each kind of file no more than its limit, whoever asks.

Local paths never import fsspec. Listings are in no order. Hadoop's spellings of URLs are mapped to fsspec's or refused
with the reason; credentials come from `--storage-option` or from the environment, and never appear in a message.
"""

from __future__ import annotations

import errno
import os
import stat as stat_flags
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import BinaryIO, Protocol

from msgspec import Struct

from ckpttool import jail
from ckpttool.errors import CkptError, MalformedFile, NotFound, Unavailable
from ckpttool.formats.layout import kind_of
from ckpttool.formats.limits import PIECE_BYTES, OverLimit, check, most
from ckpttool.formats.state.native import hand_over
from ckpttool.storage.beneath import Beneath, LeadsOut, stat_itself
from ckpttool.storage.urls import parse_url

Names = list[str]  # by its own name, since the stores have a method `list`


class FileStat(Struct, frozen=True):
    """`leads_out`: a link that is not followed, so that nothing else is known of it. `owner`: the user's number, and
    `mode`, where the local disk tells them."""

    size_bytes: int | None
    modified_ms: int | None
    is_directory: bool
    leads_out: bool = False
    owner: int | None = None
    mode: int | None = None


class LogListing(Struct, frozen=True):
    """The names in a log; not `complete`: only those of its newest ids, because there are too many to list."""

    names: Sequence[str]
    complete: bool


class Store(Protocol):
    """A directory tree, read through paths relative to its root, with `/` between the parts.

    `changed`: paths that were not, when they were read, what the listing had told of them."""

    url: str
    changed: Collection[str] = ()

    def list(self, path: str = "") -> list[str]:
        """The names in a directory, in no order; raises NotFound if it is not there or is a file, OverLimit if they are
        too many."""

    def stat(self, path: str) -> FileStat | None:
        """Size, time and kind; None if there is nothing. After a `list` of its directory this costs no request."""

    def read(self, path: str) -> bytes:
        """The whole file; raises NotFound, Unavailable, MalformedFile for what is not a readable file, or OverLimit
        for what is larger than files of its kind are."""

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, of a file that has them; raises what `read` would."""

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        """Many files, as concurrently as the store allows; what `read` would raise stands in its place."""
        for path in paths:
            try:
                yield path, self.read(path)
            except CkptError as error:
                yield path, error

    def at(self, path: str) -> Store:
        """The store whose root is `path` below this one. `..` leads up, but not out of the authority that was typed."""

    def above(self, levels: int = 1) -> Store:
        """That many directories up, for a glance at what is around: never by a path that a file names."""
        return self.at("/".join([".."] * levels))

    def list_log(self, path: str, beside: str | None = None, *, full: bool = False) -> LogListing:  # noqa: ARG002
        """The names in a log of numbered files; `full`: all, however many. `beside`: a log that should end at about
        the same id, and will be asked for next."""
        return LogListing(self.list(path), complete=True)

    def list_starting(self, start: str) -> Names:
        """Those names at the root that begin with `start`; no error if there is no root."""
        try:
            return [name for name in self.list() if name.startswith(start)]
        except NotFound:
            return []

    def survey(self, path: str = "", parts: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Announce that names all over `path` will be asked for: where that saves requests they are fetched now.
        `parts`: directories that will be asked for in any case."""
        return

    def prefetch(self, needed: Callable[[], Sequence[str]]) -> None:  # noqa: ARG002
        """Announce files that will be read, once each; asked which they are only where fetching ahead pays."""
        return


def portions(paths: Sequence[str], size_of: Callable[[str], int], most_files: int) -> Iterator[Sequence[str]]:
    """Files to be fetched together: as many bytes at once as one file may have."""
    portion: Names = []
    total = 0
    for path in paths:
        size = size_of(path)
        if portion and (total + size > PIECE_BYTES or len(portion) == most_files):
            yield portion
            portion, total = [], 0
        portion.append(path)
        total += size
    if portion:
        yield portion


def open_store(url: str, storage_options: Mapping[str, str] | None = None) -> Store:
    """The store behind a path or URL, in fsspec's or Hadoop's spelling."""
    hand_over(jail.unpack)  # what is read from a store may be anybody's
    target, options = parse_url(url)
    if target is None:
        return LocalStore(options["path"])
    from ckpttool.storage.remote import open_remote

    return open_remote(url, target, options, storage_options or {})


def read_pieces(store: Store, path: str) -> Iterator[bytes]:
    """A file of any size, in pieces."""
    found = store.stat(path)
    size = found.size_bytes if found and not found.is_directory else None
    if size is None or size <= PIECE_BYTES:
        yield store.read(path)
        return
    for start in range(0, size, PIECE_BYTES):
        yield store.read_range(path, start, min(start + PIECE_BYTES, size))


def read_whole(store: Store, path: str) -> bytes:
    """A large file at once: state, of which a file may be as large as its partition."""
    found = store.stat(path)
    if found and found.size_bytes is not None:
        check(kind_of(path), found.size_bytes)
    pieces = list(read_pieces(store, path))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def is_directory(store: Store, path: str) -> bool:
    found = store.stat(path)
    return found is not None and found.is_directory


class LocalStore(Store):
    """The local disk, through plain `os`. Links that lead out of what was typed are not followed, and nothing tells
    whether there is something where they lead."""

    def __init__(self, root: str, below: Beneath | None = None, way: str = "") -> None:
        """`way`: from what was typed down to here."""
        self.url = root
        self._below = below or Beneath(root)
        self._way = way

    def list(self, path: str = "") -> list[str]:
        try:
            names = self._below.ask(f"{self._way}/{path}", _names_in, anew=True)
        except (OSError, ValueError) as error:
            raise _local_error(error, path or self.url) from None
        return bounded_names(names)

    def stat(self, path: str) -> FileStat | None:
        try:
            found = self._below.ask(f"{self._way}/{path}", stat_itself)
        except LeadsOut as link:
            return FileStat(None, None, False, leads_out=True) if link.itself else None
        except (OSError, ValueError):
            return None
        is_directory = stat_flags.S_ISDIR(found.st_mode)
        return FileStat(
            found.st_size, found.st_mtime_ns // 1_000_000, is_directory, owner=found.st_uid, mode=found.st_mode
        )

    def read(self, path: str) -> bytes:
        try:
            with self._below.ask(f"{self._way}/{path}", _open_file) as file:
                size = os.fstat(file.fileno()).st_size
                if size > most(kind_of(path)):
                    raise too_large(path, size)
                body = file.read(size + 1)
                if len(body) > size:  # it grows
                    body += file.read(most(kind_of(path)) + 1 - len(body))
                return bounded(body, path)
        except (OSError, ValueError) as error:
            raise _local_error(error, path) from None

    def read_range(self, path: str, start: int, end: int) -> bytes:
        try:
            with self._below.ask(f"{self._way}/{path}", _open_file) as file:
                file.seek(start)
                return file.read(end - start)
        except (OSError, ValueError) as error:
            raise _local_error(error, path) from None

    def real_path(self, path: str) -> str:
        """Where a file is, for libraries that open files themselves; raises what `read` would."""
        try:
            real = self._below.real_path(f"{self._way}/{path}")
            if not stat_flags.S_ISREG(os.lstat(real).st_mode):
                raise not_a_file()
            return real
        except (OSError, ValueError) as error:
            raise _local_error(error, path) from None

    def at(self, path: str) -> LocalStore:
        """`..` leads no further up than to what was typed."""
        way = os.path.normpath(os.path.join(self._way, path))
        if way == ".." or way.startswith(("../", "/")):
            raise LeadsOut(itself=False)
        return LocalStore(os.path.normpath(os.path.join(self.url, path)), self._below, way)

    def above(self, levels: int = 1) -> LocalStore:
        """Above what was typed begins a place of its own, for a glance: links that lead out of it are not followed."""
        up = "/".join([".."] * levels)
        try:
            return self.at(up)
        except LeadsOut:
            return LocalStore(os.path.normpath(os.path.join(self.url, up)))


def _names_in(name: str, directory: int) -> Names:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        with os.scandir(descriptor) as entries:
            return [entry.name for entry in islice(entries, most("names") + 1)]
    finally:
        os.close(descriptor)


def _open_file(name: str, directory: int) -> BinaryIO:
    """Non-blocking, so that a named pipe cannot hold us; it does nothing to a regular file."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    if not stat_flags.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise not_a_file()
    return open(descriptor, "rb")


class NothingStore(Store):
    """What is above the top of a bucket or a file system: nothing, and no request is made to find that out."""

    def __init__(self, url: str) -> None:
        self.url = url

    def list(self, path: str = "") -> list[str]:
        raise NotFound(f"there is nothing above {self.url}" if not path else f"{path} does not exist")

    def stat(self, path: str) -> FileStat | None:  # noqa: ARG002
        return None

    def read(self, path: str) -> bytes:
        raise NotFound(f"{path} does not exist")

    def read_range(self, path: str, start: int, end: int) -> bytes:  # noqa: ARG002
        return self.read(path)

    def at(self, path: str) -> NothingStore:  # noqa: ARG002
        return self


def bounded(body: bytes, path: str) -> bytes:
    """The body itself, unless it is longer than files of its kind are."""
    if len(body) > most(kind_of(path)):
        raise too_large(path)
    return body


def bounded_names(names: Names) -> Names:
    if len(names) > most("names"):
        raise OverLimit("names")
    return names


def too_large(path: str, size: int | None = None) -> OverLimit:
    return OverLimit(kind_of(path), size)


def not_a_file() -> MalformedFile:
    return MalformedFile("a directory or a device stands where a file belongs", expected="a regular file")


def _local_error(error: OSError | ValueError, path: str) -> CkptError:
    if not isinstance(error, OSError):  # a NUL in a name that a file gave us
        return NotFound("a path cannot contain a NUL character")
    if error.errno == errno.ENOENT:
        return NotFound(f"{path} does not exist")
    if error.errno == errno.ENOTDIR:
        return NotFound(f"{path} is a file, not a directory")
    if error.errno == errno.ELOOP:
        return MalformedFile("a symbolic link that leads to itself", expected="a regular file")
    if error.errno == errno.ENAMETOOLONG:
        return NotFound(f"the path is too long: {path[:60]}…")
    if error.errno in (errno.ENXIO, errno.ENODEV, errno.EISDIR):  # a socket, a device without a driver
        return not_a_file()
    next_step = "run as a user who may read it" if error.errno in (errno.EACCES, errno.EPERM) else None
    return Unavailable(f"{path} cannot be read: {error.strerror}", next_step)
