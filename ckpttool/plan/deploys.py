"""Ways out of a change that Spark refuses, or takes while rows go wrong: edits of the checkpoint that the changed query
can go on from, edits of the query that the checkpoint takes, and the old code, which can always go on. Pure.

An edit of the checkpoint is a wish that somebody might have had (`plan.wishes`), one of the code is another query
(`plan.rewrites`). Either is tried on values: it is told if the query is accepted then, and the restart goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.laws.changes.base import Altered
from ckpttool.laws.changes.judge import QueryChanges
from ckpttool.laws.restart import GOES_ON
from ckpttool.literals import shell_comment
from ckpttool.plan import Plan, WayOut, plan_recovery
from ckpttool.plan.flush import flush_first
from ckpttool.plan.repair import Refusal
from ckpttool.plan.rewrites import KEEP, keep_old_shape
from ckpttool.plan.steps import Manual
from ckpttool.plan.wishes.places import Fork
from ckpttool.plan.wishes.sources import ChangeSources
from ckpttool.scene.scene import Scene

OLD_CODE, ANEW = "old-code-first", "start-state-anew"
# What is changed of the sources → what an edit is called, and the wish that makes it.
_EDITS: Mapping[str, tuple[str, Literal["add", "drop"]]] = {
    "source-added": ("add-source-line", "add"),
    "source-shared": ("add-source-line", "add"),
    "source-removed": ("drop-source-line", "drop"),
}


def ways_out_of(scene: Scene, changes: QueryChanges) -> Plan:
    """`scene`: with the changed query."""
    wrong = [change for change in changes.found if change.answer not in ("harmless", "unknown")]
    refused: list[Refusal] = []
    flushed = flush_first(scene, wrong, _not_accepted, refused)
    of_files = (*_edits(scene, wrong, refused), *flushed, *_anew(scene, wrong, refused))
    options = (*of_files, *_rewritten(scene, wrong, refused), *_old_code(scene, changes))
    return Plan(options, tuple(dict.fromkeys(refused)))


def _edits(scene: Scene, wrong: Sequence[Altered], refused: list[Refusal]) -> Iterator[WayOut]:
    """One source that came or went; of several, whoever wrote the query knows which is which."""
    lines = [change for change in wrong if change.id in _EDITS and change.where.source is not None]
    if len(lines) != 1 or lines[0].answer != "refused":
        return
    id_, verb = _EDITS[lines[0].id]
    yield from _by(ChangeSources(verb, lines[0].where.source or 0), id_, scene, refused, is_repair=True)


def _anew(scene: Scene, wrong: Sequence[Altered], refused: list[Refusal]) -> Iterator[WayOut]:
    """Where what is kept does not fit, and nothing else is wrong: a checkpoint beside this one, without it."""
    if not wrong or any(change.where.operator is None for change in wrong):
        return
    wish = Fork(f"{scene.root.rstrip('/')}-anew", new_state=True)
    yield from _by(wish, ANEW, scene, refused, is_repair=False)


def _by(
    wish: ChangeSources | Fork, id_: str, scene: Scene, refused: list[Refusal], *, is_repair: bool
) -> Iterator[WayOut]:
    """The edit is judged without the query first, which needs not fit what is there before it."""
    before = replace(scene, query=None, was=None)
    plan = plan_recovery(before, diagnose(before).prediction, wish)
    refused.extend(replace(one, id=id_) for one in plan.refused)
    for way in plan.options:
        after = replace(way.after, query=scene.query, was=scene.was)
        if why := _not_accepted(after):
            refused.append(Refusal(id_, f"the changed query would not go on after it: {why}"))
        else:
            yield replace(way, id=id_, after=after, is_repair=is_repair, wish=wish)


def _rewritten(scene: Scene, wrong: Sequence[Altered], refused: list[Refusal]) -> Iterator[WayOut]:
    """Only what is refused: code that is taken without a word is as somebody wrote it."""
    edited = keep_old_shape(scene, [change for change in wrong if change.answer == "refused"])
    if isinstance(edited, Refusal):
        refused.append(edited)
    elif edited is not None:
        after = replace(scene, query=edited.query)
        if why := _not_accepted(after):
            refused.append(Refusal(KEEP, f"the query would not go on with it: {why}"))
            return
        steps = (Manual(text=line, why=why, shell=shell_comment(line), target="query") for line, why in edited.lines)
        title = "Keep the shape that the state has, with these lines in the code"
        yield WayOut(KEEP, title, "exactly once", 0, 0, 0, tuple(steps), after, traps=edited.traps)


def _not_accepted(after: Scene) -> str | None:
    """Why the query of this scene would not go on with what it means."""
    diagnosis = diagnose(after)
    restart, changes = diagnosis.prediction, diagnosis.changes
    if restart.outcome not in GOES_ON:
        return "; ".join(restart.why)
    left = [one.why for one in changes.found if one.answer != "harmless"] if changes else ()
    return "; ".join(left) or None


def _old_code(scene: Scene, changes: QueryChanges) -> Iterator[WayOut]:
    """Nothing in the files is wrong, if the query that wrote them goes on."""
    old = replace(scene, query=None, was=None)
    if changes.verdict not in ("refused", "rows_differ") or diagnose(old).prediction.outcome not in GOES_ON:
        return
    text = "start the query that wrote the checkpoint, as it was before the change"
    step = Manual(text=text, why="the files of the checkpoint are sound", shell=shell_comment(text), target="query")
    yield WayOut(OLD_CODE, "Roll the old code back", "exactly once", 0, 0, 0, (step,), old)
