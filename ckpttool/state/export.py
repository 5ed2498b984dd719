"""Writes the rows of a table to files of their own, one per partition: Parquet, Arrow, CSV or lines of JSON.

Nothing is written into the checkpoint, and nothing over what is there. A file gets its name when it is whole; what is
left of one that did not become so is removed, and where we are killed before that it is hidden, with `.partial` behind
its name. Rows are as private as the checkpoint may be: only their owner reads them, unless a mode is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.formats import layout
from ckpttool.report.csv import csv_line, without_formulas
from ckpttool.report.state_rows import cell_names, cell_renderer, line_renderer
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.side_by_side import side_by_side
from ckpttool.state.tables import StateTable
from ckpttool.storage.store import LocalStore

Form = Literal["parquet", "arrow", "csv", "jsonl"]

PRIVATE = 0o600
_GROUP_ROWS = 2**17  # of a row group of Parquet, which is put together in memory

# Writes a partition to a path, and tells how many rows it has.
Writer = Callable[[str, StateReader, int], int]


class Exported(Struct, frozen=True):
    partition: int
    path: str
    rows: int


class Unwritable(Unavailable):
    """The disk is full, or does not let us: which is no finding about the checkpoint."""


def export_table(
    reader: StateReader,
    table: StateTable,
    directory: str,
    form: Form,
    jobs: int = 1,
    *,
    mode: int = PRIVATE,
    csv_safe: bool = True,
) -> Iterator[Exported]:
    """`part-<partition>.<form>` in the directory, which is made; so many partitions at a time.

    `mode`: of the files, and of the directory with what it takes to enter it."""
    target = Path(directory)
    here = os.path.realpath(reader.store.url) if isinstance(reader.store, LocalStore) else None
    if here is not None and Path(os.path.realpath(target)).is_relative_to(here):
        raise Refused(f"{directory} is inside the checkpoint", "export to a directory outside it")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise Refused(f"{directory} is there and not empty", "export to a directory that is new or empty")
    if not target.exists():
        with _told_as_unwritable(directory):
            os.makedirs(target, 0o700)
            os.chmod(target, 0o700 | mode | (mode & 0o444) >> 2)  # whatever the umask
    writer = _arrow_writer(table, form) if form in ("parquet", "arrow") else _text_writer(table, form, csv_safe)

    def export(partition: int) -> Exported | tuple[int, CkptError]:
        path = target / f"part-{partition:05}.{form}"
        try:
            with _named_when_whole(path, mode) as unfinished:
                rows = writer(unfinished, reader, partition)
        except (Refused, Unwritable):
            raise
        except CkptError as error:
            return partition, error
        return Exported(partition, str(path), rows)

    for done in side_by_side(export, reader.partitions(table.operator), jobs):
        if isinstance(done, Exported):
            yield done
        else:
            reader.note(layout.store(table.operator, done[0]), done[1])


@contextmanager
def _named_when_whole(path: Path, mode: int) -> Iterator[str]:
    """A place for what becomes the file: half a partition must not be taken for a whole one."""
    unfinished = path.with_name(f".{path.name}.partial")
    with _told_as_unwritable(str(path.parent)):
        opened = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE)
        try:
            os.fchmod(opened, mode)
            os.close(opened)
            yield str(unfinished)
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink()
            raise


@contextmanager
def _told_as_unwritable(directory: str) -> Iterator[None]:
    """What is read comes from a store, which tells its own failures: what is left is the disk that is written to."""
    try:
        yield
    except OSError as error:
        told = error.strerror or str(error).partition("\n")[0]
        raise Unwritable(f"{directory} cannot be written to: {told}", "export to another directory") from None


def _text_writer(table: StateTable, form: Form, csv_safe: bool) -> Writer:
    line, cells = line_renderer(table), cell_renderer(table)
    guarded = without_formulas if csv_safe else _as_they_are

    def write(path: str, reader: StateReader, partition: int) -> int:
        count = 0
        rows = (Row(partition, values) for values in reader.values(table, partition))
        with open(path, "r+", encoding="utf-8") as file:
            if form == "csv":
                file.write(csv_line(guarded(cell_names(table))) + "\n")
            for row in rows:
                file.write((line(row) if form == "jsonl" else csv_line(guarded(cells(row)))) + "\n")
                count += 1
        return count

    return write


def _as_they_are(cells: Sequence[str]) -> Sequence[str]:
    return cells


def _arrow_writer(table: StateTable, form: Form) -> Writer:
    try:
        import numpy  # noqa: F401
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Refused("writing Parquet and Arrow needs numpy and pyarrow", "pip install 'ckpttool[state]'") from None
    from ckpttool.state.arrow import table_schema
    from ckpttool.state.batches import partition_batches

    schema = table_schema(table)

    def write(path: str, reader: StateReader, partition: int) -> int:
        count = 0
        with _opened(pyarrow, path, schema, form) as out:
            for batch in partition_batches(reader, table, partition):
                for start in range(0, batch.num_rows, _GROUP_ROWS):
                    out.write_batch(batch.slice(start, _GROUP_ROWS))
                count += batch.num_rows
        return count

    return write


def _opened(pyarrow: Any, path: str, schema: Any, form: Form) -> Any:
    if form == "parquet":
        try:  # keys differ, and dictionaries cost the most
            return pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False)
        except pyarrow.ArrowNotImplementedError as error:  # of a struct without fields
            raise Refused(f"Parquet has no such rows: {error}", "export --to arrow, csv or jsonl") from None
    return pyarrow.ipc.new_file(path, schema)
