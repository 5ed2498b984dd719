"""`ckpt inspect`: what a checkpoint holds, where it stands and what is wrong with it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import batches_option, listing_option, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import is_on_terminal
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.report.document import Document


@click.command(
    epilog="""\b
Examples:
  ckpt inspect /data/checkpoints/orders
  ckpt inspect s3a://lake/checkpoints/orders --format json
  ckpt inspect /data/checkpoints/orders --batch 1042
  ckpt inspect /data/checkpoints/orders --timeline --batches all"""
)
@click.argument("path")
@click.option("--batch", type=click.IntRange(min=0), help="Show one batch in full, raw and decoded.")
@click.option("--timeline", is_flag=True, help="Show the batches as a table.")
@click.option("--verbose", is_flag=True, help="Show every finding.")
@batches_option("How many of the newest batches to read. Findings about names cover all.")
@listing_option
@output_options("inspect")
@storage_options
def inspect(
    path: str,
    batch: int | None,
    timeline: bool,
    batches: int | None,
    verbose: bool,
    listing: str,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Show what a checkpoint holds, where it stands and what is wrong.

    PATH is the query's checkpointLocation: a directory, or any URL that fsspec opens, in Hadoop's spelling too. Exit
    status 0 if all is well, 1 if a finding is an error.
    """
    now_ms = int(time.time() * 1000)
    inspection = _inspect(path, storage, batches, batch, now_ms, listing == "full")
    output.show(_document(inspection, batch, timeline, now_ms, verbose))
    return inspection.exit_code


def _inspect(
    path: str, options: dict[str, str], batches: int | None, batch: int | None, now_ms: int, full: bool
) -> Diagnosis:
    from ckpttool.api import inspect_checkpoint
    from ckpttool.reading.checkpoint import load_checkpoint
    from ckpttool.storage.store import open_store

    also = () if batch is None else (batch - 1, batch)
    store = open_store(path, options)
    checkpoint = load_checkpoint(store, batches=batches, also=also, full_listing=full)
    if batch is not None and batch not in checkpoint.offset_names.ids and batch not in checkpoint.commit_names.ids:
        raise NotFound(f"batch {batch} is not in {checkpoint.url}", _batches_there(checkpoint.offset_names.ids))
    return inspect_checkpoint(checkpoint, now_ms, store)


def _batches_there(ids: object) -> str:
    numbers = list(ids) if isinstance(ids, range | list | tuple) else []
    return f"offsets/ holds {numbers[0]} to {numbers[-1]}" if numbers else "offsets/ holds no batch"


def _document(inspection: Diagnosis, batch: int | None, timeline: bool, now_ms: int, verbose: bool) -> Document:
    if batch is None and not timeline:
        from ckpttool.report.views.inspect import inspection_document

        return inspection_document(inspection, now_ms if is_on_terminal() else None, verbose=verbose)
    from ckpttool.report.views.batch import batch_document, timeline_document

    return timeline_document(inspection) if batch is None else batch_document(inspection, batch)
