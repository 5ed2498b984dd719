"""What the tables of a checkpoint amount to: partitions, versions on disk, bytes, and rows where counting is cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ckpttool.errors import CkptError, Refused
from ckpttool.formats import layout
from ckpttool.formats.state.rocksdb import parse_snapshot_zip
from ckpttool.scene.state_chain import StoreFiles, loadable_versions
from ckpttool.state.reader import StateReader
from ckpttool.state.side_by_side import side_by_side
from ckpttool.state.tables import StateTable

CHEAP_BYTES = 2**24  # of one table's files; up to here rows are counted by reading them


class Survey(Struct, frozen=True):
    """`versions`: those whose files every partition has, by their names; None where names have ids. `rows` None: not
    known, for the reason in `why`."""

    table: StateTable
    partitions: int
    versions: frozenset[int] | None
    size_bytes: int
    rows: int | None
    why: str | None = None


def survey_tables(reader: StateReader) -> Iterator[Survey]:
    return (survey_table(reader, table) for table in reader.tables if not table.is_internal)


def survey_table(reader: StateReader, table: StateTable) -> Survey:
    from ckpttool.state.sizes import file_sizes

    partitions = reader.partitions(table.operator)
    stores = [reader.files(table.operator, partition, table.store) for partition in partitions]
    size = sum(sum(file_sizes(reader, files).values()) for files in stores)
    rows, why = _rows(reader, table, stores, size <= CHEAP_BYTES)
    return Survey(table, len(partitions), _in_every(stores), size, rows, why)


def _in_every(stores: list[StoreFiles]) -> frozenset[int] | None:
    found = [loadable_versions(files) for files in stores]
    known = [versions for versions in found if versions is not None]
    if len(known) < len(found):
        return None
    return frozenset.intersection(*known) if known else frozenset()


def _rows(
    reader: StateReader, table: StateTable, stores: list[StoreFiles], may_read: bool
) -> tuple[int | None, str | None]:
    if not may_read:
        recorded = [_recorded(reader, table, files) for files in stores]
        if None in recorded:
            return None, "counting would read all of it: ckpt state count"
        return sum(one or 0 for one in recorded), None
    from ckpttool.state.rocksdb import MissingRocksdict

    before = len(reader.findings)
    try:
        counted = total(count_rows(reader, table, exact=True).values())
    except MissingRocksdict as error:
        return None, error.message
    failed = len(reader.findings) > before
    return (None, reader.findings[-1].message) if failed else (counted, None)


def total(numbers: Iterable[int | None]) -> int | None:
    """Not known, where one of them is not."""
    return _over(sum, numbers)


def most(numbers: Iterable[int | None]) -> int | None:
    return _over(lambda known: max(known, default=0), numbers)


def _over(draw: Callable[[list[int]], int], numbers: Iterable[int | None]) -> int | None:
    every = list(numbers)
    known = [one for one in every if one is not None]
    return draw(known) if len(known) == len(every) else None


def count_rows(reader: StateReader, table: StateTable, exact: bool = False, jobs: int = 1) -> dict[int, int | None]:
    """By partition; None is one that cannot be read, of which the reader has a finding. Unless `exact`, the number is
    taken that a snapshot of this very version has recorded, or that its size tells. `jobs`: partitions at a time."""

    def count(partition: int) -> int | CkptError:
        files = reader.files(table.operator, partition, table.store)
        try:
            known = None if exact else _recorded(reader, table, files)
            if known is None and not exact:
                known = reader.count_by_headers(table, partition)
            return reader.count(table, partition) if known is None else known
        except Refused:
            raise
        except CkptError as error:
            return error

    counts: dict[int, int | None] = {}
    partitions = reader.partitions(table.operator)
    in_turn = reader.ahead(table, partitions) if jobs == 1 else partitions
    for partition, found in zip(partitions, side_by_side(count, in_turn, jobs), strict=True):
        counts[partition] = found if isinstance(found, int) else None
        if isinstance(found, CkptError):
            reader.note(layout.store(table.operator, partition), found)
    return counts


def _recorded(reader: StateReader, table: StateTable, files: StoreFiles) -> int | None:
    """What the snapshot of this very version says; it counts the keys of all column families together."""
    name = f"{reader.version}{f'_{files.unique_id}' if files.unique_id else ''}.zip"
    if table.provider != "rocksdb" or table.family is not None or table.parts or name not in files.names:
        return None
    try:
        keys = parse_snapshot_zip(reader.store.read(f"{files.path}/{name}")).keys
    except CkptError:
        return None  # reading it will say what is wrong
    return keys if keys >= 0 else None
