"""A plan that lies in a checkpoint is data, as all else there: somebody may have put it where `ckpt undo` finds it.

Within the checkpoint it is followed. What it names outside, to be read or to be changed, is opened if this user has
carried out that very plan before, on this machine, or points there now; and it has to be of this checkpoint, for one
that was copied along names the place where it was made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from ckpttool.api import Restarted, places_typed
from ckpttool.apply import applies
from ckpttool.apply.changes import FileChanges
from ckpttool.apply.consent import give_consent, has_consent
from ckpttool.apply.make_plan import absolute
from ckpttool.apply.outcome import NotApplied, WhyNot
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.stores.base import WritableStore
from ckpttool.errors import NotPointedAt, Refused
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.literals import shell_path
from ckpttool.plan.steps import is_outside
from ckpttool.reading.sinks import NAMED
from ckpttool.storage.authority import Named, authority_of
from ckpttool.storage.doors import Doors
from ckpttool.storage.urls import is_local, parse_url


def remember(plan: PlanFile) -> None:
    """This user carries it out. Where that cannot be written down, going on takes `--look-at`."""
    with suppress(OSError, Refused):
        give_consent(_spelled(plan))


def plan_found(
    store: WritableStore, plan_id: str, url: str, storage: Mapping[str, str], look_at: Sequence[str]
) -> PlanFile:
    """Raises NotApplied for one that leads elsewhere."""
    plan = applies.plan_in(store, plan_id)
    if not _is_same(plan.checkpoint, url, storage):
        raise NotApplied(WhyNot("plan-does-not-fit", f"the plan in {OWN_DIRECTORY}/ is of another checkpoint",
                                plan.checkpoint, url, f"ckpt undo {shell_path(plan.checkpoint)}"))  # fmt: skip
    if not _is_remembered(plan):
        doors = Doors([url], storage, look_at)
        if reasons := list(_not_pointed_at(plan, doors)):
            raise NotApplied(*reasons)
    return plan


def _is_remembered(plan: PlanFile) -> bool:
    try:
        return has_consent(_spelled(plan))
    except (OSError, Refused):
        return False


def _spelled(plan: PlanFile) -> bytes:
    return f"{plan.id} {plan.sha256}".encode()


def _not_pointed_at(plan: PlanFile, doors: Doors) -> Iterator[WhyNot]:
    for place in dict.fromkeys(_places_outside(plan)):
        try:
            doors.way(Named(place))
        except NotPointedAt as error:
            text = f"{place}: only the plan in {OWN_DIRECTORY}/ names it, and you have not carried that out from here"
            yield WhyNot("not-pointed-at", text, next_step=f"if it is the query's: {error.next_step}")


def _places_outside(plan: PlanFile) -> Iterator[str]:
    yield from FileChanges(plan).roots[1:]
    yield from (place for place in plan.places if place.lower() not in NAMED)
    yield from (step.table for step in plan.steps if step.table)
    looked_at = (step.check.path for step in plan.steps if step.check)
    yield from (path for path in looked_at if path and is_outside(path))
    yield from places_typed(Restarted(options=plan.asked.options, sinks=plan.asked.sinks))
    yield from plan.asked.look_at


def _is_same(one: str, other: str, storage: Mapping[str, str]) -> bool:
    if is_local(one) or is_local(other):
        here = [os.path.realpath(absolute(url)) for url in (one, other) if is_local(url)]
        return len(here) == 2 and here[0] == here[1]
    places = [authority_of(url, storage, os.environ) for url in (one, other)]
    paths = [(parse_url(url)[0] or "").partition("://")[2].partition("/")[2].strip("/") for url in (one, other)]
    return one == other or (places[0] == places[1] is not None and paths[0] == paths[1])
