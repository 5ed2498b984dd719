"""Repairs of what sources keep, of leftovers that stand in the way, and of offsets that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.connectors.kafka import KafkaOffset
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.file_log import DEFAULT_COMPACT_INTERVAL, NO_FILES, compact_interval, is_compaction_id
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.kafka.positions import refusals
from ckpttool.laws.restart import predict_restart
from ckpttool.model import LogNames, SourceLog, SourceOffset
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import UNKNOWN, Cost
from ckpttool.plan.log_repairs import Proposals, drop_or_rewind, misnamed, newer_version
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, replace_file, set_aside, set_aside_alone, set_aside_checksum, write
from ckpttool.scene.batches import SourceProgress, beside, file_log_position
from ckpttool.scene.scene import Scene, highest
from ckpttool.scene.source_logs import log_of, missing_live_entries, newest_entry

_ENTRIES_WRITTEN = 1000
_NOT_TOO_OLD = Condition("files-not-too-old", "none of those files is so old that the source ignores it (maxFileAge)")
_NOT_TOLD = "the files it listed look new to the source, and are read again"


def leftover_checksum(scene: Scene) -> Proposals:
    """Of a file that is still to be written: Hadoop refuses to rename the new checksum onto it."""
    logs = [(layout.OFFSETS, scene.checkpoint.offset_names), (layout.COMMITS, scene.checkpoint.commit_names)]
    logs += [(layout.source(log.name), log.names) for log in scene.checkpoint.source_logs]
    steps: list[Step] = []
    for directory, names in logs:
        for name in names.orphan_crcs:
            steps.extend(set_aside(scene.root, f"{directory}/{name}", "the checksum of a file that is not there"))
    if steps:
        yield Repair("set-aside-leftover-checksum", "Set aside the checksums that no file belongs to", tuple(steps))


def offsets_place_taken(scene: Scene) -> Proposals:
    batch = scene.next_id
    if str(batch) in scene.checkpoint.offset_names.directories:
        why = "it stands where the offsets of the next batch go"
        steps = set_aside_alone(scene.root, layout.offsets(batch), why)
        yield Repair("set-aside-directory", f"Set the directory offsets/{batch} aside", steps)
    yield from leftover_checksum(scene)


# -- the log of a file source ------------------------------------------------------------------------------------------


def file_source_log(scene: Scene) -> Proposals:
    for log in scene.checkpoint.source_logs:
        yield from _torn_entries(scene, log)
        odd = highest(log.names)
        if odd is not None and odd > max(newest_entry(log) or 0, *log.names.ids[-1:], -1):
            yield misnamed(scene, layout.source(log.name), log.names, odd)
            return
        try:
            missing = missing_live_entries(log)
        except MalformedFile as error:
            yield Refusal(
                "rebuild-source-log", f"sources/{log.name}: {error.message}; set the stray compact file aside"
            )
            return
        if missing:
            yield _empty_entries(scene, log, missing)
            return


def _torn_entries(scene: Scene, log: SourceLog) -> Proposals:
    for fault in scene.checkpoint.faults:
        folder, _, name = fault.path.rpartition("/")
        if folder != layout.source(log.name):
            continue
        if newer := newer_version(scene, fault.path):
            yield newer
        elif fault.id != "source-log-torn":
            continue
        elif not name.isdecimal():
            yield _compact_refused(fault.path)
        elif int(name) == newest_entry(log) and int(name) > _read_up_to(scene, log):
            title = f"Set {fault.path} aside: no batch has read its files yet"
            steps = set_aside(scene.root, fault.path, "the file source finds them again")
            yield Repair("set-aside-source-log-entry", title, steps)
        else:
            yield _empty_entries(scene, log, [int(name)])


def _empty_entries(scene: Scene, log: SourceLog, numbers: list[int]) -> Repair | Refusal:
    try:
        interval = compact_interval(log.names.compact_ids, DEFAULT_COMPACT_INTERVAL)
    except MalformedFile as error:
        return Refusal("rebuild-source-log", f"sources/{log.name}: {error.message}")
    if compacted := [number for number in numbers if is_compaction_id(number, interval)]:
        return _compact_refused(layout.source_entry(log.name, layout.compact(compacted[0])))
    steps: list[Step] = []
    for number in numbers:
        path, content = layout.source_entry(log.name, number), NO_FILES
        if number in log.names.ids:
            steps.extend(replace_file(scene.root, path, content, "an entry without files"))
        else:
            steps.extend(set_aside_checksum(scene.root, path, "what is left of it"))
            steps.append(write(scene.root, path, content, "an entry without files, so that the log is whole"))
    pending = scene.is_replay and all(number > _read_before(scene, log) for number in numbers)
    if pending and (elsewhere := _listed_elsewhere(log, numbers)) is not None:
        misnamed = layout.source_entry(log.name, elsewhere)
        why = f"{misnamed} lists the files of {layout.source_entry(log.name, numbers[0])}, and they would never be read"
        return Refusal("empty-source-log-entry", why)
    held = scene.any_holds(scene.planned or 0) if pending else True
    spelled = ", ".join(layout.source_entry(log.name, number) for number in numbers[:3])
    return Repair(
        "empty-source-log-entry",
        f"Put an entry without files in the place of {spelled}{' and others' if len(numbers) > 3 else ''}",
        tuple(steps),
        cost=Cost(None, 0, 0 if held is False else None),
        conditions=(_NOT_TOO_OLD,),
        trap=_NOT_TOLD,
    )


def _listed_elsewhere(log: SourceLog, numbers: list[int]) -> int | None:
    """The entry that has the files of one of these: it was renamed, or copied."""
    others = (number for number in sorted(log.entries) if number not in numbers)
    return next((one for one in others if any(entry.batch_id in numbers for entry in log.entries[one])), None)


def _compact_refused(path: str) -> Refusal:
    why = "it repeats all entries before it: restore it from a backup, or list its files anew by hand"
    return Refusal("rebuild-source-log", f"{path}: {why}")


def _source_of(scene: Scene, batch: int | None, log: SourceLog) -> SourceProgress | None:
    found = scene.batch(batch)
    return next((one for one in (found.sources if found else ()) if (one.name or str(one.index)) == log.name), None)


def _read_up_to(scene: Scene, log: SourceLog) -> int:
    return _position(scene, scene.planned, log)


def _read_before(scene: Scene, log: SourceLog) -> int:
    return _position(scene, scene.previous, log)


def _position(scene: Scene, batch: int | None, log: SourceLog) -> int:
    source = _source_of(scene, batch, log)
    position = file_log_position(source) if source else None
    return -1 if position is None else position


def range_missing(scene: Scene) -> Proposals:
    """Entries that the newest batch's range names: what is not there cannot be read, so it is read later."""
    for log in _logs_in_use(scene):
        first, last = _read_before(scene, log) + 1, _read_up_to(scene, log)
        compacted = max(log.names.compact_ids, default=-1)
        asked = range(max(first, compacted + 1), min(last, first + _ENTRIES_WRITTEN) + 1)
        if gone := [number for number in asked if number not in log.names.ids]:
            yield _empty_entries(scene, log, gone)
    if scene.is_replay and scene.planned is not None:
        yield drop_or_rewind(scene, scene.planned)


def _logs_in_use(scene: Scene) -> Iterator[SourceLog]:
    """Those of file sources; empty where the newest batch's offset needs one and none is there."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        log = log_of(scene, source)
        if log is not None and log.names.ids and log.kind != "file":
            continue
        if file_log_position(source) is not None:
            yield log or SourceLog(source.name or str(source.index), "file", LogNames())


def source_log_gone(scene: Scene) -> Proposals:
    """Entries without files up to the offset: the source goes on counting from there, and finds all files again."""
    for log in _logs_in_use(scene):
        up_to = _read_up_to(scene, log)
        if gone := [number for number in range(min(up_to, _ENTRIES_WRITTEN) + 1) if number not in log.names.ids]:
            yield _empty_entries(scene, log, gone)


# -- offsets and beginnings that are none ------------------------------------------------------------------------------


def impossible_offsets(scene: Scene) -> Proposals:
    planned = scene.planned
    if planned is None:
        return
    if scene.committed == planned and not scene.is_stateful:
        yield from _without_sentinels(scene, planned)
    yield drop_or_rewind(scene, planned)


def _without_sentinels(scene: Scene, planned: int) -> Iterator[Repair]:
    """The next batch begins where the batch before began: rows come twice, and none is left out."""
    newest, before = scene.batch(planned), scene.batch(planned - 1)
    if newest is None or newest.entry is None or before is None:
        return
    sources = [
        SourceOffset(source.index, source.name, _mended(source, start.offset if start else None))
        for source, start in beside(newest, before)
    ]
    texts = [source.text for source in sources]
    if None in texts or texts == [source.text for source in newest.sources]:
        return
    path = layout.offsets(planned)
    content = encode_offset_log(replace(newest.entry, sources=tuple(sources)))
    why = f"-1 and -2 are no offsets, and offsets/{planned - 1} has the last that were"
    yield Repair(
        "replace-sentinels",
        f"Let those partitions go on from where offsets/{planned - 1} has them",
        replace_file(scene.root, path, content, why),
        cost=Cost(None, 0, None),
    )


def _mended(source: SourceProgress, start: object) -> str | None:
    offset = source.offset
    if not isinstance(offset, KafkaOffset) or not offset.problems():
        return source.text
    if not isinstance(start, KafkaOffset) or start.problems():
        return None
    topics = {
        topic: {
            str(number): position if position >= 0 else start.topics.get(topic, {}).get(number)
            for number, position in partitions.items()
        }
        for topic, partitions in offset.topics.items()
    }
    if any(position is None for partitions in topics.values() for position in partitions.values()):
        return None
    return json.dumps(topics, separators=(",", ":"))


def initial_offset_unusable(scene: Scene) -> Proposals:
    """Until batch 0 is committed a source asks this file where it begins, and without it its options."""
    refused = {one.path for one in refusals(scene)}
    for log in scene.checkpoint.source_logs:
        path = layout.source_entry(log.name, 0)
        if log.kind != "file" and (scene.fault(path) or path in refused):
            yield Repair(
                "forget-beginning",
                f"Set {path} aside, and let the source begin where its options say",
                set_aside(scene.root, path, "it is not an offset"),
                cost=UNKNOWN,
                trap="with the default, `latest`, everything before now is left out",
            )


def restore_from_backup(_: Scene) -> Proposals:
    yield Refusal(
        "restore-from-backup", "what is gone is nowhere else: restore it from a backup of the same checkpoint"
    )


def no_edit_helps(scene: Scene) -> Proposals:
    restart = predict_restart(scene)
    yield Refusal("edit-files", f"no edit of the checkpoint helps here: {'; '.join(restart.why)}")
