"""A proxy before a server of objects: it writes down each request, lets it wait, and can answer in the server's place.

with Proxy(server) as proxy:
    open_store(url, proxy.options).list()
    proxy.count("LIST")
"""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.parts.hdfs import HdfsServer
from tests.parts.stores import ObjectServer

_SENT_AT_MOST = 2**30  # of what has no end
_LATER = 3  # requests, after which one arrives that was given up
STILL_S = 3  # longer than the patience of those who ask


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # names in lower case

    @property
    def kind(self) -> str:
        """What a store would bill it as."""
        query = self.query
        lists = "list-type" in query or query.get("comp") == "list" or self.path.endswith("/o")
        lists = lists or query.get("op") == "LISTSTATUS"
        return "LIST" if self.method == "GET" and lists else self.method


@dataclass(frozen=True)
class Answer:
    """In the server's place; `broken`: its own answer, cut off in the middle, or standing still there; or its head,
    and a body that goes on for ever, of no size (`endless`) or of one that is far too large (`long`); or none: the
    server was not asked (`reset`), it has done what it was asked (`lost`), or will, later (`late`)."""

    status: int = 500
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    broken: Literal["middle", "still", "reset", "endless", "long", "lost", "late"] | None = None


@dataclass(frozen=True)
class Raw:
    """A request as it came."""

    command: str
    path: str
    body: bytes
    headers: dict[str, str]


def _raw(handler: BaseHTTPRequestHandler) -> Raw:
    body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    return Raw(handler.command, handler.path, body, dict(handler.headers))


class _Server(ThreadingHTTPServer):
    """As many may come at once as are under way; one more than may wait is kept waiting for a second."""

    request_queue_size = 128
    daemon_threads = True


class Proxy:
    def __init__(self, server: ObjectServer, delay_s: float = 0) -> None:
        self.requests: list[Request] = []
        self.bytes_sent = 0
        self.delay_s = delay_s
        self.instead: Callable[[Request], Answer | None] = lambda _request: None
        self._upstream = server.port
        self._options = server.options
        self._address = server.address
        self._lock = Lock()
        self._late: list[tuple[int, Raw]] = []
        self._never = Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def options(self) -> dict[str, str]:
        return {key: value.replace(self._address, self.address) for key, value in self._options.items()}

    @property
    def count(self) -> int:
        return len(self.requests)

    def decide(self, request: Request) -> Answer | None:
        return self.instead(request)

    def kinds(self) -> Counter[str]:
        return Counter(request.kind for request in self.requests)

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a body is not held back until its head was acknowledged

            def do_GET(self) -> None:
                proxy._serve(self)

            do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

            def log_message(self, *_: Any) -> None:
                """The requests are written down elsewhere."""

        return Handler

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(handler.command, unquote(parts.path), query, headers)
        with self._lock:
            self.requests.append(request)
        if self.delay_s:
            self._never.wait(self.delay_s)
        self._deliver(len(self.requests))
        answer = self.decide(request)
        if answer is not None and answer.broken in ("reset", "lost", "late"):
            self._leave_alone(handler, answer.broken)
            return
        if answer is not None and answer.broken is None:
            _raw(handler)  # else what is left of it is taken for the next one
            self._reply(handler, answer.status, answer.headers, answer.body)
            return
        status, answered, body = self._forward(_raw(handler))
        if answer is not None and answer.broken in ("endless", "long"):
            self._go_on(handler, status, answered, is_chunked=answer.broken == "endless")
            return
        pause_s = STILL_S if answer and answer.broken == "still" else 0
        self._reply(handler, status, answered, body, cut=answer is not None, pause_s=pause_s)

    def deliver(self) -> None:
        """Whatever is still under way."""
        self._deliver(None)

    def _deliver(self, asked: int | None) -> None:
        with self._lock:
            due = [one for one in self._late if asked is None or one[0] <= asked]
            self._late = [one for one in self._late if one not in due]
        for _, raw in due:
            self._forward(raw)

    def _leave_alone(self, handler: BaseHTTPRequestHandler, broken: str) -> None:
        raw, handler.close_connection = _raw(handler), True
        if broken == "lost":
            self._forward(raw)
        elif broken == "late":
            self._late.append((len(self.requests) + _LATER, raw))

    def _forward(self, raw: Raw) -> tuple[int, Mapping[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=60)
        try:
            connection.request(raw.command, raw.path, raw.body, raw.headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def _go_on(
        self, handler: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], *, is_chunked: bool
    ) -> None:
        handler.send_response_only(status)
        sizes = ("content-length", "content-range", "transfer-encoding", "connection", "x-goog-hash")
        for name, value in headers.items():
            if name.lower() not in sizes:
                handler.send_header(name, value)
        size, length = 2**16, 2**40
        if "content-range" in map(str.lower, headers):
            handler.send_header("Content-Range", f"bytes 0-{length - 1}/{length}")
        handler.send_header(*(("Transfer-Encoding", "chunked") if is_chunked else ("Content-Length", str(length))))
        handler.end_headers()
        piece = b"%x\r\n%b\r\n" % (size, bytes(size)) if is_chunked else bytes(size)
        handler.close_connection = True
        with suppress(OSError):  # those who asked have gone away
            while self.bytes_sent < _SENT_AT_MOST:
                handler.wfile.write(piece)
                self.bytes_sent += size

    def _reply(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        cut: bool = False,
        pause_s: float = 0,
    ) -> None:
        handler.send_response_only(status)
        length = str(len(body))
        for name, value in headers.items():
            if name.lower() == "content-length":
                length = value
            elif name.lower() not in ("transfer-encoding", "connection"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", length)
        with suppress(OSError):  # those who asked have gone away
            handler.end_headers()
            if handler.command != "HEAD":
                handler.wfile.write(body[: len(body) // 2] if cut else body)
                self.bytes_sent += len(body)
        if cut:
            self._never.wait(pause_s)
            handler.close_connection = True


class HdfsProxy(Proxy):
    """Before the name node; what is answered in place of bodies, a second one before the data node answers."""

    def __init__(self, server: HdfsServer) -> None:
        super().__init__(server)
        self._bodies = Proxy(server)
        self._data_node = server.data_node
        self._bodies._upstream = int(self._data_node.rpartition(":")[2])
        self._bodies.instead = lambda request: self.instead(request)

    @property
    def options(self) -> dict[str, str]:
        moved = {self._data_node: self._bodies.address.removeprefix("http://")}
        return {"http_port": self.address.rpartition(":")[2], "data_proxy": json.dumps(moved)}

    def decide(self, request: Request) -> Answer | None:
        return None if request.query.get("op") == "OPEN" else self.instead(request)

    def __enter__(self) -> Self:
        self._bodies.__enter__()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, trace)
        self._bodies.__exit__(kind, value, trace)
