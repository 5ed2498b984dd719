"""May this query go live on this checkpoint? The changes, the restart of the changed query, and one verdict on both."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import exit_code
from ckpttool.laws.changes.base import Altered, Deploy
from ckpttool.laws.changes.judge import QueryChanges, Verdict, judge_changes, verdict_on
from ckpttool.plan import Plan
from ckpttool.query.model import Query
from ckpttool.releases import NEWEST
from ckpttool.storage.store import Store

# What an answer ends with, where several count: the one that comes first.
_FIRST = (2, 6, 1, 5, 3, 0)


class Checked(Struct, frozen=True):
    """`diagnosis`, `plan`: of the checkpoint under the new query; None where a description of it is all there is.
    `accept`: changes that are meant, by id, and by where if only one of them is. `strict`: nothing may be assumed."""

    changes: QueryChanges
    diagnosis: Diagnosis | None = None
    plan: Plan | None = None
    accept: Sequence[str] = ()
    strict: bool = False

    @property
    def verdict(self) -> Verdict:
        return verdict_on(self.changes, self.diagnosis.prediction) if self.diagnosis else self.changes.verdict

    def is_accepted(self, change: Altered) -> bool:
        """Somebody said that it is meant; nobody can mean what Spark refuses."""
        names = (change.id, f"{change.id}:{change.where}")
        meant = any(name == one or name.startswith(f"{one} ") for name in names for one in self.accept)
        return meant and not change.answer.startswith("refused")

    @property
    def left(self) -> Verdict:
        """The verdict without the changes that are meant."""
        found = tuple(change for change in self.changes.found if not self.is_accepted(change))
        return replace(self, changes=replace(self.changes, found=found)).verdict

    @property
    def exit_code(self) -> int:
        left = self.left
        unknown = left == "unknown" or (self.strict and bool(self.changes.assumes))
        own = exit_code(wrong=left in ("refused", "rows_differ"), unknown=unknown)
        theirs = self.diagnosis.exit_code if self.diagnosis else 0
        return min(own, theirs, key=_FIRST.index)


def check_change(
    checkpoint: str,
    query: Query,
    was: Query | None = None,
    *,
    restarted: Restarted | None = None,
    storage_options: Mapping[str, str] | None = None,
    accept: Sequence[str] = (),
    strict: bool = False,
    store: Store | None = None,
    now_ms: int | None = None,
) -> Checked:
    """`restarted`: what the restart is given besides. Nothing is written, and no JVM is asked."""
    given = replace(restarted or Restarted(), query=query, was=was)
    now = int(time.time() * 1000) if now_ms is None else now_ms
    diagnosis, plan = plan_restart(checkpoint, given, storage_options, now_ms=now, store=store)
    changes = diagnosis.changes
    assert changes is not None  # a query is described
    return Checked(changes, diagnosis, plan, tuple(accept), strict)


def check_against(
    held: Query,
    query: Query,
    was: Query | None = None,
    *,
    restarted: Restarted | None = None,
    accept: Sequence[str] = (),
    strict: bool = False,
) -> Checked:
    """The same against a description of the checkpoint, where that itself is not at hand."""
    release = (restarted.release if restarted else None) or NEWEST
    return Checked(judge_changes(Deploy(query, held, release, was)), accept=tuple(accept), strict=strict)
