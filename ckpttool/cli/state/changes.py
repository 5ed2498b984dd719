"""`ckpt state diff` and `export`: from one batch to another, and out of the checkpoint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.options import storage_options
from ckpttool.cli.output import CSV_SAFE_OPTION, Output, output_options
from ckpttool.cli.state.common import (
    Which,
    batch_option,
    exit_code_of,
    jobs_option,
    one_table,
    open_reader,
    rows_options,
)
from ckpttool.cli.streams import show_progress
from ckpttool.errors import Refused

if TYPE_CHECKING:
    from ckpttool.state.export import Exported
    from ckpttool.state.reader import StateReader
    from ckpttool.state.tables import StateTable


@click.command(
    "diff",
    epilog="""\b
Examples:
  ckpt state diff /data/checkpoints/orders --batch 1040 --batch 1041
  ckpt state diff /data/checkpoints/orders --batch 7 --batch 9 --operator 1 --format jsonl""",
)
@click.argument("path")
@click.option("--batch", "batches", type=click.IntRange(min=0), multiple=True, help="Twice: the earlier and the later.")
@rows_options
@output_options("state-diff", "jsonl")
@storage_options
def diff_(
    path: str,
    batches: tuple[int, ...],
    which: Which,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Show the rows added, changed and removed between two batches."""
    from ckpttool.report.views.state_changes import changes_document
    from ckpttool.state.difference import compare_rows

    if len(batches) != 2:
        raise click.UsageError("give --batch twice: the earlier batch and the later one")
    earlier, later = (open_reader(path, storage, batch) for batch in batches)
    before, after = (one_table(reader, which) for reader in (earlier, later))
    changes = compare_rows(earlier, later, before, after)
    output.show(changes_document((earlier, before), (later, after), changes))
    return exit_code_of(earlier, later)


def _mode(_: click.Context, option: click.Parameter, text: str) -> int:
    if not re.fullmatch("0?[67][0-7]{2}", text):
        raise click.BadParameter("expected three digits as of chmod, such as 640", param_hint=option.opts[0])
    return int(text, 8)


@click.command(
    "export",
    epilog="""\b
Examples:
  ckpt state export /data/checkpoints/orders /tmp/orders-state
  ckpt state export /data/checkpoints/orders /tmp/left --store left --to jsonl""",
)
@click.argument("path")
@click.argument("directory")
@batch_option
@rows_options
@click.option(
    "--to",
    "to",
    type=click.Choice(["parquet", "arrow", "csv", "jsonl"]),
    default="parquet",
    show_default=True,
    help="Form of the files.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Who reads: this process, or the workers of a Spark cluster, which writes DIRECTORY.",
)
@CSV_SAFE_OPTION
@click.option(
    "--mode", default="600", show_default=True, callback=_mode, metavar="OCTAL", help="Who may read the files."
)
@jobs_option
@output_options("state-export")
@storage_options
def export_(
    path: str,
    directory: str,
    batch: int | None,
    which: Which,
    to: str,
    engine: str,
    output: Output,
    storage: dict[str, str],
    **given: Any,
) -> int:
    """Write the rows of a store to DIRECTORY, one file per partition.

    DIRECTORY is a local one that is new or empty. Parquet and Arrow need the extra `state`. Only you can read what is
    written, unless --mode says otherwise.
    """
    from ckpttool.report.views.state_changes import export_document

    reader = open_reader(path, storage, batch)
    table = one_table(reader, which)
    if engine == "spark" and which.schema is not None:
        raise click.UsageError("--schema is not for --engine spark")
    if engine == "spark":
        _export_with_spark(reader, table, path, storage, directory, to, given["mode"])
    exported = _export_here(reader, table, directory, to, given) if engine == "local" else None
    output.show(export_document(reader, table, directory, exported))
    return exit_code_of(reader)


def _export_here(
    reader: StateReader, table: StateTable, directory: str, to: str, given: dict[str, Any]
) -> list[Exported]:
    from ckpttool.state.export import export_table

    partitions = reader.partitions(table.operator)
    exported = []
    for one in export_table(reader, table, directory, to, **given):  # type: ignore[arg-type]
        exported.append(one)
        show_progress(f"{len(exported)} of {len(partitions)} partitions", last=len(exported) == len(partitions))
    return exported


def _export_with_spark(
    reader: StateReader, table: StateTable, path: str, options: dict[str, str], directory: str, to: str, mode: int
) -> None:
    if to not in ("parquet", "jsonl"):
        raise click.UsageError(f"Spark does not write {to} of rows with structs; use --to parquet or jsonl")
    try:
        from ckpttool.spark.export import export_with_spark
    except ImportError:
        raise Refused("--engine spark needs pyspark 4.0 or later", "pip install 'pyspark>=4' pandas") from None
    export_with_spark(path, options, directory, to, reader.batch, table.operator, table.name, mode)
