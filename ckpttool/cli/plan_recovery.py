"""`ckpt plan-recovery`: what a restart will do, what that does to the data, and the ways out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers
from ckpttool.cli.options import listing_option, look_at_option, restart_options, storage_options, time_option
from ckpttool.cli.output import Output, output_options

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.plan import Plan, Wish


@click.command(
    name="plan-recovery",
    epilog="""\b
Examples:
  ckpt plan-recovery /data/checkpoints/orders --spark-version 4.2
  ckpt plan-recovery s3a://lake/checkpoints/orders --sink s3a://lake/orders --format json
  ckpt plan-recovery /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt plan-recovery s3a://lake/checkpoints/orders --look-at s3a://landing --look-at /mnt/landing""",
)
@click.argument("path")
@restart_options
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="URL|KIND",
    help="A sink's URL, or kafka, jdbc, foreachBatch, memory, noop.",
)
@click.option(
    "--txn-app-id",
    metavar="ID",
    help="The txnAppId of a Delta sink written through foreachBatch, or a Hudi sink's identifier.",
)
@broker_options(required=False)
@click.option(
    "--state",
    type=click.Choice(["quick", "full"]),
    help="Names and sizes of state files, or their bodies too. Default: full on local disk, else quick.",
)
@click.option("--to-batch", type=click.IntRange(min=0), metavar="N", help="Plan to go back: the last batch to keep.")
@time_option("--to-time", "Plan to go back to a time, such as 2026-11-18T14:00:00Z.")
@look_at_option
@listing_option
@output_options("plan-recovery")
@storage_options
def plan_recovery(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say what a restart of the query will do, and plan the ways out.

    The verdict is for one release of Spark, from the files alone; with --sink also what the sink does with the
    batch, and with --bootstrap-server whether Kafka still has what the batch reads.
    Exit status 0: a restart goes on normally, and loses or repeats nothing. Nothing is changed.
    """
    from ckpttool.report.views.plan_recovery import recovery_document

    restarted = _restarted(given)
    diagnosis, plan = _look(path, restarted, storage, output)
    output.show(recovery_document(diagnosis, plan))
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


def _restarted(given: dict[str, Any]) -> Restarted:
    from ckpttool.api import Restarted

    return Restarted(
        release=given["spark_version"],
        trigger=given["trigger"],
        conf=given["confs"],
        options=given["options"],
        sinks=given["sinks"],
        txn_app_id=given["txn_app_id"],
        state=given["state"],
        wish=_wish(given["to_batch"], given["to_time"]),
        brokers=given_brokers(given) if given["servers"] else None,
        look_at=given["look_at"],
        full_listing=given["listing"] == "full",
    )


def _wish(to_batch: int | None, to_ms: int | None) -> Wish | None:
    from ckpttool.plan import Wish

    if to_batch is not None and to_ms is not None:
        raise click.UsageError("--to-batch and --to-time exclude each other")
    return None if to_batch is None and to_ms is None else Wish(to_batch, to_ms)
