"""Commands as somebody types them, one after the other, and what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.apply.dying import System, on
from tests.conftest import Outcome, run_ckpt

QUIET = ("--yes", "--settle", "0s", "--accept", "query-stopped")


def ckpt(*words: str) -> Outcome:
    with on(System()):
        return run_ckpt(*words)


def told(*words: str) -> dict[str, Any]:
    done = ckpt(*words, "--format", "json")
    return {"exit": done.code, "err": done.err, **json.loads(done.out)}


def carried_out(accepts: Iterable[str], plan: Path) -> None:
    done = told("apply", str(plan), *QUIET, *(part for one in accepts for part in ("--accept", one)))
    assert (done["exit"], done["state"], done["kept"]) == (0, "applied", True), done
