"""Stores of objects: names in order, given out in pages, and no directories but those that names spell.

A checkpoint is surveyed by one flat listing, which tells of every directory at once; single directories elsewhere are
listed down to the next slash. A log too long to list is probed for its newest ids. Bodies are fetched together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from ckpttool.errors import CkptError, NotFound, Refused
from ckpttool.formats.bucket_rules import Expiry
from ckpttool.formats.layout import kind_of
from ckpttool.formats.limits import PIECE_BYTES, OverLimit, check, most
from ckpttool.formats.names import parse_log_names
from ckpttool.storage.bodies import Together, TooLong, body_of
from ckpttool.storage.buckets import Bucket, Entry, GoogleBucket, Page, S3Bucket
from ckpttool.storage.remote import Backend
from ckpttool.storage.remote_errors import remote_error
from ckpttool.storage.store import FileStat, LogListing, NothingStore, Store, not_a_file, portions, too_large
from ckpttool.storage.urls import walk

_AT_ONCE = 64
_FILES_AT_ONCE = 1000
_DIRECTORY = FileStat(None, None, True)
_HADOOP_MARK = "_$folder$"  # what other file systems leave beside a directory, and S3A does not show
_LISTED_IDS = 20_000  # of a log; one that is longer is probed
_NEWEST = 100  # ids that a probed log tells at least

T = TypeVar("T")
Names = list[str]  # by its own name, since the store has a method `list`
Listing = dict[str, FileStat]


class ObjectStore(Store):
    """Everything below `prefix` in a bucket. It is one look: what was listed once is not asked for again."""

    def __init__(self, url: str, backend: Backend, bucket: Bucket, segments: Sequence[str]) -> None:
        self.url = url
        self.changed: set[str] = set()
        self.backend = backend
        self.bucket = bucket
        self.segments = tuple(segments)
        self._prefix = "".join(f"{step}/" for step in segments)
        self._listings: dict[str, Listing] = {}
        self._cut: set[str] = set()  # directories of `_listings` that may hold more
        self._surveyed: set[str] = set()  # directories below which everything is in `_listings`
        self._first: dict[str, Page] = {}  # of parts that a survey did not get to
        self._versions: dict[str, str] = {}  # by keys, as listings told
        self._tails: dict[str, Names] = {}  # the newest names of logs that were asked for beside another
        self._bodies: dict[str, bytes | Exception] = {}

    # -- names ---------------------------------------------------------------------------------------------------------

    def list(self, path: str = "") -> list[str]:
        if not self._is_known(path):
            look = (self._survey, path, ()) if path in self._first else (self._list_directory, path)
            self._ask(path, *look)
        listing = self._listings.get(path)
        if listing is None and (path or self.segments):
            raise NotFound(f"{path or self.url} does not exist")
        return list(listing or ())

    def list_starting(self, start: str) -> Names:
        """One page tells of all below these names too, if it holds them; if not, the names are listed by themselves."""
        if not self._is_known(""):
            self._ask(start, self._survey_starting, start)
        return [name for name in self._listings.get("", ()) if name.startswith(start)]

    def survey(self, path: str = "", parts: Sequence[str] = ()) -> None:
        """The first page of all names, beside the names at the top, and if there are more, the first of each part."""
        if not self._is_surveyed(path):
            self._ask(path, self._survey, path, parts)

    def list_log(self, path: str, beside: str | None = None, *, full: bool = False) -> LogListing:
        if not full and not self._is_known(path):
            names = self._tails.pop(path, None) or self._ask(path, self._list_log, path, beside)
            if names is not None:
                return LogListing(names, complete=False)
        return LogListing(self.list(path), complete=True)

    def stat(self, path: str) -> FileStat | None:
        if not path:
            return _DIRECTORY
        directory, _, name = path.rpartition("/")
        if self._is_known(directory) or name in self._listings.get(directory, ()):
            return self._listings.get(directory, {}).get(name)
        try:
            return self._ask(path, self._stat, path)
        except CkptError:
            return None

    def at(self, path: str) -> Store:
        url, segments = walk(self.url, self.segments, path)
        return NothingStore(url) if segments is None else ObjectStore(url, self.backend, self.bucket, segments)

    def expiries(self) -> tuple[Expiry, ...]:
        """The rules by which the bucket takes objects away; names and prefixes are whole, from its top."""
        return self._ask("", self._telling().expiries)

    def is_versioned(self) -> bool:
        """Whether what is overwritten or deleted can be had again."""
        return self._ask("", self._telling().is_versioned)

    def _telling(self) -> S3Bucket | GoogleBucket:
        if isinstance(self.bucket, S3Bucket | GoogleBucket):
            return self.bucket
        raise Refused("Azure tells of rules and versions in the management API of the storage account alone")

    @property
    def prefix(self) -> str:
        """With what the names of its objects begin."""
        return self._prefix_of("")

    def _is_known(self, path: str) -> bool:
        return (path in self._listings and path not in self._cut) or self._is_surveyed(path)

    def _is_surveyed(self, path: str) -> bool:
        steps = path.split("/") if path else []
        return any("/".join(steps[:count]) in self._surveyed for count in range(len(steps) + 1))

    async def _page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        page = await self.bucket.page(prefix, flat=flat, token=token)
        self._versions.update((entry.key, entry.version) for entry in page.entries)
        return page

    async def _list_directory(self, path: str) -> None:
        """An empty directory is there if there is a mark of it: below it, or in its place."""
        listing: Listing = {}
        there = False
        prefix = self._prefix_of(path)
        async for page in self._pages(prefix, flat=False):
            there = there or bool(page.entries or page.folders)
            listing.update(_directory(prefix, page))
        if not there and path:
            found = self._listed(path) or await self._stat(path)
            there = found is not None and found.is_directory
        if there:
            self._listings[path] = listing
        else:
            self._surveyed.add(path)
        self._cut.discard(path)

    async def _survey(self, path: str, parts: Sequence[str]) -> None:
        if path:
            first = self._first.get(path) or await self._page(self._prefix_of(path), flat=True)
            self._absorb(first.entries)
            async for page in self._pages(self._prefix_of(path), flat=True, token=first.token):
                self._absorb(page.entries)
            self._cut = {one for one in self._cut if one != path and not one.startswith(f"{path}/")}
            self._surveyed.add(path)
            return
        asked = self._page(self._prefix, flat=True)
        page = await asked if self._is_known("") else (await asyncio.gather(asked, self._list_directory("")))[0]
        self._absorb(page.entries)
        if page.token is None:
            self._surveyed.add("")
        elif page.entries:
            self._cut |= self._around(page.entries[-1])
            unknown = [part for part in parts if part in self._listings.get("", ()) and part not in self._listings]
            firsts = await asyncio.gather(*(self._page(self._prefix_of(part), flat=True) for part in unknown))
            self._first = dict(zip(unknown, firsts, strict=True))

    async def _survey_starting(self, start: str) -> None:
        page = await self._page(self._prefix + start, flat=True)
        self._absorb(page.entries)
        self._cut.add("")
        if page.token is not None and page.entries:
            self._cut |= self._around(page.entries[-1])
            async for more in self._pages(self._prefix + start, flat=False):
                self._listings.setdefault("", {}).update(_directory(self._prefix + start, more))

    def _around(self, last: Entry) -> set[str]:
        """The directories that the last name of a page lies in: the next page goes on in them."""
        steps = last.key[len(self._prefix) :].split("/")[:-1]
        return {"/".join(steps[:count]) for count in range(1, len(steps) + 1)}

    def _absorb(self, entries: Iterable[Entry]) -> None:
        """Enter names into the listings of their directories, and these into those above."""
        for entry in entries:
            path = entry.key[len(self._prefix) :]
            if path.endswith(_HADOOP_MARK):
                continue
            directory, _, name = path.rstrip("/").rpartition("/")
            if entry.is_directory:
                self._enter(path.rstrip("/"))
            else:
                self._enter(directory)[name] = _stat(entry)

    def _enter(self, path: str) -> Listing:
        listing = self._listings.get(path)
        if listing is None:
            listing = self._listings[path] = {}
            if path:
                above, _, name = path.rpartition("/")
                self._enter(above)[name] = _DIRECTORY
        return listing

    async def _pages(self, prefix: str, *, flat: bool, token: str | None = "") -> AsyncIterator[Page]:
        """From the start, or from where a page left off; None: it was the last."""
        pages = names = 0
        while token is not None:
            page = await self._page(prefix, flat=flat, token=token or None)
            pages, names = pages + 1, names + len(page.entries) + len(page.folders)
            check("pages", pages)
            check("names", names)
            yield page
            token = page.token

    async def _stat(self, path: str) -> FileStat | None:
        key = self._prefix + path
        async for page in self._pages(key, flat=False):
            for entry in page.entries:
                if entry.key == key:
                    return _DIRECTORY if entry.is_directory else _stat(entry)
            if f"{key}/" in page.folders:
                return _DIRECTORY
        return None

    def _prefix_of(self, path: str) -> str:
        return f"{self._prefix}{path}/" if path else self._prefix

    # -- a log of very many files --------------------------------------------------------------------------------------

    async def _list_log(self, path: str, beside: str | None) -> Names | None:
        """The names around the newest id, if there are more than one wants to list; None: they were all listed."""
        prefix = self._prefix_of(path)
        page = self._first.get(path) or await self._page(prefix, flat=False)
        first = parse_log_names(list(_directory(prefix, page))).ids
        if page.token is None or not first or len(str(max(first))) < 5:
            return None
        newest = await self._newest(prefix, max(first))
        if newest - min(first) < _LISTED_IDS:
            return None
        names, _ = await asyncio.gather(self._tail(path, newest), self._look_beside(beside, newest))
        return names

    async def _look_beside(self, path: str | None, near: int) -> None:
        """The newest names of a log that should end there too. If it does not, it is looked at for itself."""
        if path is None or self._is_known(path):
            return
        with suppress(Exception):
            beyond = f"{self._prefix_of(path)}{(near // 1000 + 1) * 1000}"
            tail, more = await asyncio.gather(self._tail(path, near), self.bucket.exists(beyond))
            if tail and not more:
                self._tails[path] = tail

    async def _newest(self, prefix: str, known: int) -> int:
        """The highest id, if the ids have no gap up to it: digit by digit, down to the last three. First also an id of
        one digit more: nine are asked for at once from the beginning, and no later round waits for a connection."""
        places = range(len(str(known)) - 1, 2, -1)
        for place in places:
            step = 10**place
            digit = known // step % 10
            last = 11 if place == places[0] else 10
            candidates = [known - known % step + (more - digit) * step for more in range(digit + 1, last)]
            there = await _together(self.bucket.exists, [f"{prefix}{number}" for number in candidates])
            known = max([known, *(number for number, found in zip(candidates, there, strict=True) if found)])
        return known

    async def _tail(self, path: str, newest: int) -> Names:
        """The names that share all but three digits with `newest`; if they are few, of the thousand before too."""
        prefix, ids, thousands = self._prefix_of(path), list[int](), newest // 1000
        seen: Listing = {}
        while thousands > 0 and len(ids) < _NEWEST and newest // 1000 - thousands < 2:
            # `12`, `120` to `129`, … `12899`: a thousand names; the second listing has those from `129` on.
            pages = (self._page(f"{prefix}{thousands}{digit}", flat=False) for digit in ("", "9"))
            for page in await asyncio.gather(*pages):
                seen.update(_directory(prefix, page))
            ids = [one for one in parse_log_names(list(seen)).ids if one // 1000 >= thousands]
            thousands -= 1
        if ids:
            self._listings[path] = seen
            self._cut.add(path)
        return [str(number) for number in ids]

    # -- bodies --------------------------------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        (body,) = self._fetch([path])
        if isinstance(body, CkptError):
            raise body
        return body

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._ask(path, self._get_part, self._prefix + path, start, end)

    def read_all(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]:
        """What is larger than it was listed, so that not all of a portion can be held, has another try of its own."""
        for portion in self._portions(paths):
            for path, body in zip(portion, self._fetch(portion), strict=True):
                yield path, self._fetch([path])[0] if isinstance(body, OverLimit) and len(portion) > 1 else body

    def prefetch(self, needed: Callable[[], Sequence[str]]) -> None:
        """One portion is held at most; what is beyond it is fetched when it is read."""
        for portion in islice(self._portions(needed()), 1):
            fetched = zip(portion, self._fetch(portion), strict=True)
            self._bodies = {path: body for path, body in fetched if not isinstance(body, OverLimit)}

    def _portions(self, paths: Sequence[str]) -> Iterator[Sequence[str]]:
        return portions(paths, self._size_of, _FILES_AT_ONCE)

    def _size_of(self, path: str) -> int:
        found = self._listed(path)
        return (found.size_bytes or 0) if found else 0

    def _fetch(self, paths: Sequence[str]) -> Sequence[bytes | CkptError]:
        """What the listing already tells needs no request."""
        told = {path: body for path in paths if (body := self._told(path)) is not None}
        wanted = [path for path in dict.fromkeys(paths) if path not in told]
        if wanted:
            keys = [self._prefix + path for path in wanted]
            together = Together(max([PIECE_BYTES, *(most(kind_of(path)) for path in wanted)]))
            try:
                get = partial(self._get, together)
                told.update(zip(wanted, self._ask(wanted[0], _together, get, keys), strict=True))
            except CkptError as error:
                told.update(dict.fromkeys(wanted, error))
        return [self._outcome(path, told[path]) for path in paths]

    def _told(self, path: str) -> bytes | Exception | None:
        if path in self._bodies:
            return self._bodies.pop(path)
        found = self._listed(path)
        if found is None:
            return FileNotFoundError() if self._is_known(path.rpartition("/")[0]) else None
        if found.is_directory:
            return not_a_file()
        if found.size_bytes == 0:
            return b""
        return too_large(path, found.size_bytes) if (found.size_bytes or 0) > most(kind_of(path)) else None

    async def _get_part(self, key: str, start: int, end: int) -> bytes:
        with body_of(end - start, Together(end - start)):
            return (await self.bucket.get(key, end - start, (start, end)))[0]

    async def _get(self, together: Together, key: str) -> bytes | Exception:
        path = key[len(self._prefix) :]
        try:
            with body_of(most(kind_of(path)), together):
                body, version = await self.bucket.get(key, most(kind_of(path)))
        except TooLong:
            return too_large(path)
        except Exception as error:
            return error
        if version and self._versions.get(key, version) not in (version, ""):
            self.changed.add(path)
        return body

    def _outcome(self, path: str, body: bytes | Exception) -> bytes | CkptError:
        found = self._listed(path)
        if isinstance(body, Exception):
            if isinstance(body, FileNotFoundError) and found and not found.is_directory:
                self.changed.add(path)
            return remote_error(body, path)
        if found and found.size_bytes != len(body):
            self.changed.add(path)
        return body if len(body) <= most(kind_of(path)) else too_large(path)

    def _listed(self, path: str) -> FileStat | None:
        directory, _, name = path.rpartition("/")
        return self._listings.get(directory, {}).get(name)

    def _ask(self, path: str, call: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        from fsspec.asyn import sync

        try:
            return self.backend.ask(lambda: sync(self.bucket.loop, call, *arguments))  # type: ignore[no-any-return]
        except Exception as error:
            raise remote_error(error, path or self.url) from None


async def _together(call: Callable[[str], Awaitable[T]], keys: Sequence[str]) -> list[T]:
    few = asyncio.Semaphore(_AT_ONCE)

    async def one(key: str) -> T:
        async with few:
            return await call(key)

    return await asyncio.gather(*map(one, keys))


def _directory(prefix: str, page: Page) -> Listing:
    """The names directly below `prefix`'s last slash; the object that only marks the directory is none of them."""
    cut = prefix.rfind("/") + 1
    listing: Listing = {folder[cut:].rstrip("/"): _DIRECTORY for folder in page.folders}
    for entry in page.entries:
        name = entry.key[cut:].rstrip("/")
        if name and not name.endswith(_HADOOP_MARK):
            listing.setdefault(name, _DIRECTORY if entry.is_directory else _stat(entry))
    return listing


def _stat(entry: Entry) -> FileStat:
    return FileStat(entry.size_bytes, entry.modified_ms, False)
