"""`ckpt plan watermark`, `restore-offsets`, `rename-found`, `gc`: wishes about files of the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.options import open_given, time_option
from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options

if TYPE_CHECKING:
    from ckpttool.formats.progress import BatchProgress


@click.command(
    name="watermark",
    epilog="""\b
Examples:
  ckpt plan watermark /data/checkpoints/orders --sink /data/orders --set 2026-11-18T14:00:00Z
  ckpt plan watermark /data/checkpoints/orders --sink kafka --set 2026-11-18T14:00:00Z --out watermark.json
  ckpt plan watermark /data/checkpoints/orders --sink /data/orders --set 2026-11-18T14:00:00Z --close""",
)
@time_option("--set", "The watermark of the next batch, such as 2026-11-18T14:00:00Z.")
@click.option("--close", is_flag=True, help="Plan a batch that reads nothing and closes the windows before T.")
@planning_options
def watermark(path: str, output: Output, storage: dict[str, str], close: bool, **given: Any) -> int:
    """Set the watermark that the next batch runs with.

    For a watermark that one event from far in the future has raised, so that all that comes is late. Raised, rows
    become late; lowered, windows that were told may be told once more: both have to be accepted. With --close the
    query writes its open windows first, in a batch that reads nothing: before its windows are changed.
    """
    from ckpttool.plan.wishes import Watermark

    to_ms = given.pop("set")
    if to_ms is None:
        raise click.UsageError("say which watermark: --set T")
    return plan_wish(Watermark(to_ms, close), path, output, storage, given)


@click.command(
    name="restore-offsets",
    epilog="""\b
Examples:
  ckpt plan restore-offsets /data/checkpoints/orders 1041 --progress progress.json --sink /data/orders
  ckpt plan restore-offsets /data/checkpoints/orders 1041 --progress app-20261118.eventlog --out offsets.json""",
)
@planning_options
@click.argument("batch", type=click.IntRange(min=0))
@click.option(
    "--progress", "told_in", metavar="FILE", required=True, help="A StreamingQueryProgress, or Spark's event log."
)
def restore_offsets(path: str, output: Output, storage: dict[str, str], batch: int, **given: Any) -> int:
    """Write the offsets of batch N again, from what the query told when it ran it.

    FILE is the JSON of a StreamingQueryProgress, a list of them as recentProgress has it, or an event log. Refused if
    the query's id, the batch, the number of sources or where it began do not fit.
    """
    from ckpttool.plan.wishes import RestoreOffsets

    progress = _told_in(given.pop("told_in"), batch)
    return plan_wish(RestoreOffsets(progress), path, output, storage, given)


def _told_in(path: str, batch: int) -> BatchProgress:
    from ckpttool.errors import MalformedFile, Refused, Unavailable
    from ckpttool.formats.limits import PIECE_BYTES
    from ckpttool.formats.progress import parse_progress

    try:
        with open_given(path) as file:
            body = file.buffer.read(PIECE_BYTES + 1)
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
    if len(body) > PIECE_BYTES:
        cut = "keep the lines with QueryProgressEvent: grep QueryProgressEvent FILE"
        raise Refused(f"{path} is larger than {PIECE_BYTES:,} bytes", cut)
    try:
        return parse_progress(body, batch)
    except MalformedFile as error:
        raise Refused(f"{path}: {error.message}", error.next_step or f"expected {error.expected}") from None


@click.command(
    name="rename-found",
    epilog="""\b
Examples:
  ckpt plan rename-found /data/checkpoints/orders --sink /data/orders
  ckpt plan rename-found /data/checkpoints/orders --sink kafka --out renamed.json""",
)
@planning_options
def rename_found(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Give files of the logs that were written whole and never renamed the names that are missing.

    A temporary file is taken if the restart opens the file that it was to become, if it parses to its end and its
    checksum fits, and if it is not older than what was written before it.
    """
    from ckpttool.plan.wishes import RenameFound

    return plan_wish(RenameFound(), path, output, storage, given)


@click.command(
    name="gc",
    epilog="""\b
Examples:
  ckpt plan gc /data/checkpoints/orders
  ckpt plan gc /data/checkpoints/orders --sink /data/orders --out gc.json""",
)
@planning_options
def gc(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Set aside temporary files, and checksums of files that are gone, older than the newest commit.

    They never stop a restart, and cost time where directories are listed.
    """
    from ckpttool.plan.wishes import Gc

    return plan_wish(Gc(), path, output, storage, given)
