"""`ckpt apply`, `ckpt undo`: what is going to be done, and what was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ckpttool.plan.conditions import UNDO_BEFORE_EXPIRY, UNDO_BEFORE_VACUUM, UNDO_BY_HAND
from ckpttool.report.document import Document, Fields, Line, Section, Table, Toned
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.plan_steps import spell_steps
from ckpttool.words import counted, shown

if TYPE_CHECKING:
    from ckpttool.apply.outcome import Outcome, SparkStart, WhyNot
    from ckpttool.apply.plan_file import PlanFile
    from ckpttool.apply.run import Applied

_WIDTH = 80
_POSITION = 50  # characters of where the sources stand


def apply_document(outcome: Outcome, plan: PlanFile) -> Document:
    schema = "undo" if outcome.undoes else "apply"
    return Document(schema, plan.checkpoint, lambda: _fields(outcome), lambda: _blocks(outcome, plan))


def _fields(outcome: Outcome) -> Fields:
    import msgspec

    def plain(value: Any) -> Any:
        return msgspec.to_builtins(value)

    direction: Fields = (
        {"undoes": outcome.plan_id, "identical": outcome.identical, "times_restored": outcome.times_restored}
        if outcome.undoes
        else {}
    )
    return {
        "id": outcome.plan_id,
        **direction,
        "option": outcome.option,
        "state": outcome.state,
        "changed": outcome.changed,
        "fenced": outcome.fenced,
        "resumed": outcome.resumed,
        "steps": plain(outcome.steps),
        "backup": outcome.backup and {**outcome.backup, "state": outcome.keeps_state},
        "promise": outcome.promise and plain(outcome.promise.restart),
        "found": outcome.found and plain(outcome.found.restart),
        "kept": outcome.kept,
        "in_spark": outcome.in_spark and plain(outcome.in_spark),
        "sinks": plain(outcome.sinks),
        "conf": outcome.conf,
        "requests": {kind: outcome.requests.get(kind, 0) for kind in ("read", "list", "write", "delete")},
        "reasons": plain(outcome.reasons),
        "next": outcome.next,
        "findings": findings_fields(outcome.findings),
    }


def refused_fields(reasons: Iterable[WhyNot], damaged: str | None) -> Fields:
    """Of what was refused before there was a plan. `damaged`: what is wrong with the plan's file."""
    import msgspec

    told: list[Fields] = [msgspec.to_builtins(reason) for reason in reasons]
    if damaged is not None:
        told.append({"id": "plan-damaged", "text": damaged, "expected": None, "found": None, "next_step": None})
    return {"state": "refused", "changed": False, "reasons": told, "next": []}


def lock_removed_document(url: str) -> Document:
    """Of an apply that had not begun to change anything."""
    left: Fields = {"id": None, "undoes": None, "state": "nothing_to_do", "changed": False, "fenced": False}
    nothing = {**left, "findings": []}
    return Document("undo", url, lambda: nothing, lambda: [["The lock of a process that is gone was removed."]])


def unlocked_document(url: str, lock_id: str) -> Document:
    return Document("unlock", url, lambda: {"unlocked": lock_id, "findings": []}, lambda: [["The lock is gone."]])


def applies_document(url: str, every: Iterable[Applied]) -> Document:
    import msgspec

    listed = list(every)
    rows = [[one.id, one.state, one.option or "", f"{one.bytes:,}", one.why_not or "yes"] for one in listed]
    return Document(
        "undo",
        url,
        lambda: {"applies": msgspec.to_builtins(listed), "findings": []},
        lambda: [
            [Table(["Apply", "State", "Way out", "Bytes", "Undoable"], rows, {3})]
            if rows
            else ["Nothing was applied here."]
        ],
    )


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(outcome: Outcome, plan: PlanFile) -> Iterator[Section]:
    yield list(_what_became(outcome, plan))
    if outcome.state == "applied":
        yield [f"  {line}" for line in spell_steps(plan)]
    if outcome.state == "planned":
        yield list(plan_lines(plan))
    yield [line for reason in outcome.reasons for line in _reason(reason.text, reason.next_step)]
    yield [f"Start it with {one['k']}={one['v']}." for one in outcome.conf if outcome.state == "applied"]


def _what_became(outcome: Outcome, plan: PlanFile) -> Iterator[Line]:
    what = f"{plan.option.title} ({plan.option.id})"
    if outcome.state == "applied":
        yield Toned("Applied", "good"), f": {what}."
        yield f"  {becomes(plan.promise.restart)}"
        if outcome.in_spark:
            yield f"  {_seen_in(outcome.in_spark)}"
        if outcome.backup:
            back = "ckpt undo takes it back" if outcome.keeps_state else "of the state nothing: it is not taken back"
            yield f"  Kept: {outcome.backup['files']} files in {outcome.backup['path']}; {back}."
    elif outcome.state == "undone":
        yield Toned("Undone", "good"), f": {what}."
        if outcome.identical:
            yield "  Every file that it touched is as it was."
    elif outcome.state == "nothing_to_do":
        yield "Nothing to do: it is ", "taken back" if outcome.undoes else "carried out", " already."
    elif outcome.state == "planned":
        yield "It would be ", "taken back" if outcome.undoes else "carried out", f": {what}."
    elif outcome.state == "refused":
        yield Toned("Refused", "error"), f": {what}. Nothing is changed."
    else:
        until = "no Spark starts until it is" if outcome.fenced else "the fence does not stand"
        yield Toned("Stopped", "error"), f": {what}. It is not finished, and {until}."


def _seen_in(start: SparkStart) -> str:
    spark = f"Spark {start.version or ''}".rstrip()
    if start.error:
        return f"{spark}, started on a copy, failed as promised."
    if start.batch_id is None:
        return f"{spark}, started on a copy, found nothing to read."
    return f"{spark}, started on a copy, ran batch {start.batch_id} as promised."


def plan_lines(plan: PlanFile) -> Iterator[str]:
    """What is going to be done, what it takes for granted, and what comes of it."""
    yield from (f"  {line}" for line in spell_steps(plan))
    for condition in plan.conditions:
        yield from _wrapped(f"{'if' if condition.who == 'you' else 'mind'}: {condition.text} ({condition.id})")
    if plan.option.trap:
        yield from _wrapped(f"beware: {plan.option.trap}")
    yield f"  Before: {becomes(plan.before, 'would ')}"
    yield f"  After: {becomes(plan.promise.restart)}"


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 6, break_long_words=False)


def head(plan: PlanFile, *, keeps_state: bool = True) -> str:
    rows = plan.option.rows_replayed
    read_again = "" if not rows else f" · {counted(rows, 'row')} read again"
    return f"{plan.option.title} · {plan.option.guarantee}{read_again} · undo: {_undo(plan, keeps_state)}"


def _undo(plan: PlanFile, keeps_state: bool) -> str:
    """In how far: the conditions tell the rest."""
    if not keeps_state and any(step.target == "state" for step in plan.steps):
        return "no, state is not kept"
    told = {
        UNDO_BY_HAND: "in part by hand",
        UNDO_BEFORE_VACUUM: "before the next VACUUM",
        UNDO_BEFORE_EXPIRY: "before snapshots expire",
    }
    ids = {condition.id for condition in plan.conditions}
    return ", ".join(words for id, words in told.items() if id in ids) or "yes"


def becomes(restart: Mapping[str, Any], would: str = "") -> str:
    """What Spark does, in a few words; `would`: if nothing is done."""
    outcome, batch, error = restart["outcome"], restart["batch_id"], restart.get("error")
    s = "" if would else "s"
    if outcome == "replay":
        return f"Spark {would}run{s} batch {batch} again, with the offsets that are logged."
    if outcome == "new_batch":
        return f"Spark {would}start{s} batch {batch}{'' if would else _positions(restart)}."
    if outcome == "fresh_start":
        return f"Spark {would}start{s} from nothing."
    if error:
        return f"Spark {would}fail{s} with {error.get('condition') or error.get('class')}."
    return "that cannot be told."


def _positions(restart: Mapping[str, Any]) -> str:
    """Where its sources stand then, as far as a line has room for it."""
    told = [json.dumps(one["start"], separators=(",", ":")) for one in restart["sources"] if one["start"] is not None]
    return f" from {shown(', '.join(told), _POSITION)}" if told else ""


def _reason(text: str, next_step: str | None) -> Iterator[Line]:
    yield text
    if next_step:
        yield f"  {next_step}"
