"""What `ckpt apply` and `undo` are given: checkpoints with a plan that was not begun, is half-way, or is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckpttool.apply.plan_file import encode_plan
from ckpttool.errors import CkptError
from tests.apply.dying import Killed, System, on
from tests.apply.stages import STAGES, bury, carry_out
from tests.fuzz.edits import OUTSIDE

STAGE_OF = {stage.name: stage for stage in STAGES}
PREFIX = "apply:"
CALLS = 120  # of the system that change something: in most stages there are as many


def bases() -> list[str]:
    return [f"{PREFIX}{name}" for name in STAGE_OF]


def place(base: str, calls: int, root: Path) -> Path:
    """`calls`: how many there were before whoever carries it out was killed."""
    stage = STAGE_OF[base.removeprefix(PREFIX)]
    checkpoint = stage.set_up(root / "at")
    plan = stage.plan(checkpoint)
    (root / "plan.json").write_bytes(encode_plan(plan))
    with on(System(calls + 1)), suppress(Killed, CkptError):
        carry_out(plan)
    bury(checkpoint)
    log = root / OUTSIDE / "_spark_metadata"
    log.mkdir(parents=True)
    for name in ("0", "1", "../metadata", "../x"):
        (log / name).write_text("v1\n{}")
    return checkpoint


def accepted(plan: Path) -> Iterator[str]:
    """All that only a person can know."""
    yield "query-stopped"
    conditions = (_fields_of(plan) or {}).get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and str(one.get("id")).isascii():
            yield str(one.get("id")).replace("\0", "")


def id_in(checkpoint: Path) -> str:
    return next(iter(sorted(path.name for path in (checkpoint / "_ckpt" / "applies").glob("*Z-*"))), "x")


def lock_in(checkpoint: Path) -> str:
    return str((_fields_of(checkpoint / "_ckpt" / "lock") or {}).get("id", "x"))


def _fields_of(path: Path) -> dict[str, Any] | None:
    """Of a file that is still small, and a file."""
    with suppress(OSError, ValueError, RecursionError):
        if path.is_file() and path.stat().st_size < 2**20:
            found = json.loads(path.read_bytes())
            return found if isinstance(found, dict) else None
    return None
