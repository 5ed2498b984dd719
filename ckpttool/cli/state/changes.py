"""`ckpt state diff` and `export`: from one batch to another, and out of the checkpoint."""

from __future__ import annotations

import sys
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
from ckpttool.cli.state.common import (
    batch_option,
    echo_json,
    exit_code,
    jobs_option,
    one_table,
    open_reader,
    schema_option,
    table_options,
    tell_findings,
    write_pieces,
)
from ckpttool.errors import Refused

if TYPE_CHECKING:
    from ckpttool.state.export import Exported
    from ckpttool.state.reader import StateReader
    from ckpttool.state.tables import Table


@click.command(
    "diff",
    epilog="""\b
Examples:
  ckpt state diff /data/checkpoints/orders --batch 1040 --batch 1041
  ckpt state diff /data/checkpoints/orders --batch 7 --batch 9 --operator 1 --format jsonl""",
)
@click.argument("path")
@click.option("--batch", "batches", type=click.IntRange(min=0), multiple=True, help="Twice: the earlier and the later.")
@table_options
@schema_option
@output_options("text", "jsonl", "json")
@storage_options
def diff_(
    path: str,
    batches: tuple[int, ...],
    operator: int | None,
    store: str | None,
    schema: str | None,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Show the rows added, changed and removed between two batches."""
    if len(batches) != 2:
        raise click.UsageError("give --batch twice: the earlier batch and the later one")
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-diff", path, form):
        from ckpttool.state.difference import compare_rows

        earlier, later = (open_reader(path, options, batch) for batch in batches)
        before, after = (one_table(reader, operator, store, schema) for reader in (earlier, later))
        changes = compare_rows(earlier, later, before, after)
        if form != "jsonl":
            changes = iter(list(changes))
    from ckpttool.report import state_changes as report

    if form == "jsonl":
        write_pieces(report.change_line(before, after, change) + "\n" for change in changes)
        tell_findings(earlier, later)
    elif form == "json":
        write_pieces(report.diff_json(earlier, later, before, after, changes), end="\n")
    else:
        echo(report.render_diff(earlier, later, before, after, list(changes), choose_style(color)))
    return exit_code(earlier, later)


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
@table_options
@schema_option
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
@jobs_option
@output_options("text", "json")
@storage_options
def export_(
    path: str,
    directory: str,
    batch: int | None,
    operator: int | None,
    store: str | None,
    schema: str | None,
    to: str,
    engine: str,
    jobs: int,
    form: str,
    color: str,  # noqa: ARG001 - what is printed has no colours
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Write the rows of a store to DIRECTORY, one file per partition.

    DIRECTORY is a local one that is new or empty. Parquet and Arrow need the extra `state`.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-export", path, form):
        reader = open_reader(path, options, batch)
        table = one_table(reader, operator, store, schema)
        if engine == "spark" and schema is not None:
            raise click.UsageError("--schema is not for --engine spark")
        if engine == "spark":
            _export_with_spark(reader, table, path, options, directory, to)
            return exit_code(reader)
        exported = _export_here(reader, table, directory, to, jobs)
    from ckpttool.report import state_changes as report

    if form == "json":
        echo_json(report.export_fields(reader, table, directory, exported))
    else:
        rows = sum(one.rows for one in exported)
        partitions = len(reader.partitions(table.operator))
        echo(f"{rows:,} rows of {table.name} in {len(exported)} of {partitions} partitions: {directory}")
        tell_findings(reader)
    return exit_code(reader)


def _export_here(reader: StateReader, table: Table, directory: str, to: str, jobs: int) -> list[Exported]:
    from ckpttool.state.export import export_table

    partitions = reader.partitions(table.operator)
    exported = []
    for one in export_table(reader, table, directory, to, jobs):  # type: ignore[arg-type]
        exported.append(one)
        if sys.stderr.isatty():
            click.echo(f"\r{len(exported)} of {len(partitions)} partitions", err=True, nl=False)
    if exported and sys.stderr.isatty():
        click.echo("", err=True)
    return exported


def _export_with_spark(
    reader: StateReader, table: Table, path: str, options: dict[str, str], directory: str, to: str
) -> None:
    if to not in ("parquet", "jsonl"):
        raise click.UsageError(f"Spark does not write {to} of rows with structs; use --to parquet or jsonl")
    try:
        from ckpttool.spark.export import export_with_spark
    except ImportError:
        raise Refused("--engine spark needs pyspark 4.0 or later", "pip install 'pyspark>=4' pandas") from None
    export_with_spark(path, options, directory, to, reader.batch, table.operator, table.name)
    echo(f"{table.name} at batch {reader.batch}, written by Spark: {directory}")
