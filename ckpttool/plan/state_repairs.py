"""Repairs of state that cannot be loaded, and of state that an abandoned timeline left behind.

A whole copy that is damaged may go if an older one and all changes since are sound: the same state comes out. Changes
are nowhere else; without them only an earlier version helps, and only one that somebody has looked at is promised.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.laws.restart import predict_restart
from ckpttool.laws.state_load import obstacle_of, obstacles
from ckpttool.plan.conditions import Condition
from ckpttool.plan.log_repairs import Proposals, start_over
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.rewind import rewind
from ckpttool.plan.states import has_later_base, later_versions, listing, without
from ckpttool.plan.steps import Step, set_aside, set_aside_alone
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.state_chain import StateFiles, chains, sst_names

_BACKUP = "restore-from-backup"
_SAME_OPERATORS = Condition(
    "same-operators", "the query's stateful operators are the same: this once, nothing compares them"
)
_OLD_CODE = Condition("old-code", "the query that is started is the one that has written the committed batches")
_KEPT_NO_STATE = Condition("kept-no-state", "that query kept no state: else all of it is lost, and a backup has it")
_UNREAD = Condition("state-unread", "those changes can be read: only names were looked at")
_NOT_RUN_SINCE = Condition(
    "not-run-since", "the query did not run since the logs were taken back: else it may have read them already"
)


def damaged(scene: Scene) -> Proposals:
    """What stops the batch is in the state that it begins with."""
    files = scene.needed_state
    obstacle = obstacle_of(files, scene.start) if files else None
    if isinstance(obstacle, Doubt):
        yield Refusal("look-at-state", f"whether the state can be loaded is not known: {obstacle.why}")
        return
    if obstacle is None:  # nobody looked: the logs alone tell that state/ is gone
        yield Refusal(_BACKUP, "the query is stateful, and its state is nowhere else: restore state/ from a backup")
    else:
        yield Refusal(_BACKUP, f"a backup of the same checkpoint has it, and costs nothing: {obstacle.why}")
        yield from _leftovers(scene)
        yield from _schemas(scene)
        yield from _older_bases(scene)
        yield _newest_sound_version(scene)
    if predict_restart(scene).outcome == "error":
        yield from start_over(scene, "the state is in no backup")


def never_committed(scene: Scene) -> Iterator[Repair]:
    """The query that has written the checkpoint has no such operator, and misses nothing of it."""
    files = scene.needed_state
    paths = [layout.operator(operator) for operator in files.never_committed] if files else []
    steps = [step for path in paths for step in set_aside_alone(scene.root, path, "no batch of it was ever committed")]
    title = "Set aside what a failed start of changed code has left, and start the old code"
    conditions = (_OLD_CODE,) if files and files.stores else (_OLD_CODE, _KEPT_NO_STATE)
    yield Repair("set-aside-new-operator", title, tuple(steps), conditions=conditions)


def _leftovers(scene: Scene) -> Iterator[Repair]:
    """What stands where Spark has to write."""
    files = scene.needed_state
    if files is None:
        return
    steps: list[Step] = []
    for path in (path for operator in files.operators for path in operator.orphan_crcs):
        steps.extend(set_aside(scene.root, path, "the checksum of a file that is not there"))
    for store in files.stores:
        if store.blocked:
            why = "it stands where the next batch leaves its changes"
            steps.extend(set_aside_alone(scene.root, f"{store.path}/{store.blocked}", why))
    if steps:
        yield Repair("clear-the-way-of-state", "Set aside what stands where Spark writes state", tuple(steps))


def _schemas(scene: Scene) -> Iterator[Repair]:
    """A schema file that is not there is written by the query that starts."""
    files = scene.needed_state
    broken = [path for operator in files.operators for path in operator.schema_faults] if files else []
    if any(f"/{layout.SCHEMAS}/" in path for path in broken):
        return  # the operator's metadata names these, and then they have to be there
    steps: list[Step] = []
    for path in broken:
        steps.extend(set_aside(scene.root, path, "the query writes its own when it finds none"))
    if steps:
        yield Repair(
            "set-aside-state-schema",
            "Let the query write the schema of its state anew",
            tuple(steps),
            conditions=(_SAME_OPERATORS,),
        )


# -- a damaged copy, with everything that it was made from -------------------------------------------------------------


def _older_bases(scene: Scene) -> Iterator[Repair | Refusal]:
    """The state comes out of an older copy and the changes since, as it would have without the damaged one."""
    files = scene.needed_state
    if files is None:
        return
    id, gone = "set-aside-state-snapshot", dict[str, None]()
    left = files
    while failures := [one for one in obstacles(left, scene.start) if isinstance(one, Failure)]:
        damaged = [base for failure in failures if (base := _base_at(left, failure.path))]
        if len(damaged) < len(failures):
            return  # something else is damaged as well
        gone |= dict.fromkeys(path for base in damaged for path in _with_sidecar(left, base))
        left = without({left.version: left}, gone)[left.version]
    steps = [step for path in gone for step in set_aside(scene.root, path, "it cannot be read")]
    spelled = ", ".join(path for path in gone if not path.endswith(layout.CRC_SUFFIX))
    yield Repair(
        id,
        f"Set {spelled} aside: Spark makes the same state out of an older copy and the changes since",
        tuple(steps),
        conditions=() if files.mode == "full" else (_UNREAD,),
    )


def _base_at(files: StateFiles, path: str) -> str | None:
    """The whole copy that this file is, or is a part of."""
    for store in files.stores:
        name = path.removeprefix(f"{store.path}/")
        bases = (chain.base for chain in chains(store, files.version) if chain.base)
        if name != path and (base := next((one for one in bases if name in (one, *sst_names(store, one))), None)):
            return f"{store.path}/{base}"
    return None


def _with_sidecar(files: StateFiles, path: str) -> Iterator[str]:
    store = next(store for store in files.stores if path.startswith(f"{store.path}/"))
    if layout.sidecar(path).removeprefix(f"{store.path}/") in store.names:
        yield layout.sidecar(path)
    yield path


# -- an earlier version ------------------------------------------------------------------------------------------------


def _newest_sound_version(scene: Scene) -> Repair | Refusal:
    """Back to a batch that left state which can be loaded; nothing is promised of versions that nobody looked at."""
    id, tried = "rewind-to-batch", list[str]()
    for batch in sorted((version - 1 for version in scene.states), reverse=True):
        if not 0 <= batch < scene.next_id - 1:
            continue
        title = f"Go back to the end of batch {batch}, the last whose state can be loaded"
        back = rewind(scene, batch, id=id, title=title)
        if isinstance(back, Repair):
            return back
        tried.append(f"batch {batch}: {back.why}")
    return Refusal(id, "; ".join(tried[:3]) or "no earlier version of the state was looked at")


# -- state of another timeline -----------------------------------------------------------------------------------------


def _version_in_use(scene: Scene) -> int:
    """A batch that runs again may have left its own version already; before it is planned, it left nothing."""
    return scene.next_id + scene.is_replay


def is_state_stale(scene: Scene) -> bool:
    files = listing(scene.states)
    if files is None or scene.planned is None or scene.is_realtime:
        return False
    return has_later_base(files, _version_in_use(scene))


def stale_state(scene: Scene) -> Proposals:
    """What a rewind that forgot the state has left: later loads would take it for their own."""
    version = _version_in_use(scene)
    why = "it belongs to a batch that was undone: a later load would take it for its own"
    yield Repair(
        "set-aside-stale-state",
        f"Set aside the state of versions above {version}, which belongs to batches that were undone",
        tuple(
            step
            for path in later_versions(listing(scene.states) or (), version)
            for step in set_aside_alone(scene.root, path, why)
        ),
        conditions=(_NOT_RUN_SINCE,),
    )
