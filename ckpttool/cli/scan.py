"""`ckpt scan`: the checkpoints below a place, one line each, the worst first."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    output_options,
    refusals_as_json,
    storage_options,
)
from ckpttool.errors import Refused

if TYPE_CHECKING:
    from ckpttool.fleet.scan import Inspector


@click.command(
    epilog="""\b
Examples:
  ckpt scan /data/checkpoints
  ckpt scan s3a://lake/checkpoints --depth 2 --format jsonl
  ckpt scan s3a://lake --engine spark --format jsonl"""
)
@click.argument("path")
@click.option(
    "--depth",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="How many levels of directories to look into.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Who inspects what was found: this process, or the workers of a Spark cluster.",
)
@output_options("text", "json", "jsonl")
@storage_options
def scan(
    path: str,
    depth: int,
    engine: str,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Find the checkpoints below PATH and print one line each, the worst first.

    Of each is read what a restart opens; ckpt inspect shows more. Checkpoints and tables are not descended into.
    """
    from ckpttool.fleet.scan import inspect_here, scan_checkpoints
    from ckpttool.storage.store import open_store

    options = gather_storage_options(storage_option, storage_options_file)
    now_ms = int(time.time() * 1000)
    with refusals_as_json("scan", path, form):
        inspect = _inspector_on_spark(path, options) if engine == "spark" else inspect_here
        found = scan_checkpoints(open_store(path, options), depth, now_ms, _progress, inspect)
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


def _inspector_on_spark(path: str, options: dict[str, str]) -> Inspector:
    try:
        from ckpttool.spark.scan import spark_inspector
    except ImportError:
        raise Refused("--engine spark needs pyspark", "pip install pyspark, in the cluster's release") from None
    return spark_inspector(path, options)


def _progress(found: int, done: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {found} checkpoints", err=True, nl=done == found)
