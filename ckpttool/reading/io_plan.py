"""Which files of a checkpoint are opened for certain, told from names alone, so that they can be fetched together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from msgspec import Struct

from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import layout, limits
from ckpttool.formats.envelope import LONG_MAX
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, compact_interval, live_log_ids
from ckpttool.formats.names import parse_log_names
from ckpttool.model import LogNames
from ckpttool.storage.store import Store, is_directory

Listing = Callable[[str], Sequence[str]]


def opened_first(
    store: Store, names: Collection[str], offsets: LogNames, commits: LogNames, entries_of_sources: int
) -> list[str]:
    """The newest batches, the metadata, the newest entries of sources' logs, what operators say of themselves."""
    newest = opened_by_spark(offsets, 2)
    committed = {*opened_by_spark(commits, 1), *(batch for batch in newest if batch in commits.ids)}
    wanted = [*map(layout.offsets, newest), *map(layout.commits, sorted(committed))]
    if layout.METADATA in names:
        wanted.append(layout.METADATA)
    if layout.SOURCES in names:
        wanted += _of_sources(store, entries_of_sources)
    if layout.STATE in names:
        wanted += _of_operators(store)
    return [path for path in wanted if not is_directory(store, path)]


def opened_by_spark(names: LogNames, count: int) -> Sequence[int]:
    return tuple(names.ids[-count:])


def live_files(names: LogNames, count: int) -> tuple[list[str], int]:
    """Of what the file source reads when it is made, from the newest compact file on, the newest; how many are left."""
    last = max([*names.ids[-1:], *names.compact_ids[-1:]], default=None)
    if last is None:
        return [], 0
    try:
        live = live_log_ids(last, compact_interval(names.compact_ids, DEFAULT_COMPACT_INTERVAL))
    except MalformedFile:
        live = range(last, last + 1)
    compacted = set(names.compact_ids)
    most = max(count, 100)
    newest = sorted({*names.ids[-most:], *names.compact_ids[-most:]})
    present = [number for number in newest[-most:] if number in live]
    chosen = present[-count:]
    files = [layout.compact(number) if number in compacted else str(number) for number in chosen]
    return files, len(present) - len(chosen)


class OperatorNames(Struct, frozen=True):
    """What the names below `state/<id>` tell. `in_first`: those of the first partition; `joined`: those among them that
    are a join's stores; `in_store`: those of the first store. `in_schemas` None: there is no directory of schemas."""

    id: int
    partitions: int
    metadata_file: str | None
    in_first: Sequence[str]
    joined: Sequence[str]
    in_store: Sequence[str]
    in_schemas: Sequence[str] | None

    def schema_file(self, store: str) -> str | None:
        """Where a schema of version 1 or 2 is. `store` may be any text of a file: only what was listed makes a path."""
        shown_by = layout.OPERATOR_METADATA if store == layout.DEFAULT_STORE else store
        return layout.schema_file(self.id, store) if shown_by in self.in_first else None


def operator_names(names_in: Listing, number: int) -> OperatorNames:
    path = layout.operator(number)
    inside = names_in(path)
    in_first = names_in(layout.store(number, 0)) if "0" in inside else []
    joined = sorted(filter(layout.is_join_store, in_first))
    return OperatorNames(
        id=number,
        partitions=sum(name.isdecimal() for name in inside),
        metadata_file=_metadata_file(names_in, number) if layout.OPERATOR_METADATA in inside else None,
        in_first=in_first,
        joined=joined,
        in_store=names_in(layout.store(number, 0, joined[0])) if joined else in_first,
        in_schemas=names_in(f"{path}/{layout.SCHEMAS}") if layout.SCHEMAS in inside else None,
    )


def _metadata_file(names_in: Listing, number: int) -> str:
    has_runs = layout.RUNS in names_in(layout.operator_metadata(number))
    run = last_run(names_in, number) if has_runs else None
    return layout.operator_metadata_file(number) if run is None else layout.operator_run(number, run)


def last_run(names_in: Listing, number: int, until: int = LONG_MAX) -> int | None:
    """The batch before which an operator last described itself, in version 2 of its metadata."""
    runs = parse_log_names(names_in(layout.operator_runs(number))).ids
    return max((run for run in runs if run <= until), default=None)


# -- what to fetch -----------------------------------------------------------------------------------------------------


def _of_sources(store: Store, count: int) -> Iterator[str]:
    store.survey(layout.SOURCES)
    for name in _names(store, layout.SOURCES):
        path = layout.source(name)
        if not name.startswith(".") and is_directory(store, path):
            inside = _names(store, path)
            if layout.OFFSETS not in inside:
                yield from (f"{path}/{file}" for file in live_files(parse_log_names(inside), count)[0])


def _of_operators(store: Store) -> Iterator[str]:
    """Schemas that have a directory of their own are left out: the metadata, not yet read, tells whose they are."""
    store.survey(layout.STATE)
    names_in = partial(_names, store)
    for number in parse_log_names(names_in(layout.STATE)).ids[: limits.most("operators")]:
        names = operator_names(names_in, number)
        stores = () if names.in_schemas is not None else (layout.DEFAULT_STORE, *names.joined)
        for path in filter(None, (names.metadata_file, *map(names.schema_file, stores))):
            directory, _, name = path.rpartition("/")
            if name in names_in(directory):
                yield path


def _names(store: Store, path: str) -> list[str]:
    """What cannot be listed is told of when it is asked for in earnest."""
    try:
        return store.list(path)
    except CkptError:
        return []
