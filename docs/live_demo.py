"""The live part of `make demo`: a real PySpark job into Delta, killed between the sink's commit and the commit log.

    python docs/live_demo.py

Then `ckpt inspect` and `ckpt plan-recovery` look at what the kill left, the job is started again, and Delta's own
record of batches shows whether every row is there once. Then `apply_demo` goes back.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from apply_demo import go_back

from ckpttool.harness.driver import Driver
from ckpttool.harness.history import Case
from ckpttool.harness.judge import judge_case
from ckpttool.harness.kills import kill_at
from ckpttool.harness.pyspark_job import PySparkJob
from ckpttool.harness.scenarios import SCENARIOS
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import WarmSession
from ckpttool.harness.settings import TrialSettings
from ckpttool.harness.shrink import At
from ckpttool.harness.trial import Trial
from ckpttool.harness.victim import asker, watched
from tests.parts.spark import ensure_jars, ensure_spark

SPARK = "4.2.0"
PLACE = Path("/tmp/ckpttool-demo")
AFTER_THE_SINK = At("commit-log-begin", batch_id=2)


def main() -> None:
    began = time.monotonic()
    settings = TrialSettings(Driver(ensure_spark(SPARK), ensure_jars(SPARK, "delta")), SPARK)
    with Scratch(PLACE, keep=True) as scratch:
        job = PySparkJob(scratch, SCENARIOS["file-to-delta"], settings)
        tell("8. A real job: files into a Delta table, one batch per file. It is frozen when Delta has batch 2 and the")
        tell("   commit log has not; then its whole session gets SIGKILL.")
        with watched(job.scenario.groups, partial(job.start, "killed")) as (session, controller):
            trial = Trial(job, job.prepare(asker(session, controller)))
            crash = kill_at(trial, session, controller, AFTER_THE_SINK)
        assert crash
        print(f"\nkilled at {crash.point} of batch {crash.batch_id}: {crash.proof.note}")
        tell("9. What the kill left.")
        ckpt("inspect", job.place.checkpoint)
        tell("10. What a restart will do, and what the table does with the batch.")
        ckpt("plan-recovery", job.place.checkpoint, "--sink", job.place.sink, "--spark-version", SPARK)
        tell("11. The restart, by the same Spark.")
        with WarmSession(partial(job.start, "restart")) as spark:
            case = trial.recover_disk(spark.ask, crash)
            show(case)
            came_so = go_back(trial, spark.ask, tell)
    verdict = judge_case(trial.run, case)
    print(f"\nVerdict on the restart in 11: {verdict.verdict}, and the prediction {verdict.prediction.agreement}.")
    print(f"({time.monotonic() - began:.0f} s; the files are in {PLACE})")
    sys.exit(0 if came_so and verdict.verdict == "valid" and verdict.prediction.agreement == "agrees" else 1)


def show(case: Case) -> None:
    """The table's record: which batch each version holds, by its txn."""
    assert case.crashes
    before = {commit.version for commit in case.crashes[0].disk.sink or ()}
    print("\nVersion  txn of the query  Rows  Written")
    for commit in case.after.sink or ():
        when = "before the crash" if commit.version in before else "after it"
        print(f"{commit.version:7}  batch {commit.batch_id:10}  {len(commit.rows or ()):4}  {when}")
    rows = [row["id"] for row in case.after.visible or ()]
    print(f"\n{len(rows)} rows in the table, {len(set(rows))} of them different.")


def tell(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if title[0].isdigit() else f"\033[1m{title}\033[0m", flush=True)


def ckpt(*arguments: object) -> None:
    command = ["ckpt", *map(str, arguments)]
    print(f"$ {' '.join(command)}\n", flush=True)
    subprocess.run([str(Path(sys.executable).with_name("ckpt")), *command[1:]], check=True)


if __name__ == "__main__":
    main()
