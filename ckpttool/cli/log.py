"""`ckpt log`: one line per batch, and with --follow every further one as it is planned and committed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import batches_option, storage_options
from ckpttool.cli.output import Output, output_options, told_as_out_of_reach

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.scene.batches import Batch


@click.command(
    epilog="""\b
Examples:
  ckpt log /data/checkpoints/orders --batches 20
  ckpt log s3://lake/checkpoints/orders --follow --format jsonl"""
)
@click.argument("path")
@batches_option("How many of the newest to print.")
@click.option("--follow", is_flag=True, help="Go on printing batches as they appear, until interrupted.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow looks.",
)
@output_options("log", "jsonl")
@storage_options
def log(path: str, batches: int | None, follow: bool, interval: float, output: Output, storage: dict[str, str]) -> int:
    """Print one line per batch, oldest first; go on with --follow.

    A batch that was planned and not yet committed is printed again once it is.
    """
    from ckpttool.report.views.log import log_document

    if follow and output.form not in ("text", "jsonl"):
        raise click.UsageError("--follow has no end: use --format text or jsonl with it")
    inspection = _look(path, storage, batches)
    url, read = inspection.checkpoint.url, inspection.evidence.batches
    output.show(log_document(url, read if batches is None else read[-batches:]))
    code = told_as_out_of_reach(inspection.checkpoint)
    if follow:
        for more in _follow(path, storage, inspection, interval):
            output.show(log_document(url, more))
    return code


def _look(path: str, storage: dict[str, str], batches: int | None) -> Diagnosis:
    from ckpttool.api import inspect_checkpoint
    from ckpttool.reading.checkpoint import load_checkpoint
    from ckpttool.storage.store import open_store

    return inspect_checkpoint(load_checkpoint(open_store(path, storage), batches=batches, beside=False))


def _follow(path: str, storage: dict[str, str], seen: Diagnosis, interval: float) -> Iterator[Sequence[Batch]]:
    """The batches that are new or newly committed at each look."""
    state = {batch.id: batch.commit is not None for batch in seen.evidence.batches}
    while True:
        time.sleep(interval)
        newest = max(state, default=-1)
        read = _look(path, storage, 100).evidence.batches
        more = [one for one in read if one.id > newest or (state.get(one.id) is False and one.commit)]
        state |= {one.id: one.commit is not None for one in more}
        yield more
