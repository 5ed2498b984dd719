"""Operators that came, went, or are others: Spark knows them by their numbers, of which 0 is nearest the sink."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

from ckpttool.laws.changes.base import Altered, Answer, Assumption, ChangeLaw, Deploy, RowsMeant, Spot
from ckpttool.laws.changes.meeting import (
    AGGREGATE,
    SESSION,
    name_refused,
    pairs_of,
    schema_refused,
    state_missing,
)
from ckpttool.query.model import QueryOperator
from ckpttool.scene.scene import Failure

# What 3.x calls them in a plan, and what their state is taken for.
_ALSO = {"applyInPandasWithState": "flatMapGroupsWithState"}
KEPT_BACK = "what it holds is never written, and it has no versions from here on"
TAKEN_FOR_ANOTHER = "the state that is there is taken for its own"


class Beside(Struct, frozen=True):
    """An operator before and after, where it has its place in the query's flow; at least one is there."""

    held: QueryOperator | None
    new: QueryOperator | None

    @property
    def stays(self) -> bool:
        return self.held is not None and self.new is not None and is_same_kind(self.held, self.new)


def is_same_kind(one: QueryOperator, other: QueryOperator) -> bool:
    """What cannot be named is taken for what is there: the schemas tell more."""
    names = [_ALSO.get(operator.name or "", operator.name) for operator in (one, other)]
    return names[0] == names[1] or None in names


def steps(deploy: Deploy) -> Iterator[Beside]:
    """The operators from the sink to the sources, those that stay beside each other."""
    held = sorted(deploy.held.operators, key=lambda one: one.id)
    new = sorted(deploy.new.operators, key=lambda one: one.id)
    if len(held) == len(new) and all(map(is_same_kind, held, new)):
        yield from map(Beside, held, new)
        return
    names = [[_ALSO.get(one.name or "", one.name or "") for one in several] for several in (held, new)]
    for what, i, i_end, j, j_end in SequenceMatcher(None, names[0], names[1], autojunk=False).get_opcodes():
        olds, news = held[i:i_end], new[j:j_end]
        if what == "equal" or len(olds) == len(news):
            yield from map(Beside, olds, news)
        else:
            yield from (Beside(one, None) for one in olds)
            yield from (Beside(None, one) for one in news)


def look(deploy: Deploy) -> Iterator[Altered | Assumption]:
    if not deploy.tells_operators:
        yield from _untold(deploy)
        return
    for step in steps(deploy):
        held, new = step.held, step.new
        if held is None and new is not None:
            yield _added(deploy, new)
        elif held is not None and new is None:
            yield _removed(deploy, held)
        elif held is not None and new is not None and not step.stays:
            yield _replaced(deploy, held, new)
        elif held is not None and new is not None and held.id != new.id:
            yield _moved(deploy, held, new)


def _untold(deploy: Deploy) -> Iterator[Altered]:
    """The checkpoint shows them, and a query that is planned tells them: else it is not known what meets what."""
    if "operators" in deploy.new.not_told and "operators" not in deploy.held.not_told and not deploy.new.spark_says:
        before = ", ".join(map(spelled, deploy.held.operators)) or "no operator with state"
        why = "the description does not tell the operators, and the checkpoint shows which there were"
        yield Altered("operator-replaced", Spot(), before, None, "checkpoint", "unknown", why)


def _added(deploy: Deploy, new: QueryOperator) -> Altered:
    failure = refused_at(deploy, new)
    where, text = Spot(operator=new.id), spelled(new)
    if failure:
        return Altered("operator-added", where, None, text, "checkpoint", "refused", failure.why, failure)
    if deploy.begins_anew:
        why = "no batch was committed: its state begins empty, as that of the others"
        return Altered("operator-added", where, None, text, "checkpoint", "harmless", why)
    why = f"{TAKEN_FOR_ANOTHER}: operator {new.id} was another one"
    return Altered("operator-added", where, None, text, "checkpoint", "rows_differ", why, rows=RowsMeant(why))


def _removed(deploy: Deploy, held: QueryOperator) -> Altered:
    failure = name_refused(deploy, held.id)
    where, text = Spot(operator=held.id), spelled(held)
    if failure:
        return Altered("operator-removed", where, text, None, "checkpoint", "refused", failure.why, failure)
    if deploy.begins_anew:
        why = "no batch was committed: it holds nothing"
        return Altered("operator-removed", where, text, None, "checkpoint", "harmless", why)
    if deploy.is_emptied(held.id):
        return Altered("operator-removed", where, text, None, "state", "harmless", "it holds nothing")
    rows = RowsMeant(KEPT_BACK)
    return Altered("operator-removed", where, text, None, "checkpoint", "rows_differ", KEPT_BACK, rows=rows)


def _replaced(deploy: Deploy, held: QueryOperator, new: QueryOperator) -> Altered:
    failure = refused_at(deploy, new)
    where, before, after = Spot(operator=new.id), spelled(held), spelled(new)
    if failure:
        return Altered("operator-replaced", where, before, after, "checkpoint", "refused", failure.why, failure)
    rows = RowsMeant(TAKEN_FOR_ANOTHER)
    return Altered("operator-replaced", where, before, after, "checkpoint", "rows_differ", TAKEN_FOR_ANOTHER, rows=rows)


def _moved(deploy: Deploy, held: QueryOperator, new: QueryOperator) -> Altered:
    failure = refused_at(deploy, new)
    answer: Answer = "refused" if failure else "harmless" if deploy.begins_anew else "rows_differ"
    why = failure.why if failure else f"operator {new.id} goes on with the state that was operator {new.id}'s before"
    before, after = f"{spelled(held)} as operator {held.id}", f"{spelled(new)} as operator {new.id}"
    rows = RowsMeant(why) if answer == "rows_differ" else None
    return Altered("operators-moved", Spot(operator=new.id), before, after, "checkpoint", answer, why, failure, rows)


def refused_at(deploy: Deploy, new: QueryOperator) -> Failure | None:
    """What stops an operator of the query at its number: its name, state that is not there, or a schema."""
    held = deploy.held_operator(new.id)
    if failure := name_refused(deploy, new.id):
        return failure
    if held is None:
        return state_missing(deploy, new.id)
    for pair in pairs_of(held, new):
        if pair.new is not None and pair.held is None:
            return state_missing(deploy, new.id)
        if pair.new is not None and (failure := schema_refused(deploy, pair)):
            return failure
    return None


def spelled(operator: QueryOperator) -> str:
    meaning = operator.meaning
    told = ", ".join((*meaning.keys, *meaning.values)) if meaning else ""
    name = operator.name or "an operator"
    return f"{name} ({told})" if told else name


def keeps_windows(operator: QueryOperator) -> bool:
    """Whether rows wait in it until the watermark has passed them, in append mode."""
    return operator.name in (AGGREGATE, SESSION)


_BESIDE = ("new-query-beside", "start-state-anew", "old-code-first")
LAWS = (
    ChangeLaw(
        "operator-added",
        "an operator that has no state in the checkpoint",
        look,
        "From 4.0 on it compares the operators' names with those in `state/`. Before, it loads state that never was.",
        "none: no batch runs",
        "real restarts: stateless to count, window, dedup and limit, dedup below a window",
        (*_BESIDE, "undo-failed-start"),
    ),
    ChangeLaw(
        "operator-removed",
        "an operator that has state in the checkpoint and is not in the query",
        look,
        "From 4.0 on it refuses. Before, it goes on without a word, unless the numbers of others change.",
        "what the operator holds, such as windows that are open, is never written",
        "real restarts: count, window, session, dedup, limit and join to none",
        ("flush-first", *_BESIDE),
    ),
    ChangeLaw(
        "operator-replaced",
        "another operator in the place of one that has state",
        look,
        "From 4.0 on it refuses by name. Before, only where the schemas of their state differ.",
        "where it goes on, rows are computed from the other operator's state: a dedup drops the keys of a count",
        "real restarts: count to dedup, session and window, dedup to count",
        _BESIDE,
    ),
    ChangeLaw(
        "operators-moved",
        "an operator whose number is another: one came or went between it and the sink",
        look,
        "Numbers are counted from the sink: it meets the state of whatever had its number before.",
        "none where it is refused. Otherwise as with another operator in its place",
        "real restarts: a sum above a window, a window above a dedup removed",
        _BESIDE,
    ),
)
