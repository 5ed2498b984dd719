"""Our side of the jail: starts the child when it is first needed, asks it, and ends it when it takes too long.

What it answers is data like any other: parts of bytes, whose sizes are looked at before they are taken. A child that
dies is started again and asked once more: one that has seen nothing else and dies again, died over this, and not over
what an earlier question has left in its memory, or what it was reading ahead.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import mmap
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from ckpttool.errors import Deadly, MalformedFile, Refused
from ckpttool.jail.cell import COUNT, HALF_BYTES, OUT_OF_MEMORY, goes_by_memory, message, parted, unwritten

if TYPE_CHECKING:
    from ckpttool.jail import Buffer

T = TypeVar("T")

MOST_BYTES = 2**30  # of an answer
_MOST_PARTS = 2**20
_PIPE_BYTES = 2**20
_READ_AT_ONCE = 2**13
_WRITTEN_AT_ONCE = 1000  # parts
_SECONDS = 3  # of the processor for a question
_PATIENCE = 3  # times as long it is waited for: the processor may be busy with others
_BYTES_A_SECOND = 2**23  # of what is asked about: that much more time there is
_SECONDS_MORE = 60
_LATE_AT_MOST = 2  # times that somebody is waited for so long; later ones get less and less
# None of the variables that we have. Arrow's own allocator, and one for each thread, would reserve more than there is.
_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
_START = "import sys; sys.path += {path!r}; from ckpttool.jail.cell import main; main({parent}, {memory})"


class LibraryError(MalformedFile):
    """What a library has raised over it, in its own words."""


class Jail:
    """One child at a time, for all threads. Whoever has opened something in it asks whether it is still that child."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._lock = Lock()
        self._late = 0

    def talk(self, conversation: Callable[[Child], T]) -> T:
        """What comes of a conversation, which is begun anew with another child if the first one dies."""
        with self._lock:
            child = self._running()
            is_fresh = not child.has_answered
            try:
                return conversation(child)
            except ChildEnded as died:
                self._end(died)
                if is_fresh and died.is_late:
                    raise _deadly(died) from None
            try:
                return conversation(self._running())
            except ChildEnded as died:
                self._end(died)
                raise _deadly(died) from None

    def tell(self, child: Child, operation: str, *parts: Buffer) -> None:
        """That child, if it is still there."""
        with self._lock:
            if child is self._child:
                try:
                    child.ask(operation, *parts)
                except ChildEnded as died:
                    self._end(died)

    def close(self) -> None:
        """Ends the child; the next conversation starts another."""
        with self._lock:
            if self._child is not None:
                self._child.end()
            self._child = None

    def _running(self) -> Child:
        if self._child is None or self._child.parent != os.getpid():  # not that of the process that we were forked from
            self._child = Child(max(_SECONDS >> max(self._late - _LATE_AT_MOST, 0), 1))
        return self._child

    def _end(self, died: ChildEnded) -> None:
        self._child = None
        self._late += died.is_late


class ChildEnded(Exception):
    """The end of the child; `is_late`: it was given the time there is, and took more."""

    def __init__(self, how: str, is_late: bool) -> None:
        super().__init__(how)
        self.how = how
        self.is_late = is_late


class Child:
    def __init__(self, seconds: int) -> None:
        self.parent = os.getpid()
        self.has_answered = False
        self._seconds = seconds
        for_it, self._requests = os.pipe()
        self._answers, from_it = os.pipe()
        memory = _shared_memory()
        self._shared = None if memory is None else memoryview(mmap(memory, 2 * HALF_BYTES))
        try:
            self.process = _spawned(for_it, from_it, memory)
        finally:
            for end in (for_it, from_it, *([] if memory is None else [memory])):
                os.close(end)
        os.set_blocking(self._requests, False)
        self._taking, self._giving = select.poll(), select.poll()
        self._taking.register(self._requests, select.POLLOUT)
        self._giving.register(self._answers, select.POLLIN)
        for end in (self._requests, self._answers):
            _widen(end)

    def ask(self, operation: str, *parts: Buffer, about: int = 0, place: memoryview | None = None) -> list[memoryview]:
        """The parts of the answer; raises what a library has raised, and what the child died of. `about`: how many
        bytes this concerns, beside those of the question. `place`: where the parts are put, one after the other."""
        seconds = self._seconds + min((about + sum(map(len, parts))) // _BYTES_A_SECOND, _SECONDS_MORE)
        deadline = time.monotonic() + _PATIENCE * seconds
        try:
            self._send(message(seconds, [operation.encode(), *parts], self._shared), deadline)
            verdict, *answer = self._received(deadline, place)
        except TimeoutError:
            raise self.end(late=f"took more than {_PATIENCE * seconds} seconds") from None
        except (OSError, _NoAnswer):
            raise self.end() from None
        self.has_answered = True
        if bytes(verdict) != b"+":
            text = bytes(answer[0]).decode("utf-8", "replace") if answer else ""
            raise LibraryError(text, expected="what the library reads")
        return answer

    def end(self, late: str | None = None) -> ChildEnded:
        """Ends it, unless it has ended by itself; and how that was."""
        with suppress(OSError):
            os.kill(self.process, signal.SIGKILL)  # before its pipes close, at which it would end by itself
        os.close(self._requests)
        os.close(self._answers)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        except ChildProcessError:  # somebody has waited for every child
            return ChildEnded(late or "ended", late is not None)
        if late is None and status == -signal.SIGXCPU:
            late = f"took more than {self._seconds} seconds of the processor"
        return ChildEnded(late or _ending(status), late is not None)

    def _send(self, left: Sequence[Buffer], deadline: float) -> None:
        while left:
            try:
                left = unwritten(left, os.writev(self._requests, left[:_WRITTEN_AT_ONCE]))
            except BlockingIOError:
                self._wait(self._taking, deadline)

    def _received(self, deadline: float, place: memoryview | None) -> list[memoryview]:
        read = self._read(b"", COUNT.size, deadline)
        count, _ = COUNT.unpack_from(read)
        begin = COUNT.size + 8 * count
        if not 0 < count <= _MOST_PARTS:
            raise _NoAnswer
        read = self._read(read, begin, deadline)
        sizes = array("Q", bytes(read[COUNT.size : begin]))
        if sum(sizes) > MOST_BYTES:
            raise _NoAnswer
        if self._shared is not None and goes_by_memory(sizes):
            return _copied(self._shared[HALF_BYTES:], sizes, place)
        body = self._read(read, begin + sum(sizes), deadline)[begin:]
        return parted(body, sizes) if place is None else _copied(body, sizes, place)

    def _read(self, read: Buffer, size: int, deadline: float) -> memoryview:
        """What was read, and more, until there are so many bytes; small answers come at once."""
        if len(read) >= size:
            return memoryview(read)
        body = memoryview(bytearray(max(size, _READ_AT_ONCE)))
        at = len(read)
        body[:at] = read
        while at < size:
            self._wait(self._giving, deadline)
            got = os.readv(self._answers, [body[at:]])
            if not got:
                raise _NoAnswer
            at += got
        return body[:at]

    def _wait(self, end: select.poll, deadline: float) -> None:
        if not end.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError


class _NoAnswer(Exception):
    """It is gone, or has answered what is no message."""


def _shared_memory() -> int | None:
    """A file without a name, whose size nobody can change: to look at what is gone would be our end."""
    if sys.platform != "linux":
        return None
    import fcntl

    memory = os.memfd_create("ckpt", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, 2 * HALF_BYTES)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return memory


def _spawned(requests: int, answers: int, memory: int | None) -> int:
    """A Python that takes nothing from its surroundings, and finds modules where we do."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = [here, *(place for place in sys.path if os.path.isabs(place))]
    start = _START.format(path=path, parent=os.getpid(), memory=None if memory is None else 3)
    files: list[tuple[int, ...]] = [
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),  # type: ignore[list-item]
        (os.POSIX_SPAWN_DUP2, requests, 0),
        (os.POSIX_SPAWN_DUP2, answers, 1),
        *([] if memory is None else [(os.POSIX_SPAWN_DUP2, memory, 3)]),
    ]
    command = [sys.executable, "-I", "-S", "-B", "-c", start]
    try:  # in a group of its own: what is typed at the terminal is for us
        return os.posix_spawn(sys.executable, command, _ENVIRONMENT, file_actions=files, setpgroup=0)
    except (OSError, AttributeError) as error:
        raise Refused(
            f"native code runs in a process of its own, which cannot be started: {error}",
            "see that Python can start itself: sys.executable",
        ) from None


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):  # the user has too many wide ones
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _copied(body: memoryview, sizes: Sequence[int], place: memoryview | None) -> list[memoryview]:
    """What nobody else can write to any more. `place` takes all but the verdict."""
    verdict, whole = sizes[0], sum(sizes)
    if place is None:
        return parted(memoryview(bytes(body[:whole])), sizes)
    if whole - verdict > len(place):
        raise _NoAnswer
    place[: whole - verdict] = body[verdict:whole]
    return [memoryview(bytes(body[:verdict])), *parted(place, sizes[1:])]


def _ending(status: int) -> str:
    if status == OUT_OF_MEMORY:
        return "needed more memory than it may have"
    if status >= 0:
        return f"ended with {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _deadly(died: ChildEnded) -> Deadly:
    return Deadly(f"the process that was to read it {died.how}", expected="bytes that the library can be given")


JAIL = Jail()


def unpack(
    codec: str, blocks: Sequence[Buffer], sizes: Sequence[int], place: memoryview | None = None
) -> list[memoryview]:
    """As `formats.state.native.unpack_here`, there."""
    asked = [codec.encode(), array("Q", sizes).tobytes(), *blocks]
    plain = JAIL.talk(lambda child: child.ask("unpack", *asked, about=sum(sizes), place=place))
    if len(plain) > len(sizes) or any(len(one) > size for one, size in zip(plain, sizes, strict=False)):
        raise wrong_answer("the contents of blocks")
    return plain


def wrong_answer(expected: str) -> Deadly:
    JAIL.close()  # nobody knows what it has become
    return Deadly("the process that was to read it has answered what cannot be", expected=expected)


def parquet_lines(body: bytes, columns: Sequence[str]) -> bytes:
    """The values of columns that are not null, as JSON: `{"<column>": …}`, line by line."""
    if not is_installed("pyarrow"):
        raise Refused("a Parquet file is to be read, and pyarrow is not installed", "pip install 'ckpttool[delta]'")
    names = [name.encode() for name in columns]
    try:
        return bytes(JAIL.talk(lambda child: child.ask("parquet", body, *names))[0])
    except LibraryError as error:
        raise MalformedFile(f"not Parquet: {error.message}", expected="a Parquet file") from None


def is_installed(module: str) -> bool:
    """Where the child finds it; it is not loaded here."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except ValueError:  # something stands in its place
        return False
