"""A bucket of which nothing is asked twice in one look: what a listing told, and what was read of an object in one
version, holds until the next look. What we change ourselves is known at once.

So a plan that is looked at three times is listed three times and read once. That what was seen is still so when it is
changed is for the store to say: every change names the version that it happens to.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from hashlib import sha256

from msgspec.structs import replace

from ckpttool.formats.limits import PIECE_BYTES
from ckpttool.storage.bodies import TooLong
from ckpttool.storage.buckets import Bucket, Entry, Page, Span

_SMALL = 2**20  # of one body that is kept
_KEPT = 64 * 2**20  # of all

Head = Callable[[str], Awaitable[Entry | None]]


class Seen(Bucket):
    """`top`: below it is all that we look at. `head`: what tells of a single object. `requests`: those that were made,
    by what a store would bill them as."""

    def __init__(self, bucket: Bucket, head: Head, top: str, requests: Counter[str]) -> None:
        self.loop = bucket.loop
        self._bucket, self._head, self._top, self._requests = bucket, head, top, requests
        self._digests: dict[tuple[str, str], str] = {}
        self._bodies: dict[tuple[str, str], bytes] = {}
        self._room = _KEPT
        self.look_anew()

    def look_anew(self) -> None:
        self._entries: dict[str, Entry | None] = {}
        self._whole: set[str] = set()  # prefixes below which everything is known
        self._first: Page | None = None
        self._beginning = asyncio.Lock()

    # -- what is there -------------------------------------------------------------------------------------------------

    async def entry(self, key: str) -> Entry | None:
        """None: there is no such object."""
        if not self.is_known(key):
            await self._begin()
        if not self.is_known(key):
            self._requests["read"] += 1
            self._entries[key] = await self._head(key)
        return self._entries.get(key)

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        if token is None and prefix.startswith(self._top):
            await self._begin()
            if self._covers(prefix):
                return self._told(prefix, flat=flat)
            if self._first is not None and prefix == self._top and flat:
                return self._first
        return await self._page(prefix, flat=flat, token=token)

    async def survey(self, prefix: str) -> None:
        """Everything below, so that no object of it has to be asked for by itself."""
        await self._begin()
        token: str | None = ""
        while token is not None and not self._covers(prefix):
            token = (await self._page(prefix, flat=True, token=token or None)).token
        self._whole.add(prefix)

    async def get(self, key: str, most: int, span: Span = None) -> tuple[bytes, str]:
        """As it was read before, if it is the same version."""
        entry = self._entries.get(key)
        if entry is not None and span is None and (kept := self._bodies.get((key, entry.version))) is not None:
            if len(kept) > most:
                raise TooLong
            return kept, entry.version
        if key in self._entries and entry is None:
            raise FileNotFoundError(key)
        self._requests["read"] += 1
        body, version = await self._bucket.get(key, most, span)
        if span is None:
            self._keep(key, version, body)
        if entry is not None and version and entry.version != version:
            self.doubt()
        return body, version

    async def exists(self, key: str) -> bool:
        return await self.entry(key) is not None

    def is_known(self, key: str) -> bool:
        return key in self._entries or self._covers(key)

    def known(self, key: str) -> Entry | None:
        """As far as that is known already."""
        return self._entries.get(key)

    def body(self, entry: Entry) -> bytes | None:
        """If it is held."""
        return self._bodies.get((entry.key, entry.version))

    def digest(self, key: str, version: str) -> str | None:
        """SHA-256 of it in this version, if it was read."""
        return self._digests.get((key, version))

    # -- what we did ---------------------------------------------------------------------------------------------------

    def note(self, entry: Entry, body: bytes | None = None) -> None:
        self._entries[entry.key] = entry
        if body is not None:
            self._keep(entry.key, entry.version, body)

    def note_digest(self, key: str, version: str, digest: str) -> None:
        self._digests[key, version] = digest

    def note_gone(self, key: str) -> None:
        self._entries[key] = None

    def doubt(self) -> None:
        """Something is not as we saw it: whatever is asked next is asked anew."""
        self.look_anew()

    # -- within --------------------------------------------------------------------------------------------------------

    def _keep(self, key: str, version: str, body: bytes) -> None:
        if not version:
            return
        self._digests[key, version] = sha256(body).hexdigest()
        if len(body) <= _SMALL and (key, version) not in self._bodies and self._room >= len(body):
            self._room -= len(body)
            self._bodies[key, version] = body

    def _covers(self, name: str) -> bool:
        return any(name.startswith(prefix) for prefix in self._whole)

    async def _begin(self) -> None:
        """The first page of everything, which of most checkpoints is all."""
        async with self._beginning:
            if self._first is None:
                self._first = await self._page(self._top, flat=True)
                if self._first.token is None:
                    self._whole.add(self._top)

    async def _page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        self._requests["list"] += 1
        page = await self._bucket.page(prefix, flat=flat, token=token)
        for entry in page.entries:
            self._entries[entry.key] = entry
        return page

    def _told(self, prefix: str, *, flat: bool) -> Page:
        entries: list[Entry] = []
        folders: set[str] = set()
        for entry in self._below(prefix):
            inside, slash, _ = entry.key[len(prefix) :].partition("/")
            if flat or not slash or not inside:
                entries.append(entry)
            else:
                folders.add(f"{prefix}{inside}/")
        return Page(entries, sorted(folders), None)

    def _below(self, prefix: str) -> Iterator[Entry]:
        found = [one for key, one in self._entries.items() if one is not None and key.startswith(prefix)]
        yield from sorted(found, key=lambda one: one.key)


async def read_pieces(bucket: Seen, entry: Entry) -> AsyncIterator[bytes]:
    """A body of any size, all of one version; raises FileNotFoundError where it is another meanwhile."""
    if entry.size_bytes <= PIECE_BYTES:
        body, version = await bucket.get(entry.key, PIECE_BYTES)
        bucket.note(replace(entry, size_bytes=len(body), version=version or entry.version))
        yield body
        return
    for start in range(0, entry.size_bytes, PIECE_BYTES):
        span = (start, min(start + PIECE_BYTES, entry.size_bytes))
        body, version = await bucket.get(entry.key, PIECE_BYTES, span)
        if version != entry.version:
            raise FileNotFoundError(entry.key)
        yield body
