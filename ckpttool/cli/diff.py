"""`ckpt diff`: two batches, or two checkpoints, held against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    output_options,
    refusals_as_json,
    storage_options,
    told_as_out_of_reach,
)
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
@output_options("text", "json")
@storage_options
def diff(
    a: str,
    b: str,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Compare two batches or two checkpoints.

    Without a batch number the newest batch of that checkpoint is taken. Exit status 0 whether or not there are
    differences.
    """
    from ckpttool.fleet.comparison import compare_batches

    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("diff", a, form):
        one, batch_one = _open(a, options)
        other, batch_other = _open(b, options)
    differences = compare_batches(one, batch_one, other, batch_other)
    if form == "json":
        from ckpttool.report.json import comparison_fields, render_json

        echo(render_json(comparison_fields(one, batch_one, other, batch_other, differences)))
    else:
        from ckpttool.report.text import render_comparison

        echo(render_comparison(one, batch_one, other, batch_other, differences, choose_style(color)))
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
