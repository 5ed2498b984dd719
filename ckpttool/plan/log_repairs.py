"""Repairs of `metadata` and the two logs, by the rule that stops the restart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.names import parse_long
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.laws.pinned import PARTITIONS, SWITCHES, WHOLE_NUMBERS
from ckpttool.model import CommitLogEntry, LogNames, OffsetLogEntry
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import UNKNOWN, Cost
from ckpttool.plan.query_ids import id_steps, known_as, new_id, stale_checksum
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.rewind import rewind
from ckpttool.plan.steps import (
    Step,
    option,
    replace_file,
    session_conf,
    set_aside,
    set_aside_alone,
    write,
)
from ckpttool.scene.evidence import left_in_logs
from ckpttool.scene.scene import ASYNC_OPTION, Scene

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
START_OVER = "start-over"
_NEVER_RAN = Condition(
    "value-never-used", "the file was edited or damaged, and the query never ran with the other value"
)
REPARTITION_CHECK = "spark.sql.streaming.checkUnfinishedRepartitionOnRestart"

Proposals = Iterator[Repair | Refusal]


# -- metadata ----------------------------------------------------------------------------------------------------------


def restore_query_id(scene: Scene) -> Proposals:
    for query_id, where in _remembered_ids(scene):
        yield with_id(scene, query_id, "restore-query-id", f"Give the query its id back: {query_id}, which {where}")
    yield with_id(
        scene,
        new_id(scene),
        "new-query-id",
        "Let the query go on under a new id",
        trap="a sink that knows the query by its id takes it for another one: what runs again is written again",
    )


def with_id(
    scene: Scene,
    query_id: str,
    id: str,
    title: str,
    trap: str | None = None,
    conditions: tuple[Condition, ...] = (),
) -> Repair:
    steps = id_steps(scene, query_id, "sinks recognise the query's batches by this id")
    sinks = tuple(known_as(sink, query_id) for sink in scene.sinks)
    return Repair(id, title, steps, sinks=sinks, conditions=conditions, trap=trap)


def metadata_unwritable(scene: Scene) -> Proposals:
    """Spark writes a new id where there is none; a query that has batches had better have its own."""
    if scene.reached >= 0:
        yield from restore_query_id(scene)
        return
    title = "Set aside the checksum that no `metadata` belongs to"
    yield Repair("set-aside-leftover-checksum", title, stale_checksum(scene))


def _remembered_ids(scene: Scene) -> Iterator[tuple[str, str]]:
    """What is left of the file itself, then what sinks know."""
    raw = scene.checkpoint.raw.get("metadata", b"").decode("utf-8", "replace")
    if (left := _UUID.search(raw)) and scene.checkpoint.metadata is None:
        yield left[0].lower(), "is still to be read in the file"
    yield from ids_in_sinks(scene)


def ids_in_sinks(scene: Scene) -> Iterator[tuple[str, str]]:
    """Of streaming queries that stand where this one does, and have another id."""
    heads = {scene.planned, scene.committed}
    seen = {scene.checkpoint.metadata.id if scene.checkpoint.metadata else None}
    for sink in scene.sinks:
        for entry in sink.ledger:
            if entry.app_id in seen or not entry.native or entry.batch_id not in heads or not is_uuid(entry.app_id):
                continue
            seen.add(entry.app_id)
            yield str(entry.app_id), f"wrote batch {entry.batch_id} to {sink.path}"


def is_uuid(text: str | None) -> bool:
    return text is not None and _UUID.fullmatch(text) is not None


def new_id_for_known_query(scene: Scene) -> Repair:
    return with_id(
        scene,
        new_id(scene),
        "new-query-id",
        "Let the query go on under a new id, so that the sink no longer skips its batches",
        trap="rows that the sink has of the batches to come are there twice unless they are removed first",
    )


# -- offsets -----------------------------------------------------------------------------------------------------------


def newest_offsets(scene: Scene) -> Proposals:
    """The highest file is of no use: is it a batch's at all, and does anybody have that batch?"""
    planned = scene.planned
    if planned is None:
        return
    if planned not in scene.checkpoint.offset_names.ids:
        yield misnamed(scene, layout.OFFSETS, scene.checkpoint.offset_names, planned)
        return
    if fault := newer_version(scene, layout.offsets(planned)):
        yield fault
    yield drop_or_rewind(scene, planned)


def drop_or_rewind(scene: Scene, planned: int) -> Repair | Refusal:
    committed = scene.committed
    if committed == planned:
        title = f"Go back to the end of batch {planned - 1}, and plan batch {planned} anew"
        return rewind(scene, planned - 1, id="rewind-to-batch", title=title)
    target = planned - 1 if committed is None else min(committed, planned - 1)
    if scene.any_holds(planned) and committed != planned:
        why = f"a sink has batch {planned}: planned anew it would be another one. Rebuild offsets/{planned} from a "
        return Refusal("drop-planned-batch", why + "backup, or from the endOffset in the query's progress events")
    title = f"Set aside what was planned above batch {target}, and plan it anew"
    return rewind(scene, target, id="drop-planned-batch", title=title)


def misnamed(scene: Scene, log: str, names: LogNames, number: int) -> Repair:
    steps: list[Step] = []
    for name in names.non_canonical:
        if parse_long(name) == number:
            why = f"Spark counts it as {number}, and opens {log}/{number}"
            steps.extend(set_aside(scene.root, f"{log}/{name}", why))
    return Repair(
        "set-aside-misnamed-file",
        f"Set aside the file in {log} that counts as {number} and is not named so",
        tuple(steps),
        conditions=(Condition("not-renamed", f"it was not renamed from {log}/{number}: then give it that name back"),),
    )


def newer_version(scene: Scene, path: str) -> Refusal | None:
    fault = scene.fault(path)
    if fault is None or fault.id != "log-version-too-new":
        return None
    return Refusal("edit-newer-format", f"{path} was written by a newer Spark: restart with that one instead")


def previous_offsets(scene: Scene) -> Proposals:
    planned = scene.planned
    if not planned:
        return
    if scene.evidence.mode == "async" and not scene.is_async:
        yield _async_again()
    if scene.committed == planned and scene.has_offsets(planned):
        yield _copy_as_previous(scene, planned, planned, Cost())
        return
    if scene.has_offsets(planned) and scene.has_offsets(planned - 2) and scene.committed == planned - 1:
        yield _start_earlier(scene, planned)
    yield drop_or_rewind(scene, planned)


def _async_again() -> Repair:
    why = "only then Spark accepts batches that are missing between the logged ones"
    title = "Start once more with asynchronous progress tracking"
    trap = "switch it off only when the two newest batches are consecutive"
    return Repair("restart-with-async-progress", title, (option(ASYNC_OPTION, "true", why),), trap=trap)


def _copy_as_previous(scene: Scene, source: int, planned: int, cost: Cost) -> Repair:
    entry = scene.checkpoint.offsets[source]
    path = layout.offsets(planned - 1)
    why = f"Spark only wants the file before the newest to be there. Batch {planned + 1} begins at offsets/{planned}"
    return Repair(
        "copy-as-previous-offsets",
        f"Put a copy of offsets/{source} in the place of {path}",
        put_offsets(scene, path, entry, why),
        cost=cost,
        trap=f"it is not what batch {planned - 1} read: do not rewind to that batch",
    )


def _start_earlier(scene: Scene, planned: int) -> Repair | Refusal:
    """Where the pending batch begins is lost; two batches before is known, and nothing is left out from there on."""
    title = f"Let batch {planned} begin where batch {planned - 1} began"
    id = "begin-earlier"
    if scene.is_stateful:
        return Refusal(id, f"the state would count the rows of batch {planned - 1} twice")
    is_skipped = scene.all_hold(planned) and scene.any_skips(planned)  # then its range does not matter
    cost = Cost() if is_skipped else Cost(None, 0, None)
    repair = _copy_as_previous(scene, planned - 2, planned, cost)
    return replace(repair, id=id, title=title)


def put_offsets(scene: Scene, path: str, entry: OffsetLogEntry, why: str) -> tuple[Step, ...]:
    content = encode_offset_log(entry)
    if int(path.rpartition("/")[2]) in scene.checkpoint.offset_names.ids:
        return replace_file(scene.root, path, content, why)
    return (write(scene.root, path, content, why),)


def source_count(scene: Scene) -> Proposals:
    planned = scene.planned
    if planned is None:
        return
    newest, before = (scene.checkpoint.offsets.get(one) for one in (planned, planned - 1))
    if scene.committed == planned and newest and newest.sources:
        others = {len(one.sources) for batch, one in scene.checkpoint.offsets.items() if batch < planned - 1}
        if others and len(newest.sources) not in others:
            why = f"it has {len(newest.sources)} sources, and those before it {' or '.join(map(str, sorted(others)))}"
            yield Refusal("copy-as-previous-offsets", f"offsets/{planned} seems to be the wrong one: {why}")
        else:
            yield _copy_as_previous(scene, planned, planned, Cost())
    if before is None or before.sources:
        yield drop_or_rewind(scene, planned)


def pinned_value(scene: Scene) -> Proposals:
    """The batch before pins a value for the same key, and no query changes it from one batch to the next."""
    planned = scene.planned
    entry = scene.checkpoint.offsets.get(planned) if planned is not None else None
    before = scene.checkpoint.offsets.get(planned - 1) if planned else None
    if entry is None or entry.metadata is None or before is None or before.metadata is None:
        return
    keys = {key for key in {*WHOLE_NUMBERS, *SWITCHES, *entry.metadata.conf} if key in before.metadata.conf}
    differing = {
        key: before.metadata.conf[key] for key in keys if entry.metadata.conf.get(key) != before.metadata.conf[key]
    }
    if differing:
        conf = {key: differing.get(key, value) for key, value in entry.metadata.conf.items()}
        mended = replace(entry, metadata=replace(entry.metadata, conf=conf))
        spelled = ", ".join(sorted(differing))
        why = "the same batch, with the configuration of the one before"
        yield Repair(
            "restore-pinned-values",
            f"Let offsets/{planned} pin what offsets/{entry.batch_id - 1} pins: {spelled}",
            put_offsets(scene, layout.offsets(entry.batch_id), mended, why),
            conditions=(_NEVER_RAN,),
        )


def unfinished_repartition(scene: Scene) -> Proposals:
    """A repartition reads nothing; a batch that reads something and pins another number was edited."""
    planned = scene.planned or 0
    newest, before = scene.checkpoint.offsets.get(planned), scene.checkpoint.offsets.get(planned - 1)
    if newest is None or before is None or newest.metadata is None or before.metadata is None:
        yield from previous_offsets(scene)
        return
    counts = [entry.metadata.conf.get(PARTITIONS) for entry in (newest, before) if entry.metadata]
    if None in counts:
        why = "Spark 4.2.0 compares numbers of partitions that a log of named sources does not hold at first"
        step = session_conf(REPARTITION_CHECK, "false", why)
        yield Repair("skip-repartition-check", "Start once without the check for repartitions", (step,))
    elif [source.text for source in newest.sources] == [source.text for source in before.sources]:
        title = f"Undo the repartition that was begun as batch {planned}"
        trap = f"or finish it: run the same repartition to {counts[0]} partitions again"
        yield rewind(scene, planned - 1, id="undo-repartition", title=title, trap=trap)
    else:
        yield from pinned_value(scene)


# -- commits -----------------------------------------------------------------------------------------------------------


def newest_commit(scene: Scene) -> Proposals:
    committed = scene.committed
    if committed is None:
        return
    if committed not in scene.checkpoint.commit_names.ids:
        yield misnamed(scene, layout.COMMITS, scene.checkpoint.commit_names, committed)
        return
    if fault := newer_version(scene, layout.commits(committed)):
        yield fault
    if commit := forged_commit(scene, committed):
        path = layout.commits(committed)
        yield Repair(
            "write-commit-again",
            f"Write {path} anew: the batch was finished when the file was begun",
            replace_file(scene.root, path, encode_commit_log(commit), f"says that batch {committed} is finished"),
            trap="the watermark may stand one batch behind what the lost file said",
        )
    yield Repair(
        "set-aside-commit",
        f"Set commits/{committed} aside",
        set_aside(scene.root, layout.commits(committed), "without it the batch with these offsets runs again"),
    )


def forged_commit(scene: Scene, batch: int) -> CommitLogEntry | None:
    """Only the plain format can be written without knowing more; its watermark is the next batch's, or its own."""
    if scene.has_state_ids or any(commit.version > 1 for commit in scene.checkpoint.commits.values()):
        return None
    for number in (batch + 1, batch):
        entry = scene.checkpoint.offsets.get(number)
        if entry and entry.metadata:
            return CommitLogEntry(batch, 1, entry.metadata.watermark_ms)
    return None


def commit_ahead(scene: Scene) -> Proposals:
    planned, committed = scene.planned, scene.committed
    if str(scene.next_id) in scene.checkpoint.commit_names.directories:
        yield Repair(
            "set-aside-directory",
            f"Set the directory commits/{scene.next_id} aside",
            set_aside_alone(scene.root, layout.commits(scene.next_id), "it stands where the commit goes"),
        )
    elif planned is not None and committed is not None and committed > planned:
        title = f"Go back to the end of batch {planned}, the last whose offsets are there"
        if scene.has_commit(planned):
            yield rewind(scene, planned, id="rewind-to-batch", title=title)
        else:
            yield _set_aside_commits_above(scene, planned)
    elif planned is None and committed is not None:
        yield from start_over(scene)


def _set_aside_commits_above(scene: Scene, planned: int) -> Repair:
    names = scene.checkpoint.commit_names
    steps: list[Step] = []
    for number in sorted((number for number in names.ids if number > planned), reverse=True):
        steps.extend(set_aside(scene.root, layout.commits(number), "there are no offsets of this batch"))
    title = f"Set aside the commits above batch {planned}"
    return Repair("set-aside-commits", title, tuple(steps))


def file_for_directory(scene: Scene) -> Proposals:
    """What belongs below it was somewhere else, or is gone: without it the log is empty."""
    for fault in scene.checkpoint.faults:
        if fault.id == "not-a-directory":
            steps = set_aside(scene.root, fault.path, "a file stands where Spark makes a directory")
            yield Repair("set-aside-file", f"Set the file {fault.path} aside", steps)


def location_not_empty(scene: Scene) -> Proposals:
    """What a crash left of the first offsets is nothing; where more is there, or a sink has batches, they are lost."""
    known = any(sink.entry(sink.key) for sink in (view.sink for view in scene.witnesses) if sink.key)
    if scene.committed is not None or scene.checkpoint.operators or known:
        yield from start_over(scene)
        return
    steps = [
        step
        for path in left_in_logs(scene.checkpoint)
        for step in set_aside(scene.root, path, "a first batch wants offsets and commits to be empty")
    ]
    title = "Set aside what is left of a first batch that was never planned"
    yield Repair("set-aside-leftovers", title, tuple(steps))


def start_over(scene: Scene, lost: str = "the two newest offsets cannot be restored from a backup") -> Proposals:
    """Where the query began may still be in `sources/`; how far it had come is given up, or nobody knows."""
    id = START_OVER
    for sink in (view.sink for view in scene.witnesses):
        if sink.kind == "file" and sink.ledger:
            yield Refusal(
                id, f"{sink.path} skips batches by their number, and would skip those of a query that starts over"
            )
            return
        if sink.key_given and sink.entry(sink.key):
            yield Refusal(
                id, f"{sink.path} skips the batches of {sink.key}, and would skip those of a query that starts over"
            )
            return
    steps: list[Step] = []
    for name in (layout.STATE, layout.COMMITS, layout.OFFSETS):
        if name in scene.checkpoint.root_names:
            why = "a first batch wants offsets, commits and state to be empty"
            steps.extend(set_aside_alone(scene.root, name, why))
    why = "under the old id a sink would skip the new batches"
    steps.extend(id_steps(scene, new_id(scene), why))
    yield Repair(
        id,
        "Start over, under a new id, from where the sources began",
        tuple(steps),
        sinks=tuple(known_as(sink, new_id(scene)) for sink in scene.sinks),
        cost=UNKNOWN,
        conditions=(Condition("not-in-backup", lost),),
        trap="what the sources still have is read again, what they dropped is lost",
    )
