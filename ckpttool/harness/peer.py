"""Who is at the other end of a connection within this machine, as Linux tells.

Whoever drives a debugger runs code in the JVM, and whoever poses as the JVM makes up what a trial sees. The protocol
has no secret that both could show. But of every connection `/proc/net` names the sockets at both ends, and
`/proc/<pid>/fd` the processes that hold them, which nobody can fake.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ckpttool.harness.scratch import members

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _INODE = 1, 2, 9  # columns


def is_held_by(session: int, connection: socket.socket) -> bool:
    """Whether a process of the session holds the other end. Where that cannot be seen, the answer is no."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(connection)}
    return bool(sockets) and any(not sockets.isdisjoint(_opened(pid)) for pid in members(session))


def _inodes(connection: socket.socket) -> Iterator[str]:
    """Of the socket whose ends are ours the other way round; one for IPv6 may speak IPv4."""
    wanted = _spellings(connection.getpeername()), _spellings(connection.getsockname())
    for table in TABLES:
        with suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                columns = line.split()
                if columns[_LOCAL] in wanted[0] and columns[_REMOTE] in wanted[1]:
                    yield columns[_INODE]


def _spellings(address: tuple[str, int]) -> set[str]:
    """As the tables have it: words of four bytes in the machine's order."""
    host, port = address[:2]
    if ":" in host:
        numbers = [socket.inet_pton(socket.AF_INET6, host)]
    else:
        short = socket.inet_pton(socket.AF_INET, host)
        numbers = [short, bytes(10) + b"\xff\xff" + short]
    return {f"{''.join(map(_word, _fours(number)))}:{port:04X}" for number in numbers}


def _fours(number: bytes) -> Iterator[bytes]:
    return (number[at : at + 4] for at in range(0, len(number), 4))


def _word(four: bytes) -> str:
    return f"{int.from_bytes(four, sys.byteorder):08X}"


def _opened(pid: int) -> Iterator[str]:
    with suppress(OSError):  # it has ended, or is somebody else's
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                yield os.readlink(f"/proc/{pid}/fd/{name}")
