"""What lies below a directory, and nothing else: the kernel is asked for one name at a time, from an open directory.

So what was checked is what is opened, whatever is renamed meanwhile, and no link leads out: whether there is anything
where it leads is never asked. Linux' `openat2` would do the same in one call; Python has none, and it takes no link for
one that stays inside if it begins with a slash.
"""

from __future__ import annotations

import errno
import os
import stat as stat_flags
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar
from weakref import ref

from ckpttool.errors import LeftUnread

_OPENED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_LINKS = 40  # on one way, as Linux has it
_MAY_BE_LINK = (errno.ELOOP, errno.ENOTDIR)

T = TypeVar("T")


class LeadsOut(LeftUnread):
    """`itself`: the path is a link that leads out; else it lies behind one."""

    def __init__(self, *, itself: bool) -> None:
        message = "a symbolic link that leads out of the checkpoint, and was not followed"
        super().__init__(message, expected="a file inside the checkpoint")
        self.itself = itself


class Beneath:
    """Below `typed`, whose own links and those above it are the user's."""

    def __init__(self, typed: str) -> None:
        self._top = os.path.realpath(typed)
        self._names = (os.path.abspath(typed), self._top)
        self._last: tuple[Sequence[str], ref[_Directory]] | None = None

    def ask(self, path: str, call: Callable[[str, int], T], *, anew: bool = False) -> T:
        """`call` for the name at the end of the path, in the open directory where it is; a link it must not follow, but
        raise ELOOP or ENOTDIR. `anew`: not by way of a directory that was opened before."""
        return self._settle(path, call, anew=anew)[1]

    def real_path(self, path: str) -> str:
        steps, _ = self._settle(path, stat_itself)
        return "/".join([self._top, *steps])

    def _settle(self, path: str, call: Callable[[str, int], T], *, anew: bool = False) -> tuple[Sequence[str], T]:
        """Every link that is met is put in its place, and then the way is gone from the beginning."""
        steps = _walked(path.split("/"), itself=False)
        for _ in range(_LINKS):
            met = len(steps) - 1
            directory = None
            try:
                directory = self._directory(steps[:-1], anew=anew)
                return steps, call(steps[-1] if steps else ".", directory.descriptor)
            except _Stopped as stopped:
                met, directory, error = stopped.at, stopped.directory, stopped.error
            except OSError as failed:
                error = failed
            if directory is None or error.errno not in _MAY_BE_LINK or not steps:
                raise error
            steps = self._followed(steps, met, directory, error)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _followed(self, steps: Sequence[str], at: int, directory: _Directory, error: OSError) -> list[str]:
        itself = at == len(steps) - 1
        try:
            target = os.readlink(steps[at], dir_fd=directory.descriptor)
        except OSError:
            raise error from None
        if not target.startswith("/"):
            return _walked([*steps[:at], *target.split("/"), *steps[at + 1 :]], itself=itself)
        for top in self._names:
            if target == top or target.startswith(top.rstrip("/") + "/"):
                return _walked([*target[len(top) :].split("/"), *steps[at + 1 :]], itself=itself)
        raise LeadsOut(itself=itself)

    def _directory(self, steps: Sequence[str], *, anew: bool) -> _Directory:
        """The one that was asked last is likely to be asked next."""
        known = self._last[1]() if self._last and not anew and self._last[0] == steps else None
        if known is not None and known.is_there():
            return known
        directory = _Directory(os.open(self._top, _OPENED))
        for at, step in enumerate(steps):
            try:
                directory = _Directory(os.open(step, _OPENED | os.O_NOFOLLOW, dir_fd=directory.descriptor))
            except OSError as error:
                raise _Stopped(at, directory, error) from None
        _KEPT.append(directory)
        self._last = steps, ref(directory)
        return directory


class _Directory:
    """An open one; whoever looks into it holds it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def is_there(self) -> bool:
        """A directory that was removed, and perhaps recreated, has no links left."""
        return os.fstat(self.descriptor).st_nlink > 0

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the very end `os` may be gone before
        close(self.descriptor)


class _Stopped(Exception):
    """The way to a directory goes on no further."""

    def __init__(self, at: int, directory: _Directory, error: OSError) -> None:
        self.at, self.directory, self.error = at, directory, error


# However many stores there are, so many directories are kept open.
_KEPT: deque[_Directory] = deque(maxlen=32)


def stat_itself(name: str, directory: int) -> os.stat_result:
    found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if stat_flags.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


def _walked(steps: Sequence[str], *, itself: bool) -> list[str]:
    """Without `.` and `..`, which must not lead above the beginning."""
    walked: list[str] = []
    for step in steps:
        if step == "..":
            if not walked:
                raise LeadsOut(itself=itself)
            walked.pop()
        elif step not in ("", "."):
            walked.append(step)
    return walked
