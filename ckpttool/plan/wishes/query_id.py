"""`query-id`: another id in `metadata`, by which exactly-once sinks recognise the query's batches."""

from __future__ import annotations

from ckpttool.laws.restart import predict_restart
from ckpttool.plan.conditions import SINK_UNNAMED, Condition
from ckpttool.plan.log_repairs import ids_in_sinks, is_uuid, with_id
from ckpttool.plan.query_ids import new_id
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import is_sink_ahead, is_under_another_id
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene
from ckpttool.words import listed

_SET, _NEW, _FROM_SINK = "set-query-id", "new-query-id", "restore-query-id"
_NEW_TRAP = "a sink that knows the query by its id takes it for another one"
_SET_TRAP = "of two queries with one id the second stops the first, where both run in one Spark application"


class QueryId(Wish, frozen=True, tag="query-id"):
    """`set`: this one; else the one that a sink knows, or one that nobody has."""

    set: str | None = None
    from_sink: bool = False

    def repair(self, scene: Scene) -> Repair | Refusal:
        if self.set is not None:
            return _set(scene, self.set)
        return _known_to_a_sink(scene) if self.from_sink else _new(scene)


def _set(scene: Scene, query_id: str) -> Repair | Refusal:
    if not is_uuid(query_id):
        return Refusal(_SET, f"{query_id!r} is not a UUID, and Spark would not start")
    wanted = query_id.lower()
    unnamed = Condition(SINK_UNNAMED, f"no sink has batches of {wanted} that are yet to come: name it with --sink")
    title = f"Let the query go on under the id {wanted}"
    repair = with_id(scene, wanted, _SET, title, trap=_SET_TRAP, conditions=() if scene.sinks else (unnamed,))
    return _unless_harmful(scene, repair, wanted)


def _known_to_a_sink(scene: Scene) -> Repair | Refusal:
    known = dict(ids_in_sinks(scene))
    if not scene.sinks:
        return Refusal(_FROM_SINK, "no sink was named: --sink URL")
    if len(known) != 1:
        found = f"several do, say which with --set: {listed(known)}" if known else "none does"
        return Refusal(
            _FROM_SINK, f"of the named sinks one has to know a query that stands where this one does: {found}"
        )
    ((query_id, where),) = known.items()
    title = f"Give the query its id back: {query_id}, which {where}"
    return _unless_harmful(scene, with_id(scene, query_id, _FROM_SINK, title), query_id)


def _new(scene: Scene) -> Repair | Refusal:
    wanted = new_id(scene)
    return _unless_harmful(scene, with_id(scene, wanted, _NEW, "Let the query go on under a new id", _NEW_TRAP), wanted)


def _unless_harmful(scene: Scene, repair: Repair, wanted: str) -> Repair | Refusal:
    """By another id a sink tells other batches from those that it has."""
    metadata = scene.checkpoint.metadata
    if metadata is not None and metadata.id == wanted:
        return Repair(repair.id, repair.title, ())
    after = repair.apply(scene)
    if is_sink_ahead(after, predict_restart(after)):
        return Refusal(repair.id, f"a sink has batches under {wanted} that are yet to come, and would skip them")
    if is_under_another_id(after) or _is_repeated(scene, after):
        why = f"a sink has batch {scene.planned}, which runs again, and would be given it once more under {wanted}"
        return Refusal(repair.id, f"{why}; ckpt plan skip-batch goes on after it")
    return repair


def _is_repeated(before: Scene, after: Scene) -> bool:
    """What the sink skips today, because it has it, and then would not."""
    planned = before.planned
    if planned is None or not before.is_replay:
        return False
    pairs = zip(before.witnesses, after.witnesses, strict=True)
    return any(old.holds_what_it_skips(planned) and new.skips(planned) is not True for old, new in pairs)
