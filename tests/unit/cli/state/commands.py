"""`ckpt state` on samples that Spark made: what its commands print as JSON, as values."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import run_ckpt

Sample = Callable[[str], Path]
AGGREGATION = "4.2.0-windowed-agg-hdfs-sound"
ROCKSDB = "4.2.0-windowed-agg-rocksdb-sound"
JOIN = "4.2.0-join-hdfs-sound"
DEDUP = "4.2.0-dedup-rocksdb-sound"
OLD = "3.0.3-count-to-noop-sound"


def at(sample: Sample, name: str) -> str:
    return str(sample(name) / "checkpoint")


def lines(*arguments: str) -> list[dict[str, Any]]:
    ran = run_ckpt("state", "rows", *arguments, "--format", "jsonl")
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def fields(*arguments: str, code: int = 0) -> dict[str, Any]:
    ran = run_ckpt("state", *arguments, "--format", "json")
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["key"]["window"]["start"]: row["value"]["count"] for row in rows}


def copied(checkpoint: Path, target: Path) -> Path:
    copy = target / "checkpoint"
    shutil.copytree(checkpoint, copy)
    return copy
