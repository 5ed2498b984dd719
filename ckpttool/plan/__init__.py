"""Ways out: what can be done so that a restart goes on, what each costs, and what is better left alone. Pure.

Each repair is tried on the values of the checkpoint before it is told: a way out is a chain of repairs after which the
predicted restart goes on and no sink leaves rows out unsaid. So two failures in one checkpoint are mended together, and
no way out leads into the next failure. The cheapest comes first: lost rows weigh most, then those written twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.formats import layout
from ckpttool.formats.metadata import UNDO_FENCE, is_fence_of_apply, moved_to
from ckpttool.laws.restart import GOES_ON, Restart, predict_restart
from ckpttool.literals import shell_path
from ckpttool.plan.conditions import OF_COST, OF_UNDO, UNDO_BY_HAND, Condition, as_written, conditions_of, of_undo
from ckpttool.plan.cost import Cost, cost_of
from ckpttool.plan.fence import fenced, standing
from ckpttool.plan.log_repairs import START_OVER
from ckpttool.plan.reach import Reach, reach_of, versions_to_look_at
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.sink_repairs import drop_batch, refill, rows_of_a_lost_checkpoint, rows_written_twice, skip_batch
from ckpttool.plan.steps import (
    Conf,
    Copy,
    DeltaRestore,
    DeltaTxn,
    Manual,
    Move,
    SetAside,
    Spark,
    Step,
    Write,
    is_outside,
    plain,
)
from ckpttool.plan.troubles import first_trouble, repairs_of
from ckpttool.plan.wishes import Rewind, Wish
from ckpttool.scene.checksums import without_checksum
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, shown

__all__ = [
    "Conf",
    "Copy",
    "DeltaRestore",
    "DeltaTxn",
    "Manual",
    "Move",
    "Plan",
    "Reach",
    "Refusal",
    "Rewind",
    "SetAside",
    "Spark",
    "Step",
    "WayOut",
    "Wish",
    "Write",
    "plan_recovery",
    "versions_to_look_at",
    "with_options",
]

_OF_NOBODY = (
    f"{layout.METADATA} is the fence of an apply, of which nothing is in {layout.OWN_DIRECTORY}/: what lies here may be"
    f" half of two checkpoints; bring {layout.OWN_DIRECTORY}/ back from where this was copied from"
)
_REPAIRS_IN_A_ROW = 4
_SINK, _STATE, _REST = range(3)


class WayOut(Struct, frozen=True):
    """`parts`: what it is put together from, in words. `rows_*` None: not known. `traps`: what to beware of.
    `is_repair` False: the restart goes on without it, and this is a choice. `after`: the scene that it leads to.
    `wish`: what comes to the same on the checkpoint alone, whatever query is started there."""

    id: str
    title: str
    guarantee: str
    rows_replayed: int | None
    rows_lost: int | None
    rows_duplicated: int | None
    steps: tuple[Step, ...]
    after: Scene
    conditions: tuple[Condition, ...] = ()
    traps: tuple[str, ...] = ()
    is_repair: bool = True
    wish: Wish | None = None
    parts: tuple[str, ...] = ()

    @property
    def trap(self) -> str | None:
        return ". ".join(self.traps) or None

    @property
    def is_reversible(self) -> bool:
        """Whether `ckpt undo` takes all of it back."""
        return all(one.id != UNDO_BY_HAND for one in self.conditions)

    @property
    def preconditions(self) -> tuple[str, ...]:
        """What has to be true besides what it costs, in words."""
        return tuple(dict.fromkeys(one.text for one in self.conditions if one.id not in (*OF_COST, *OF_UNDO)))


class Plan(Struct, frozen=True):
    """`options`: the cheapest first. `refused`: what will not be offered, and why. `reach`: how far back one can go."""

    options: tuple[WayOut, ...]
    refused: tuple[Refusal, ...] = ()
    reach: Reach | None = None
    wish: Wish | None = None

    @property
    def repairs(self) -> tuple[WayOut, ...]:
        return tuple(option for option in self.options if option.is_repair)


def plan_recovery(scene: Scene, restart: Restart, wish: Wish | None = None) -> Plan:
    """`restart`: the prediction for the scene. The scene's `states` are of the versions that `versions_to_look_at`
    names; without them, state is judged by names alone."""
    refused: list[Refusal] = []
    if scene.evidence.mode == "dstreams" or scene.is_continuous:
        return Plan((), (Refusal("edit-files", f"no way out is known for the mode {scene.mode}"),))
    if begun := half_done(scene):
        return Plan(begun)
    if is_fence_of_apply(scene.checkpoint.raw.get(layout.METADATA, b"")):
        return Plan((), (Refusal("edit-files", _OF_NOBODY),))
    if place := moved_to(scene.checkpoint.raw.get(layout.METADATA, b"")):
        return Plan(
            (), (Refusal("edit-files", f"the checkpoint goes on at {shown(place, 4096)}: start the query there"),)
        )
    if unfinished := standing(scene.checkpoint):
        return Plan((), (Refusal("edit-files", unfinished),))
    if wish:
        found = _chosen(scene, [wish.repair(scene)], refused)
        return Plan(tuple(found), tuple(dict.fromkeys(refused)), reach_of(scene), wish)
    in_logs = predict_restart(scene)  # what neither inputs, brokers nor sinks have a part in
    found = list(_ways_out(scene, refused))
    if behind := refill(scene):
        found.extend(filter(None, [_tried(scene, behind, refused)]))
    if not found and restart.outcome == "error" and in_logs.outcome in GOES_ON:
        refused.append(
            Refusal("restore-from-backup", f"bring it back, or go back to an earlier batch: {'; '.join(restart.why)}")
        )
    if not found and not refused and restart.outcome in ("error", "unknown") and in_logs.outcome not in GOES_ON:
        refused.append(Refusal("edit-files", f"no repair is known for this: {'; '.join(restart.why)}"))
    if not found:
        refused.extend(rows_written_twice(scene))
    if not found and restart.outcome == "fresh_start":
        refused.extend(rows_of_a_lost_checkpoint(scene))
    if restart.outcome == "replay" and not scene.is_async and first_trouble(scene, in_logs) is None:
        found.extend(_chosen(scene, [skip_batch(scene), drop_batch(scene)], refused))
    return Plan(_told_apart(_cheapest_first(found)), tuple(dict.fromkeys(refused)), reach_of(scene))


def with_options(plan: Plan, look: Callable[[Scene], Scene], *, has_to_go_on: bool = False) -> Plan:
    """Where more is seen of what a way out leads to, one after which nothing goes on is none. What was not known before
    may stay so, unless it `has_to_go_on`."""
    options, refused = [], list(plan.refused)
    for way in plan.options:
        after = look(way.after)
        if after is way.after:
            options.append(way)
            continue
        restart = diagnose(after).prediction
        known = has_to_go_on or diagnose(way.after).prediction.outcome != "unknown"
        if restart.outcome in GOES_ON or (restart.outcome == "unknown" and not known):
            options.append(replace(way, after=after))
        else:
            refused.append(Refusal(way.id, f"the restart after it would not go on: {'; '.join(restart.why)}"))
    return replace(plan, options=tuple(options), refused=tuple(refused))


def half_done(scene: Scene) -> tuple[WayOut, ...]:
    """Where `ckpt apply` was interrupted: what lies there is half of two checkpoints, and nothing else leads out."""
    fence = scene.checkpoint.raw.get(layout.METADATA, b"")
    if scene.checkpoint.unfinished is None:
        return ()
    ways = {"resume-apply": "apply --resume", "undo-apply": "undo"}
    if fence == UNDO_FENCE.encode() or scene.checkpoint.unfinished == layout.OWN_LOCK:  # there is no plan yet
        ways.pop("resume-apply")
    return tuple(_by_ckpt(scene, id, command) for id, command in ways.items())


def _by_ckpt(scene: Scene, id: str, command: str) -> WayOut:
    goes_on = id == "resume-apply"
    shell = f"ckpt {command} {shell_path(plain(scene.root))}"
    why = "goes on with the plan that was begun" if goes_on else "takes back the plan that was begun"
    step = Manual(text=shell, why=why, shell=shell, target="query")
    title = "Go on with the plan that was begun" if goes_on else "Take back the plan that was begun"
    return WayOut(id, title, "that of the plan" if goes_on else "as before it", None, None, None, (step,), scene)


def _ways_out(before: Scene, refused: list[Refusal]) -> Iterator[WayOut]:
    chains = [found for found in _chains(before, _REPAIRS_IN_A_ROW, refused) if found[0]]
    taken = [{repair.id for repair in chain} for chain, _ in chains]
    for (chain, after), ids in zip(chains, taken, strict=True):
        if not any(fewer < ids for fewer in taken):  # else it does more than it takes
            yield _way_out(before, chain, after)


def _chains(scene: Scene, left: int, refused: list[Refusal]) -> Iterator[tuple[tuple[Repair, ...], Scene]]:
    """Repairs that lead from here to where nothing is wrong any more."""
    trouble = first_trouble(scene, predict_restart(scene))
    if trouble is None:
        yield (), scene
        return
    for proposal in repairs_of(trouble, scene):
        if isinstance(proposal, Refusal):
            refused.append(proposal)
        elif left:
            for rest, after in _chains(proposal.apply(scene), left - 1, refused):
                yield (proposal, *rest), after


def _chosen(before: Scene, choices: Sequence[Repair | Refusal], refused: list[Refusal]) -> list[WayOut]:
    """What somebody may want although the restart goes on."""
    tried = (_tried(before, choice, refused) for choice in choices)
    return [replace(way, is_repair=False) for way in tried if way]


def _tried(before: Scene, proposal: Repair | Refusal, refused: list[Refusal]) -> WayOut | None:
    """One repair that was asked for, with what else it takes then."""
    if isinstance(proposal, Refusal):
        refused.append(proposal)
        return None
    if not proposal.steps:
        refused.append(Refusal(proposal.id, "the checkpoint stands there already"))
        return None
    chains = list(_chains(proposal.apply(before), _REPAIRS_IN_A_ROW, refused))
    kept = [found for found in chains if not _undo(proposal, found[0])]
    best = _cheapest_first([_way_out(before, (proposal, *chain), after) for chain, after in kept])
    if not best:
        why = "what the restart needs besides would undo it: mend that first, with ckpt plan-recovery"
        refused.append(Refusal(proposal.id, why if chains else "the restart after it would not go on"))
    return best[0] if best else None


def _undo(proposal: Repair, chain: Sequence[Repair]) -> bool:
    """Whether repairs that follow take out, or write anew, what this one has written."""
    written = [step.path for step in proposal.steps if isinstance(step, Write)]
    later = {step.path for repair in chain for step in repair.steps if isinstance(step, SetAside | Write)}
    return any(place in later for path in written for place in _and_those_above(path))


def _way_out(before: Scene, chain: Sequence[Repair], after: Scene) -> WayOut:
    cost = sum((repair.cost for repair in chain), cost_of(before, after))
    if by_others := without_checksum(after):
        cost += Cost(0, None, None)
    titles = tuple(dict.fromkeys(repair.title for repair in chain))
    more = f", and {counted(len(titles) - 1, 'repair')} more" if titles[1:] else ""
    told = [condition for repair in chain for condition in repair.conditions]
    told += [as_written(by_others)] if by_others else []
    steps = _steps_of(chain)
    return WayOut(
        id=chain[0].id,
        title=titles[0] + more,
        guarantee=cost.guarantee,
        rows_replayed=cost.replayed,
        rows_lost=cost.lost,
        rows_duplicated=cost.duplicated,
        steps=fenced(before, steps, after.root),
        after=after,
        conditions=(*conditions_of(cost, told, names_sinks=bool(before.sinks)), *of_undo(steps)),
        traps=tuple(dict.fromkeys(repair.trap for repair in chain if repair.trap)),
        parts=titles,
    )


def _steps_of(chain: Sequence[Repair]) -> tuple[Step, ...]:
    steps = tuple(step for repair in chain for step in repair.steps)
    is_born = any(repair.target is not None for repair in chain)  # then it is copied first, and changed after that
    return steps if is_born else _in_order(iter(steps))


def _in_order(steps: Iterator[Step]) -> tuple[Step, ...]:
    """The sink first, then state, then the rest; each in the order in which it was told. What several repairs of one
    way write is written once, as the last of them has it, and not at all if one after that sets it aside; a table goes
    to where the last of them leads it, in one go."""
    kept: dict[Step, None] = {}
    of_tables: dict[tuple[str | None, ...], Step] = {}
    written: dict[str, list[Write]] = {}  # at a path, or below it
    touched: set[str] = set()  # set aside, or written, by a repair before
    for step in steps:
        path = step.path if isinstance(step, SetAside | Write) else None
        for one in written.pop(path, ()) if path is not None else ():
            kept.pop(one, None)
        if (table := _of_table(step)) is not None:
            kept.pop(of_tables.get(table, step), None)
            of_tables[table] = step
        if not (isinstance(step, SetAside) and path in touched):
            kept.setdefault(step)
        if isinstance(step, Write):
            for place in _and_those_above(step.path):
                written.setdefault(place, []).append(step)
        touched |= {path} if path is not None else set()
    return tuple(sorted(kept, key=_place))


def _of_table(step: Step) -> tuple[str | None, ...] | None:
    """What of a table a step sets: two that set the same follow one another for nothing."""
    if isinstance(step, DeltaTxn):
        return step.kind, step.table, step.app_id
    if isinstance(step, DeltaRestore):
        return step.kind, step.table
    return (step.kind, step.check.path) if isinstance(step, Spark) else None


def _and_those_above(path: str) -> Iterator[str]:
    return accumulate(path.split("/"), "{}/{}".format)


def _place(step: Step) -> int:
    if isinstance(step, DeltaRestore | DeltaTxn | Spark):
        return _SINK
    if isinstance(step, SetAside) and is_outside(step.path):
        return _SINK
    if isinstance(step, SetAside) and step.path.partition("/")[0] == layout.STATE:
        return _STATE
    if isinstance(step, Manual):
        return _STATE if step.target == "state" else _SINK
    return _REST


def _cheapest_first(ways: Sequence[WayOut]) -> tuple[WayOut, ...]:
    """Of those that take the same steps one. Of equal cost one that keeps what was done, also if neither cost is known;
    then the one with fewer steps."""
    ranked = sorted(ways, key=lambda way: (_cost(way).rank, way.id == START_OVER, len(way.steps)))
    return tuple({way.steps: way for way in reversed(ranked)}.values())[::-1]


def _told_apart(ways: Sequence[WayOut]) -> tuple[WayOut, ...]:
    """Two that begin with the same repair: the costlier one is numbered."""
    seen: Counter[str] = Counter()
    told: list[WayOut] = []
    for way in ways:
        seen[way.id] += 1
        told.append(way if seen[way.id] == 1 else replace(way, id=f"{way.id}:{seen[way.id]}"))
    return tuple(told)


def _cost(way: WayOut) -> Cost:
    return Cost(way.rows_replayed, way.rows_lost, way.rows_duplicated)
