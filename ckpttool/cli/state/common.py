"""What the commands of `ckpt state` share: options, opening, and choosing a table."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from ckpttool.cli.output import Command, told_as_out_of_reach, with_options
from ckpttool.errors import MalformedFile, NotFound, Unavailable, exit_code

if TYPE_CHECKING:
    from ckpttool.state.reader import StateReader
    from ckpttool.state.tables import StateTable


def batch_option(command: Command) -> Command:
    return click.option(
        "--batch", type=click.IntRange(min=0), help="The state after this batch. Default: the last committed one."
    )(command)


class Which(Struct, frozen=True):
    """Which table is meant, by the options --operator, --store and --schema."""

    operator: int | None
    store: str | None
    schema: str | None = None


def table_options(command: Command) -> Command:
    """The command gets a `Which`."""

    @wraps(command)
    def run(operator: int | None, store: str | None, schema: str | None = None, **given: Any) -> Any:
        return command(which=Which(operator, store, schema), **given)

    options = (
        click.option("--operator", type=click.IntRange(min=0), help="Which operator. Default: 0, or the only one."),
        click.option(
            "--store",
            metavar="NAME",
            help="Which store of the operator, or which state variable of transformWithState; see ckpt state list. "
            "Of a join also left or right: the rows that a side keeps.",
        ),
    )
    return with_options(options, run)


def rows_options(command: Command) -> Command:
    """The command gets a `Which` that may have a schema: it is for rows, and these have to be decoded."""
    schema = click.option(
        "--schema",
        metavar="FILE|DDL",
        help="The columns of a store that has no schema (before Spark 3.1), like "
        "'key STRUCT<user: STRING>, value STRUCT<count: BIGINT>'; or a file with that, with Spark's JSON of it, or a "
        "schema file of another checkpoint of the query.",
    )
    return table_options(schema(command))


def jobs_option(command: Command) -> Command:
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Partitions at a time, in threads; each takes memory of its own.",
    )(command)


def open_reader(path: str, options: dict[str, str], batch: int | None, batches: int = 0) -> StateReader:
    """`batches`: beyond those that a restart opens."""
    from ckpttool.state.reader import open_state
    from ckpttool.storage.store import open_store

    # numpy starts threads for algebra, which costs more than most state
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return open_state(open_store(path, options), batch, batches=batches)


def chosen_tables(reader: StateReader, which: Which) -> list[StateTable]:
    """All tables that the options leave; those that Spark keeps for itself only by name."""
    there = [table for table in reader.tables if which.operator is None or table.operator == which.operator]
    if not there:
        numbers = ", ".join(str(number) for number in reader.operators)
        raise NotFound(f"there is no operator {which.operator}", f"operators: {numbers}")
    chosen = [table for table in there if table.name == which.store or (which.store is None and not table.is_internal)]
    if not chosen:
        names = dict.fromkeys(table.name for table in there)
        raise NotFound(f"there is no store {which.store!r}", f"stores: {', '.join(names)}")
    return chosen


def one_table(reader: StateReader, which: Which) -> StateTable:
    operator = 0 if which.operator is None and len(reader.operators) > 1 else which.operator
    chosen = chosen_tables(reader, replace(which, operator=operator))
    if len(chosen) > 1:
        names = ", ".join(table.name for table in chosen)
        raise click.UsageError(f"operator {chosen[0].operator} has several stores; choose with --store: {names}")
    return chosen[0] if which.schema is None else _described(reader, chosen[0], which.schema)


def _described(reader: StateReader, table: StateTable, schema: str) -> StateTable:
    from pathlib import Path

    from ckpttool.formats.state.ddl import parse_given_schema

    if table.shape != "raw":
        raise click.UsageError(f"{table.name} has a schema of its own; --schema is for state without one")
    path = Path(schema)
    try:
        content = path.read_bytes() if path.is_file() else schema.encode()
    except OSError as error:
        raise Unavailable(f"{schema} cannot be read: {error.strerror}") from None
    try:
        return reader.described(table, parse_given_schema(content))
    except MalformedFile as error:
        raise click.UsageError(f"--schema: {error.message}; expected: {error.expected}") from None


def exit_code_of(*readers: StateReader) -> int:
    """What these have met so far: asked for when all that is wanted of them was read."""
    told_as_out_of_reach(readers[-1].checkpoint)
    return exit_code(
        wrong=any(finding.severity == "error" for reader in readers for finding in reader.findings),
        unreachable=any(reader.is_out_of_reach for reader in readers),
    )
