"""Files of state that a plan takes out of a store of objects, with 10 ms for each request: beside a bare client that
asks for the same copies and deletions, as many at once. Over a wire the server of the benchmark is what takes the time,
so the same once more in memory: beside nothing but the waiting, and at 5.3 times of it 400 files a second.

    python -m benchmarks.moves 20000
"""

from __future__ import annotations

import asyncio
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fsspec.asyn import get_loop, sync

from benchmarks.measure import Gate
from benchmarks.s3_stub import BUCKET, STATE
from benchmarks.storage import plain, stub
from ckpttool.apply.stores.base import Whole, WritableStore, together
from ckpttool.apply.stores.objects import AT_ONCE, ObjectTree
from ckpttool.apply.stores.opening import open_tree
from ckpttool.storage.buckets import Entry, Page
from ckpttool.storage.remote import Backend

DELAY_MS = 10


def measure(files: int = STATE) -> Iterator[Gate]:
    with stub(DELAY_MS) as options:
        bare = seconds(lambda: move_barely(options, files))
    with stub(DELAY_MS) as options:
        ours = over_a_wire(options, files)
    yield Gate(f"{files:,} files of state moved, {files / ours:,.0f} a second / by a bare client", ours / bare, 2)
    bucket = Held(files)
    took = seconds(lambda: moved(ObjectTree(f"memory://{BUCKET}/moved", Backend(), bucket, ["moved"]), files))
    waits = bucket.asked * DELAY_MS / 1000 / AT_ONCE
    yield Gate(f"{files:,} looked at and moved in memory, {files / took:,.0f} a second / waiting", took / waits, 5.3)


class Held:
    """A bucket in memory that keeps no condition and lets each request wait."""

    def __init__(self, files: int) -> None:
        self.loop, self.asked = get_loop(), 0
        self._entries = {key: Entry(key, 600, 0, False, "1") for key in names_of(files)}
        self._sorted = sorted(self._entries)

    async def _wait(self) -> None:
        self.asked += 1
        await asyncio.sleep(DELAY_MS / 1000)

    async def page(self, prefix: str, *, flat: bool, token: str | None = None) -> Page:  # noqa: ARG002
        await self._wait()
        first = bisect_right(self._sorted, token or "")
        names = self._sorted[first : first + 1000]
        return Page([self._entries[name] for name in names], [], names[-1] if len(names) == 1000 else None)

    async def head(self, key: str) -> Entry | None:
        await self._wait()
        return self._entries.get(key)

    async def get(self, key: str, most: int, span: tuple[int, int] | None = None) -> tuple[bytes, str]:  # noqa: ARG002
        await self._wait()
        return b"x" * 600, self._entries[key].version

    async def put(self, key: str, body: Whole, version: str | None) -> str:  # noqa: ARG002
        return await self._put(key, body.size)

    async def _put(self, key: str, size: int) -> str:
        await self._wait()
        self._entries[key] = Entry(key, size, 0, False, "1")
        return "1"

    async def delete(self, key: str, version: str) -> None:  # noqa: ARG002
        await self._wait()
        del self._entries[key]

    async def copy(self, entry: Entry, target: str) -> tuple[str, bool]:
        return await self._put(target, entry.size_bytes), True

    async def exists(self, key: str) -> bool:
        return await self.head(key) is not None

    async def clock_s(self, key: str) -> float | None:  # noqa: ARG002
        return None


def over_a_wire(options: Mapping[str, str], files: int) -> float:
    """The seconds it takes, after everything was looked at."""
    tree = open_tree(f"s3://{BUCKET}/moved", "staging", options)
    return moved(tree, files)


def moved(tree: WritableStore, files: int) -> float:
    tree.look_anew(["state"])
    paths = sorted(tree.sizes_below("state"))[:files]
    looked = zip(paths, together(tree, tree.look, paths), strict=True)
    found = {path: one for path, one in looked if one is not None}

    def copy(path: str) -> None:
        tree.copy(path, f"_ckpt/backup/{path}", found[path])

    def delete(path: str) -> None:
        tree.delete(path, found[path].version)

    return seconds(lambda: (together(tree, copy, paths), together(tree, delete, paths)))


def move_barely(options: Mapping[str, str], files: int) -> None:
    fs = plain("s3", options)
    sync(fs.loop, _move_barely, fs, names_of(files))


def names_of(files: int) -> list[str]:
    return [f"moved/state/0/{number % 200}/{number}.delta" for number in range(files)]


async def _move_barely(fs: Any, names: Sequence[str]) -> None:
    client, few = await fs.set_session(), asyncio.Semaphore(AT_ONCE)

    async def ask(method: Callable[..., Any], **arguments: Any) -> None:
        async with few:
            await method(Bucket=BUCKET, **arguments)

    await asyncio.gather(*(ask(client.put_object, Key=f"kept/{name}", Body=b"x" * 600) for name in names))
    await asyncio.gather(*(ask(client.delete_object, Key=name) for name in names))


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    for gate in measure(int(sys.argv[1])):
        print(gate)
