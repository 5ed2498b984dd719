"""`ckpt inspect`: what a checkpoint holds, where it stands and what is wrong with it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import (
    batch_count,
    choose_style,
    echo,
    gather_storage_options,
    listing_option,
    output_options,
    refusals_as_json,
    storage_options,
)
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.diagnosis import Diagnosis


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
@click.option(
    "--batches",
    default="100",
    show_default=True,
    metavar="N|all",
    help="How many of the newest batches to read. Findings about names cover all.",
)
@listing_option
@output_options("text", "json")
@storage_options
def inspect(
    path: str,
    batch: int | None,
    timeline: bool,
    batches: str,
    listing: str,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Show what a checkpoint holds, where it stands and what is wrong.

    PATH is the query's checkpointLocation: a directory, or any URL that fsspec opens, in Hadoop's spelling too. Exit
    status 0 if all is well, 1 if a finding is an error.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    now_ms = int(time.time() * 1000)
    with refusals_as_json("inspect", path, form):
        inspection = _inspect(path, options, batch_count(batches), batch, now_ms, listing == "full")
    if form == "json":
        echo(_json(inspection, batch))
    else:
        echo(_text(inspection, batch, timeline, now_ms, color))
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


def _json(inspection: Diagnosis, batch: int | None) -> str:
    from ckpttool.report.json import batch_fields, inspection_fields, render_json

    fields = inspection_fields(inspection)
    if batch is not None:
        fields["batch"] = batch_fields(inspection, batch)
    return render_json(fields)


def _text(inspection: Diagnosis, batch: int | None, timeline: bool, now_ms: int, color: str) -> str:
    from ckpttool.report import text

    style = choose_style(color)
    if batch is not None:
        return text.render_batch(inspection, batch, style)
    if timeline:
        return text.render_timeline(inspection, style)
    return text.render_inspection(inspection, now_ms if sys.stdout.isatty() else None, style)
