"""A Google Cloud Storage that obeys generations. A fake, of our own: the emulator takes every conditional request as if
it had no condition, so nothing that rests on them can be tried against it.

    with GenerationsServer() as server:
        server.put(tree, "bucket")
        open_store("gs://bucket/checkpoint", server.options)

It knows what the clients ask for: pages of names, bodies, what an object is, uploads in one request, deletions,
rewrites; by the JSON API, as gcsfs does, and by the XML API, as delta-rs does.
Each write gives the object a new generation; `ifGenerationMatch`, `ifSourceGenerationMatch` (in XML a header) and 0 for
"there is none" are kept as the documentation has them.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.parts.stores import GoogleServer

_OBJECTS, _UPLOADS, _DOWNLOADS = "/storage/v1/b/", "/upload/storage/v1/b/", "/download/storage/v1/b/"
_ALL = 10**9


@dataclass(frozen=True)
class Stored:
    name: str
    body: bytes
    generation: int
    updated: datetime

    def told(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "size": str(len(self.body)),
            "generation": str(self.generation),
            "metageneration": "1",
            "updated": self.updated.isoformat().replace("+00:00", "Z"),
        }


class NotMet(Exception):
    """A condition; the answer's status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Buckets(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Asked)
        self.stored: dict[tuple[str, str], Stored] = {}
        self.lock = Lock()
        self._generations = itertools.count(1_700_000_000_000_000)

    def get(self, bucket: str, name: str, generation: str | None = None) -> Stored:
        found = self.stored.get((bucket, name))
        if found is None:
            raise NotMet(404)
        if generation is not None and generation != str(found.generation):
            raise NotMet(412)
        return found

    def put(self, bucket: str, name: str, body: bytes, generation: str | None) -> Stored:
        with self.lock:
            found = self.stored.get((bucket, name))
            if generation is not None and generation != (str(found.generation) if found else "0"):
                raise NotMet(412)
            made = Stored(name, body, next(self._generations), datetime.now(UTC))
            self.stored[bucket, name] = made
            return made

    def delete(self, bucket: str, name: str, generation: str | None) -> None:
        with self.lock:
            self.get(bucket, name, generation)
            del self.stored[bucket, name]

    def page(self, bucket: str, prefix: str, delimiter: str | None, token: str, most: int) -> dict[str, Any]:
        names = sorted(name for where, name in list(self.stored) if where == bucket and name.startswith(prefix))
        items: list[dict[str, Any]] = []
        folders: list[str] = []
        for name in names:
            inside, cut, _ = name[len(prefix) :].partition(delimiter or "\0")
            shown = f"{prefix}{inside}{delimiter}" if cut else name
            if shown <= token or shown in folders:
                continue
            if len(items) + len(folders) == most:
                last = max([*(one["name"] for one in items), *folders])
                return {"items": items, "prefixes": folders, "nextPageToken": last}
            if cut:
                folders.append(shown)
            else:
                items.append(self.stored[bucket, name].told())
        return {"items": items, "prefixes": folders}


class Asked(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Buckets

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self._answer(parts.path, query, body)
        except NotMet as error:
            self._reply(error.status, json.dumps({"error": {"code": error.status, "message": "no"}}).encode())

    do_POST = do_DELETE = do_PUT = do_HEAD = do_GET

    def _answer(self, path: str, query: Mapping[str, str], body: bytes) -> None:
        if path == "/wipe":
            self.server.stored.clear()
            self._reply(204, b"")
        elif path.startswith((_OBJECTS, _UPLOADS, _DOWNLOADS)):
            self._answer_json(path, query, body)
        else:
            self._answer_xml(path, query, body)

    def _answer_xml(self, path: str, query: Mapping[str, str], body: bytes) -> None:
        bucket, _, name = path.removeprefix("/").partition("/")
        expected = self.headers.get("x-goog-if-generation-match")
        if not name:
            told = self.server.page(bucket, query.get("prefix", ""), query.get("delimiter"), "", _ALL)
            self._reply(200, _page_in_xml(told, query.get("start-after", "")), {"Content-Type": "application/xml"})
        elif self.command == "PUT":
            self._reply(200, b"", _marks(self.server.put(bucket, unquote(name), body, expected)))
        elif self.command == "DELETE":
            self.server.delete(bucket, unquote(name), expected)
            self._reply(204, b"")
        else:
            self._send(self.server.get(bucket, unquote(name)), is_body=True)

    def _answer_json(self, path: str, query: Mapping[str, str], body: bytes) -> None:
        expected = query.get("ifGenerationMatch")
        if path.startswith(_UPLOADS):
            bucket = path.removeprefix(_UPLOADS).partition("/")[0]
            self._tell(self.server.put(bucket, query["name"], body, expected).told())
            return
        prefix = _DOWNLOADS if path.startswith(_DOWNLOADS) else _OBJECTS
        bucket, _, rest = path.removeprefix(prefix).partition("/o")
        name, _, target = rest.removeprefix("/").partition("/rewriteTo/b/")
        if not rest:
            asked = query.get("prefix", ""), query.get("delimiter"), query.get("pageToken", "")
            self._tell(self.server.page(bucket, *asked, int(query.get("maxResults", 1000))))
        elif self.command == "DELETE":
            self.server.delete(bucket, unquote(name), expected)
            self._reply(204, b"")
        elif target:
            found = self.server.get(bucket, unquote(name), query.get("ifSourceGenerationMatch"))
            where, _, copy = target.partition("/o/")
            made = self.server.put(where, unquote(copy), found.body, expected)
            self._tell({"done": True, "resource": made.told()})
        else:
            self._send(self.server.get(bucket, unquote(name)), is_body=query.get("alt") == "media")

    def _send(self, found: Stored, *, is_body: bool) -> None:
        if not is_body:
            self._tell(found.told())
            return
        start, _, end = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        body, is_part = found.body, bool(start or end)
        if is_part:
            first = int(start) if start else max(0, len(body) - int(end))
            body = body[first : int(end) + 1 if start and end else None]
        told = {"Content-Range": f"bytes {first}-{first + len(body) - 1}/{len(found.body)}"} if is_part else {}
        self._reply(206 if is_part else 200, body, {**_marks(found), **told})

    def _tell(self, fields: Mapping[str, Any]) -> None:
        self._reply(200, json.dumps(fields).encode(), {"Content-Type": "application/json"})

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


def _marks(found: Stored) -> dict[str, str]:
    return {
        "X-Goog-Generation": str(found.generation),
        "ETag": f'"{found.generation}"',
        "Last-Modified": format_datetime(found.updated, usegmt=True),
    }


def _page_in_xml(told: Mapping[str, Any], after: str) -> bytes:
    lines = [
        f"<Contents><Key>{escape(one['name'])}</Key><Size>{one['size']}</Size><ETag>{one['generation']}</ETag>"
        f"<LastModified>{one['updated']}</LastModified></Contents>"
        for one in told["items"]
        if one["name"] > after
    ]
    lines += [f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in told["prefixes"]]
    return f"<ListBucketResult>{''.join(lines)}</ListBucketResult>".encode()


class GenerationsServer(GoogleServer):
    """In a process of its own: delta-rs lets no thread of this one answer while it waits."""

    def command(self) -> Sequence[str]:
        here = f"PYTHONPATH={Path(__file__).parents[2]}"
        return ["env", here, sys.executable, "-m", "tests.parts.generations", str(self.port)]

    def put_objects(self, bucket: str, objects: Iterable[tuple[str, bytes]]) -> None:
        import requests

        with requests.Session() as session:
            for name, body in objects:
                place = f"{self.address}/{bucket}/{quote(name, safe='')}"
                session.put(place, data=body, timeout=30).raise_for_status()


if __name__ == "__main__":
    Buckets(int(sys.argv[1])).serve_forever()
