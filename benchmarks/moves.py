"""Files of state that a plan takes out of a store of objects, with 10 ms for each request: beside a bare client that
asks for the same copies and deletions, as many at once.

    python -m benchmarks.moves 20000
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fsspec.asyn import sync

from benchmarks.measure import Gate
from benchmarks.s3_stub import BUCKET, STATE
from benchmarks.storage import plain, stub
from ckpttool.apply.stores.base import together
from ckpttool.apply.stores.objects import AT_ONCE
from ckpttool.apply.stores.opening import open_tree

DELAY_MS = 10


def measure(files: int = STATE) -> Iterator[Gate]:
    with stub(DELAY_MS) as options:
        bare = seconds(lambda: move_barely(options, files))
    with stub(DELAY_MS) as options:
        ours = moved(options, files)
    yield Gate(f"{files:,} files of state moved, {files / ours:,.0f} a second / by a bare client", ours / bare, 2)


def moved(options: Mapping[str, str], files: int) -> float:
    """The seconds it takes, after everything was looked at."""
    tree = open_tree(f"s3://{BUCKET}/moved", "staging", options)
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
    names = [f"moved/state/0/{number % 200}/{number}.delta" for number in range(files)]
    sync(fs.loop, _move_barely, fs, names)


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
