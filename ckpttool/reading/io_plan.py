"""Which files of a checkpoint are opened for certain, told from names alone, so that they can be fetched together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, compact_interval, live_log_ids
from ckpttool.formats.names import parse_log_names
from ckpttool.model import LogNames
from ckpttool.storage.store import Store, is_directory


def opened_first(
    store: Store, names: Collection[str], offsets: LogNames, commits: LogNames, entries_of_sources: int
) -> list[str]:
    """The newest batches, the metadata, the newest entries of sources' logs, what operators say of themselves."""
    newest = opened_by_spark(offsets, 2)
    committed = {*opened_by_spark(commits, 1), *(batch for batch in newest if batch in commits.ids)}
    wanted = [f"offsets/{batch}" for batch in newest] + [f"commits/{batch}" for batch in sorted(committed)]
    if "metadata" in names:
        wanted.append("metadata")
    if "sources" in names:
        wanted += _of_sources(store, entries_of_sources)
    if "state" in names:
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
    files = [f"{number}.compact" if number in compacted else str(number) for number in chosen]
    return files, len(present) - len(chosen)


def _of_sources(store: Store, count: int) -> Iterator[str]:
    store.survey("sources")
    for name in _names(store, "sources"):
        path = f"sources/{name}"
        if not name.startswith(".") and is_directory(store, path):
            inside = _names(store, path)
            if "offsets" not in inside:
                yield from (f"{path}/{file}" for file in live_files(parse_log_names(inside), count)[0])


def _of_operators(store: Store) -> Iterator[str]:
    store.survey("state")
    for number in parse_log_names(_names(store, "state")).ids:
        path = f"state/{number}"
        inside = _names(store, path)
        if "_metadata" in inside:
            told = _names(store, f"{path}/_metadata")
            runs = parse_log_names(_names(store, f"{path}/_metadata/v2")).ids if "v2" in told else ()
            if runs:
                yield f"{path}/_metadata/v2/{runs[-1]}"
            elif "metadata" in told:
                yield f"{path}/_metadata/metadata"
        if "_stateSchema" not in inside and "0" in inside:
            for place in ("", *(name for name in _names(store, f"{path}/0") if name.startswith(("left-", "right-")))):
                directory = f"{path}/0/{place}/_metadata".replace("//", "/")
                if "schema" in _names(store, directory):
                    yield f"{directory}/schema"


def _names(store: Store, path: str) -> list[str]:
    """What cannot be listed is told of when it is asked for in earnest."""
    try:
        return store.list(path)
    except CkptError:
        return []
