"""Stores of objects, with 30 ms for each request: a stub for S3, azurite behind a long wire for Azure."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

import fsspec

from benchmarks.measure import CKPT, Gate, cpu_seconds
from benchmarks.s3_stub import BUCKET, FLEET, LONG, SMALL
from ckpttool.fleet.scan import scan_checkpoints
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.storage.store import open_store
from tests.parts.delay import delayed
from tests.parts.kafka import free_ports
from tests.parts.stores import AzureServer

DELAY_MS = 30
BARE = [sys.executable, "benchmarks/bare_s3.py"]


def measure() -> Iterator[Gate]:
    with stub(0) as options:
        endpoint = options["endpoint_url"]
        given = [part for pair in options.items() for part in ("--storage-option", "=".join(pair))]
        inspect = [*CKPT, "inspect", f"s3://{BUCKET}/kept", *given]
        cpu = cpu_seconds({"bare": [*BARE, endpoint], "inspect": inspect}, rounds=7)
        yield Gate(
            "CPU of ckpt inspect s3:// / the same requests by the bare client", cpu["inspect"] / cpu["bare"], 1.3
        )
    with stub(DELAY_MS) as options:
        yield _next_batch(options)
        yield _small_files("s3", f"s3://{BUCKET}/small", options, 6)
        yield _fleet(options)
    (far,) = free_ports(1)
    with AzureServer() as server, delayed(far, server.port, DELAY_MS / 2):
        options = {"connection_string": server.connection_string.replace(f":{server.port}/", f":{far}/")}
        server.put_objects("small", [(f"all/{number}", b"x" * 600) for number in range(SMALL)])
        yield _small_files("abfs", "abfs://small/all", options, 10)


@contextmanager
def stub(delay_ms: int) -> Iterator[dict[str, str]]:
    """A process of its own, so that its work is not taken for the client's."""
    command = [sys.executable, "-m", "benchmarks.s3_stub", str(delay_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield {"key": "k", "secret": "s", "endpoint_url": f"http://127.0.0.1:{int(server.stdout.readline())}"}
        finally:
            server.kill()


def _next_batch(options: Mapping[str, str]) -> Gate:
    """Which batch comes next, of logs that nobody purged."""

    def planned() -> None:
        store = open_store(f"s3://{BUCKET}/long", options)
        assert load_checkpoint(store, batches=ONLY_OPENED).last_commit_batch == LONG - 1

    def listed() -> None:
        fs = plain("s3", options)
        assert all(len(fs.ls(f"{BUCKET}/long/{log}")) == LONG for log in ("offsets", "commits"))

    taken = median(_seconds(planned) for _ in range(5))
    return Gate(f"next batch of {LONG:,} / a thirtieth of two fs.ls", taken / (_seconds(listed) / 30), 1)


def _small_files(protocol: str, url: str, options: Mapping[str, str], times: int) -> Gate:
    def together() -> None:
        store = open_store(url, options)
        assert sum(isinstance(body, bytes) for _, body in store.read_all(store.list())) == SMALL

    def one_by_one() -> None:
        fs = plain(protocol, options)
        for path in fs.ls(url, detail=False):
            with fs.open(path) as file:
                assert file.read()

    taken = median(_seconds(together) for _ in range(5))
    name = f"{SMALL} small files, {protocol} / a {times}th of a loop"
    return Gate(name, taken / (_seconds(one_by_one) / times), 1)


def _fleet(options: Mapping[str, str]) -> Gate:
    def scan() -> None:
        store = open_store(f"s3://{BUCKET}/fleet", options)
        found = scan_checkpoints(store, 4, int(time.time() * 1000), lambda _found, _done: None)
        assert len(found.sightings) == FLEET

    return Gate(f"ckpt scan of {FLEET:,} checkpoints, {DELAY_MS} ms a request", _seconds(scan), 60, "s")


def plain(protocol: str, options: Mapping[str, str]) -> Any:
    return fsspec.filesystem(protocol, use_listings_cache=False, skip_instance_cache=True, **options)


def _seconds(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
