"""How state is kept up, by names and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding, Operator, OperatorStore
from ckpttool.scene.around import Around
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.state_chain import StateFiles, StoreFiles
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.laws.scenes import scene_of

MIB, KIB = 2**20, 2**10


def store(names: Iterable[str], partition: int = 0, size: int = 1_000, provider: str = "hdfs") -> StoreFiles:
    listed = frozenset(names)
    made = StoreFiles(0, partition, "default", f"state/0/{partition}", "hdfs", listed, sizes={min(listed): size})
    return made if provider == "hdfs" else replace(made, provider="rocksdb")


def told(
    root: Path,
    *stores: StoreFiles,
    first: int = 0,
    last: int = 80,
    every_ms: int = MINUTE_MS,
    around: Around | None = None,
    watermark_ms: int = 0,
    commits_version: int = 1,
) -> dict[str, Finding]:
    """After batch `last`, whose commits reach back to batch `first`."""
    batches = (
        f"b{one} k{one}-{one + 1} w{one * watermark_ms} t{EPOCH_MS + one * every_ms} c"
        for one in range(first, last + 1)
    )
    scene = scene_of(build(root, " | ".join(batches), commits_version=commits_version))
    operators = (Operator(0, "dedupe", (OperatorStore("default", len(stores), "hdfs"),)),)
    evidence = gather_evidence(replace(scene.checkpoint, operators=operators, has_state_directory=True))
    files = StateFiles(last + 1, "quick", stores, entries=1)
    scene = replace(scene, evidence=evidence, states={last + 1: files}, around=around)
    return {one.id: one for one in told_of_health(scene)}


def changes(begin: int, end: int) -> list[str]:
    return [f"{version}.delta" for version in range(begin, end + 1)]


def test_whole_copies_are_overdue(tmp_path: Path) -> None:
    late = store(["11.snapshot", *changes(1, 81)])
    found = told(tmp_path, late)["state-snapshot-lag"]
    assert (found.severity, found.path) == ("warning", "state/0/0")
    assert found.message.startswith("70 changes lie on the newest whole copy, of 69 minutes and more")


@pytest.mark.parametrize(("begin", "every_ms"), [(60, MINUTE_MS), (11, 100)])
def test_whole_copies_that_are_not_yet_due(tmp_path: Path, begin: int, every_ms: int) -> None:
    files = store([f"{begin}.snapshot", *changes(1, 81)])
    assert "state-snapshot-lag" not in told(tmp_path, files, every_ms=every_ms)


def test_one_way_to_load_it(tmp_path: Path) -> None:
    alone = store(["75.snapshot", *changes(76, 81)])
    assert (
        "1 store of 2 can be loaded" in told(tmp_path, alone, store(changes(1, 81), 1))["state-one-copy-only"].message
    )
    older = store(["65.snapshot", "75.snapshot", *changes(66, 81)])
    assert "state-one-copy-only" not in told(tmp_path / "older", older)


@pytest.mark.parametrize(
    ("sizes", "speaks"),
    [
        ((200 * MIB, MIB, MIB, 2 * MIB), True),
        ((200 * MIB, 190 * MIB, 150 * MIB, 100 * MIB), False),
        ((200_000, 1_000, 1_000, 1_000), False),
        ((200 * MIB, MIB), False),
    ],
)
def test_one_partition_that_has_most(tmp_path: Path, sizes: tuple[int, ...], speaks: bool) -> None:
    stores = [store(["81.snapshot"], partition, size) for partition, size in enumerate(sizes)]
    found = told(tmp_path, *stores)
    assert ("state-skew" in found) is speaks
    assert not speaks or found["state-skew"].message.startswith("partition 0 has 200 MiB to load, and half of those")


def test_the_zip_of_rocksdb_tells_no_size(tmp_path: Path) -> None:
    stores = [store(["81.zip"], one, size, "rocksdb") for one, size in enumerate((200 * MIB, MIB, MIB))]
    assert "state-skew" not in told(tmp_path, *stores)


def test_versions_that_nothing_refers_to(tmp_path: Path) -> None:
    kept = store(["25.snapshot", "75.snapshot", *changes(25, 81)])
    assert "state-orphans" not in told(tmp_path, kept, first=30)
    left = store(["5.snapshot", "15.snapshot", "25.snapshot", "75.snapshot", *changes(5, 81)])
    found = told(tmp_path / "left", left, first=30)["state-orphans"]
    assert found.message.startswith("20 versions of stores are there")


@pytest.mark.parametrize(
    ("sizes", "watermark_ms", "speaks"),
    [
        ((20 * MIB, 40 * MIB), 0, True),
        ((20 * MIB, 30 * MIB), 0, False),
        ((2_000, 40_000), 0, False),
        ((20 * MIB, 40 * MIB), MINUTE_MS, False),
    ],
)
def test_state_that_nothing_clears(tmp_path: Path, sizes: tuple[int, int], watermark_ms: int, speaks: bool) -> None:
    found = told(tmp_path, store(changes(1, 81)), around=Around(state_bytes=sizes), watermark_ms=watermark_ms)
    assert ("state-growing" in found) is speaks
    assert not speaks or found["state-growing"].message.startswith("its whole copies have grown from 20 to 40 MiB")


def test_logs_that_go_further_back_than_any_state(tmp_path: Path) -> None:
    newest, whole = store(["81.snapshot"]), store(changes(1, 81), 1)
    found = told(tmp_path, newest, whole)["rewind-impossible"]
    assert (found.severity, found.path) == ("warning", "state")
    assert "the logs keep batches 0 to 79" in found.message
    assert "rewind-impossible" not in told(tmp_path / "whole", whole)
    assert "rewind-impossible" not in told(tmp_path / "one", store(["80.snapshot", "81.snapshot"]))


def test_state_with_ids_that_is_gone_but_for_the_newest(tmp_path: Path) -> None:
    for name, names, speaks in (("gone", ["81_e8f1.zip"], True), ("kept", ["81_e8f1.zip", "80_e8f1.zip"], False)):
        with_ids = replace(store(names, provider="rocksdb"), unique_id="e8f1")
        assert ("rewind-impossible" in told(tmp_path / name, with_ids, commits_version=2)) is speaks


@pytest.mark.parametrize(("count", "size", "speaks"), [(200, KIB, True), (200, MIB, False), (20, KIB, False)])
def test_very_many_stores_with_next_to_nothing(tmp_path: Path, count: int, size: int, speaks: bool) -> None:
    found = told(tmp_path, *(store(["80.snapshot", "81.snapshot"], one, size) for one in range(count)))
    assert ("too-many-tiny-stores" in found) is speaks
    if speaks:
        assert "200 stores hold 200 KiB" in found["too-many-tiny-stores"].message
        assert "8,640,000 in a month" in found["too-many-tiny-stores"].message
