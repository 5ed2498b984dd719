"""`ckpt state list`, `count`, `rows` and `get`: what is in the stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.state.common import (
    Which,
    batch_option,
    chosen_tables,
    exit_code_of,
    jobs_option,
    one_table,
    open_reader,
    rows_options,
    table_options,
)
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.state.reader import StateReader
    from ckpttool.state.tables import StateTable


@click.command(
    "list",
    epilog="""\b
Examples:
  ckpt state list /data/checkpoints/orders
  ckpt state list s3a://lake/checkpoints/orders --batch 1041 --format json""",
)
@click.argument("path")
@batch_option
@output_options("state-list")
@storage_options
def list_(path: str, batch: int | None, output: Output, storage: dict[str, str]) -> int:
    """List operators and their stores, with partitions, versions, rows and bytes.

    Rows are counted where that is cheap; `ckpt state count` counts all.
    """
    from ckpttool.report.views.state_stores import stores_document
    from ckpttool.state.survey import survey_tables

    reader = open_reader(path, storage, batch)
    output.show(stores_document(reader, list(survey_tables(reader))))
    return exit_code_of(reader)


@click.command(
    "count",
    epilog="""\b
Examples:
  ckpt state count /data/checkpoints/orders
  ckpt state count /data/checkpoints/orders --operator 1 --format json""",
)
@click.argument("path")
@batch_option
@table_options
@click.option("--exact", is_flag=True, help="Read all rows, also where their number is told without.")
@jobs_option
@output_options("state-count")
@storage_options
def count_(
    path: str,
    batch: int | None,
    which: Which,
    exact: bool,
    jobs: int,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Count the rows of every store, or of one.

    They are read, unless a RocksDB snapshot of this very version has recorded their number, or an HDFS-backed one
    holds nothing but rows of one size: then its length tells.
    """
    from ckpttool.report.views.state_stores import counts_document
    from ckpttool.state.survey import count_rows

    reader = open_reader(path, storage, batch)
    counts = [(one, count_rows(reader, one, exact, jobs)) for one in chosen_tables(reader, which)]
    output.show(counts_document(reader, counts))
    return exit_code_of(reader)


@click.command(
    "rows",
    epilog="""\b
Examples:
  ckpt state rows /data/checkpoints/orders --limit 20
  ckpt state rows /data/checkpoints/orders --operator 1 --store left-keyToNumValues --format jsonl
  ckpt state rows /data/checkpoints/orders --where 'key.user=ada' --where 'value.count>10' --format csv""",
)
@click.argument("path")
@batch_option
@rows_options
@click.option("--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only this one; repeatable.")
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows of which this holds; also with != < <= > >=. COLUMN is a path like key.user. Repeatable.",
)
@click.option("--limit", type=click.IntRange(min=0), help="At most so many rows. Default: all; of a table, 50.")
@output_options("state-rows", "table", "jsonl", "csv")
@storage_options
def rows_(
    path: str,
    batch: int | None,
    which: Which,
    partitions: tuple[int, ...],
    where: tuple[str, ...],
    limit: int | None,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Print the rows of a store, with the columns that Spark's `statestore` source shows.

    Values are printed as Spark's to_json prints them. Rows come in no particular order.
    """
    from ckpttool.report.views.state_rows import rows_document

    reader = open_reader(path, storage, batch)
    table = one_table(reader, which)
    found = reader.rows(table, _partitions(reader, table, partitions))
    if where:
        from ckpttool.state.filters import matching

        found = matching(table, found, where)
    output.show(rows_document(reader, table, found, limit))
    return exit_code_of(reader)


@click.command(
    "get",
    epilog="""\b
Examples:
  ckpt state get /data/checkpoints/orders '{"user":"ada"}'
  ckpt state get /data/checkpoints/orders 42 --operator 1 --format jsonl""",
)
@click.argument("path")
@click.argument("key")
@batch_option
@rows_options
@output_options("state-get", "table", "jsonl", "csv")
@storage_options
def get_(
    path: str,
    key: str,
    batch: int | None,
    which: Which,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Print the rows of one key, from its partition alone.

    KEY is a JSON object of key columns, or the bare value of a key that has one column. Exit status 4 if it is not
    there.
    """
    from ckpttool.report.views.state_rows import rows_document
    from ckpttool.state.lookup import find_rows

    reader = open_reader(path, storage, batch)
    table = one_table(reader, which)
    partitions, found = find_rows(reader, table, key)
    rows = list(found)
    if not rows and not reader.findings:
        looked = f"partition {partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions"
        raise NotFound(f"the key {key} is not in {table.name}", f"it was looked for in {looked}")
    output.show(rows_document(reader, table, iter(rows)))
    return exit_code_of(reader)


def _partitions(reader: StateReader, table: StateTable, asked: tuple[int, ...]) -> tuple[int, ...] | None:
    there = reader.partitions(table.operator)
    for partition in asked:
        if partition not in there:
            raise NotFound(f"there is no partition {partition}", f"operator {table.operator} has 0 to {there[-1]}")
    return asked or None
