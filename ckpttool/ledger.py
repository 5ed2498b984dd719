"""Sinks' own records of batches, where they lie beside the checkpoint: the output directory above it or next to it.

A file sink keeps `_spark_metadata/<batch>`, which names no query. Delta keeps `txn` actions in `_delta_log`, keyed by
the query's id. Nothing found proves nothing: a sink may be anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ckpttool.formats.delta_log import parse_transaction
from ckpttool.formats.names import parse_log_names
from ckpttool.model import SinkLedger
from ckpttool.recognise import list_or_nothing
from ckpttool.storage import Store

_NEIGHBOURS = 8
_DELTA_COMMITS = 10
_COMMIT = re.compile(r"[0-9]{20}\.json")


def load_ledgers(store: Store, query_id: str | None) -> Iterator[SinkLedger]:
    for path in _places(store):
        place = store.at(path)
        yield from _load_file_ledger(place, path)
        yield from _load_delta_ledger(place, path, query_id)


def _places(store: Store) -> list[str]:
    """The two directories above, and the neighbours if they are few."""
    parent = store.at("..")
    beside = [name for name in list_or_nothing(parent) if not name.startswith((".", "_"))]
    # As soon as they are too many nobody asks about the rest.
    folders = list(islice((name for name in beside if _is_directory(parent, name)), _NEIGHBOURS + 1))
    return ["..", "../..", *(f"../{name}" for name in sorted(folders) if len(folders) <= _NEIGHBOURS)]


def _is_directory(store: Store, name: str) -> bool:
    found = store.stat(name)
    return found is not None and found.is_directory


def _load_file_ledger(place: Store, path: str) -> Iterator[SinkLedger]:
    names = parse_log_names(list_or_nothing(place, "_spark_metadata"))
    batches = [*names.ids[-1:], *names.compact_ids[-1:]]
    if batches:
        yield SinkLedger(
            "file",
            path,
            max(batches),
            keyed=False,
            note="a file sink skips batches up to it, of any query",
        )


def _load_delta_ledger(place: Store, path: str, query_id: str | None) -> Iterator[SinkLedger]:
    log = list_or_nothing(place, "_delta_log")
    versions = sorted((name for name in log if _COMMIT.fullmatch(name)), reverse=True)
    if not versions or query_id is None:
        return
    newest = [f"_delta_log/{name}" for name in versions[:_DELTA_COMMITS]]
    for name, body in place.read_all(newest):
        found = parse_transaction(body, query_id) if isinstance(body, bytes) else None
        if found is not None:
            version = int(name.rpartition("/")[2][:-5])
            yield SinkLedger("delta", path, found, keyed=True, note=f"table version {version} holds its txn")
            return
    yield SinkLedger("delta", path, None, keyed=True, note=f"no txn of this query in the newest {len(newest)} commits")
