"""Twice as many files of a store, or sources of a query, take no more than twice as many steps.

Steps are calls, so that nothing depends on how fast a machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.attacks import INSPECT, LOG, PLAN, SIZE, VERIFY
from tests.conftest import run_ckpt
from tests.state_builders import DELTA, HDFS, ROCKSDB, checkpoint, snapshot_zip

pytestmark = pytest.mark.property

FEW = 150  # more copies than are tried one after the other


def steps(work: Callable[[], object]) -> int:
    taken = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal taken
        taken += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return taken


def _of_each(*suffixes: str, body: bytes = b"", first: int = 1) -> Callable[[int], dict[str, bytes]]:
    """Files of as many versions. Deltas that can be read are so where nothing else is asked."""
    return lambda count: {
        f"0/0/{first + number}.{suffix}": DELTA if suffix in ("delta", "changelog") else body
        for number in range(count)
        for suffix in suffixes
    }


LAYOUTS: Mapping[str, tuple[str, Callable[[int], dict[str, bytes]], bool]] = {
    "deltas": (HDFS, _of_each("delta"), True),
    "damaged snapshots": (HDFS, _of_each("snapshot"), True),
    "damaged snapshots among deltas": (HDFS, _of_each("delta", "snapshot"), True),
    "damaged zips": (ROCKSDB, _of_each("zip"), True),
    "damaged zips among changelogs": (ROCKSDB, _of_each("changelog", "zip"), True),
    "zips without their tables": (ROCKSDB, _of_each("zip", body=snapshot_zip([("1.sst", 100)])), True),
    "zips of later versions": (ROCKSDB, _of_each("zip", first=2), False),
    "snapshots of later versions": (HDFS, _of_each("snapshot", first=2), False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_steps_grow_as_the_names_do(name: str, tmp_path: Path) -> None:
    provider, files, reaches_all = LAYOUTS[name]

    def counts(command: tuple[str, ...]) -> Iterator[int]:
        for count in (FEW, 2 * FEW, 4 * FEW):
            root = tmp_path / f"{'-'.join(command[:2])}-{count}".replace("{}", "")
            first = {} if reaches_all else {"0/0/1.zip" if provider == ROCKSDB else "0/0/1.delta": DELTA}
            checkpoint(root, {**first, **files(count)}, batch=count - 1 if reaches_all else 0, provider=provider)
            words = [word.replace("{}", str(root)) for word in command]
            run_ckpt(*words)  # what is imported and remembered is no part of it
            yield steps(lambda words=words: run_ckpt(*words))  # type: ignore[misc]

    for command in (PLAN, VERIFY, SIZE):
        few, twice, four = counts(command)
        assert four - twice <= 2.4 * (twice - few) + 2000, (command, few, twice, four)


def test_steps_grow_as_the_sources_do(tmp_path: Path) -> None:
    def count_of(command: tuple[str, ...], lines: int) -> int:
        root = tmp_path / f"{command[0]}-{lines}"
        (root / "offsets").mkdir(parents=True)
        (root / "metadata").write_text('{"id":"4c3ea7c6-9a0b-4f53-8c2e-2f1d9a6f0e11"}')
        told = "".join(f'\n{{"t{number}":{{"0":1}}}}' for number in range(lines))
        for batch in range(4):
            (root / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1}}{told}')
        words = [word.replace("{}", str(root)) for word in command]
        run_ckpt(*words)
        return steps(lambda: run_ckpt(*words))

    for command in (INSPECT, PLAN, LOG):
        few, twice, four = (count_of(command, lines) for lines in (60, 120, 240))
        assert four - twice <= 2.4 * (twice - few) + 2000, (command, few, twice, four)
