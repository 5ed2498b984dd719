"""Sinks: what each has recorded of the query's batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import get_args

from ckpttool.errors import CkptError, NotFound
from ckpttool.reading.sinks import delta, file, hudi, iceberg, paimon
from ckpttool.scene import compaction
from ckpttool.scene.sinks import Named, SinkEvidence, SinkKind
from ckpttool.storage.store import Store, open_store
from ckpttool.storage.urls import redact_url

NAMED: Mapping[str, SinkKind] = {kind.lower(): kind for kind in get_args(Named)}


def load_sink(
    sink: str | Store,
    storage_options: Mapping[str, str] | None = None,
    *,
    query_id: str | None,
    txn_app_id: str | None = None,
    opened: Store | None = None,
) -> SinkEvidence:
    """What the sink at this URL records, or that the named one records nothing. Never raises: see `error`. `opened`:
    what is at this URL, where somebody has opened it."""
    if isinstance(sink, str) and sink.lower() in NAMED:
        return SinkEvidence(NAMED[sink.lower()], sink)
    path = redact_url(sink if isinstance(sink, str) else sink.url)
    try:
        store = opened or (open_store(sink, storage_options) if isinstance(sink, str) else sink)
        return _load(store, path, query_id, txn_app_id)
    except CkptError as error:
        return SinkEvidence("unknown", path, error=error)


def _load(store: Store, path: str, query_id: str | None, txn_app_id: str | None) -> SinkEvidence:
    try:
        names = [delta.LOG] if delta.LOG in store.list_starting("_") else store.list()
    except NotFound:
        if _is_there(store):
            raise
        return _without_table(path, txn_app_id)
    kind = _kind_of(store, names)
    try:
        if kind == "delta":
            given = txn_app_id is not None
            return delta.load_delta(store, path, txn_app_id if given else query_id, key_given=given)
        if kind == "file":
            return file.load_file_sink(store, path, names)
        if kind == "iceberg":
            return iceberg.load_iceberg(store, path, query_id)
        if kind == "hudi":
            return hudi.load_hudi(store, path, txn_app_id)
        if kind == "paimon":
            return paimon.load_paimon(store, path)
    except CkptError as error:
        return SinkEvidence(kind, path, error=error)
    if txn_app_id is not None:  # only writes to a table carry one: the files are what a table has left
        return _without_table(path, txn_app_id)
    exists = any(not name.startswith((".", "_")) for name in names)
    return file.without_log(store, path, names) or SinkEvidence(kind, path, exists=exists)


def _without_table(path: str, txn_app_id: str | None) -> SinkEvidence:
    given = txn_app_id is not None
    return SinkEvidence("unknown", path, exists=False, key=txn_app_id, key_given=given, seen_from_ms=0)


def _is_there(store: Store) -> bool:
    """Something that is no directory lies at the sink's place."""
    return store.above().stat(store.url.rstrip("/").rpartition("/")[2]) is not None


def _kind_of(store: Store, names: Collection[str]) -> SinkKind:
    if delta.LOG in names:
        return "delta"
    if compaction.LOG in names:
        return "file"
    if hudi.HOODIE in names:
        return "hudi"
    if paimon.is_paimon(names):
        return "paimon"
    return "iceberg" if iceberg.METADATA in names and iceberg.is_iceberg(store) else "unknown"
