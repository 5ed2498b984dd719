"""Answers to the clients of object stores, which read them whole, and some before they look at the sizes: none goes on
beyond what it may be. All of these clients ask through aiohttp, whose answers are counted here as they come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ckpttool.formats.limits import PIECE_BYTES

if TYPE_CHECKING:
    from aiohttp import ClientResponse, StreamReader

_PLAIN = {"auto_decompress": False, "headers": {"Accept-Encoding": "identity"}}


class TooLong(Exception):
    """A body beyond the limit, whose transfer was given up."""


class Together:
    """What bodies that are fetched together have left of what is held at once."""

    def __init__(self, room: int) -> None:
        self.room = room


_body: ContextVar[tuple[int, Together]] = ContextVar("body")


@contextmanager
def body_of(most: int, together: Together) -> Iterator[None]:
    """What is asked for in here has a body of at most so many bytes; all else, as listings, of a piece."""
    token = _body.set((most, together))
    try:
        yield
    finally:
        _body.reset(token)


class _Counted:
    """What an answer is read from."""

    def __init__(self, content: StreamReader, most: int, together: Together) -> None:
        self._content = content
        self._most = most
        self._together = together
        self._come = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def read(self, size: int = -1) -> bytes:
        if size >= 0:
            return self._count(await self._content.read(size))
        pieces = []
        while piece := self._count(await self._content.readany()):
            pieces.append(piece)
        return b"".join(pieces)

    def _count(self, piece: bytes) -> bytes:
        self._come += len(piece)
        self._together.room -= len(piece)
        if self._come > self._most or self._together.room < 0:
            self._together.room += self._come
            raise TooLong("the answer does not end")
        return piece


def counting() -> type[ClientResponse]:
    from aiohttp import ClientResponse

    class _Counting(ClientResponse):
        async def start(self, connection: Any) -> ClientResponse:
            await super().start(connection)
            asked = _body.get(None) if self.status < 300 else None  # an error has a body of its own
            content: Any = _Counted(self.content, *(asked or (PIECE_BYTES, Together(PIECE_BYTES))))
            self.content = content
            return self

    return _Counting


def counted_by_s3(config: Mapping[str, Any]) -> dict[str, Any]:
    """What botocore's client is configured with."""
    from inspect import signature

    from aiobotocore.config import AioConfig
    from aiobotocore.httpsession import AIOHTTPSession

    class _Session(AIOHTTPSession):  # type: ignore[misc]
        async def _get_session(self, proxy_url: Any) -> Any:
            session = await super()._get_session(proxy_url)
            session._response_class = answer
            return session

    answer = counting()
    is_known = "http_session_cls" in signature(AioConfig).parameters  # older ones have no say in it
    return {**({"http_session_cls": _Session} if is_known else {}), **config}


def counted_by_google(session: Mapping[str, Any]) -> dict[str, Any]:
    """What its client makes a session of. No body becomes more than was sent."""
    return {**_PLAIN, "response_class": counting(), **session}


async def counted_by_azure(client: Any) -> None:
    """Its client makes a session when it first needs one."""
    with suppress(AttributeError):
        transport = client._pipeline._transport
        if transport.session is None:
            await transport.open()
            session: Any = transport.session
            session._response_class = counting()
