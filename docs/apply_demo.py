"""The last part of `make demo`: going back by two batches, together with the Delta table, while `ckpt apply` is killed.

Half of it done, the same Spark is started: it refuses. Gone on with, it reads those batches again, and the table has
every row once. Taken back instead, every file of the checkpoint is what it was.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ckpttool.harness.apply_command import PROGRAM
from ckpttool.harness.images import contents
from ckpttool.harness.recover import recover
from ckpttool.harness.session import Ask
from ckpttool.harness.trial import Trial

KEPT = 1  # the last batch that stays
HALF_WAY = 118  # of some 160 operations: the table and a part of the logs are back, and the fence stands
QUIETLY = ("--yes", "--settle", "0s", "--accept", "query-stopped")


def go_back(trial: Trial, ask: Ask, tell: Callable[[str], None]) -> bool:
    """Whether all came as it was said."""
    place = trial.job.place
    plan, before = place.root / "back.json", files(place.checkpoint)
    tell(f"12. Going back to the end of batch {KEPT}, checkpoint and table together: a plan to look at, and to keep.")
    ckpt("plan-recovery", place.checkpoint, "--sink", place.sink, "--spark-version", trial.run.spark_version,
         "--to-batch", KEPT, "--take", "rewind-to-batch", "--out", plan, shows=False)  # fmt: skip
    ckpt("apply", plan, "--dry-run", *QUIETLY[1:])
    tell("13. It is carried out, and half-way it gets SIGKILL.")
    ckpt("apply", plan, *QUIETLY, killed_at=HALF_WAY)
    killed = place.root.with_name("killed")
    shutil.rmtree(killed, ignore_errors=True)  # of a demo that was stopped
    shutil.copytree(place.root, killed, symlinks=True)
    tell("14. Spark, started on what that left.")
    (refused,) = recover(ask, trial.request(), place, attempts=1)
    assert refused.failure
    untouched = files(place.checkpoint) == files(killed / place.checkpoint.name)
    print(f"\n{refused.failure.class_name}: {refused.failure.message}")
    print(f"Files that it changed: {'none' if untouched else 'some'}.")
    tell("15. Somebody goes on with it, and starts the query.")
    ckpt("apply", "--resume", place.checkpoint, *QUIETLY)
    (started,) = recover(ask, trial.request(), place, attempts=1)
    rows = [row["id"] for row in trial.read().visible or ()]
    print(
        f"\nThe query ran from batch {started.first_batch}: {len(rows)} rows in the table, {len(set(rows))} different."
    )
    tell("16. The same kill once more, and this time it is taken back.")
    shutil.rmtree(place.root)
    shutil.copytree(killed, place.root, symlinks=True)
    shutil.rmtree(killed)
    ckpt("undo", place.checkpoint, *QUIETLY)
    same = files(place.checkpoint) == before
    print(f"\nEvery file of the checkpoint is {'byte for byte what it was' if same else 'ANOTHER'}.")
    went_on = started.failure is None and started.first_batch == KEPT + 1 and len(rows) == len(set(rows))
    return untouched and went_on and same


def files(checkpoint: Path) -> dict[str, str]:
    """All but what `ckpt apply` keeps for itself."""
    return {path: digest for path, digest in contents(checkpoint).items() if not path.startswith("_ckpt/")}


def ckpt(*arguments: object, killed_at: int = 0, shows: bool = True) -> None:
    words = list(map(str, arguments))
    print(f"$ ckpt {' '.join(words)}\n", flush=True)
    command = [sys.executable, "-c", PROGRAM, str(killed_at), *words]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("operations: ")]
    print("\n".join([*(done.stdout.splitlines() if shows else ()), *said]), flush=True)
    if done.returncode != (-signal.SIGKILL if killed_at else 0):
        sys.exit(f"ckpt ended with {done.returncode}")
    if killed_at:
        print("Killed")
