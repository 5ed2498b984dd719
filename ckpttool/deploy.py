"""May this query go live on this checkpoint? The changes, the restart of the changed query, and one verdict on both."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.api import Restarted, plan_restart, start_of
from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.errors import CkptError, Refused, exit_code
from ckpttool.formats.limits import PIECE_BYTES
from ckpttool.laws.changes.base import Altered, Deploy
from ckpttool.laws.changes.judge import QueryChanges, Verdict, judge_changes, verdict_on
from ckpttool.laws.changes.planner import PlannerSays, disagreement
from ckpttool.laws.changes.told import LAWS as OF_CHANGES
from ckpttool.laws.given import Given, answers_of_query
from ckpttool.laws.restart import Restart
from ckpttool.model import Checkpoint, Finding
from ckpttool.plan import Plan
from ckpttool.plan.deploys import ways_out_of
from ckpttool.query.model import Query
from ckpttool.query.saved import meant_for, parse_description, split_pick
from ckpttool.releases import NEWEST
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene
from ckpttool.storage.store import Store

# What an answer ends with, where several count: the one that comes first.
_FIRST = (2, 6, 1, 5, 3, 0)

TOLD = {law.id for law in OF_CHANGES}


class Checked(Struct, frozen=True):
    """`diagnosis`, `plan`: of the checkpoint under the new query; None where a description of it is all there is.
    `accept`: changes that are meant, by id, and by where if only one of them is. `strict`: nothing may be assumed.
    `typed`: options that were given besides. `planner`: what Spark's own planner says, where it was asked."""

    judged: QueryChanges
    diagnosis: Diagnosis | None = None
    plan: Plan | None = None
    accept: Sequence[str] = ()
    strict: bool = False
    typed: Mapping[str, str] = {}
    planner: PlannerSays | None = None

    @property
    def verdict(self) -> Verdict:
        if self.planner and self.planner.outcome == "refused":
            return "refused"
        return verdict_on(self.judged, self.diagnosis.prediction) if self.diagnosis else self.judged.verdict

    @property
    def changes(self) -> tuple[Altered, ...]:
        return self.judged.found

    @property
    def restart(self) -> Restart | None:
        return self.diagnosis.prediction if self.diagnosis else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        told = self.diagnosis.findings if self.diagnosis else ()
        found = tuple(one for one in told if one.id not in TOLD)  # the changes tell that
        other = disagreement(self.judged, self.planner) if self.planner else None
        return (*found, other) if other else found

    @property
    def given(self) -> tuple[Given, ...]:
        """What becomes of each option and setting of the query, and of what was given besides."""
        scene = self.diagnosis.scene if self.diagnosis else None
        return tuple(answers_of_query(scene, self.judged.deploy.new, self.typed)) if scene else ()

    def is_accepted(self, change: Altered) -> bool:
        """Somebody said that it is meant; nobody can mean what Spark refuses."""
        names = (change.id, f"{change.id}:{change.where}")
        meant = any(name == one or name.startswith(f"{one} ") for name in names for one in self.accept)
        return meant and not change.answer.startswith("refused")

    @property
    def left(self) -> Verdict:
        """The verdict without the changes that are meant: what all go by who accept a query or not. Where nothing may
        be assumed, what has to be is unknown."""
        found = tuple(change for change in self.changes if not self.is_accepted(change))
        left = replace(self, judged=replace(self.judged, found=found)).verdict
        return "unknown" if left == "accepted" and self.strict and self.judged.assumes else left

    @property
    def exit_code(self) -> int:
        """What is wrong with the checkpoint itself counts as well."""
        own = exit_code(wrong=self.left in ("refused", "rows_differ"), unknown=self.left == "unknown")
        theirs = self.diagnosis.exit_code if self.diagnosis else 0
        return min(own, theirs, key=_FIRST.index)

    @property
    def text(self) -> str:
        """As `ckpt check-change` shows it."""
        from ckpttool.report.views.check_change import as_text

        return as_text(self)

    def assert_accepted(self, accept: Sequence[str] = ()) -> None:
        """Raises ChangeRefused, unless what is left is accepted."""
        checked = replace(self, accept=(*self.accept, *accept))
        if checked.left != "accepted":
            raise ChangeRefused(checked)


class ChangeRefused(CkptError):
    """A query that may not be started on this checkpoint. `change`: why."""

    exit_code = 1

    def __init__(self, change: Checked) -> None:
        lines = change.text.split("\n")
        super().__init__(lines[0], lines[1].strip())
        self.change = change

    def __str__(self) -> str:
        return self.change.text


def check_change(
    checkpoint: str | Checkpoint | Query,
    query: Query | str,
    was: Query | str | None = None,
    *,
    restarted: Restarted | None = None,
    storage_options: Mapping[str, str] | None = None,
    accept: Sequence[str] = (),
    strict: bool = False,
    now_ms: int | None = None,
    store: Store | None = None,
) -> Checked:
    """`checkpoint`: its URL, what was loaded of it, or a description of it. `query`, `was`: descriptions, or the
    files of saved ones, with `::NAME` for one of several. `restarted`: what the restart is given besides. `store`:
    where the checkpoint was loaded from, to see what else the restart depends on. Nothing is written, and no JVM is
    asked."""
    url = checkpoint if isinstance(checkpoint, str) else getattr(checkpoint, "url", "")
    new, before = _query(query, url), None if was is None else _query(was, url)
    given = replace(restarted or Restarted(), query=new, was=before)
    meant = {"accept": tuple(accept), "strict": strict, "typed": given.options}
    if isinstance(checkpoint, Query) or (isinstance(checkpoint, str) and os.path.isfile(split_pick(checkpoint)[0])):
        held = _query(checkpoint, new.checkpoint or "")
        return Checked(judge_changes(Deploy(new, held, given.release or NEWEST, before)), **meant)  # type: ignore[arg-type]
    plan = None
    if isinstance(checkpoint, Checkpoint) and store is None:
        evidence = gather_evidence(checkpoint)
        start, chosen = start_of(evidence, given)
        diagnosis = diagnose(Scene(evidence, start, now_ms=now_ms, query=new, was=before), chosen)
    else:
        now, loaded = int(time.time() * 1000) if now_ms is None else now_ms, None
        if isinstance(checkpoint, Checkpoint):
            loaded = checkpoint
        diagnosis, plan = plan_restart(url, given, storage_options, now_ms=now, store=store, loaded=loaded)
    changes = diagnosis.changes
    assert changes is not None  # a query is described
    ways = ways_out_of(diagnosis.scene, changes)
    options = (*ways.options, *(plan.options if plan else ()))
    return Checked(changes, diagnosis, Plan(options, ways.refused), **meant)  # type: ignore[arg-type]


def _query(described: Query | str, checkpoint: str) -> Query:
    if isinstance(described, Query):
        return described
    place, pick = split_pick(described)
    with open(place, "rb") as file:
        body = file.read(PIECE_BYTES + 1)
    if len(body) > PIECE_BYTES:
        raise Refused(f"{place} is larger than {PIECE_BYTES:,} bytes: it is no description")
    found = meant_for(parse_description(body).queries, pick, checkpoint)
    if found is None:
        raise Refused(f"{place} describes several queries", f"pick one: {place}::NAME")
    return found
