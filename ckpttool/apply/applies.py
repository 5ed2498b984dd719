"""What was carried out in a checkpoint, and what was not finished."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.apply import places
from ckpttool.apply.journal import end_of
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.plan_file import BadPlan, PlanFile, parse_plan
from ckpttool.apply.stores.base import WritableStore, small_body
from ckpttool.errors import NotFound
from ckpttool.literals import shell_path


def all_of(store: WritableStore) -> list[str]:
    """In the order in which they were begun, which is not that in which they were planned. Without a plan it was never
    one, or is forgotten."""
    names = [name for name in store.names(places.APPLIES) or () if places.is_id(name)]
    begun = {name: found.modified_ns or 0 for name in names if (found := store.bearing_of(places.plan_of(name)))}
    return sorted(begun, key=lambda name: (begun[name], name))


def unfinished(store: WritableStore) -> Iterator[str]:
    """Nobody begins where one is unfinished, so before one that is done there is none."""
    for plan_id in reversed(all_of(store)):
        end = end_of(store, plan_id)
        if end == "done":
            return
        if end is None:
            yield plan_id


def plan_in(store: WritableStore, plan_id: str) -> PlanFile:
    if store.look(places.plan_of(plan_id)) is None:
        raise NotFound(f"no plan {plan_id} was carried out here", "ckpt undo PATH --list shows those that were")
    plan = parse_plan(small_body(store, places.plan_of(plan_id)))
    if plan.id != plan_id:
        raise BadPlan("the plan that lies here is another than its directory is named for")
    return plan


def forget(store: WritableStore, plan_id: str) -> int:
    """Its plan first: without it the rest is nothing. Tells how many bytes are gone."""
    found = store.look(places.plan_of(plan_id))
    if found is None:
        raise NotFound(f"no plan {plan_id} was carried out here", "ckpt undo PATH --list shows those that were")
    if end_of(store, plan_id) is None:
        raise NotApplied(why_unfinished(plan_id, store.url))
    return remove(store, plan_id)


def remove(store: WritableStore, plan_id: str) -> int:
    """Whatever is left of it; tells how many bytes."""
    found = store.look(places.plan_of(plan_id))
    if found is not None:
        store.delete(places.plan_of(plan_id), found.version)
    return (found.size if found else 0) + store.remove_below(places.apply_of(plan_id))


def why_unfinished(plan_id: str, url: str) -> WhyNot:
    return WhyNot("apply-unfinished", "a plan was begun here and is not finished", found=plan_id, next_step=ways(url))


def ways(url: str) -> str:
    place = shell_path(url)
    return f"ckpt apply --resume {place} goes on; ckpt undo {place} takes it back"
