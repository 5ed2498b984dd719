"""A bucket in memory, which gives out the pages of a real one and tells how much it was asked."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from zlib import crc32

from fsspec.asyn import get_loop

from ckpttool.storage.bodies import TooLong
from ckpttool.storage.buckets import Entry, Page


class ManyObjects:
    """A name that ends in `/` marks a directory. What is put into `bodies` or taken out of it later is not listed.

    `rounds`: how often one had to wait for an answer before the next could be asked."""

    def __init__(self, bodies: dict[str, bytes], page_size: int = 1000) -> None:
        self.loop = get_loop()
        self.bodies = bodies
        self.page_size = page_size
        self.keys = sorted(bodies)
        self.sizes = {key: (len(body), _version(body)) for key, body in bodies.items()}
        self.asked: list[str] = []
        self.rounds = 0
        self._in_flight = 0

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:
        await self._wait("LIST")
        entries: list[Entry] = []
        folders: list[str] = []
        at = bisect_left(self.keys, token or prefix)
        while at < len(self.keys) and self.keys[at].startswith(prefix):
            if len(entries) + len(folders) == self.page_size:
                return Page(entries, folders, self.keys[at])
            key = self.keys[at]
            inside = key[len(prefix) :]
            if flat or "/" not in inside:
                size, version = self.sizes[key]
                entries.append(Entry(key, size, 0, key.endswith("/"), version))
                at += 1
            else:
                folders.append(f"{prefix}{inside.partition('/')[0]}/")
                at = bisect_left(self.keys, folders[-1][:-1] + "0")
        return Page(entries, folders, None)

    async def get(self, key: str, most: int, span: tuple[int, int] | None = None) -> tuple[bytes, str]:
        await self._wait("GET")
        if key not in self.bodies:
            raise FileNotFoundError
        body = self.bodies[key][slice(*span) if span else slice(None)]
        if len(body) > most:
            raise TooLong
        return body, _version(self.bodies[key])

    async def exists(self, key: str) -> bool:
        await self._wait("HEAD")
        return key in self.bodies

    async def _wait(self, kind: str) -> None:
        self.asked.append(kind)
        self.rounds += self._in_flight == 0
        self._in_flight += 1
        await asyncio.sleep(0.001)
        self._in_flight -= 1


def _version(body: bytes) -> str:
    return str(crc32(body))
