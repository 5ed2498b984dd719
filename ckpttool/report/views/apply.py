"""`ckpt apply`, `ckpt undo`: what is going to be done, and what was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ckpttool.report.document import Document, Fields, Line, Section, Table, Toned

if TYPE_CHECKING:
    from ckpttool.apply.outcome import Outcome, WhyNot
    from ckpttool.apply.plan_file import PlanFile, PlannedStep
    from ckpttool.apply.run import Applied

_SHOWN = 6  # names of one directory


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
        "backup": outcome.backup,
        "promise": outcome.promise and plain(outcome.promise.restart),
        "found": outcome.found and plain(outcome.found.restart),
        "kept": outcome.kept,
        "sinks": plain(outcome.sinks),
        "conf": outcome.conf,
        "requests": {kind: outcome.requests.get(kind, 0) for kind in ("read", "list", "write", "delete")},
        "reasons": plain(outcome.reasons),
        "next": outcome.next,
        "findings": [],
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
    if outcome.state in ("planned", "applied"):
        yield list(plan_lines(plan))
    yield [line for reason in outcome.reasons for line in _reason(reason.text, reason.next_step)]
    yield [f"Start it with {one['k']}={one['v']}." for one in outcome.conf if outcome.state == "applied"]


def _what_became(outcome: Outcome, plan: PlanFile) -> Iterator[Line]:
    what = f"{plan.option.title} ({plan.option.id})"
    if outcome.state == "applied":
        yield Toned("Applied", "good"), f": {what}."
        yield f"  {after(plan)}"
        if outcome.backup:
            yield f"  Kept: {outcome.backup['files']} files in {outcome.backup['path']}; ckpt undo takes it back."
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
        yield Toned("Stopped", "error"), f": {what}. It is not finished, and no Spark starts until it is."


def plan_lines(plan: PlanFile) -> Iterator[Line]:
    """The steps, those of one kind and directory together; what is asked; what comes of it."""
    for number, (_, group) in enumerate(groupby(plan.steps, _place), 1):
        yield f"{number}. {_spell(list(group))}"
    for condition in plan.conditions:
        yield f"   {'if' if condition.who == 'you' else 'mind'}: {condition.text} ({condition.id})"
    if plan.option.trap:
        yield f"   beware: {plan.option.trap}"


def head(plan: PlanFile) -> str:
    rows = plan.option.rows_replayed
    read_again = "" if not rows else f" · {rows:,} rows are read again"
    undo = "yes" if all(step.reversible for step in plan.steps) else "not what is done by hand"
    return f"{plan.option.title} · {plan.option.guarantee}{read_again} · undo: {undo}"


def after(plan: PlanFile) -> str:
    restart = plan.promise.restart
    outcome, batch = restart["outcome"], restart["batch_id"]
    if outcome == "replay":
        return f"Spark runs batch {batch} again, with the offsets that are logged."
    if outcome == "new_batch":
        return f"Spark starts batch {batch}."
    return "Spark starts from nothing." if outcome == "fresh_start" else f"Then: {outcome}."


def _place(step: PlannedStep) -> tuple[str, str]:
    return step.kind, (step.path or "").rpartition("/")[0] if step.kind == "set_aside" else str(step.n)


def _spell(steps: list[PlannedStep]) -> str:
    first = steps[0]
    if first.kind == "set_aside":
        folder, slash, _ = (first.path or "").rpartition("/")
        names = [(step.path or "").rpartition("/")[2] for step in steps]
        told = [name for name in names if not (name.startswith(".") and name.endswith(".crc"))] or names
        more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        return f"set aside {folder}{slash}{', '.join(told[:_SHOWN])}{more}"
    if first.kind == "write":
        return f"write {first.path}"
    if first.kind == "copy":
        return f"copy {first.path}"
    if first.kind == "move":
        return f"move {first.path} to {first.to}"
    if first.kind == "delta_restore":
        return f"restore {first.table} to version {first.version}"
    if first.kind == "delta_txn":
        return f"record batch {first.version} for {first.app_id} in {first.table}"
    if first.kind == "conf":
        return f"start with {first.k}={first.v}"
    return f"by Spark: {first.program}" if first.kind == "spark" else f"by hand: {first.text}"


def _reason(text: str, next_step: str | None) -> Iterator[Line]:
    yield text
    if next_step:
        yield f"  {next_step}"
