"""Stores behind fsspec: object stores, HDFS, archives, HTTP. The listing of a directory is asked for once, and told.

Requests cost time and money: nothing asks whether a path exists before it lists or reads it, and bodies are fetched
together. No backend's patience is ours: one that does not answer in time is given up, for all that follows too.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from ckpttool.errors import CkptError, LeftUnread, MalformedFile, Refused
from ckpttool.formats.layout import kind_of
from ckpttool.formats.limits import PIECE_BYTES, OverLimit, check, most
from ckpttool.storage.bodies import TooLong, counted_by_google, counted_by_s3
from ckpttool.storage.buckets import BUCKETS, silence_clients
from ckpttool.storage.remote_errors import opening_error, remote_error
from ckpttool.storage.store import (
    FileStat,
    NothingStore,
    Store,
    bounded,
    bounded_names,
    not_a_file,
    portions,
    too_large,
)
from ckpttool.storage.urls import Options, options_for, over_http, protocol_of, redact_url, walk

PATIENCE_S = 120.0  # for one request of ours, which may be a hundred of the backend's
CONNECT_S = 10.0
_BUCKETS = ("s3", "abfs", "gs", "gcs", "oss")  # protocols whose first directory has nothing above it
_FILES_AT_ONCE = 100
# Repeats with a growing and random pause; as many connections as requests at once.
_S3_RETRIES = {"mode": "standard", "total_max_attempts": 4}
# No body becomes more than was sent: none is asked for compressed, and one that is all the same stays so.
_HTTP_CLIENT = {"auto_decompress": False, "headers": {"Accept-Encoding": "identity"}}
_S3_CLIENT = {"retries": _S3_RETRIES, "max_pool_connections": 64, "connect_timeout": CONNECT_S, "read_timeout": 30.0}

T = TypeVar("T")
Names = list[str]  # by its own name, since the stores have a method `list`


def open_remote(url: str, target: str, options: Options, storage_options: Mapping[str, str]) -> Store:
    """The store behind `target`, fsspec's spelling of `url`."""
    try:
        import fsspec

        silence_clients()
        protocol = protocol_of(target)
        options = {**options, **options_for(protocol, storage_options)}
        if protocol in ("hdfs", "webhdfs") and "::" not in target:
            target, options = over_http(target, options, has_hadoop=bool(os.environ.get("HADOOP_HOME")))
            protocol = protocol_of(target)
        kwargs = _arguments(target, protocol, options)
        backend = Backend()
        fs, root = backend.ask(lambda: fsspec.core.url_to_fs(target, **kwargs))
    except Exception as error:
        raise opening_error(error, protocol_of(target), redact_url(url)) from None
    backend.fs = fs
    if protocol == "webhdfs" and "::" not in target:
        from ckpttool.storage.hdfs import HdfsStore, make_patient

        make_patient(fs.session)
        return HdfsStore(redact_url(url), backend, "/", _segments(root))
    if protocol in ("http", "https") and "::" not in target:
        return HttpStore(redact_url(url), backend, *_split_address(root))
    if protocol in BUCKETS and "::" not in target and _segments(root):
        from ckpttool.storage.objects import ObjectStore

        name, *segments = _segments(root)
        return ObjectStore(redact_url(url), backend, BUCKETS[protocol](fs, name), segments)
    return FsspecStore(redact_url(url), backend, "/" * root.startswith("/"), _segments(root))


def _arguments(target: str, protocol: str, options: Options) -> Options:
    """A checkpoint changes under us: no listing may be remembered from an earlier look."""
    options = {"use_listings_cache": False, "skip_instance_cache": True, **options}
    if protocol == "s3":
        options["config_kwargs"] = counted_by_s3({**_S3_CLIENT, **options.get("config_kwargs", {})})
    if protocol in ("gs", "gcs"):
        options["session_kwargs"] = counted_by_google(options.get("session_kwargs", {}))
    if protocol in ("http", "https"):
        ours = {**_HTTP_CLIENT, "timeout": _http_timeout(), "trace_configs": [_staying()]}
        options["client_kwargs"] = {**ours, **options.get("client_kwargs", {})}
    return {protocol: options} if "::" in target else options


def _http_timeout() -> Any:
    from aiohttp import ClientTimeout

    return ClientTimeout(total=PATIENCE_S, sock_connect=CONNECT_S, sock_read=3 * CONNECT_S)


def _staying() -> Any:
    """The server that was typed may lead on to another place of its own, or to its TLS, and to nobody else."""
    from aiohttp import TraceConfig
    from yarl import URL

    async def stay(_session: Any, _context: Any, led: Any) -> None:
        onward = led.url.join(URL(led.response.headers.get("Location", "")))
        is_upgrade = (led.url.scheme, onward.scheme, onward.port) == ("http", "https", 443)
        if onward.host != led.url.host or (onward.origin() != led.url.origin() and not is_upgrade):
            where = f"{onward.scheme}://{onward.host}"
            raise Refused(f"the server leads on to {where}, which was not given", "give the URL that it leads to")

    trace = TraceConfig()
    trace.on_request_redirect.append(stay)
    return trace


class Backend:
    """A file system of fsspec, asked with limited patience."""

    def __init__(self, fs: Any = None) -> None:
        self.fs = fs
        self._gave_up = False
        self._waited_s = 0.0

    def ask(self, call: Callable[[], T], patience_s: float | None = None) -> T:
        """What `call` returns or raises, or TimeoutError. Its thread is left behind: nothing can stop a blocked one."""
        if self._gave_up:
            raise TimeoutError("it did not answer before")
        check("seconds", int(self._waited_s))
        began = time.monotonic()
        answer: Future[T] = Future()

        def run() -> None:
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=run, daemon=True).start()
        try:
            return answer.result(patience_s or PATIENCE_S)
        except TimeoutError:
            self._gave_up = not answer.done()
            raise
        finally:
            self._waited_s += time.monotonic() - began


class FsspecStore(Store):
    """Anything fsspec opens. A listing is remembered for `stat` and for the sizes of what is read."""

    def __init__(self, url: str, backend: Backend, base: str, segments: Sequence[str]) -> None:
        self.url = url
        self.backend = backend
        self._base = base
        self._segments = tuple(segments)
        self._listings: dict[str, dict[str, FileStat]] = {}

    def list(self, path: str = "") -> list[str]:
        try:
            listing = self._listing(path)
        except Exception as error:
            raise remote_error(error, path or self.url) from None
        self._listings[path] = {name: found for name, found in listing.items() if name not in ("", ".", "..")}
        return bounded_names(list(self._listings[path]))

    def stat(self, path: str) -> FileStat | None:
        directory, _, name = path.rpartition("/")
        if directory in self._listings:
            return self._listings[directory].get(name)
        try:
            return self._info(path)
        except Exception:
            return None

    def read(self, path: str) -> bytes:
        (body,) = self._read_together([path])
        if isinstance(body, CkptError):
            raise body
        return body

    def read_range(self, path: str, start: int, end: int) -> bytes:
        full = self.full_path(path)
        try:
            body = bytes(self.backend.ask(lambda: self.backend.fs.cat_file(full, start, end)))
            return body if len(body) <= end - start else body[start:end]  # a web server may ignore the range
        except Exception as error:
            raise remote_error(error, path) from None

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        for portion in self._portions(paths):
            yield from zip(portion, self._read_together(portion), strict=True)

    def at(self, path: str) -> Store:
        url, segments = walk(self.url, self._segments, path, top=1 if self._is_bucket() else 0)
        return NothingStore(url) if segments is None else type(self)(url, self.backend, self._base, segments)

    def _is_bucket(self) -> bool:
        protocols = self.backend.fs.protocol
        return any(name in _BUCKETS for name in ([protocols] if isinstance(protocols, str) else protocols))

    def full_path(self, path: str) -> str:
        return self._base + "/".join([*self._segments, *([path] if path else [])])

    def _listing(self, path: str) -> dict[str, FileStat]:
        full = self.full_path(path)
        entries = self.backend.ask(lambda: self.backend.fs.ls(full, detail=True))
        listing = {}
        for entry in entries:
            name = entry["name"].rstrip("/")
            if name.strip("/") != full.strip("/"):
                listing[name.rpartition("/")[2]] = _entry_stat(entry)
            elif entry["type"] != "directory":  # else the directory's own marker
                raise NotADirectoryError(full)
        return listing

    def _info(self, path: str) -> FileStat | None:
        return _entry_stat(self.backend.ask(lambda: self.backend.fs.info(self.full_path(path))))

    def _listed(self, path: str) -> FileStat | None:
        directory, _, name = path.rpartition("/")
        return self._listings.get(directory, {}).get(name)

    def _portions(self, paths: Sequence[str]) -> Iterator[Sequence[str]]:
        return portions(paths, self._size_of, _FILES_AT_ONCE)

    def _size_of(self, path: str) -> int:
        found = self._listed(path)
        return (found.size_bytes or 0) if found else 0

    def _read_together(self, paths: Sequence[str]) -> Sequence[bytes | CkptError]:
        """Ranges with ends known from the listing: concurrent on every async backend, and no HEAD before the GET."""
        sizes = {path: found.size_bytes for path in paths if (found := self._listed(path)) and not found.is_directory}
        ranged = [path for path, size in sizes.items() if size and size <= most(kind_of(path))]
        fetched = dict(zip(ranged, self._fetch_ranges(ranged, [sizes[path] for path in ranged]), strict=True))
        return [
            _outcome(fetched[path] if path in fetched else self._read_alone(path, sizes.get(path)), path)
            for path in paths
        ]

    def _fetch_ranges(self, paths: Sequence[str], ends: Sequence[int | None]) -> Sequence[Any]:
        if not paths:
            return []
        full = [self.full_path(path) for path in paths]
        try:
            bodies: Sequence[Any] = self.backend.ask(
                lambda: self.backend.fs.cat_ranges(full, [0] * len(full), list(ends), on_error="return")
            )
        except Exception as error:
            return [error] * len(paths)
        return bodies

    def _read_alone(self, path: str, size: int | None) -> bytes | Exception:
        """A file that no listing told, or that needs no request."""
        if size is not None:
            return b"" if size == 0 else too_large(path, size)
        if (found := self._listed(path)) and found.is_directory:
            return not_a_file()
        try:
            return self.backend.ask(lambda: self._read_head(path))
        except Exception as error:
            return error

    def _read_head(self, path: str) -> bytes:
        with self.backend.fs.open(self.full_path(path), "rb") as file:
            return bytes(file.read(most(kind_of(path)) + 1))


class HttpStore(FsspecStore):
    """Directory listings of a web server: links in HTML, without sizes and times; a directory's link ends in `/`.

    Every body is streamed and cut off at the limit, because a server may ignore a range or never end."""

    def full_path(self, path: str) -> str:
        base, question, query = self._base.partition("?")
        steps = [*self._segments, *(path.split("/") if path else [])]
        return base + "/".join(quote(step, safe="", errors="surrogateescape") for step in steps) + question + query

    def _listing(self, path: str) -> dict[str, FileStat]:
        """Asked for with a slash at the end: then only a directory answers, and without a redirection."""
        address, question, query = self.full_path(path).partition("?")
        address = address.rstrip("/") + "/"
        (answer,) = self._get([(address + question + query, PIECE_BYTES)])
        if isinstance(answer, TooLong):
            raise OverLimit("names")
        if isinstance(answer, Exception):
            raise answer
        content_type, body = answer
        if not content_type.startswith("text/html"):
            raise NotADirectoryError(address)
        names = linked_names(body.decode("utf-8", "surrogateescape"), address)
        return {name.rstrip("/"): FileStat(None, None, name.endswith("/")) for name in names}

    def _info(self, path: str) -> FileStat | None:
        """A web server does not tell a directory from a file, but the listing above it does."""
        directory, _, name = path.rpartition("/")
        self.list(directory)
        return self._listings[directory].get(name)

    def _read_together(self, paths: Sequence[str]) -> Sequence[bytes | CkptError]:
        answers = self._get([(self.full_path(path), most(kind_of(path))) for path in paths])
        bodies = [self._body(path, answer) for path, answer in zip(paths, answers, strict=True)]
        if len(paths) > 1:  # together they share what is held at once: whoever went over it has another try of its own
            bodies = [
                self._read_together([path])[0] if isinstance(body, LeftUnread) else body
                for path, body in zip(paths, bodies, strict=True)
            ]
        return bodies

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self.read(path)[start:end]  # a web server may ignore a range

    def _body(self, path: str, answer: tuple[str, bytes] | Exception) -> bytes | CkptError:
        if (found := self._listed(path)) and found.is_directory:
            return not_a_file()
        if isinstance(answer, TooLong):
            return too_large(path)
        return _outcome(answer if isinstance(answer, Exception) else answer[1], path)

    def _get(self, addresses: Sequence[tuple[str, int]]) -> Sequence[tuple[str, bytes] | Exception]:
        """For each address, and the most that is read of it, the type and the body, or what went wrong."""
        from fsspec.asyn import sync

        fs = self.backend.fs
        try:
            answers: Sequence[tuple[str, bytes] | Exception] = self.backend.ask(
                lambda: sync(fs.loop, _get_all, fs, addresses)
            )
        except Exception as error:
            return [error] * len(addresses)
        return answers


async def _get_all(fs: Any, addresses: Sequence[tuple[str, int]]) -> Sequence[tuple[str, bytes] | Exception]:
    session = await fs.set_session()
    few = asyncio.Semaphore(16)
    room = max([PIECE_BYTES, *(most_bytes for _, most_bytes in addresses)])

    async def get(asked: tuple[str, int]) -> tuple[str, bytes] | Exception:
        nonlocal room
        address, most_bytes = asked
        try:
            async with few, session.get(fs.encode_url(address), **fs.kwargs) as response:
                if response.status in (404, 410):
                    return FileNotFoundError(address)
                response.raise_for_status()
                if response.url.path.endswith("/") and not address.partition("?")[0].endswith("/"):
                    return IsADirectoryError(address)  # the server led us on to a listing
                if response.headers.get("Content-Encoding", "identity") != "identity":
                    return ConnectionError("the server compresses what was asked for plain")
                body = bytearray()
                async for piece in response.content.iter_chunked(2**16):
                    body += piece
                    room -= len(piece)
                    if room < 0 or len(body) > most_bytes:
                        room += len(body)
                        return TooLong()
                return response.headers.get("Content-Type", ""), bytes(body)
        except Exception as error:
            return error

    return await asyncio.gather(*map(get, addresses))


# Neither looks beyond the tag that it is in, so that a page of tags that never end takes no longer than another.
_TAG = re.compile(r"<a\s([^<>]*)", re.IGNORECASE)
_LINK = re.compile(r"""href\s*=\s*["']([^"'<>]+)["']""", re.IGNORECASE)


def linked_names(page: str, address: str) -> Iterator[str]:
    """The links that lead one step down: no sorting of columns (`?C=N`), no parent, no other site."""
    path = "/" + address.partition("://")[2].partition("/")[2]
    for tag in _TAG.finditer(page):
        found = _LINK.search(tag[1])
        name = html.unescape(found[1] if found else "").removeprefix(address).removeprefix(path).removeprefix("./")
        if name and not re.search(r"[?#:]|/.", name) and not name.startswith("/"):
            yield unquote(name, errors="surrogateescape")


def _split_address(url: str) -> tuple[str, list[str]]:
    """`https://host/` (with the query that may sign each request) and the parts of the path."""
    address, question, query = url.partition("?")
    scheme, _, rest = address.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}/{question}{query}", [unquote(step) for step in _segments(path)]


def _segments(path: str) -> list[str]:
    return [step for step in path.split("/") if step]


def _entry_stat(entry: Mapping[str, Any]) -> FileStat:
    size = entry.get("size")
    directory = entry.get("type") == "directory"
    return FileStat(size if isinstance(size, int) else None, _entry_time(entry), directory)


def _entry_time(entry: Mapping[str, Any]) -> int | None:
    """Each backend has its own name and type for the time of the last change."""
    for key in ("LastModified", "last_modified", "mtime", "updated", "created", "modificationTime"):
        value = entry.get(key)
        if isinstance(value, int | float) and 0 < value < 10**15:
            return int(value if value > 10**11 else value * 1000)
        if hasattr(value, "timestamp"):
            return int(value.timestamp() * 1000)  # type: ignore[union-attr]
    return None


def _outcome(body: bytes | Exception, path: str) -> bytes | CkptError:
    if isinstance(body, Exception):
        return remote_error(body, path)
    try:
        return bounded(body, path)
    except MalformedFile as error:
        return error
