"""`ckpt state list`, `count`, `rows` and `get`: what is in the stores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
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
    chosen_tables,
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
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.state.reader import Row, StateReader
    from ckpttool.state.tables import Table

_SHOWN_AS_TABLE = 50  # rows, unless --limit says otherwise


@click.command(
    "list",
    epilog="""\b
Examples:
  ckpt state list /data/checkpoints/orders
  ckpt state list s3a://lake/checkpoints/orders --batch 1041 --format json""",
)
@click.argument("path")
@batch_option
@output_options("text", "json")
@storage_options
def list_(
    path: str,
    batch: int | None,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """List operators and their stores, with partitions, versions, rows and bytes.

    Rows are counted where that is cheap; `ckpt state count` counts all.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-list", path, form):
        reader = open_reader(path, options, batch)
        from ckpttool.state.survey import survey_tables

        surveys = list(survey_tables(reader))
    from ckpttool.report import state as report

    if form == "json":
        echo_json(report.list_fields(reader, surveys))
    else:
        echo(report.render_list(reader, surveys, choose_style(color)))
    return exit_code(reader)


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
@output_options("text", "json")
@storage_options
def count_(
    path: str,
    batch: int | None,
    operator: int | None,
    store: str | None,
    exact: bool,
    jobs: int,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Count the rows of every store, or of one.

    They are read, unless a RocksDB snapshot of this very version has recorded their number, or an HDFS-backed one
    holds nothing but rows of one size: then its length tells.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-count", path, form):
        from ckpttool.state.survey import count_rows

        reader = open_reader(path, options, batch)
        counts = [(one, count_rows(reader, one, exact, jobs)) for one in chosen_tables(reader, operator, store)]
    from ckpttool.report import state as report

    if form == "json":
        echo_json(report.count_fields(reader, counts))
    else:
        echo(report.render_counts(reader, counts, choose_style(color)))
    return exit_code(reader)


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
@table_options
@schema_option
@click.option("--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Only this one; repeatable.")
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows of which this holds; also with != < <= > >=. COLUMN is a path like key.user. Repeatable.",
)
@click.option("--limit", type=click.IntRange(min=0), help="At most so many rows. Default: all; of a table, 50.")
@output_options("text", "table", "jsonl", "csv", "json")
@storage_options
def rows_(
    path: str,
    batch: int | None,
    operator: int | None,
    store: str | None,
    schema: str | None,
    partitions: tuple[int, ...],
    where: tuple[str, ...],
    limit: int | None,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Print the rows of a store, with the columns that Spark's `statestore` source shows.

    Values are printed as Spark's to_json prints them. Rows come in no particular order.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-rows", path, form):
        reader = open_reader(path, options, batch)
        table = one_table(reader, operator, store, schema)
        wanted = _partitions(reader, table, partitions)
        found = reader.rows(table, wanted)
        if where:
            from ckpttool.state.filters import matching

            found = matching(table, found, where)
    return _print_rows(reader, table, found, limit, form, color)


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
@table_options
@schema_option
@output_options("text", "table", "jsonl", "csv", "json")
@storage_options
def get_(
    path: str,
    key: str,
    batch: int | None,
    operator: int | None,
    store: str | None,
    schema: str | None,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Print the rows of one key, from its partition alone.

    KEY is a JSON object of key columns, or the bare value of a key that has one column. Exit status 4 if it is not
    there.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-get", path, form):
        reader = open_reader(path, options, batch)
        table = one_table(reader, operator, store, schema)
        from ckpttool.state.lookup import find_rows

        partitions, found = find_rows(reader, table, key)
        rows = list(found)
        if not rows and not reader.findings:
            looked = f"partition {partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions"
            raise NotFound(f"the key {key} is not in {table.name}", f"it was looked for in {looked}")
    return _print_rows(reader, table, iter(rows), None, form, color)


def _partitions(reader: StateReader, table: Table, asked: tuple[int, ...]) -> tuple[int, ...] | None:
    there = reader.partitions(table.operator)
    for partition in asked:
        if partition not in there:
            raise NotFound(f"there is no partition {partition}", f"operator {table.operator} has 0 to {there[-1]}")
    return asked or None


def _print_rows(
    reader: StateReader, table: Table, found: Iterator[Row], limit: int | None, form: str, color: str
) -> int:
    """Rows are printed as they are read, so what is wrong, and with it the exit status, is known after the last."""
    from ckpttool.report import state_rows as report

    if form in ("text", "table"):
        shown = _SHOWN_AS_TABLE if limit is None else limit
        first = list(islice(found, shown + 1))
        echo("\n".join(report.render_rows(table, first[:shown], choose_style(color))))
        if len(first) > shown:
            click.echo(f"… more than {shown}; see them with --limit or --format jsonl", err=True)
    elif form == "json":
        write_pieces(report.rows_as_json(reader, table, islice(found, limit)), end="\n")
    elif form == "csv":
        cells = report.cell_renderer(table)
        echo(report.csv_line(report.cell_names(table)))
        write_pieces(report.csv_line(cells(row)) + "\n" for row in islice(found, limit))
    else:
        render = report.line_renderer(table)
        write_pieces(f"{render(row)}\n" for row in islice(found, limit))
    if form != "json":
        tell_findings(reader)
    return exit_code(reader)
