"""Wishes about batches, typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

PENDING = "k0-10 c | k10-30 c | k30-60"


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        (("rewind", "--to-batch", "0"), {"verb": "rewind", "to_batch": 0}),
        (("rewind", "--to-time", "2026-11-18T14:00:00Z"), {"verb": "rewind", "to_time_ms": 1795010400000}),
        (("drop-batch",), {"verb": "drop-batch"}),
        (("skip-batch",), {"verb": "skip-batch"}),
    ],
)
def test_what_is_typed_is_what_is_wished(words: tuple[str, ...], wish: dict[str, Any], tmp_path: Path) -> None:
    verb, *rest = words
    done = run_ckpt("plan", verb, str(build(tmp_path, PENDING)), *rest, "--format", "json")
    assert json.loads(done.out)["wish"] == wish
