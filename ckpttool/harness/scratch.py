"""One directory in which everything lives, and the end of every process that was started, however we ourselves end.

    with Scratch() as scratch:
        session = Session(scratch, command, …)

Each session (a process with all that it starts) is told to a guard: a small process of its own, which waits for its
standard input to end. It ends when we leave the block, when we are interrupted, and when we are killed; then the guard
kills what is left of the sessions, by their numbers, and removes the directory unless it is to be kept.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ckpttool.apply.consent import PRIVATE, trials
from ckpttool.errors import Refused, Unavailable

FULL = (errno.ENOSPC, errno.EDQUOT)
PREFIX = "ckpt-crash-"
MARK = ".ckpttool-scratch"  # lies in every directory that the harness has made for itself

# What the guard runs, by itself: it must not depend on files that may go away.
GUARD = """
import os, shutil, signal, sys
def members(session):
    try:
        names = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return None
    found = []
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in b"ZX":
            found.append(int(name))
    return found
def end(session):
    for _ in range(100):
        found = members(session)
        if found is None:
            try: os.killpg(session, signal.SIGKILL)
            except OSError: return
        elif not found:
            return
        for pid in found or ():
            try: os.kill(pid, signal.SIGKILL)
            except OSError: pass
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
sessions, remove = set(), None
for line in sys.stdin:
    word, _, rest = line.rstrip("\\n").partition(" ")
    if word == "remove": remove = rest
    elif word == "watch": sessions.add(int(rest))
    else: sessions.discard(int(rest))
for session in sessions: end(session)
if remove:
    for _ in range(10):
        shutil.rmtree(remove, ignore_errors=True)
        if not os.path.exists(remove): break
"""


class Scratch:
    """A new directory among the user's trials, or the given `folder`: an empty one, or one that we have made before."""

    def __init__(self, folder: Path | None = None, keep: bool = False) -> None:
        self.root = _own(folder) if folder else Path(tempfile.mkdtemp(prefix=PREFIX, dir=trials())).resolve()
        (self.root / MARK).touch()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            cwd="/",
        )
        if not keep:
            self._tell(f"remove {self.root}")

    def folder(self, *parts: str) -> Path:
        """A directory in it, made if it is not there."""
        path = self.inside(self.root.joinpath(*parts))
        path.mkdir(parents=True, exist_ok=True)
        return path

    def inside(self, path: Path) -> Path:
        """The path itself; refused if it lies outside, where somebody's data may be."""
        if not path.resolve().is_relative_to(self.root):
            raise Refused(
                f"{path} lies outside the scratch directory {self.root}", "copy it into the scratch directory"
            )
        return path

    def keep(self) -> None:
        """The directory stays when everything has ended."""
        self._tell("remove ")

    def watch(self, session: int) -> None:
        self._tell(f"watch {session}")

    def forget(self, session: int) -> None:
        """Nobody is left in it, and its number may come again."""
        self._tell(f"forget {session}")

    def close(self) -> None:
        """Whatever is left ends, as it would if we were killed."""
        if self._guard.stdin and not self._guard.stdin.closed:
            with suppress(BrokenPipeError):
                self._guard.stdin.close()
        self._guard.wait()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, OSError) and (error.errno in FULL or os.strerror(errno.ENOSPC) in str(error)):
            raise Unavailable(f"the disk of {self.root} is full", "give another --scratch") from None

    def _tell(self, line: str) -> None:
        assert self._guard.stdin
        self._guard.stdin.write(line + "\n")
        self._guard.stdin.flush()


def private(path: str, flags: int) -> int:
    """For `open`: a file that is made is for its owner alone."""
    return os.open(path, flags, 0o600)


def members(session: int) -> list[int]:
    """Its processes that are alive. Python's workers leave the group of their parent, never its session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
                found.append(int(stat.parent.name))
    return found


def signal_session(session: int, number: signal.Signals) -> None:
    if not Path("/proc/self/stat").exists():  # no such list on this system: the group has nearly all of them
        with suppress(ProcessLookupError):
            os.killpg(session, number)
        return
    for pid in members(session):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def freeze_session(session: int, seconds: float = 10) -> None:
    """Stop every process of it, and wait until each has stopped."""
    _signal_while(session, signal.SIGSTOP, lambda: any(map(_runs, members(session))), "does not stop", seconds)


def thaw_session(session: int) -> None:
    signal_session(session, signal.SIGCONT)


def kill_session(session: int, seconds: float = 10) -> None:
    """SIGKILL to every process of it; returns when nobody is left."""
    _signal_while(session, signal.SIGKILL, lambda: bool(members(session)), "survives SIGKILL", seconds)


def _signal_while(session: int, number: signal.Signals, left: Callable[[], bool], what: str, seconds: float) -> None:
    """Again and again: whom it has started in the meantime has not got it yet."""
    deadline = time.monotonic() + seconds
    signal_session(session, number)
    while left():
        if time.monotonic() > deadline:
            raise TimeoutError(f"a process of session {session} {what}")
        time.sleep(0.001)
        signal_session(session, number)


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X")
    return False


def _own(folder: Path) -> Path:
    folder = folder.resolve()
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise Refused(f"{folder} is not empty", "give a new directory: everything in it may be overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(PermissionError):  # somebody else's, which a replay refuses
        folder.chmod(PRIVATE)
    return folder


def clear(folder: Path) -> None:
    """Everything in a directory goes; the directory stays."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
