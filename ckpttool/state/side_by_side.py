"""Several partitions at a time: decompressing, gathering and writing columns go on beside each other in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """What the work makes of each, in their order."""
    if jobs == 1:
        yield from map(work, items)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
