"""`ckpt scan --engine spark`: the checkpoints that the driver found are inspected by the workers of a Spark cluster.

A task opens the storage once, for some dozens of checkpoints. Sightings come back as plain values. Works with every
PySpark that runs on our Python.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread

from msgspec.structs import replace
from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from ckpttool.errors import Unavailable
from ckpttool.fleet.scan import AT_ONCE, Inspector, Sighting, inspect_here
from ckpttool.formats import limits
from ckpttool.storage.remote_errors import harmless
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import parse_url

_PER_TASK = 2 * AT_ONCE
_LOOK_S = 0.5  # how often the finished tasks are counted


def spark_inspector(url: str, storage_options: Mapping[str, str]) -> Inspector:
    """For what is found below `url`, through the session that `spark-submit` or the environment configures, or a local
    one. The options go to the workers with the task itself, not through Spark's configuration, which its UI shows."""
    target, options = parse_url(url)
    # The workers may stand in another directory.
    return partial(_inspect, url if target else os.path.abspath(options["path"]), dict(storage_options))


def _inspect(
    root: str,
    storage_options: Mapping[str, str],
    found: Mapping[str, Store],
    now_ms: int,
    progress: Callable[[int], None],
) -> Iterable[Sighting]:
    if not found:
        return []
    try:
        context = SparkSession.builder.appName("ckpt scan").getOrCreate().sparkContext
        done = context.accumulator(0)
        paths = context.parallelize([*found], -(-len(found) // _PER_TASK))
        with _telling(progress, done, len(found)):
            inspect = partial(_inspect_some, root, storage_options, limits.given(), now_ms, done)
            seen = paths.mapPartitions(inspect).collect()
    except Exception as error:
        raise Unavailable(f"Spark gave up: {_reason(error)}", _NEXT_STEP) from None
    progress(len(found))
    return [replace(one, url=store.url) for one, store in zip(seen, found.values(), strict=True)]


def _inspect_some(
    root: str,
    storage_options: Mapping[str, str],
    read_limits: Mapping[str, int],
    now_ms: int,
    done: Accumulator[int],
    paths: Iterator[str],
) -> Iterator[Sighting]:
    """Runs on a worker."""
    with limits.changed(read_limits):
        store = open_store(root, storage_options)
        for sighting in inspect_here({path: store.at(path) for path in paths}, now_ms, lambda _: None):
            done.add(1)
            yield sighting


@contextmanager
def _telling(progress: Callable[[int], None], done: Accumulator[int], total: int) -> Iterator[None]:
    """What the finished tasks have counted, while the job runs. A task that ran twice has counted twice."""
    ended = Event()

    def tell() -> None:
        while not ended.wait(_LOOK_S):
            progress(min(done.value, total - 1))

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


_NEXT_STEP = (
    "the workers' Python (PYSPARK_PYTHON) is of the driver's release, and has ckpttool with the extra of the storage"
)
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:(?:[ \t].*)?\n)*(\S.*)")
_THROWN = re.compile(r"^: (.*)", re.MULTILINE)


def _reason(error: Exception) -> str:
    """What Python raised in a worker, or what Spark says; only its type if it might tell a secret."""
    text = str(error)
    told = _RAISED.search(text) or _THROWN.search(text)
    line = (told[1] if told else text)[:199]
    return harmless(line) or (line.partition(":")[0] if told else type(error).__name__)
