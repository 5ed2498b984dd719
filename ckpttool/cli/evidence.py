"""The options of whoever predicts a restart: how the query is started again, and what is looked at besides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers
from ckpttool.cli.options import look_at_option, restart_options, time_option
from ckpttool.cli.output import Command, with_options

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.plan import Wish


def evidence_options(command: Command, *, by_source: bool = False) -> Command:
    """The command gets what `restarted_by` makes a `Restarted` of."""
    options = (
        partial(restart_options, by_source=by_source),
        click.option(
            "--sink",
            "sinks",
            multiple=True,
            metavar="URL|KIND",
            help="A sink's URL, or kafka, jdbc, foreachBatch, memory, noop.",
        ),
        click.option(
            "--txn-app-id",
            "txn_app_ids",
            multiple=True,
            metavar="ID",
            help="The txnAppId of Delta sinks written through foreachBatch, or a Hudi sink's identifier: "
            "one for all, or one for each --sink.",
        ),
        broker_options(required=False),
        click.option(
            "--state",
            type=click.Choice(["quick", "full"]),
            help="Names and sizes of state files, or their bodies too. Default: full on local disk, else quick.",
        ),
        look_at_option,
    )
    return with_options(options, command)


def rewind_options(command: Command) -> Command:
    """The command gets what `rewind_by` makes a wish of."""
    options = (
        click.option(
            "--to-batch", type=click.IntRange(min=0), metavar="N", help="Plan to go back: the last batch to keep."
        ),
        time_option("--to-time", "Plan to go back to a time, such as 2026-11-18T14:00:00Z."),
        click.option(
            "--delete-data", is_flag=True, help="The data files that a file sink wrote since go too, not its log alone."
        ),
    )
    return with_options(options, command)


def restarted_by(given: dict[str, Any], wish: Wish | None = None, *, full_listing: bool = False) -> Restarted:
    from ckpttool.api import Restarted

    return Restarted(
        release=given["spark_version"],
        trigger=given["trigger"],
        conf=given["confs"],
        options=given["options"],
        sinks=given["sinks"],
        txn_app_id=_app_id(given["txn_app_ids"], given["sinks"]),
        state=given["state"],
        wish=wish,
        brokers=given_brokers(given) if given["servers"] else None,
        look_at=given["look_at"],
        full_listing=full_listing,
    )


def _app_id(ids: Sequence[str], sinks: Sequence[str]) -> str | Sequence[str] | None:
    if len(ids) < 2:
        return ids[0] if ids else None
    if len(ids) != len(sinks):
        raise click.UsageError("--txn-app-id is given once for all, or once for each --sink (- for one that has none)")
    return ids


def rewind_by(given: dict[str, Any]) -> Wish | None:
    from ckpttool.plan import Rewind

    to_batch, to_ms = given["to_batch"], given["to_time"]
    if to_batch is not None and to_ms is not None:
        raise click.UsageError("--to-batch and --to-time exclude each other")
    if to_batch is None and to_ms is None:
        if given["delete_data"]:
            raise click.UsageError("--delete-data goes with --to-batch or --to-time")
        return None
    return Rewind(to_batch, to_ms, given["delete_data"])
