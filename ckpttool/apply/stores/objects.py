"""Stores of objects. Each change is one request that the store takes only if the object is what we saw.

An answer that never comes is neither yes nor no: the object is looked at again, and what is there decides. So is a "no"
to what the client has repeated by itself: if what is there is ours, the answer to the first try was lost.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from ckpttool.apply.stores.base import AlreadyThere, Bearing, Changed, Found, Large, Whole, WritableStore, patience_s
from ckpttool.apply.stores.seen import Seen, read_pieces
from ckpttool.errors import Refused
from ckpttool.storage.bodies import TooLong
from ckpttool.storage.buckets import TRIES, Bucket, Entry
from ckpttool.storage.objects import ObjectStore
from ckpttool.storage.remote import Backend
from ckpttool.storage.remote_errors import remote_error
from ckpttool.storage.store import Store

AT_ONCE = 64
_FIRST_PAUSE_S = 0.1

T = TypeVar("T")


class Otherwise(Exception):
    """The store says that the object is not as the request wanted it."""


class WritableBucket(Bucket, Protocol):
    """What the reading of a bucket lacks. What is refused raises PermissionError; what the client raises besides leaves
    open whether it was done."""

    async def head(self, key: str) -> Entry | None:
        """What is there, without its body."""

    async def clock_s(self, key: str) -> float | None:
        """The store's own time, as it tells it with an answer."""

    async def put(self, key: str, body: Whole, version: str | None) -> str:
        """In the place of this version, None: where nothing is. Its version; raises Otherwise."""

    async def delete(self, key: str, version: str) -> None:
        """Raises Otherwise if it is another version, or gone."""

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        """Without a download: the copy's version, and whether the store vouches for it that it has the same bytes."""


class ObjectTree(WritableStore):
    """Everything below `segments` in a bucket."""

    settle_s = 10.0
    at_once = AT_ONCE
    has_owners = False
    keeps_times = False

    def __init__(
        self, url: str, backend: Backend, bucket: WritableBucket, segments: Sequence[str], first: str = ""
    ) -> None:
        self.url = url
        self.requests: Counter[str] = Counter()
        self._backend, self._bucket, self._segments = backend, bucket, segments
        self._prefix = "".join(f"{step}/" for step in segments)
        self._large = Large()
        self._seen = Seen(bucket, bucket.head, f"{self._prefix}{first}", self.requests)

    # -- looking -------------------------------------------------------------------------------------------------------

    def look_anew(self, parts: Sequence[str] = ()) -> None:
        self._seen.look_anew()
        for part in parts:
            self._ask(part, self._seen.survey, f"{self._prefix}{part}/")

    def reading(self) -> Store:
        return ObjectStore(self.url, self._backend, self._seen, self._segments)

    def look(self, path: str) -> Found | None:
        for _ in range(TRIES):
            entry = self._entry(path)
            if entry is None:
                return None
            digest = self._seen.digest(entry.key, entry.version)
            if digest is not None:
                return Found(entry.size_bytes, digest, entry.version, _bearing(entry))
            with suppress(FileNotFoundError), self._large.looked_at(entry.size_bytes):
                for _ in self._read(path, entry):
                    pass
        raise Changed(f"{path} changes while it is looked at")

    def pieces(self, path: str) -> Iterator[bytes]:
        entry = self._entry(path)
        try:
            if entry is None:
                raise FileNotFoundError
            yield from self._read(path, entry)
        except FileNotFoundError:
            raise Changed(f"{path} is gone") from None

    def names(self, path: str) -> dict[str, bool] | None:
        prefix = self._prefix_of(path)
        found: dict[str, bool] = {}
        there = False
        for page in self._pages(path, flat=False):
            found |= {folder[len(prefix) :].rstrip("/"): True for folder in page.folders}
            for entry in page.entries:
                name = entry.key[len(prefix) :].rstrip("/")
                if name:
                    found.setdefault(name, entry.is_directory)
            there = there or bool(page.entries or page.folders)
        return found if there else None

    def sizes_below(self, path: str) -> dict[str, int]:
        return {entry.key[len(self._prefix) :]: entry.size_bytes for entry in self._entries_below(path)}

    def bearing_of(self, path: str) -> Bearing | None:
        """Of a directory only where an object is known to mark one."""
        if not path:
            return None
        entry = self._ask(path, self._seen.entry, self._key(path)) or self._seen.known(self._key(f"{path}/"))
        return _bearing(entry) if entry else None

    def is_still(self, path: str, version: str) -> bool:
        entry = self._entry(path)
        return entry is not None and entry.version == version

    def clock_s(self, path: str) -> float | None:
        self.requests["read"] += 1
        return self._ask(path, self._bucket.clock_s, self._key(path))

    # -- changing ------------------------------------------------------------------------------------------------------

    def create(self, path: str, body: Iterable[bytes], bearing: Bearing | None = None) -> None:  # noqa: ARG002
        try:
            with self._large.sent(body) as whole:
                self._put(path, whole, None)
        except Otherwise:
            raise AlreadyThere(f"{path} is there already") from None

    def replace(self, path: str, body: Iterable[bytes], version: str, bearing: Bearing) -> None:  # noqa: ARG002
        try:
            with self._large.sent(body) as whole:
                self._put(path, whole, version)
        except Otherwise:
            raise Changed(f"{path} was changed meanwhile") from None

    def copy(self, path: str, target: str, found: Found) -> str:
        """What we hold anyway is put there; only files of state are larger, and nobody ever writes one of those twice:
        so a copy that comes late, after its source was replaced, cannot be."""
        entry = self._entry(path)
        if entry is None or entry.version != found.version:
            raise Changed(f"{path} was changed meanwhile")
        if self._seen.body(entry) is None:
            self._copied(path, entry, target, found.sha256)
        else:
            with suppress(AlreadyThere):
                self.create(target, self._read(path, entry))
        copy = self.look(target)
        if copy is None or copy.sha256 != found.sha256:
            raise Changed(f"{target} is not what was copied")
        return copy.version

    def delete(self, path: str, version: str) -> None:
        self._delete(path, self._key(path), version)

    def remove_below(self, path: str) -> int:
        entries = self._entries_below(path)
        self.requests["delete"] += len(entries)
        self._ask(path, _together, self._removed, entries, doing="removed")
        return sum(entry.size_bytes for entry in entries)

    def make_directory(self, path: str, bearing: Bearing) -> None:  # noqa: ARG002
        """Only what was marked is marked again."""
        with suppress(AlreadyThere):
            self.create(f"{path}/", [b""])

    def remove_directory(self, path: str) -> None:
        """If nothing is in it, the object that marks it: below it, or in its place."""
        below = self._prefix_of(path)
        if any(entry.key != below for entry in self._entries_below(path)):
            return
        for key in (below, below[:-1]):
            entry = self._ask(path, self._seen.entry, key)
            if entry is not None and entry.is_directory:
                self._delete(path, key, entry.version)

    def set_time(self, path: str, modified_ns: int) -> bool:  # noqa: ARG002
        return False

    def free_bytes(self) -> int | None:
        return None

    def may_give(self, bearing: Bearing) -> bool:  # noqa: ARG002
        return True

    def sweep(self) -> None:
        """An object is whole or not there."""

    # -- within --------------------------------------------------------------------------------------------------------

    def _key(self, path: str) -> str:
        if {"", ".", ".."} & set(path.rstrip("/").split("/")) or "\0" in path:
            raise Refused(f"{path!r} names no file")
        return self._prefix + path

    def _prefix_of(self, path: str) -> str:
        return f"{self._prefix}{path}/" if path else self._prefix

    def _entry(self, path: str) -> Entry | None:
        key = self._key(path)
        entry = self._seen.known(key) if self._seen.is_known(key) else self._ask(path, self._seen.entry, key)
        if entry is not None and entry.is_directory and not path.endswith("/"):
            raise Refused(f"{path} is no regular file")
        return entry

    def _entries_below(self, path: str) -> list[Entry]:
        return [entry for page in self._pages(path, flat=True) for entry in page.entries]

    def _pages(self, path: str, *, flat: bool) -> Iterator[Any]:
        token: str | None = ""
        while token is not None:
            page = self._ask(path, self._page, self._prefix_of(path), flat, token or None)
            yield page
            token = page.token

    async def _page(self, prefix: str, flat: bool, token: str | None) -> Any:
        return await self._seen.page(prefix, flat=flat, token=token)

    def _read(self, path: str, entry: Entry) -> Iterator[bytes]:
        """Read to its end, its digest is known. Raises FileNotFoundError if it is another version meanwhile."""
        pieces, digest = read_pieces(self._seen, entry), sha256()
        try:
            while (piece := self._ask(path, self._next, pieces)) is not None:
                digest.update(piece)
                yield piece
        except Otherwise:
            self._seen.doubt()
            raise FileNotFoundError(path) from None
        now = self._seen.known(entry.key) or entry
        if self._seen.digest(now.key, now.version) is None:
            self._seen.note_digest(now.key, now.version, digest.hexdigest())

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        """None: there are no more."""
        try:
            return await anext(pieces, None)
        except (FileNotFoundError, TooLong):
            raise Otherwise from None

    def _put(self, path: str, body: Whole, version: str | None) -> None:
        key = self._key(path)
        self.requests["write"] += 1
        made = self._ask(path, self._placed, key, body, version, doing="written", size=body.size)
        entry = Entry(key, body.size, None, key.endswith("/"), made)
        self._seen.note(entry, body.data if isinstance(body.data, bytes) else None)
        self._seen.note_digest(key, made, body.sha256)

    def _delete(self, path: str, key: str, version: str) -> None:
        self.requests["delete"] += 1
        try:
            self._ask(path, self._deleted, key, version, doing="removed")
        except Otherwise:
            raise Changed(f"{path} was changed meanwhile") from None
        self._seen.note_gone(key)

    async def _placed(self, key: str, body: Whole, version: str | None) -> str:
        put, is_ours = partial(self._bucket.put, key, body, version), partial(self._is_ours, key, body, version)
        return await self._settled(put, is_ours)

    async def _deleted(self, key: str, version: str) -> None:
        async def attempt() -> bool:
            await self._bucket.delete(key, version)
            return True

        await self._settled(attempt, lambda: self._is_gone(key))

    async def _removed(self, entry: Entry) -> None:
        with suppress(Otherwise):
            await self._deleted(entry.key, entry.version)
        self._seen.note_gone(entry.key)

    async def _settled(self, attempt: Callable[[], Awaitable[T]], done: Callable[[], Awaitable[T | None]]) -> T:
        for number in range(TRIES):
            try:
                return await attempt()
            except Otherwise:
                if (found := await done()) is not None:
                    return found
                raise
            except PermissionError:
                raise
            except Exception as error:
                failed = error
            with suppress(Exception):  # it cannot be seen now: so it is tried again, and cannot happen twice
                if (found := await done()) is not None:
                    return found
            await asyncio.sleep(random.uniform(0.5, 1) * _FIRST_PAUSE_S * 2**number)
        raise failed

    async def _is_ours(self, key: str, body: Whole, replaces: str | None) -> str | None:
        """The version of what is there, if it has our bytes; what was there before a file was new is not ours."""
        known = self._seen.known(key) if replaces is None else None
        if known is not None and self._seen.digest(key, known.version) != body.sha256:
            return None
        self.requests["read"] += 1
        try:
            if isinstance(body.data, bytes):
                found, version = await self._bucket.get(key, body.size)
                return version if found == body.data else None
            return await self._is_ours_piece_by_piece(key, body)
        except (FileNotFoundError, TooLong):
            return None

    async def _is_ours_piece_by_piece(self, key: str, body: Whole) -> str | None:
        entry, digest = await self._bucket.head(key), sha256()
        if entry is None or entry.size_bytes != body.size:
            return None
        async for piece in read_pieces(self._seen, entry):
            digest.update(piece)
        return entry.version if digest.hexdigest() == body.sha256 else None

    async def _is_gone(self, key: str) -> bool | None:
        self.requests["read"] += 1
        return True if await self._bucket.head(key) is None else None

    def _copied(self, path: str, entry: Entry, target: str, digest: str) -> None:
        """By the store itself. What it does not vouch for is read back by whoever looks at it."""
        self.requests["write"] += 1
        key = self._key(target)

        async def copied() -> tuple[str, bool]:
            return await self._settled(lambda: self._bucket.copy(entry, key), _never)

        try:
            version, is_sure = self._ask(path, copied, doing="copied", size=entry.size_bytes)
        except Otherwise:
            raise Changed(f"{path} was changed meanwhile") from None
        self._seen.note(replace(entry, key=key, version=version))
        if is_sure:
            self._seen.note_digest(key, version, digest)

    def _ask(
        self,
        path: str,
        call: Callable[..., Coroutine[Any, Any, T]],
        *arguments: Any,
        doing: str = "read",
        size: int = 0,
    ) -> T:
        from fsspec.asyn import sync

        try:
            return sync(self._bucket.loop, call, *arguments, timeout=patience_s(size))  # type: ignore[no-any-return]
        except Exception as error:
            if doing != "read":  # it may have been done all the same
                self._seen.doubt()
            if isinstance(error, Otherwise):
                raise
            raise remote_error(error, path or self.url, doing) from None


async def _never() -> None:
    """A copy is made again: it comes to the same."""


async def _together(call: Callable[[Entry], Awaitable[None]], entries: Sequence[Entry]) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def one(entry: Entry) -> None:
        async with few:
            await call(entry)

    await asyncio.gather(*map(one, entries))


def _bearing(entry: Entry) -> Bearing:
    return Bearing(modified_ns=None if entry.modified_ms is None else entry.modified_ms * 1_000_000)
