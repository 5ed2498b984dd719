"""`ckpt diff`: two batches, or two checkpoints, held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options, told_as_out_of_reach
from ckpttool.errors import NotFound, Unavailable

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.scene.batches import Batch


@click.command(
    epilog="""\b
Examples:
  ckpt diff /data/checkpoints/orders:1041 /data/checkpoints/orders:1042
  ckpt diff /data/checkpoints/orders /backup/checkpoints/orders --format json"""
)
@click.argument("a", metavar="A[:BATCH]")
@click.argument("b", metavar="B[:BATCH]")
@output_options("diff", of="a")
@storage_options
def diff(a: str, b: str, output: Output, storage: dict[str, str]) -> int:
    """Compare two batches or two checkpoints.

    Without a batch number the newest batch of that checkpoint is taken. Exit status 0 whether or not there are
    differences.
    """
    from ckpttool.fleet.comparison import compare_batches
    from ckpttool.report.views.diff import comparison_document

    one, batch_one = _open(a, storage)
    other, batch_other = _open(b, storage)
    differences = compare_batches(one, batch_one, other, batch_other)
    sides = (one.checkpoint.url, batch_one.id), (other.checkpoint.url, batch_other.id)
    output.show(comparison_document(*sides, differences))
    return max(told_as_out_of_reach(one.checkpoint), told_as_out_of_reach(other.checkpoint))


def split_batch(argument: str) -> tuple[str, int | None]:
    """`path:7` is batch 7 of the checkpoint at `path`; a port after a host is not a batch."""
    path, colon, number = argument.rpartition(":")
    authority_only = "://" in path and "/" not in path.partition("://")[2]
    if colon and number.isdecimal() and number.isascii() and len(number) < 19 and path and not authority_only:
        return path, int(number)
    return argument, None


def _open(argument: str, options: dict[str, str]) -> tuple[Diagnosis, Batch]:
    from ckpttool.api import inspect_checkpoint
    from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
    from ckpttool.storage.store import open_store

    path, number = split_batch(argument)
    also = () if number is None else (number - 1, number)
    checkpoint = load_checkpoint(open_store(path, options), batches=ONLY_OPENED, also=also)
    inspection = inspect_checkpoint(checkpoint)
    wanted = inspection.checkpoint.last_offset_batch if number is None else number
    batch = next((batch for batch in inspection.evidence.batches if batch.id == wanted), None)
    if batch is None:
        kind = Unavailable if checkpoint.unreachable else NotFound
        raise kind(
            f"batch {'' if wanted is None else wanted} is not in {inspection.checkpoint.url}, or unreadable",
            "ckpt inspect says what is there",
        )
    return inspection, batch
