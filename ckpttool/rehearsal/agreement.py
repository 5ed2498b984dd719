"""Whether what a rehearsal saw is what `ckpt check-change` says of the same deploy."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.api import Restarted
from ckpttool.deploy import check_change
from ckpttool.errors import CkptError
from ckpttool.laws.changes.judge import Verdict
from ckpttool.model import Checkpoint
from ckpttool.query.model import Query
from ckpttool.rehearsal.model import CodeRun, Which
from ckpttool.rehearsal.rows import RowComparison
from ckpttool.releases import parse_release
from ckpttool.storage.store import Store


def agrees(
    store: Store,
    loaded: Checkpoint,
    storage: Mapping[str, str] | None,
    queries: Mapping[Which, Query],
    new: CodeRun,
    rows: RowComparison | None,
) -> bool | None:
    """`loaded`: what was rehearsed, as it was then. `rows`: None where they tell nothing. None: the batch does not
    show it, or nothing can be said."""
    query = queries.get("new")
    if query is None or new.spark_version is None or new.outcome == "not_reached":
        return None
    try:
        restarted = Restarted(release=parse_release(new.spark_version))
        was = queries.get("old")
        checked = check_change(loaded, query, was, restarted=restarted, storage_options=storage, store=store)
    except CkptError:
        return None
    return judged(checked.verdict, bool(checked.changes), new, rows)


def judged(verdict: Verdict, is_changed: bool, new: CodeRun, rows: RowComparison | None) -> bool | None:
    """`is_changed`: whether there is anything that check-change tells at all. An accepted change may give other rows: a
    filter that is another is meant to."""
    if verdict == "unknown":
        return None
    if verdict == "refused" or new.outcome == "failed":
        return (verdict == "refused") is (new.outcome == "failed")
    if rows is None:
        return None
    if verdict == "accepted":
        return rows.is_same or is_changed
    return None if rows.is_same else True
