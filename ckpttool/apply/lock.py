"""One operator at a time. No clock breaks a lock; only that its holder is provably gone lets `--resume` and `undo`
take it over, and for all other cases a person types its id."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from msgspec import Struct

from ckpttool.apply import places
from ckpttool.apply.journal import who
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.stores.base import AlreadyThere, Changed, TooLarge, WritableStore, small_body
from ckpttool.errors import CkptError, NotFound
from ckpttool.literals import shell_path

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 16.0
_BOOT = "/proc/sys/kernel/random/boot_id"


class Lock(Struct, frozen=True):
    """`boot`, `started`: by which a process is told from another that has its number later."""

    id: str
    who: str
    host: str
    pid: int
    command: str
    created_ms: int
    boot: str | None = None
    started: str | None = None


class ForeignLock(Struct, frozen=True):
    """Somebody's else's file in the lock's place."""

    id: str = "?"


def held_by(store: WritableStore) -> Lock | ForeignLock | None:
    found = store.look(places.LOCK)
    if found is None:
        return None
    try:
        return msgspec.json.decode(small_body(store, places.LOCK), type=Lock)
    except (msgspec.MsgspecError, TooLarge, RecursionError):
        return ForeignLock()
    except CkptError:
        now = store.look(places.LOCK)
        if now is not None and now.version == found.version:
            raise
        return held_by(store)  # it was let go meanwhile


@contextmanager
def locked(store: WritableStore, timeout_s: float, *, take_over: bool) -> Iterator[bool]:
    """Tells whether a lock was taken over. It is let go however the block is left, unless we are killed."""
    mine = Lock(secrets.token_hex(4), who(), socket.gethostname(), os.getpid(), _command(), int(time.time() * 1000),
                _boot(), _started(os.getpid()))  # fmt: skip
    try:
        yield _take(store, mine, timeout_s, take_over=take_over)
    finally:  # also of what was created, and could not be probed, or of which the answer was lost
        with suppress(CkptError):
            _let_go(store, mine.id)


def unlock(store: WritableStore, lock_id: str) -> None:
    holder = held_by(store)
    if holder is None:
        raise NotFound("there is no lock")
    if holder.id != lock_id:
        raise NotApplied(_why(holder, store.url))
    _let_go(store, lock_id)


def remove_what_is_left(store: WritableStore) -> bool:
    """The lock of a process that is gone. Whether there was any; raises NotApplied if it may be alive."""
    holder = held_by(store)
    if holder is None:
        return False
    if not (isinstance(holder, Lock) and _is_gone(holder)):
        raise NotApplied(_why(holder, store.url))
    _let_go(store, holder.id)
    store.sweep()
    return True


def _take(store: WritableStore, mine: Lock, timeout_s: float, *, take_over: bool) -> bool:
    until, wait, took_over = time.monotonic() + timeout_s, _FIRST_WAIT, False
    while True:
        with suppress(AlreadyThere):
            store.create(places.LOCK, [msgspec.json.encode(mine)])
            _probe(store, mine)
            return took_over
        holder = held_by(store)
        if holder is None:
            continue
        if take_over and isinstance(holder, Lock) and _is_gone(holder):
            _let_go(store, holder.id)
            took_over = True
            continue
        left = until - time.monotonic()
        if left <= 0:
            raise NotApplied(_why(holder, store.url))
        time.sleep(min(wait, left))
        wait = min(2 * wait, _LONGEST_WAIT)


def _probe(store: WritableStore, mine: Lock) -> None:
    """A store that takes the same lock twice would take anything twice."""
    try:
        store.create(places.LOCK, [msgspec.json.encode(msgspec.structs.replace(mine, command="probe"))])
    except AlreadyThere:
        return
    _let_go(store, mine.id)
    raise NotApplied(WhyNot("no-exclusive-create", "this storage lets two write the same new file: no lock holds here"))


def _why(holder: Lock | ForeignLock, url: str) -> WhyNot:
    if isinstance(holder, ForeignLock):
        return WhyNot(
            "locked", f"{places.LOCK} is there, and not by ckpt", next_step="look at it, and remove it by hand"
        )
    return WhyNot(
        "locked",
        f"{holder.who} has locked the checkpoint with `{holder.command}` (process {holder.pid})",
        found=holder.id,
        next_step=f"if that is gone: ckpt unlock {shell_path(url)} {holder.id}",
    )


def _let_go(store: WritableStore, lock_id: str) -> None:
    found, holder = store.look(places.LOCK), held_by(store)
    if found is not None and holder is not None and holder.id == lock_id:
        with suppress(Changed):
            store.delete(places.LOCK, found.version)


def _is_gone(holder: Lock) -> bool:
    """Only what this machine itself can tell of its own processes."""
    if holder.host != socket.gethostname() or holder.boot is None or holder.started is None:
        return False
    boot = _boot()
    if boot is None:
        return False
    return holder.boot != boot or _started(holder.pid) != holder.started


def _boot() -> str | None:
    """This start of this machine, and the numbers that processes have here: a container counts its own."""
    try:
        with open(_BOOT, encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """When the process began, in ticks since the machine did; the name before it may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _command() -> str:
    """The command alone: what follows may be secret."""
    return f"ckpt {sys.argv[1]}" if len(sys.argv) > 1 and sys.argv[1] in ("apply", "undo", "plan") else "ckpt"
