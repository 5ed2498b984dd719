"""The options of whoever predicts a restart: how the query is started again, and what is looked at besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers
from ckpttool.cli.options import look_at_option, restart_options, time_option
from ckpttool.cli.output import Command, with_options
from ckpttool.literals import shell_word

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.plan import Wish


_STATE = click.option(
    "--state",
    type=click.Choice(["quick", "full"]),
    help="Names and sizes of state files, or their bodies too. Default: full on local disk, else quick.",
)


def evidence_options(
    command: Command, *, by_source: bool = False, how_far: Callable[[Command], Command] = _STATE
) -> Command:
    """The command gets what `restarted_by` makes a `Restarted` of. `how_far`: the option that says how much is read."""
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
        how_far,
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
        state=given.get("state"),
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


def given_again(given: dict[str, Any]) -> Iterator[str]:
    """The words for another command that is to see the same; `…` for what must not be repeated."""
    from ckpttool.kafka.settings import has_secrets
    from ckpttool.releases import spell_release
    from ckpttool.storage.urls import redact_url

    release = given["spark_version"]
    for option, values in (
        ("--sink", map(redact_url, given["sinks"])),
        ("--txn-app-id", given["txn_app_ids"]),
        ("--bootstrap-server", given["servers"]),
        ("--spark-version", [spell_release(release)] if release else []),
        ("--trigger", [given["trigger"]] if given["trigger"] else []),
        ("--to-batch", [str(given["to_batch"])] if given.get("to_batch") is not None else []),
        ("--to-time", [_spell(given["to_time"])] if given.get("to_time") is not None else []),
        ("--state", [given["state"]] if given.get("state") else []),
        ("--look-at", map(redact_url, given["look_at"])),
    ):
        yield from (f"{option} {shell_word(value)}" for value in values)
    for option, pairs in (("--conf", given["confs"]), ("--option", given["options"])):
        for key, value in pairs.items():
            secret = has_secrets({key.lower().removeprefix("kafka."): value}) or "@" in value
            yield f"{option} {shell_word(f'{key}={value}')}" if not secret else f"{option} {key}=…"
    if given.get("delete_data"):
        yield "--delete-data"
    if given["kafka_config"] or given["direct"]:
        yield "…"


def _spell(time_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")


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
