"""The local disk. Each file appears, changes or goes in one operation, and is on the disk before the next one begins.

A new file is written beside, flushed, and linked to its name, which fails if there is one; where the file system has no
links, it is renamed on that condition; a file is replaced by a
rename. Directories are opened one by one from the top, and links are not followed, so what was checked is what is
changed whatever is renamed meanwhile.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock

from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.stores.base import AlreadyThere, Bearing, Changed, Found, OwnerDiffers, WritableStore
from ckpttool.apply.stores.durable import flush, flushed
from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.formats.limits import check
from ckpttool.storage.store import Store, open_store

_PIECE = 2**20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PRIVATE = 0o600
_NOREPLACE = 1  # a flag of renameat2(2)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # of a file system that does not know them
_NOT_EXCLUSIVE = WhyNot("no-exclusive-create", "this file system lets two write the same new file: no lock holds here")
_TRIES = 8  # to get a new file before somebody sweeps


class LocalDisk(WritableStore):
    """`staging`: a directory below the root in which files are written before they get their names."""

    def __init__(self, root: str, staging: str) -> None:
        self.url = root
        self._top = os.path.realpath(root)
        self._staging = staging
        self.requests: Counter[str] = Counter()

    # -- looking -------------------------------------------------------------------------------------------------------

    def reading(self) -> Store:
        return open_store(self.url)

    def look(self, path: str) -> Found | None:
        self.requests["read"] += 1
        try:
            with self._opened(path) as descriptor:
                digest, size = hashlib.sha256(), 0
                for piece in _read(descriptor):
                    digest.update(piece)
                    size += len(piece)
                found = os.fstat(descriptor)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(error, path) from None
        return Found(size, digest.hexdigest(), _version(found), _bearing(found))

    def pieces(self, path: str) -> Iterator[bytes]:
        try:
            with self._opened(path) as descriptor:
                yield from _read(descriptor)
        except OSError as error:
            raise _told(error, path) from None

    def names(self, path: str) -> dict[str, bool] | None:
        self.requests["list"] += 1
        try:
            with self._directory(path) as directory, os.scandir(directory) as entries:
                return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(error, path) from None

    def sizes_below(self, path: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, is_directory in (self.names(path) or {}).items():
            below = f"{path}/{name}" if path else name
            found |= self.sizes_below(below) if is_directory else {below: self._size_of(below)}
        return found

    def bearing_of(self, path: str) -> Bearing | None:
        folder, name = _split(path) if path else ("", ".")
        try:
            with self._directory(folder) as directory:
                return _bearing(os.stat(name, dir_fd=directory, follow_symlinks=False))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(error, path) from None

    # -- changing ------------------------------------------------------------------------------------------------------

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:
        self.requests["write"] += 1
        folder, name = _split(path)
        with _telling(path), self._directory(folder, make=True) as directory, self._staged(body, bearing) as staged:
            try:
                _give_name(staged, name, directory)
            except FileExistsError:
                raise AlreadyThere(f"{path} is there already") from None
            flushed(directory)

    def copy(self, path: str, target: str, found: Found) -> None:
        """By its version a flipped byte is not noticed: it is read each time."""
        with suppress(AlreadyThere):
            self.create(target, self.pieces(path), found.bearing)
        copied = self.look(target)
        if copied is None or copied.sha256 != found.sha256:
            raise Changed(f"the copy of {path} is not what was copied")

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:
        self.requests["write"] += 1
        folder, name = _split(path)
        with _telling(path), self._directory(folder) as directory, self._staged(body, bearing) as staged:
            _free(directory, LOCK_EX)
            _expect(name, directory, version, path)
            os.rename(staged[0], name, src_dir_fd=staged[1], dst_dir_fd=directory)
            flushed(directory)

    def delete(self, path: str, version: str) -> None:
        self.requests["delete"] += 1
        folder, name = _split(path)
        with _telling(path), self._directory(folder) as directory:
            _free(directory, LOCK_EX)
            _expect(name, directory, version, path)
            os.unlink(name, dir_fd=directory)
            flushed(directory)

    def remove_below(self, path: str) -> int:
        sizes = self.sizes_below(path)
        for below in sizes:
            folder, name = _split(below)
            self.requests["delete"] += 1
            with _telling(below), self._directory(folder) as directory, suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)
        self._remove_empty(path)
        return sum(sizes.values())

    def make_root(self) -> None:
        with _telling(self.url):
            missing, place = [], self._top
            while not os.path.isdir(place):
                missing.append(place)
                place = os.path.dirname(place)
            for place in reversed(missing):
                with suppress(FileExistsError):
                    os.mkdir(place)
                flush(os.path.dirname(place))

    def remove_root(self) -> None:
        with _telling(self.url), suppress(FileNotFoundError):
            try:
                os.rmdir(self._top)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return
            flush(os.path.dirname(self._top))

    def make_directory(self, path: str, bearing: Bearing) -> None:
        folder, name = _split(path)
        with _telling(path), self._directory(folder, make=True) as directory:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
            with self._directory(path) as made:
                _bear(made, bearing)
                flushed(made)
            flushed(directory)

    def remove_directory(self, path: str) -> None:
        folder, name = _split(path)
        with _telling(path), suppress(FileNotFoundError), self._directory(folder) as directory:
            try:
                os.rmdir(name, dir_fd=directory)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return
            flushed(directory)

    def set_time(self, path: str, modified_ns: int) -> bool:
        with _telling(path), self._directory(path) as directory:
            if os.fstat(directory).st_mtime_ns != modified_ns:
                os.utime(directory, ns=(modified_ns, modified_ns))
                flushed(directory)
        return True

    def free_bytes(self) -> int | None:
        place = self._top
        while not os.path.isdir(place):
            place = os.path.dirname(place)
        found = os.statvfs(place)
        return found.f_bavail * found.f_frsize

    def is_still(self, path: str, version: str) -> bool:  # noqa: ARG002
        return False

    def clock_s(self, path: str) -> float | None:  # noqa: ARG002
        return time.time()

    def may_give(self, bearing: Bearing) -> bool:
        return os.geteuid() in (0, bearing.owner)

    def sweep(self) -> None:
        for name in self.names(self._staging) or ():
            path = f"{self._staging}/{name}"
            with _telling(path), suppress(FileNotFoundError), self._opened(path) as descriptor:
                if _free(descriptor, LOCK_EX | LOCK_NB):
                    self._unlink(path)
        self.remove_directory(self._staging)

    # -- within --------------------------------------------------------------------------------------------------------

    def _unlink(self, path: str) -> None:
        folder, name = _split(path)
        with self._directory(folder) as directory:
            os.unlink(name, dir_fd=directory)

    def _size_of(self, path: str) -> int:
        folder, name = _split(path)
        with _telling(path), self._directory(folder) as directory:
            return os.stat(name, dir_fd=directory, follow_symlinks=False).st_size

    def _remove_empty(self, path: str) -> None:
        for name, is_directory in (self.names(path) or {}).items():
            if is_directory:
                self._remove_empty(f"{path}/{name}")
        self.remove_directory(path)

    @contextmanager
    def _directory(self, path: str, *, make: bool = False) -> Iterator[int]:
        descriptor = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for step in filter(None, path.split("/")):
                if step in (".", ".."):
                    raise Refused(f"{path} leads elsewhere")
                below = _entered(step, descriptor, make)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        folder, name = _split(path)
        with self._directory(folder) as directory:
            descriptor = os.open(name, _FILE, dir_fd=directory)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Refused(f"{path} is no regular file")
            check("tables", found.st_size)
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _staged(self, body: Iterable[bytes], bearing: Bearing | None) -> Iterator[tuple[str, int]]:
        """A file that is whole, and on the disk, under a name that nobody looks for; gone if nobody takes it."""
        with ExitStack() as opened:
            name, descriptor, directory = self._new_file(opened)
            try:
                for piece in body:
                    _write(descriptor, piece)
                _bear(descriptor, bearing or _bearing(os.fstat(directory)), is_like=bearing is None)
                os.fsync(descriptor)
                yield name, directory
            except BaseException:
                with suppress(OSError):
                    os.unlink(name, dir_fd=directory)
                raise

    def _new_file(self, opened: ExitStack) -> tuple[str, int, int]:
        """Its name, the file, and its directory. It is ours while we hold it: whoever sweeps leaves it then, and may
        have been faster."""
        name = uuid.uuid4().hex
        for tries_left in reversed(range(_TRIES)):
            with suppress(FileNotFoundError) if tries_left else nullcontext(), ExitStack() as trying:
                directory = trying.enter_context(self._directory(self._staging, make=True))
                descriptor = os.open(name, _NEW, _PRIVATE, dir_fd=directory)
                trying.callback(os.close, descriptor)
                _free(descriptor, LOCK_SH)
                os.stat(name, dir_fd=directory)
                opened.enter_context(trying.pop_all())
                return name, descriptor, directory
        raise AssertionError


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    if not name or name in (".", "..") or "\0" in path:
        raise Refused(f"{path!r} names no file")
    return folder, name


def _give_name(staged: tuple[str, int], name: str, directory: int) -> None:
    """Where nothing has it; raises FileExistsError."""
    try:
        os.link(staged[0], name, src_dir_fd=staged[1], dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_exclusively(staged, name, directory)
    else:
        os.unlink(staged[0], dir_fd=staged[1])


def _rename_exclusively(staged: tuple[str, int], name: str, directory: int) -> None:
    """On a file system without links: Linux can, unless the file system does not let it."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        raise NotApplied(_NOT_EXCLUSIVE)
    if library.renameat2(staged[1], os.fsencode(staged[0]), directory, os.fsencode(name), _NOREPLACE):
        number = ctypes.get_errno()
        raise NotApplied(_NOT_EXCLUSIVE) if number in _NO_LINKS else OSError(number, os.strerror(number))


def _free(descriptor: int, operation: int) -> bool:
    """Whether nobody else of us is at it; until it is closed, it is ours. A file system may have no such locks."""
    try:
        flock(descriptor, operation)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _entered(name: str, directory: int, make: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
    around = _bearing(os.fstat(directory))
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=directory)
    made = os.open(name, _DIRECTORY, dir_fd=directory)
    _bear(made, around)
    flushed(made)
    flushed(directory)
    return made


def _read(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, _PIECE):
        yield piece


def _write(descriptor: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(descriptor, view) :]


def _bear(descriptor: int, bearing: Bearing, *, is_like: bool = False) -> None:
    """`is_like`: as the directory around has it, as far as that goes for a file. What is not told stays."""
    found = os.fstat(descriptor)
    owner = bearing.owner if isinstance(bearing.owner, int) else found.st_uid
    group = bearing.group if isinstance(bearing.group, int) else found.st_gid
    if (found.st_uid, found.st_gid) != (owner, group):
        try:
            os.fchown(descriptor, owner, group)
        except PermissionError:
            if found.st_uid != owner and not is_like:
                raise OwnerDiffers("a new file would belong to somebody else") from None
    mode = stat.S_IMODE(found.st_mode) if bearing.mode is None else bearing.mode & 0o666 if is_like else bearing.mode
    if stat.S_IMODE(found.st_mode) != mode:
        os.fchmod(descriptor, mode)
    if bearing.modified_ns is not None and stat.S_ISREG(found.st_mode) and not is_like:
        os.utime(descriptor, ns=(bearing.modified_ns, bearing.modified_ns))


def _expect(name: str, directory: int, version: str, path: str) -> None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        raise Changed(f"{path} is gone") from None
    if _version(found) != version:
        raise Changed(f"{path} was changed meanwhile")


def _version(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _bearing(found: os.stat_result) -> Bearing:
    return Bearing(stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns)


@contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _told(error, path) from None


def _told(error: OSError, path: str) -> CkptError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Refused(f"{path} is, or lies behind, a symbolic link or no directory: nothing is changed through those")
    return Unavailable(f"{path}: {error.strerror}", _NEXT.get(error.errno or 0))


_NEXT = {
    errno.EACCES: "run as the user whose query it is",
    errno.EPERM: "run as the user whose query it is",
    errno.ENOSPC: "make room on the disk",
    errno.EROFS: "mount it so that it can be written to",
}
