"""HDFS over WebHDFS, which needs no JVM and no native library. Directories are listed and bodies fetched several at
once; a body is asked for at the name node and comes from a data node.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from ckpttool.errors import CkptError
from ckpttool.formats.layout import kind_of
from ckpttool.formats.limits import largest_file, most
from ckpttool.storage.buckets import TRIES
from ckpttool.storage.remote import CONNECT_S, FsspecStore
from ckpttool.storage.remote_errors import remote_error

_AT_ONCE = 16
_PATIENCE_S = 30.0
_BUSY = (429, 502, 503, 504)

T = TypeVar("T")
Asked = TypeVar("Asked")


def make_patient(session: Any) -> None:
    """It would wait for ever, and ask once only."""
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    session.request = partial(_bounded_request, session.request)
    again = Retry(TRIES - 1, status_forcelist=_BUSY, raise_on_status=False, backoff_factor=0.2, backoff_jitter=0.2)
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_AT_ONCE, max_retries=again))


def _bounded_request(request: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """With the body, unless it goes on beyond all that is ever asked for; and nothing in it is unpacked."""
    headers = {**(options.pop("headers", None) or {}), "Accept-Encoding": "identity"}
    answer = request(*arguments, **options, headers=headers, timeout=(CONNECT_S, _PATIENCE_S), stream=True)
    body, longest = bytearray(), largest_file() + 1
    with answer:
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise ConnectionError("the server compresses what was asked for plain")
        for piece in answer.iter_content(2**16):
            body += piece
            if len(body) > longest:
                raise ConnectionError("the answer does not end")
    answer._content = bytes(body)
    return answer


class HdfsStore(FsspecStore):
    """It is one look: what was listed once is not asked for again."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.changed: set[str] = set()
        self._bodies: dict[str, bytes | CkptError] = {}

    def list(self, path: str = "") -> list[str]:
        return [*self._listings[path]] if path in self._listings else super().list(path)

    def survey(self, path: str = "", parts: Sequence[str] = ()) -> None:
        """All directories below, level by level. What cannot be listed is told of when it is asked for."""
        level = [path] if path else [part for part in parts if part != "state"]
        while level:
            level = [
                f"{one}/{name}"
                for one, names in zip(level, self._at_once(self._listed_or_nothing, level), strict=True)
                for name in names
                if self._listings[one][name].is_directory
            ]

    def prefetch(self, needed: Callable[[], Sequence[str]]) -> None:
        for portion in islice(self._portions(needed()), 1):
            self._bodies = dict(zip(portion, super()._read_together(portion), strict=True))

    def _read_together(self, paths: Sequence[str]) -> Sequence[bytes | CkptError]:
        told = {path: self._bodies.pop(path) for path in paths if path in self._bodies}
        others = [path for path in paths if path not in told]
        told.update(zip(others, super()._read_together(others), strict=True))
        return [told[path] for path in paths]

    def _listed_or_nothing(self, path: str) -> Sequence[str]:
        try:
            return self.list(path)
        except CkptError:
            return ()

    def _fetch_ranges(self, paths: Sequence[str], ends: Sequence[int | None]) -> Sequence[Any]:
        return self._at_once(lambda one: self._fetch_listed(*one), list(zip(paths, ends, strict=True)))

    def _fetch_listed(self, path: str, size: int | None) -> bytes | Exception:
        """The whole file, which may have grown since it was listed."""
        body = self._fetch(path, 0, most(kind_of(path)) + 1)
        if isinstance(body, FileNotFoundError) or (isinstance(body, bytes) and len(body) != size):
            self.changed.add(path)
        return body

    def read_range(self, path: str, start: int, end: int) -> bytes:
        body = self._fetch(path, start, end - start)
        if isinstance(body, Exception):
            raise remote_error(body, path)
        return body

    def _fetch(self, path: str, offset: int, length: int) -> bytes | Exception:
        """A body that broke off is asked for again; all else the session has asked for again."""
        failed: Exception | None = None
        for number in range(TRIES):
            if failed:
                time.sleep(random.uniform(0.05, 0.2) * 2**number)
            try:
                return self.backend.ask(lambda: self._open(self.full_path(path), offset, length))
            except Exception as error:
                failed = error
                if not _broke_off(error):
                    break
        return failed or ConnectionError("the body broke off")

    def _read_head(self, path: str) -> bytes:
        return self._open(self.full_path(path), 0, most(kind_of(path)) + 1)

    def _open(self, full: str, offset: int, length: int) -> bytes:
        fs = self.backend.fs
        answer = fs._call("OPEN", path=full, offset=offset, length=length, redirect=False)
        if "Location" in answer.headers:
            answer = fs.session.get(fs._apply_proxy(answer.headers["Location"]))
        if answer.status_code == 404:
            raise FileNotFoundError
        if answer.status_code in (401, 403):
            raise IsADirectoryError if "not a file" in answer.text else PermissionError("AccessDenied")
        answer.raise_for_status()
        return bytes(answer.content)

    def _at_once(self, call: Callable[[Asked], T], items: Sequence[Asked]) -> Sequence[T]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found: Iterator[T] = pool.map(call, items)
            return [*found]


def _broke_off(error: Exception) -> bool:
    cause = error.args[0] if error.args else None
    return type(cause).__name__ in ("ProtocolError", "ReadTimeoutError")
