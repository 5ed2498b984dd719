"""`ckpt scan`: the checkpoints below a place, one line each, the worst first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import duration_option, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import show_progress
from ckpttool.errors import Refused

if TYPE_CHECKING:
    from ckpttool.fleet.scan import Inspector


@click.command(
    epilog="""\b
Examples:
  ckpt scan /data/checkpoints
  ckpt scan s3a://lake/checkpoints --depth 2 --format jsonl
  ckpt scan s3a://lake/checkpoints --stale-after 30d
  ckpt scan s3a://lake/checkpoints --doctor
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
@duration_option("--stale-after", help="Tell which checkpoints had no batch for so long, as deserted.")
@click.option("--doctor", "checks_up", is_flag=True, help="Of each what ckpt doctor --profile quick says.")
@output_options("scan", "jsonl", "prometheus")
@storage_options
def scan(
    path: str,
    depth: int,
    engine: str,
    stale_after: int | None,
    checks_up: bool,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Find the checkpoints below PATH and print one line each, the worst first.

    Of each is read what a restart opens; ckpt inspect shows more. It also says which of them share a query id, a sink
    or a source, and where it did not look: below --depth, and in partitions of tables.
    """
    from ckpttool.fleet.doctor import doctor_here, with_shared_ids
    from ckpttool.fleet.scan import inspect_here, scan_checkpoints
    from ckpttool.report.views.scan import scan_document
    from ckpttool.storage.store import open_store

    if checks_up and engine == "spark":
        raise click.UsageError("--doctor and --engine spark exclude each other")
    now_ms = int(time.time() * 1000)
    inspect = _inspector_on_spark(path, storage) if engine == "spark" else inspect_here
    inspect = doctor_here(storage) if checks_up else inspect
    found = scan_checkpoints(open_store(path, storage), depth, now_ms, _progress, inspect)
    found = with_shared_ids(found) if checks_up else found
    output.show(scan_document(found, now_ms, stale_after))
    return found.exit_code


def _inspector_on_spark(path: str, options: dict[str, str]) -> Inspector:
    try:
        from ckpttool.spark.scan import spark_inspector
    except ImportError:
        raise Refused("--engine spark needs pyspark", "pip install pyspark, in the cluster's release") from None
    return spark_inspector(path, options)


def _progress(found: int, done: int) -> None:
    show_progress(f"{done} of {found} checkpoints", last=done == found)
