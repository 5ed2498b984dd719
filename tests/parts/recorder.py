"""What this process asks of the network, at the border to the system: names that it resolves, addresses it sends to.

Nothing is let through, so that what is told is all that was wanted. Sockets of the machine itself are none of it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

_NAMES = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
_SENDS = ("connect", "connect_ex", "sendto")


@contextmanager
def recorded(tell: Callable[[str], None]) -> Iterator[None]:
    """`tell` is told of each host."""
    with ExitStack() as patched:
        for name in _NAMES:
            patched.enter_context(patch.object(socket, name, _refusing_names(tell)))
        for name in _SENDS:
            patched.enter_context(patch.object(socket.socket, name, _refusing(tell, getattr(socket.socket, name))))
        yield


def _refusing_names(tell: Callable[[str], None]) -> Callable[..., Any]:
    def refuse(host: Any, *_: Any, **__: Any) -> Any:
        tell(host.decode() if isinstance(host, bytes) else str(host))
        raise socket.gaierror(socket.EAI_NONAME, "recorded")

    return refuse


def _refusing(tell: Callable[[str], None], real: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(self: socket.socket, *arguments: Any) -> Any:
        if self.family == socket.AF_UNIX:
            return real(self, *arguments)
        tell(str(arguments[-1][0]))
        raise OSError(errno.ENETUNREACH, "recorded")

    return refuse
