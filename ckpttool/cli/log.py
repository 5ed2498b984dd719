"""`ckpt log`: one line per batch, and with --follow every further one as it is planned and committed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import (
    batch_count,
    echo,
    gather_storage_options,
    output_options,
    refusals_as_json,
    storage_options,
    told_as_out_of_reach,
)

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
@click.option("--batches", default="100", show_default=True, metavar="N|all", help="How many of the newest to print.")
@click.option("--follow", is_flag=True, help="Go on printing batches as they appear, until interrupted.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow looks.",
)
@output_options("text", "json", "jsonl")
@storage_options
def log(
    path: str,
    batches: str,
    follow: bool,
    interval: float,
    form: str,
    color: str,  # noqa: ARG001 - the lines are plain, so that they can be cut and grepped
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Print one line per batch, oldest first; go on with --follow.

    A batch that was planned and not yet committed is printed again once it is.
    """
    if follow and form == "json":
        raise click.UsageError("--follow has no end: use --format text or jsonl with it")
    options = gather_storage_options(storage_option, storage_options_file)
    count = batch_count(batches)
    with refusals_as_json("log", path, form):
        inspection = _look(path, options, count)
    shown = inspection.evidence.batches if count is None else inspection.evidence.batches[-count:]
    if form == "json":
        from ckpttool.report.json import log_fields, render_json

        echo(render_json(log_fields(inspection, shown)))
        return told_as_out_of_reach(inspection.checkpoint)
    for batch in shown:
        _print(batch, form)
    code = told_as_out_of_reach(inspection.checkpoint)
    if follow:
        for batch in _follow(path, options, inspection, interval):
            _print(batch, form)
    return code


def _look(path: str, options: dict[str, str], batches: int | None) -> Diagnosis:
    from ckpttool.api import inspect_checkpoint
    from ckpttool.reading.checkpoint import load_checkpoint
    from ckpttool.storage.store import open_store

    return inspect_checkpoint(load_checkpoint(open_store(path, options), batches=batches, beside=False))


def _follow(path: str, options: dict[str, str], seen: Diagnosis, interval: float) -> Iterator[Batch]:
    """The batches that are new or newly committed at each look."""
    state = {batch.id: batch.commit is not None for batch in seen.evidence.batches}
    while True:
        time.sleep(interval)
        for batch in _look(path, options, 100).evidence.batches:
            if batch.id > max(state, default=-1) or (state.get(batch.id) is False and batch.commit):
                state[batch.id] = batch.commit is not None
                yield batch


def _print(batch: Batch, form: str) -> None:
    if form == "jsonl":
        from ckpttool.report.json import log_line, render_line

        echo(render_line(log_line(batch)))
    else:
        from ckpttool.report.text import render_log_line

        echo(render_log_line(batch))
