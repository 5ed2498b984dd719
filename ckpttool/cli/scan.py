"""`ckpt scan`: the checkpoints below a place, one line each, the worst first."""

from __future__ import annotations

import sys
import time

import click

from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    output_options,
    refusals_as_json,
    storage_options,
)


@click.command(
    epilog="""\b
Examples:
  ckpt scan /data/checkpoints
  ckpt scan s3a://lake/checkpoints --depth 2 --format jsonl"""
)
@click.argument("path")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How many levels of directories to look into.",
)
@output_options("text", "json", "jsonl")
@storage_options
def scan(
    path: str,
    depth: int,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Find the checkpoints below PATH and print one line each, the worst first.

    Of each is read what a restart opens; ckpt inspect shows more. Checkpoints and tables are not descended into.
    """
    from ckpttool.scan import scan_checkpoints
    from ckpttool.storage import open_store

    options = gather_storage_options(storage_option, storage_options_file)
    now_ms = int(time.time() * 1000)
    with refusals_as_json("scan", path, form):
        found = scan_checkpoints(open_store(path, options), depth, now_ms, _progress)
    if form == "text":
        from ckpttool.report.scan import render_scan

        echo(render_scan(found, now_ms, choose_style(color)))
        return found.exit_code
    from ckpttool.report.json import render_json, render_line
    from ckpttool.report.scan import scan_fields, sighting_fields

    if form == "json":
        echo(render_json(scan_fields(found, now_ms)))
    else:
        for sighting in found.sightings:
            echo(render_line(sighting_fields(sighting, now_ms)))
    return found.exit_code


def _progress(found: int, done: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {found} checkpoints", err=True, nl=done == found)
