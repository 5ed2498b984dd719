"""An S3 that answers at once or a little later: emulators need longer for a page the more objects they hold.

    python -m benchmarks.s3_stub DELAY_MS      # prints its port

It holds one bucket: `long/`, a checkpoint of 100,000 batches that nobody purged; `kept/`, one at batch 1,000 with the
101 batches that Spark keeps; `small/`, 200 files; `moved/`, 20,000 of state; `fleet/`, 1,000 checkpoints. Lists, reads
and tells what exists; writes, copies and deletes, looking at no condition but that of a DELETE. A request takes as long
as asked for, a new connection twice as long again.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_left, insort
from collections.abc import Iterator
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "bench"
LONG = 100_000
FLEET = 1_000
SMALL = 200
STATE = 20_000
SAMPLE = Path(__file__).resolve().parents[1] / "sample_checkpoints" / "4.2.0-kafka-to-kafka-sound" / "checkpoint"
_TIME = "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
_ENTRY = f"<Contents><Key>{{}}</Key>{_TIME}<Size>{{}}</Size><ETag>{{}}</ETag></Contents>"
_COPIED = f"<CopyObjectResult>{_TIME}<ETag>{{}}</ETag></CopyObjectResult>"


def checkpoint(place: str, batches: range) -> Iterator[tuple[str, bytes]]:
    offsets, commits = ((SAMPLE / log / "2").read_bytes() for log in ("offsets", "commits"))
    yield f"{place}/metadata", (SAMPLE / "metadata").read_bytes()
    yield f"{place}/sources/0/0", (SAMPLE / "sources/0/0").read_bytes()
    for batch in batches:
        yield f"{place}/offsets/{batch}", offsets
        yield f"{place}/commits/{batch}", commits


def contents() -> dict[str, bytes]:
    held = dict(checkpoint("long", range(LONG)))
    held.update(checkpoint("kept", range(900, 1001)))
    held.update((f"small/{number}", b"x" * 600) for number in range(SMALL))
    held.update((f"moved/state/0/{number % 200}/{number}.delta", b"x" * 600) for number in range(STATE))
    for number in range(FLEET):
        held.update(checkpoint(f"fleet/team{number % 20}/query{number}", range(3)))
    return held


class Stub(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, held: dict[str, bytes], delay_s: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.held = held
        self.keys = sorted(held)
        self.lock = Lock()
        self.delay_s = delay_s

    def put(self, key: str, body: bytes) -> None:
        with self.lock:
            if key not in self.held:
                insort(self.keys, key)
            self.held[key] = body

    def delete(self, key: str, expected: str | None) -> bool:
        with self.lock:
            if expected not in (None, _mark(self.held[key])):
                return False
            del self.held[key]
            del self.keys[bisect_left(self.keys, key)]
        return True

    def page(self, prefix: str, delimiter: str, token: str, most: int) -> str:
        entries: list[str] = []
        folders: list[str] = []
        at = bisect_left(self.keys, token or prefix)
        while at < len(self.keys) and self.keys[at].startswith(prefix):
            if len(entries) + len(folders) == most:
                break
            key = self.keys[at]
            inside, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            if cut:
                folders.append(f"{prefix}{inside}/")
                at = bisect_left(self.keys, f"{prefix}{inside}0")
            else:
                entries.append(_ENTRY.format(key, len(self.held[key]), _mark(self.held[key])))
                at += 1
        goes_on = at < len(self.keys) and self.keys[at].startswith(prefix)
        more = f"<NextContinuationToken>{self.keys[at]}</NextContinuationToken>" if goes_on else ""
        below = "".join(f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in folders)
        return (
            f"<ListBucketResult><Name>{BUCKET}</Name><KeyCount>{len(entries) + len(folders)}</KeyCount>"
            f"<IsTruncated>{str(goes_on).lower()}</IsTruncated>{more}{''.join(entries)}{below}</ListBucketResult>"
        )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Stub

    def setup(self) -> None:
        super().setup()
        time.sleep(2 * self.server.delay_s)

    def do_GET(self) -> None:
        time.sleep(self.server.delay_s)
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").lstrip("/")
        if "list-type" in query:
            asked = (query.get("prefix", ""), query.get("delimiter", ""), query.get("continuation-token", ""))
            self._reply(200, self.server.page(*asked, int(query.get("max-keys", 1000))).encode())
        elif key in self.server.held:
            self._reply(200, self.server.held[key])
        else:
            self._reply(404, b"<Error><Code>NoSuchKey</Code></Error>")

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        time.sleep(self.server.delay_s)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        source = self.headers.get("x-amz-copy-source")
        if source:
            body = self.server.held[unquote(source).removeprefix(f"{BUCKET}/")]
        self.server.put(self._key(), body)
        self._reply(200, _COPIED.format(_mark(body)).encode() if source else b"", _mark(body))

    def do_DELETE(self) -> None:
        time.sleep(self.server.delay_s)
        done = self.server.delete(self._key(), self.headers.get("If-Match"))
        self._reply(204 if done else 412, b"" if done else b"<Error><Code>PreconditionFailed</Code></Error>")

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")

    def _reply(self, status: int, body: bytes, mark: str | None = None) -> None:
        self.send_response(status)
        self.send_header("ETag", mark or _mark(body))
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


def _mark(body: bytes) -> str:
    return f'"{md5(body).hexdigest()}"'


if __name__ == "__main__":
    stub = Stub(contents(), float(sys.argv[1]) / 1000)
    print(stub.server_port, flush=True)
    stub.serve_forever()
