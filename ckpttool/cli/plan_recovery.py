"""`ckpt plan-recovery`: what a restart will do, what that does to the data, and the ways out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers
from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    given_release,
    listing_option,
    milliseconds,
    output_options,
    parse_pairs,
    restart_options,
    storage_options,
)

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
  ckpt plan-recovery /data/checkpoints/orders --bootstrap-server kafka:9092""",
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
@click.option("--txn-app-id", metavar="ID", help="The txnAppId of a Delta sink written through foreachBatch.")
@broker_options(required=False)
@click.option(
    "--state",
    type=click.Choice(["quick", "full"]),
    help="Names and sizes of state files, or their bodies too. Default: full on local disk, else quick.",
)
@click.option("--to-batch", type=click.IntRange(min=0), metavar="N", help="Plan to go back: the last batch to keep.")
@click.option("--to-time", metavar="T", help="Plan to go back to a time, such as 2026-11-18T14:00:00Z.")
@listing_option
@output_options("text", "json")
@storage_options
def plan_recovery(path: str, form: str, color: str, **given: Any) -> int:
    """Say what a restart of the query will do, and plan the ways out.

    The verdict is for one release of Spark, from the files alone; with --sink also what the sink does with the
    batch, and with --bootstrap-server whether Kafka still has what the batch reads.
    Exit status 0: a restart goes on normally, and loses or repeats nothing. Nothing is changed.
    """
    options = gather_storage_options(given["storage_option"], given["storage_options_file"])
    restarted = _restarted(given)
    outlook, plan = _look(path, restarted, options, form)
    if form == "json":
        from ckpttool.report.json import render_json
        from ckpttool.report.outlook import outlook_fields

        echo(render_json(outlook_fields(outlook, plan)))
    else:
        from ckpttool.report.outlook import render_outlook

        echo(render_outlook(outlook, plan, choose_style(color)))
    return _exit_code(outlook, restarted)


def _exit_code(outlook: Diagnosis, restarted: Restarted) -> int:
    from ckpttool.api import lacks
    from ckpttool.errors import NotFound

    return NotFound.exit_code if lacks(outlook.evidence, restarted.wish) else outlook.exit_code


def _look(path: str, restarted: Restarted, options: dict[str, str], form: str) -> tuple[Diagnosis, Plan]:
    """What cannot be looked at has an outlook as well: an unknown one."""
    from ckpttool.api import plan_restart
    from ckpttool.errors import CkptError

    try:
        return plan_restart(path, restarted, options, now_ms=int(time.time() * 1000))
    except CkptError as error:
        if form == "json":
            from ckpttool.report.json import render_json
            from ckpttool.report.outlook import no_outlook_fields
            from ckpttool.storage.urls import redact_url

            echo(render_json(no_outlook_fields(redact_url(path), restarted.release, error)))
        raise


def _restarted(given: dict[str, Any]) -> Restarted:
    from ckpttool.api import Restarted

    return Restarted(
        release=given_release(given["spark_version"]),
        trigger=given["trigger"],
        conf=parse_pairs(given["confs"], "--conf"),
        options=parse_pairs(given["options"], "--option"),
        sinks=given["sinks"],
        txn_app_id=given["txn_app_id"],
        state=given["state"],
        wish=_wish(given["to_batch"], given["to_time"]),
        brokers=given_brokers(given) if given["servers"] else None,
        full_listing=given["listing"] == "full",
    )


def _wish(to_batch: int | None, to_time: str | None) -> Wish | None:
    from ckpttool.plan import Wish

    if to_batch is not None and to_time is not None:
        raise click.UsageError("--to-batch and --to-time exclude each other")
    if to_batch is None and to_time is None:
        return None
    return Wish(to_batch, None if to_time is None else milliseconds(to_time, "--to-time"))
