"""Back to the end of a batch: the sink first, then state, then the two logs, newest first, at last the sources' logs.

The order keeps things legible for whoever looks at what is half done; what keeps Spark from starting on it, and rows
from being left out, is the fence around all steps, and no order (`plan/fence.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.file import MAX_FILE_AGE_MS
from ckpttool.formats import layout
from ckpttool.formats.names import parse_long
from ckpttool.literals import shell_path
from ckpttool.model import LogNames, SourceLog
from ckpttool.plan.conditions import SINK_UNNAMED, Condition
from ckpttool.plan.ledgers import rewound_sinks
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.states import later_versions, listing, obstacle, versions_everywhere
from ckpttool.plan.steps import Check, Manual, Step, plain, set_aside, set_aside_alone
from ckpttool.scene.batches import file_log_position
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import log_of


def rewind(
    scene: Scene, batch: int, *, id: str, title: str, trap: str | None = None, with_data: bool = False
) -> Repair | Refusal:
    """To the state after `batch` (-1: before all batches), so that what follows is planned anew. `with_data`: see
    `rewound_sinks`."""
    if missing := what_is_missing(scene, batch):
        return Refusal(id, missing)
    rewound = rewound_sinks(scene, batch, with_data=with_data)
    if isinstance(rewound, str):
        return Refusal(id, rewound)
    conditions = list(rewound.conditions)
    if not scene.sinks:
        unnamed = f"no sink has anything above batch {batch}: name it with --sink to have that looked at"
        conditions.append(Condition(SINK_UNNAMED, unnamed))
    if scene.is_stateful and batch >= 0:
        conditions.extend(_unread_state(scene, batch + 1))
    state_steps = tuple(_state_steps(scene, batch))
    source_steps, one_big_batch = _source_steps(scene, batch)
    big = "the next batch reads all that the file source has seen since as one batch" if one_big_batch else None
    return Repair(
        id=id,
        title=title,
        steps=(*rewound.steps, *state_steps, *_log_steps(scene, batch), *source_steps),
        sinks=rewound.sinks if rewound.steps else None,
        conditions=tuple(conditions),
        trap=". ".join(part for part in (trap, big) if part) or None,
    )


def what_is_missing(scene: Scene, batch: int) -> str | None:
    if batch < 0:
        return None
    if not scene.has_offsets(batch):
        return f"offsets/{batch} is not there, or cannot be read"
    committed = scene.committed
    if not scene.has_commit(batch) and committed is not None:
        return f"commits/{batch} is not there, or cannot be read"
    return _what_state_is_missing(scene, batch + 1) if scene.is_stateful else None


def lacks_the_one_before(scene: Scene, batch: int) -> bool:
    """Spark opens the offsets before the newest too: those of the batch before, and with asynchronous progress the next
    lower ones that there are."""
    return batch > 0 and not scene.is_async and not scene.has_offsets(batch - 1)


def _what_state_is_missing(scene: Scene, version: int) -> str | None:
    """By its files, if anybody opened them, else by names alone."""
    if version in scene.states:
        why = obstacle(scene.states, version, scene.start)
        return f"version {version} of the state: {why.why}" if why else None
    operators, files = scene.checkpoint.operators, listing(scene.states)
    if not operators:
        kept = False  # of state that is gone no version is left
    elif files is None:
        kept = all(not operator.versions or version in operator.versions for operator in operators)
    else:
        kept = all(version in versions_everywhere(files, operator.id) for operator in operators)
    return None if kept else f"version {version} of the state, which the next batch needs, is not kept any more"


def _unread_state(scene: Scene, version: int) -> Iterator[Condition]:
    """What is taken for granted of state that nobody read to its end."""
    files = scene.states.get(version)
    if files is None or files.mode == "quick":
        yield Condition("state-unread", f"version {version} of the state can be loaded: here only names were looked at")


# -- the two logs ------------------------------------------------------------------------------------------------------


def _log_steps(scene: Scene, batch: int) -> Iterator[Step]:
    """A commit goes before the offsets of its batch: a batch may be run again, and a commit alone stops Spark."""
    offsets = dict(_names_above(scene.checkpoint.offset_names, batch))
    commits = dict(_names_above(scene.checkpoint.commit_names, batch))
    for name in sorted({*offsets, *commits}, key=lambda name: (parse_long(name) or 0, name), reverse=True):
        if name in commits:
            yield from set_aside(scene.root, layout.commits(name), f"batch {name} is to be done again")
        if name in offsets:
            yield from set_aside(scene.root, layout.offsets(name), f"batch {name} is to be planned anew")


def _names_above(names: LogNames, batch: int) -> Iterator[tuple[str, int]]:
    for name in (*map(str, names.ids), *names.non_canonical):
        number = parse_long(name)
        if number is not None and number > batch:
            yield name, number


# -- state -------------------------------------------------------------------------------------------------------------


def _state_steps(scene: Scene, batch: int) -> Iterator[Step]:
    if not scene.is_stateful:
        return
    if batch < 0:
        yield from set_aside_alone(scene.root, layout.STATE, "a first batch wants no state")
    elif (files := listing(scene.states)) is None:
        yield _manual_state(scene, batch)
    else:
        for path in later_versions(files, batch + 1):
            yield from set_aside_alone(scene.root, path, "it belongs to a batch that is undone")


def _manual_state(scene: Scene, batch: int) -> Manual:
    names = r"'.*/[0-9]+(_[^/]*)?\.(snapshot|zip|delta|changelog)'"
    find = f"find {shell_path(f'{plain(scene.root)}/{layout.STATE}')} -regextype posix-extended -regex {names}"
    return Manual(
        text=f"in every store directory of state/, set aside the files of versions above {batch + 1}, newest first",
        why="Spark would load a snapshot of the batches that are undone, and answer wrongly without an error",
        shell=f"{find}; false  # until they are set aside by hand; then go on with what follows",
        target="state",
        check=Check("files", layout.STATE, batch + 1),
    )


# -- logs of file sources ----------------------------------------------------------------------------------------------


def _source_steps(scene: Scene, batch: int) -> tuple[tuple[Step, ...], bool]:
    """What a file source has found since, found again in batches of the usual size; where that may leave files out,
    its log stays, and the next batch reads them all. The second: whether a log stays that has more."""
    target = scene.batch(batch)
    steps: list[Step] = []
    stays = False
    for source in target.sources if target else ():
        log, position = log_of(scene, source), file_log_position(source)
        if log is None or log.kind != "file" or position is None:
            continue
        later = [number for number in log.names.ids if number > position]
        if _may_be_found_again(log, position, later):
            why = "the file source finds these files again"
            for number in reversed(later):
                steps.extend(set_aside(scene.root, layout.source_entry(log.name, number), why))
        else:
            stays = stays or len(later) > 1 or any(number > position for number in log.names.compact_ids)
    return tuple(steps), stays


def _may_be_found_again(log: SourceLog, position: int, later: list[int]) -> bool:
    """Not what a compact file repeats, nor what may be too old by now."""
    if any(number > position for number in log.names.compact_ids):
        return False
    times = [entry.timestamp_ms for number in later for entry in log.entries.get(number, ())]
    every = [entry.timestamp_ms for entries in log.entries.values() for entry in entries]
    return all(number in log.entries for number in later) and (not times or max(every) - min(times) < MAX_FILE_AGE_MS)
