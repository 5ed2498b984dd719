"""What the child gives up before it sees a foreign byte: what the kernel offers to everybody, without any privilege.

Of macOS there are only the limits. What is not to be had is gone without: a limit less is no reason not to answer.
"""

from __future__ import annotations

import os
import resource
import sys
from struct import pack

TYPE_CHECKING = False  # so that little is loaded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEMORY_BYTES = 768 * 2**20  # what is written to; libraries and threads reserve far more than they use
ADDRESS_BYTES = 4 * 2**30
WRITTEN_BYTES = 2**20  # a file of ours: there is none that is larger
OPEN_FILES = 2**16

_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38  # prctl
_SIGKILL = 9  # without the module, which makes classes of them all
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on every machine: younger than the separate numbers
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE, _TRUNCATE = 1 << 0, 1 << 1, 1 << 14
_CHANGES = sum(1 << bit for bit in range(4, 13))  # remove and make, of every kind
_REFER, _IOCTL = 1 << 13, 1 << 15
_CONNECT_AND_BIND = 0b11  # of TCP
_SIGNALS_AND_SOCKETS = 0b11  # of processes outside
_NOWHERE = "/dev/null"
_DEVICES = (_NOWHERE, "/dev/tty") if os.path.exists("/dev/tty") else (_NOWHERE,)


def wall_in(parent: int) -> None:
    os.umask(0o077)
    os.closerange(3, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], OPEN_FILES))
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, WRITTEN_BYTES)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_DATA, MEMORY_BYTES)
    _limit(resource.RLIMIT_AS, ADDRESS_BYTES)
    if sys.platform == "linux":
        _ask_linux()
    if os.getppid() != parent:
        os._exit(0)  # it ended before its end could reach us


def limit_seconds(most: int) -> None:
    """Of the processor, in all."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (most + 1 if hard == resource.RLIM_INFINITY else min(most + 1, hard), hard))


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(which, (most, most))
    except (ValueError, OSError):  # macOS takes no limit of addresses
        return


def confine_writing(places: Sequence[str]) -> None:
    """From here on this process, and whatever it starts, makes and changes files below these directories alone, and
    traces nobody outside. It may do all else. Where the kernel cannot see to it, nothing does."""
    if sys.platform == "linux":
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        version = _version(libc)
        changes = _changes(version) & ~_IOCTL  # of terminals too
        written = changes & (_WRITE | _TRUNCATE)
        allowed = {**dict.fromkeys(places, changes), **dict.fromkeys(_DEVICES, written)}
        _restrict(libc, (changes, 0, 0), allowed, version)


def _ask_linux() -> None:
    import ctypes

    libc = ctypes.CDLL(None)
    libc.prctl(_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _landlock(libc)


def _landlock(libc: object) -> None:
    """Nothing is written, made, removed or executed, nobody outside is connected to or signalled. Files that it may
    read as the user, it may read."""
    version = _version(libc)
    files = _EXECUTE | _changes(version)
    network = _CONNECT_AND_BIND if version >= 4 else 0
    scoped = _SIGNALS_AND_SOCKETS if version >= 6 else 0
    _restrict(libc, (files, network, scoped), {_NOWHERE: files & (_WRITE | _TRUNCATE)}, version)


def _version(libc: object) -> int:
    return int(libc.syscall(_CREATE_RULESET, None, 0, _VERSION))  # type: ignore[attr-defined]


def _changes(version: int) -> int:
    """Every way of changing files that this version knows."""
    found = _WRITE | _CHANGES
    return (
        found | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0) | (_IOCTL if version >= 5 else 0)
    )


def _restrict(libc: object, forbidden: tuple[int, int, int], allowed: Mapping[str, int], version: int) -> None:
    """`forbidden`: with files, on the network, and to processes outside. `allowed`: what is allowed beneath a path."""
    call = libc.syscall  # type: ignore[attr-defined]
    if version < 1:
        return
    rules = pack("=QQQ", *forbidden)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = call(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return
    for path, access in allowed.items():
        place = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
        call(_ADD_RULE, ruleset, _BENEATH, pack("=Qi", access, place), 0)
        os.close(place)
    call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
