"""Web servers that answer in odd ways, on this machine."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Handler = type[BaseHTTPRequestHandler]
Serve = Callable[[Handler], str]


@contextmanager
def served(handler: Handler) -> Iterator[str]:
    """Its host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Endless(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        with suppress(OSError):
            while True:
                self.wfile.write(b"<a href='x'>" * 1000)

    def log_message(self, *_: Any) -> None:
        """Tests have nothing to say."""


class Compressed(Endless):
    def do_GET(self) -> None:
        body = gzip.compress(bytes(10**7))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
