"""Where a checkpoint is, and who else is at work there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.formats.bucket_rules import Expiry
from ckpttool.laws.health import told_of_health
from ckpttool.model import Finding
from ckpttool.scene.around import Around, Backups, Barred
from ckpttool.scene.evidence import gather_evidence
from tests.builders import EPOCH_MS, MINUTE_MS, build
from tests.unit.laws.scenes import SOUND, health, scene_of

DAY_MS = 86_400_000


def at(root: Path, url: str, around: Around | None = None, conf: dict[str, str] | None = None) -> dict[str, Finding]:
    scene = scene_of(build(root, SOUND), now_ms=EPOCH_MS + 10 * DAY_MS)
    evidence = gather_evidence(replace(scene.checkpoint, url=url))
    start = replace(scene.start, conf=conf or {})
    return {one.id: one for one in told_of_health(replace(scene, evidence=evidence, around=around, start=start))}


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("/tmp/ckpt", True),
        ("/local_disk0/ckpt", True),
        ("/mnt/yarn/usercache/ckpt", True),
        ("/data/tmp/ckpt", False),
        ("/tmpfiles/ckpt", False),
        ("/run_a/ckpt", False),
        ("s3a://lake/tmp/ckpt", False),
    ],
)
def test_a_place_for_temporary_files(tmp_path: Path, url: str, told: bool) -> None:
    assert ("temporary-location" in at(tmp_path, url)) is told


@pytest.mark.parametrize(
    ("url", "told"), [("s3a://lake/ckpt", True), ("abfss://c@a/ckpt", False), ("/data/ckpt", False)]
)
def test_a_store_that_renames_by_copying(tmp_path: Path, url: str, told: bool) -> None:
    assert ("rename-not-atomic" in at(tmp_path, url)) is told


def test_a_manager_that_writes_in_one_step(tmp_path: Path) -> None:
    manager = {"spark.sql.streaming.checkpointFileManagerClass": "a.Manager"}
    assert "rename-not-atomic" not in at(tmp_path, "s3a://lake/ckpt", conf=manager)


def test_a_copy(tmp_path: Path) -> None:
    root = build(tmp_path, " | ".join(f"k{one}-{one + 1} t{EPOCH_MS + one * 10 * MINUTE_MS} c" for one in range(5)))
    assert "copied-checkpoint" not in health(root)
    for path in [*(root / "offsets").iterdir(), *(root / "commits").iterdir()]:
        os.utime(path, (EPOCH_MS / 1000 + 86_400, EPOCH_MS / 1000 + 86_400))
    assert health(root)["copied-checkpoint"].message.startswith("a copy, made 23 hours after batch 4 was planned")


OLDEST = {"metadata": EPOCH_MS, "sources/0/0": EPOCH_MS + 1_000}


@pytest.mark.parametrize(
    ("around", "expected", "severity", "message"),
    [
        ({"stale_checksums": ("offsets/3",)}, "hand-edited-log", "warning", "offsets/3: not what Hadoop's checksum"),
        (
            {"owners": {0: "metadata", 1000: "offsets/3"}},
            "owner-mixed",
            "warning",
            "files of 2 users: metadata is of user 0, offsets/3 is of user 1000",
        ),
        (
            {"barred": (Barred("offsets", 1000, "write", 0o555), Barred("commits", 1000, "write", 0o555))},
            "permissions-insufficient",
            "warning",
            "user 1000, who has written the newest batch, cannot write in offsets, commits (mode 555)",
        ),
        (
            {"oldest": OLDEST},
            "old-files-at-risk",
            "info",
            "written once, 2023-11-14T22:13:20.000Z, and read at every start",
        ),
        ({"backups": Backups(2, 3 * 2**20)}, "backups-left", "info", "2 plans of ckpt apply left 3.0 MiB"),
        ({"versioned": False}, "bucket-unversioned", "info", "the bucket keeps no older versions"),
        (
            {"expiries": (Expiry("tmp-12d", "ckpt/", 12),), "oldest": OLDEST},
            "bucket-lifecycle",
            "warning",
            'the bucket\'s rule "tmp-12d" deletes what lies below ckpt/ 12 days after it was written: metadata goes'
            " in 2 days",
        ),
        (
            {"expiries": (Expiry("all", "", 7, only="larger than 1 bytes"),), "oldest": OLDEST},
            "bucket-lifecycle",
            "warning",
            'the bucket\'s rule "all" deletes all that lies in it and is larger than 1 bytes 7 days after it was'
            " written: metadata was due 3 days ago",
        ),
    ],
)
def test_what_lies_around(tmp_path: Path, around: Any, expected: str, severity: str, message: str) -> None:
    told = at(tmp_path, "/data/ckpt", Around(**around))[expected]
    assert told.severity == severity
    assert told.message.startswith(message)


def test_nothing_is_told_of_what_nobody_looked_at(tmp_path: Path) -> None:
    quiet = Around(owners={0: "metadata"}, oldest={"metadata": EPOCH_MS + 10 * DAY_MS}, versioned=True)
    assert at(tmp_path, "/data/ckpt").keys() == at(tmp_path, "/data/ckpt", quiet).keys() == {"sink-not-named"}


@pytest.mark.parametrize(("executors", "told"), [({"1", "2"}, True), ({"1"}, False), ({"driver", "1"}, False)])
def test_a_local_path_that_several_executors_write(tmp_path: Path, executors: set[str], told: bool) -> None:
    around = Around(executors=frozenset(executors))
    assert ("local-path-on-cluster" in at(tmp_path, "/data/ckpt", around)) is told
    assert "local-path-on-cluster" not in at(tmp_path / "far", "s3a://lake/ckpt", around)
