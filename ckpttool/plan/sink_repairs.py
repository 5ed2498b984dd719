"""Repairs of a checkpoint that starts, and would leave rows out or write them twice without a word."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.laws.restart import Restart
from ckpttool.laws.sinks.file_log import RESTORE_ENTRIES
from ckpttool.laws.sinks.horizon import horizon, interval_set, what_stops
from ckpttool.laws.sinks.verdict import first_at_sinks
from ckpttool.model import CommitLogEntry, LogNames
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import Cost, rows_of, total
from ckpttool.plan.ledgers import rewound_sinks
from ckpttool.plan.log_repairs import Proposals, forged_commit, new_id_for_known_query, restore_query_id
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.rewind import rewind
from ckpttool.plan.steps import Step, of_sink, replace_file, set_aside, set_aside_alone, write
from ckpttool.scene.compaction import LOG
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.sinks import SinkView
from ckpttool.words import listed

DROP_BATCH, SKIP_BATCH, RENUMBER = "drop-planned-batch", "skip-batch", "renumber-above-sink"
_RENUMBERED_AT_MOST = 10_000

# -- the sink's own log stops the batch --------------------------------------------------------------------------------


def law_that_stops(scene: Scene) -> str | None:
    """Whose entry in the book says why a batch fails in a sink, or in the commit after it."""
    law, answer = first_at_sinks(scene) or (None, None)
    return law.id if law and isinstance(answer, Failure) else None


def sink_log_blocked(scene: Scene) -> Proposals:
    for view in scene.witnesses:
        sink, failure = view.sink, what_stops(view, scene.release, interval_set(scene))
        if failure is None:
            continue
        names = sink.names or LogNames()
        own = {str(failure.batch_id), f"{failure.batch_id}{layout.COMPACT_SUFFIX}"}
        taken = [name for name in names.directories if name in own]
        taken += [name for name in names.orphan_crcs if name in map(layout.hadoop_crc, own)]
        if not taken:
            yield Refusal("rebuild-sink-log", f"{sink.path}: {failure.why}: {RESTORE_ENTRIES}")
            continue
        folder, why = of_sink(f"{sink.path.rstrip('/')}/{LOG}"), "it stands where the sink writes its entry"
        steps = tuple(step for name in taken for step in set_aside_alone(scene.root, f"{folder}/{name}", why))
        left = replace(
            names,
            directories=tuple(name for name in names.directories if name not in taken),
            orphan_crcs=tuple(name for name in names.orphan_crcs if name not in taken),
        )
        cleared = tuple(replace(one, names=left) if one is sink else one for one in scene.sinks)
        yield Repair("clear-the-way-of-sink", f"Set aside what stands in {LOG} in the batch's place", steps, cleared)


# -- the sink is ahead -------------------------------------------------------------------------------------------------


def is_sink_ahead(scene: Scene, restart: Restart) -> bool:
    """Whether a batch that is yet to be planned, or not the one the sink has, would be skipped."""
    if restart.batch_id is None or restart.outcome not in ("replay", "new_batch", "fresh_start"):
        return False
    if scene.is_replay and any(_skips_what_it_lacks(view, restart.batch_id) for view in scene.witnesses):
        return True
    following = restart.batch_id + 1 if restart.outcome == "replay" else restart.batch_id
    return scene.any_skips(following) is True


def _skips_what_it_lacks(view: SinkView, batch: int) -> bool:
    return view.skips(batch) is True and view.holds(batch) is False


def sink_ahead(scene: Scene) -> Proposals:
    planned = -1 if scene.planned is None else scene.planned
    lacks = scene.is_replay and any(_skips_what_it_lacks(view, planned) for view in scene.witnesses)
    yield _bring_sinks_down(scene, planned - 1 if lacks else planned)
    ahead = [view.sink for view in scene.witnesses if view.skips(planned + 1)]
    if all(sink.kind not in ("file", "hudi") and not sink.key_given for sink in ahead):
        yield new_id_for_known_query(scene)
    yield count_from_above(scene, planned)


def _bring_sinks_down(scene: Scene, batch: int) -> Repair | Refusal:
    id = "bring-sink-down"
    rewound = rewound_sinks(scene, batch)
    if isinstance(rewound, str):
        return Refusal(id, rewound)
    title = f"Bring the sink back to batch {batch}, where the checkpoint stands"
    return Repair(id, title, rewound.steps, rewound.sinks, conditions=rewound.conditions)


def count_from_above(scene: Scene, planned: int) -> Repair | Refusal:
    """The same position under a number that no sink has: the next batch is above them all."""
    id = RENUMBER
    if scene.is_stateful:
        return Refusal(id, "state is kept under the numbers of the batches")
    if scene.committed != planned or not scene.has_offsets(planned):
        return Refusal(id, f"batch {planned} is not finished: only the end of a finished batch can be renumbered")
    top = max((view.recorded for view in scene.witnesses if view.recorded is not None), default=planned)
    if top <= planned:
        return Repair(id, f"Leave the number of the next batch: no sink has more than batch {planned}", ())
    entry, commit = scene.checkpoint.offsets[planned], _commit_like(scene, planned, top)
    if commit is None:
        return Refusal(id, f"commits/{top} cannot be written: its format names what only Spark knows")
    why = f"the position after batch {planned}, under a number that the sink has"
    if top - planned > _RENUMBERED_AT_MOST:
        return Refusal(id, f"the sink's record is at batch {top}, which no query reached")
    steps: list[Step] = [
        write(scene.root, layout.offsets(number), encode_offset_log(entry), why)
        for number in range(max(planned + 1, top - 1), top + 1)
    ]
    steps.append(write(scene.root, layout.commits(top), encode_commit_log(commit), f"the next batch is {top + 1}"))
    replayed = total(rows_of(scene, batch) for batch in range(planned + 1, top + 1))
    present = [scene.any_holds(batch) for batch in range(planned + 1, top + 1)]
    duplicated = 0 if not any(held is not False for held in present) else replayed
    return Repair(
        id,
        f"Let the query go on as batch {top + 1}, above all that the sink has",
        tuple(steps),
        cost=Cost(replayed, 0, duplicated),
        trap="rows that the sink has of the batches that are read again are there twice unless they are removed first",
    )


def _commit_like(scene: Scene, batch: int, number: int) -> CommitLogEntry | None:
    commit = scene.checkpoint.commits.get(batch) or forged_commit(scene, batch)
    if commit is None or commit.version > 1:
        return None
    return CommitLogEntry(number, 1, commit.next_watermark_ms)


def lower_sinks_below_batch(scene: Scene) -> Proposals:
    yield _bring_sinks_down(scene, scene.next_id - 1)


# -- the sink knows the query by another id ----------------------------------------------------------------------------


def is_under_another_id(scene: Scene) -> bool:
    """The batch that runs again is in a sink under the id of a streaming query that stands where this one does."""
    planned = scene.planned
    if planned is None or not scene.is_replay or scene.checkpoint.metadata is None:
        return False
    return any(
        view.sink.kind == "delta"
        and view.sink.entry(view.sink.key) is None
        and not view.sink.key_given
        and any(entry.native and entry.batch_id == planned for entry in view.sink.ledger)
        and view.holds(planned) is True
        for view in scene.witnesses
    )


def under_another_id(scene: Scene) -> Proposals:
    yield from (one for one in restore_query_id(scene) if isinstance(one, Repair) and one.id == "restore-query-id")


# -- the sink is behind ------------------------------------------------------------------------------------------------


def refill(scene: Scene) -> Repair | Refusal | None:
    """The sink went back, or is not the one that had the batches: committed ones are not in it, and nothing repeats
    them. The restart as such goes on, so this is no trouble of its own."""
    ends = [end for view in scene.witnesses if (end := _record_behind(scene, view)) is not None]
    interval, strange = interval_set(scene), []
    for view in (view for view in scene.witnesses if view.sink.exists):
        lacking = [one.batches[0] - 1 for one in horizon(view, scene.release, interval).missing]
        ends.extend(lacking)
        strange += [view.sink.path] if lacking and not (view.is_known or view.sink.writes) else []
    if not ends:
        return None
    end = min(ends)
    where = f"to the end of batch {end}, the last before what the sink lacks" if end >= 0 else "to before batch 0"
    back = rewind(scene, end, id="refill-sink", title=f"Go back {where}, and write the later ones again")
    if isinstance(back, Refusal) or not strange:
        return back
    known = tuple(
        Condition("sink-of-query", f"{path} is the query's sink, which nothing in it says") for path in strange
    )
    return replace(back, conditions=(*back.conditions, *known))


def _record_behind(scene: Scene, view: SinkView) -> int | None:
    """Where the record of the query's own batches ends, if committed ones with rows come after it."""
    entry = view.sink.entry(view.sink.key)
    if entry is None or entry.native is False or view.sink.error or view.sink.incomplete or not view.keeps_a_record:
        return None
    later = [batch for batch in scene.checkpoint.commit_names.ids if batch > entry.batch_id]
    return entry.batch_id if any(rows_of(scene, batch) != 0 for batch in later) else None


def rows_of_a_lost_checkpoint(scene: Scene) -> Iterator[Refusal]:
    """A query that starts from nothing reads again what another one wrote, and the sink lets it."""
    for sink in (view.sink for view in scene.witnesses):
        others = [str(entry.app_id) for entry in sink.ledger if entry.native and entry.app_id not in (sink.key, None)]
        if others:
            known = f"only the checkpoint of {listed(others)} says how far that query read"
            what = "restore it from a backup, or take its rows out of the sink before the start"
            yield Refusal("restore-from-backup", f"{sink.path} has its batches, and {known}: {what}")


def rows_written_twice(scene: Scene) -> Iterator[Refusal]:
    """The batch that runs again is in a sink whose record does not stop it, as it was lowered, or is forgotten."""
    planned = scene.planned
    if planned is None or not scene.replays_as_logged:
        return
    for view in scene.witnesses:
        write = view.latest_write(planned)
        if write and view.keeps_a_record and view.holds(planned) and view.skips(planned) is False:
            what = "take them out of the sink before the restart, which no step on the checkpoint can do"
            yield Refusal("take-rows-out", f"{write.place} of {view.sink.path} has the rows of batch {planned}: {what}")


# -- batches that would never run --------------------------------------------------------------------------------------


def are_batches_left_out(scene: Scene, restart: Restart) -> bool:
    """Planned, never committed, and below the one that runs again: only a sink can say that they were written."""
    planned, committed = scene.planned, scene.committed
    if planned is None or committed is None or restart.outcome != "replay" or scene.is_async:
        return False
    return any(scene.all_hold(batch) is not True for batch in range(committed + 1, planned))


def batches_left_out(scene: Scene) -> Proposals:
    """The first that no sink is known to have runs again as it was planned; what comes after it is planned anew."""
    committed, planned = scene.committed, scene.planned
    if committed is None or planned is None:
        return
    first = next(one for one in range(committed + 1, planned) if scene.all_hold(one) is not True)
    title = f"Run batch {first} again as it was planned, and plan anew what comes after it"
    steps: list[Step] = []
    for number in sorted((one for one in scene.checkpoint.offset_names.ids if one > first), reverse=True):
        steps.extend(set_aside(scene.root, layout.offsets(number), "Spark would run only the highest, and none before"))
    if scene.has_offsets(first) and (first == 0 or scene.has_offsets(first - 1)):
        yield Repair("run-left-out-batches", title, tuple(steps))
    title = f"Go back to the end of batch {committed}, the last that was committed"
    yield rewind(scene, committed, id="rewind-to-batch", title=title)


# -- choices about the batch that would run again ----------------------------------------------------------------------


def skip_batch(scene: Scene) -> Repair | Refusal:
    """A commit that we write makes Spark go on after the batch."""
    planned = scene.planned or 0
    id = SKIP_BATCH
    if scene.is_stateful:
        return Refusal(id, f"the next batch needs the state that batch {planned} leaves")
    commit = forged_commit(scene, planned)
    if commit is None:
        return Refusal(id, f"commits/{planned} cannot be written: its format names what only Spark knows")
    path = layout.commits(planned)
    why = f"Spark takes batch {planned} for finished and never runs it"
    taken = planned in scene.checkpoint.commit_names.ids
    steps = (replace_file if taken else _written)(scene.root, path, encode_commit_log(commit), why)
    return Repair(id, f"If batch {planned} itself cannot run: skip it, with all its rows", steps)


def _written(root: str, path: str, content: bytes, why: str) -> tuple[Step, ...]:
    return (write(root, path, content, why),)


def drop_batch(scene: Scene) -> Repair | Refusal:
    planned = scene.planned or 0
    held = scene.any_holds(planned)
    if held is not False:
        unknown = "not to be seen" if scene.sinks else "not known: name it with --sink"
        why = f"a sink has batch {planned}" if held else f"whether a sink has batch {planned} is {unknown}"
        return Refusal(DROP_BATCH, f"{why}, and planned anew what it reads would be skipped or written twice")
    return plan_anew(scene)


def plan_anew(scene: Scene) -> Repair | Refusal:
    """What is planned and not committed, whoever has it."""
    planned = scene.planned or 0
    target = planned - 1 if scene.committed is None else scene.committed
    title = f"If batch {planned} is too large or reads what is gone: plan it anew"
    return rewind(scene, target, id=DROP_BATCH, title=title)
