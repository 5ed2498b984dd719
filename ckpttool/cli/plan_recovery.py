"""`ckpt plan-recovery`: what a restart will do, what that does to the data, and the ways out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.evidence import evidence_options, given_again, restarted_by, rewind_by, rewind_options
from ckpttool.cli.options import listing_option, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.saved import out_option, save_as

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.plan import Plan


@click.command(
    name="plan-recovery",
    epilog="""\b
Examples:
  ckpt plan-recovery /data/checkpoints/orders --spark-version 4.2
  ckpt plan-recovery s3a://lake/checkpoints/orders --sink s3a://lake/orders --format json
  ckpt plan-recovery /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt plan-recovery s3a://lake/checkpoints/orders --look-at s3a://landing --look-at /mnt/landing
  ckpt plan-recovery /data/checkpoints/orders --sink /data/orders --to-batch 1038 --out back.json""",
)
@click.argument("path")
@evidence_options
@rewind_options
@click.option("--take", metavar="OPTION", help="Which way out --out saves; else the one repair that is exactly once.")
@out_option
@click.option("--verbose", is_flag=True, help="Show every finding, and the steps of the fence too.")
@listing_option
@output_options("plan-recovery")
@storage_options
def plan_recovery(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say what a restart of the query will do, and plan the ways out.

    The verdict is for one release of Spark, from the files alone; with --sink also what the sink does with the
    batch, and with --bootstrap-server whether Kafka still has what the batch reads.
    Exit status 0: a restart goes on normally, and loses or repeats nothing. Nothing is changed.
    With --out a way out is saved as a plan for ckpt apply; nothing but that file is written.
    """
    from ckpttool.report.views.plan_recovery import recovery_document

    take, saved_as, verbose = given.pop("take"), given.pop("saved_as"), given.pop("verbose")
    if take is not None and saved_as is None:
        raise click.UsageError("--take needs --out PLAN.json; ckpt apply PATH --take OPTION carries it out at once")
    restarted = restarted_by(given, rewind_by(given), full_listing=given["listing"] == "full")
    diagnosis, plan = _look(path, restarted, storage, output)
    if saved_as is not None:
        save_as(saved_as, take, restarted, (diagnosis, plan), storage)
    output.show(recovery_document(diagnosis, plan, list(given_again(given)), verbose=verbose))
    return _exit_code(diagnosis, restarted)


def _exit_code(diagnosis: Diagnosis, restarted: Restarted) -> int:
    from ckpttool.api import lacks
    from ckpttool.errors import NotFound

    return NotFound.exit_code if lacks(diagnosis.evidence, restarted.wish) else diagnosis.exit_code


def _look(path: str, restarted: Restarted, storage: dict[str, str], output: Output) -> tuple[Diagnosis, Plan]:
    from ckpttool.api import plan_restart
    from ckpttool.errors import CkptError

    try:
        return plan_restart(path, restarted, storage, now_ms=int(time.time() * 1000))
    except CkptError as error:
        from ckpttool.report.views.plan_recovery import unknown_recovery

        output.refuse("plan-recovery", path, error, unknown_recovery(restarted.release, error))
        raise
