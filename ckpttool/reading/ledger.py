"""Sinks' own records of batches, where they lie beside the checkpoint: the output directory above it or next to it.
A glance, without being asked for; `sinks/` reads a sink that the user names, and thoroughly.

A file sink keeps `_spark_metadata/<batch>`, which names no query. Delta keeps `txn` actions in `_delta_log`, keyed by
the query's id. Nothing found proves nothing: a sink may be anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ckpttool.errors import CkptError
from ckpttool.formats.layout import DELTA_LOG, FILE_SINK_LOG
from ckpttool.formats.names import parse_log_names
from ckpttool.model import SinkLedger
from ckpttool.reading.recognise import list_or_nothing
from ckpttool.storage.store import Store, is_directory

_NEIGHBOURS = 8
_DELTA_COMMITS = 10


def load_ledgers(store: Store, query_id: str | None) -> Iterator[SinkLedger]:
    for path, place in _places(store):
        marks = _marks(place)
        if FILE_SINK_LOG in marks:
            yield from _load_file_ledger(place, path)
        if DELTA_LOG in marks:
            yield from _load_delta_ledger(place, path, query_id)


def _places(store: Store) -> Iterator[tuple[str, Store]]:
    """The two directories above, and the neighbours if they are few."""
    parent = store.above()
    own = store.url.rstrip("/").rpartition("/")[2]
    beside = [name for name in list_or_nothing(parent) if not name.startswith((".", "_")) and name != own]
    # As soon as they are too many nobody asks about the rest.
    folders = list(islice((name for name in beside if is_directory(parent, name)), _NEIGHBOURS + 1))
    yield "..", parent
    yield "../..", store.above(2)
    if len(folders) <= _NEIGHBOURS:
        yield from ((f"../{name}", parent.at(name)) for name in sorted(folders))


def _marks(place: Store) -> list[str]:
    try:
        return place.list_starting("_")
    except CkptError:
        return []


def _load_file_ledger(place: Store, path: str) -> Iterator[SinkLedger]:
    names = list_or_nothing(place, FILE_SINK_LOG)
    if not names:
        return  # before what reads such logs is imported, here and below: most checkpoints have none beside them
    from ckpttool.reading.sinks.file import last_batch

    last = last_batch(parse_log_names(names))
    if last is not None:
        yield SinkLedger("file", path, last, keyed=False, note="a file sink skips batches up to it, of any query")


def _load_delta_ledger(place: Store, path: str, query_id: str | None) -> Iterator[SinkLedger]:
    names = list_or_nothing(place, DELTA_LOG)
    if not names:
        return
    if query_id is None:
        yield SinkLedger(
            "delta", path, None, keyed=True, note="whether it knows the query cannot be told without its id"
        )
        return
    from ckpttool.formats.delta_log import parse_delta_log_names
    from ckpttool.reading.sinks.delta import find_transaction

    newest = parse_delta_log_names(names).commits[-_DELTA_COMMITS:]
    if not newest:
        return
    found = find_transaction(place, newest, query_id)
    if found is not None:
        version, batch = found
        yield SinkLedger("delta", path, batch, keyed=True, note=f"table version {version} holds its txn")
    else:
        note = f"no txn of this query in the newest {len(newest)} commits"
        yield SinkLedger("delta", path, None, keyed=True, note=note)
