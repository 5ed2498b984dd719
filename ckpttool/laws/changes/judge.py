"""All changes between a query and the checkpoint that it meets, and what they come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.laws.base import Law
from ckpttool.laws.changes import event_time, operators, output, sources, state
from ckpttool.laws.changes.base import WORST_LAST, Altered, Assumption, ChangeLaw, Deploy, Look
from ckpttool.laws.changes.output import refusal_of_start
from ckpttool.laws.changes.told import OPERATOR_CHANGED, SCHEMA_CHANGED
from ckpttool.laws.file_place import OUT_OF_PLACE
from ckpttool.laws.restart import Restart, stopped
from ckpttool.query.from_checkpoint import query_of
from ckpttool.query.model import comparable
from ckpttool.scene.scene import PHASES, Failure, Scene

Verdict = Literal["accepted", "rows_differ", "refused", "unknown"]
LAWS: tuple[ChangeLaw, ...] = (
    *sources.LAWS,
    *operators.LAWS,
    *state.LAWS,
    *event_time.LAWS,
    *output.LAWS,
)
_VERDICTS: dict[str, Verdict] = {
    "harmless": "accepted",
    "unknown": "unknown",
    "rows_differ": "rows_differ",
    "refused_later": "refused",
    "refused": "refused",
}


class QueryChanges(Struct, frozen=True):
    """`refusal`: how `start()` or the batch fails because of them, the first that Spark comes to. `unnamed`: it fails
    all the same, but how is not known. `not_told`: what the description leaves open."""

    deploy: Deploy
    found: tuple[Altered, ...]
    assumes: tuple[str, ...]
    refusal: Failure | None

    @property
    def verdict(self) -> Verdict:
        """Of the changes alone; what is not known hides nothing that is."""
        worst = max((WORST_LAST.index(one.answer) for one in self.found), default=0)
        return "refused" if self.refusal else _VERDICTS[WORST_LAST[worst]]

    @property
    def refused_by(self) -> Law | None:
        """Whose failure it is, where the book has a law for it."""
        refused = {one.id for one in self.found if one.spark is not None and one.spark is self.refusal}
        told = ((OPERATOR_CHANGED, operators.LAWS), (SCHEMA_CHANGED, state.LAWS))
        return next((law for law, laws in told if any(one.id in refused for one in laws)), None)

    @property
    def not_told(self) -> tuple[str, ...]:
        return self.deploy.new.not_told


def deploy_of(scene: Scene) -> Deploy | None:
    """Of a scene with a described query."""
    if scene.query is None:
        return None
    held = query_of(scene.evidence)
    new = scene.needed_state.never_committed if scene.needed_state else ()
    held = replace(held, operators=tuple(one for one in held.operators if one.id not in new))
    return Deploy(scene.query, held, scene.release, scene.was, scene)


def judge_changes(deploy: Deploy) -> QueryChanges:
    """What a description only shows, and does not tell, is compared with nothing."""
    was = deploy.was and comparable(deploy.was)
    deploy = replace(deploy, new=comparable(deploy.new), was=was)
    spoken = list(_looked(deploy))
    found = tuple(one for one in spoken if isinstance(one, Altered))
    assumes = dict.fromkeys(one.text for one in spoken if isinstance(one, Assumption))
    refusals = [one.spark for one in found if one.spark]
    start = refusal_of_start(deploy)
    return QueryChanges(deploy, found, tuple(assumes), _first([*([start] if start else []), *refusals]))


def as_changed(scene: Scene, restart: Restart) -> Restart:
    """The restart, if Spark refuses the changed query before it comes to whatever else stops it. How many sources there
    are is compared before any of them is asked for a range."""
    deploy = deploy_of(scene)
    changes = judge_changes(deploy) if deploy else None
    if changes is None or changes.refusal is None:
        return restart
    refusal, law = changes.refusal, changes.refused_by
    if restart.error and restart.law and restart.error.phase == refusal.phase == "init":
        return stopped(restart, refusal) if restart.law.id == OUT_OF_PLACE else restart
    is_later = restart.error is not None and PHASES.index(restart.error.phase) < PHASES.index(refusal.phase)
    return restart if is_later else stopped(restart, refusal, law)


def _looked(deploy: Deploy) -> Iterator[Altered | Assumption]:
    """Each look is asked once, for however many laws it answers."""
    looks: dict[Look, None] = dict.fromkeys(law.look for law in LAWS if law.holds_for(deploy.release))
    for look in looks:
        yield from look(deploy)


def _first(failures: Iterable[Failure]) -> Failure | None:
    return min(failures, key=lambda one: PHASES.index(one.phase), default=None)


def verdict_on(changes: QueryChanges, restart: Restart) -> Verdict:
    """With what the restart itself comes to, whatever was changed."""
    if restart.outcome == "error":
        return "refused"
    return "unknown" if (changes.verdict, restart.outcome) == ("accepted", "unknown") else changes.verdict


def law_of(change: Altered) -> ChangeLaw:
    return next(law for law in LAWS if law.id == change.id)
