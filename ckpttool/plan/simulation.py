"""What a checkpoint is after some steps, without touching it: the ways out are tried here before they are told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from msgspec.structs import replace

from ckpttool.connectors.kafka import has_beginning
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.commits import parse_commit_log
from ckpttool.formats.file_log import parse_source_log
from ckpttool.formats.initial_offset import parse_initial_offset
from ckpttool.formats.metadata import parse_metadata
from ckpttool.formats.names import parse_log_names
from ckpttool.formats.offsets import parse_offset_log
from ckpttool.model import Checkpoint, LogNames, SourceLog
from ckpttool.plan.states import without
from ckpttool.plan.steps import Conf, Copy, Move, SetAside, Step, Write, is_outside
from ckpttool.scene.batches import decode_batches
from ckpttool.scene.evidence import infer_mode
from ckpttool.scene.scene import Scene, Start

Entry = TypeVar("Entry")
Known = TypeVar("Known")


def after_steps(scene: Scene, steps: Sequence[Step]) -> Scene:
    """Sinks are not followed here: a repair says itself what it makes of them."""
    checkpoint, start, states = scene.checkpoint, scene.start, scene.states
    for kind, group in groupby(steps, type):
        several = list(group)
        if kind is SetAside:
            gone = {step.path for step in several if isinstance(step, SetAside)}
            checkpoint = _without(checkpoint, gone)
            states = without(states, gone)
        for step in several:
            if isinstance(step, Move):
                checkpoint = _moved(checkpoint, scene.checkpoint, step.path, step.to)
            elif isinstance(step, Write) and not is_outside(step.path):
                checkpoint = _with(checkpoint, step.path, step.content.encode())
            elif isinstance(step, Conf):
                start = _under(start, step)
    batches = decode_batches(checkpoint)
    kinds = {} if any(map(_may_move_sources, steps)) else scene.evidence.kinds_told
    mode, reason = infer_mode(checkpoint, batches)  # whoever looks then has nothing else to tell it by
    known = replace(scene.evidence, checkpoint=checkpoint, batches=batches, mode=mode, mode_reason=reason)
    evidence = replace(known, kinds_before=kinds)
    return replace(scene, evidence=evidence, start=start, states=states)


def _may_move_sources(step: Step) -> bool:
    """Whether a source may have another number after it."""
    return isinstance(step, Move) or (isinstance(step, Write) and step.path.startswith(f"{layout.OFFSETS}/"))


def born(scene: Scene, target: str, steps: Iterable[Step]) -> Scene:
    """At another place, with what is copied there, and nothing else."""
    there, here = Checkpoint(target, None), scene.checkpoint
    for path in (step.path for step in steps if isinstance(step, Copy)):
        there = _with_copied(there, here, path)
    return replace(scene, evidence=replace(scene.evidence, checkpoint=there, batches=decode_batches(there)))


def _with_copied(there: Checkpoint, here: Checkpoint, path: str) -> Checkpoint:
    top, _, rest = path.partition("/")
    parts: dict[str, Checkpoint] = {
        layout.OFFSETS: replace(there, offset_names=here.offset_names, offsets=here.offsets),
        layout.COMMITS: replace(there, commit_names=here.commit_names, commits=here.commits),
        layout.SOURCES: replace(there, source_logs=(*there.source_logs, *_logs(here, rest))),
        layout.STATE: replace(there, operators=here.operators, has_state_directory=here.has_state_directory),
    }
    there = parts.get(top, there)
    return replace(
        there,
        root_names=tuple(sorted({*there.root_names, top})),
        raw={**there.raw, **_below(here.raw, path)},
        modified_ms={**there.modified_ms, **_below(here.modified_ms, path)},
        faults=(*there.faults, *(fault for fault in here.faults if _is_in(fault.path, {path}))),
    )


def _logs(here: Checkpoint, name: str) -> Iterable[SourceLog]:
    return (log for log in here.source_logs if name in ("", log.name))


def _below(known: Mapping[str, Known], path: str) -> dict[str, Known]:
    return {one: value for one, value in known.items() if _is_in(one, {path})}


def _under(start: Start, step: Conf) -> Start:
    """The session's settings have long names; the others are options of the writer, or of the sources."""
    if step.k.startswith("spark."):
        return replace(start, conf={**start.conf, step.k: step.v})
    return start.given(step.k, step.v)


def _without(checkpoint: Checkpoint, paths: Collection[str]) -> Checkpoint:
    gone: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        gone.setdefault(folder, set()).add(name)
    offsets, commits = gone.get(layout.OFFSETS, set()), gone.get(layout.COMMITS, set())
    checkpoint = replace(
        checkpoint,
        faults=tuple(fault for fault in checkpoint.faults if not _is_in(fault.path, paths)),
        modified_ms={path: time for path, time in checkpoint.modified_ms.items() if not _is_in(path, paths)},
        raw={path: body for path, body in checkpoint.raw.items() if not _is_in(path, paths)},
        offset_names=_renamed(checkpoint.offset_names, offsets),
        offsets=_lacking(checkpoint.offsets, offsets),
        commit_names=_renamed(checkpoint.commit_names, commits),
        commits=_lacking(checkpoint.commits, commits),
        source_logs=tuple(
            _without_entries(log, gone.get(layout.source(log.name)))
            for log in checkpoint.source_logs
            if log.name not in gone.get(layout.SOURCES, ())
        ),
    )
    for name in gone.get("", ()):
        checkpoint = _without_root_name(checkpoint, name)
    return checkpoint


def _without_root_name(checkpoint: Checkpoint, name: str) -> Checkpoint:
    emptied: dict[str, Checkpoint] = {
        layout.METADATA: replace(checkpoint, metadata=None),
        layout.OFFSETS: replace(checkpoint, offset_names=LogNames(), offsets={}),
        layout.COMMITS: replace(checkpoint, commit_names=LogNames(), commits={}),
        layout.SOURCES: replace(checkpoint, source_logs=()),
        layout.STATE: replace(checkpoint, operators=(), has_state_directory=False),
    }
    checkpoint = emptied.get(name, checkpoint)
    return replace(checkpoint, root_names=tuple(one for one in checkpoint.root_names if one != name))


def _without_entries(log: SourceLog, gone: set[str] | None) -> SourceLog:
    if not gone:
        return log
    stems = {name.removesuffix(layout.COMPACT_SUFFIX) for name in gone}
    initial = None if "0" in gone else log.initial
    return replace(log, names=_renamed(log.names, gone), initial=initial, entries=_lacking(log.entries, stems))


def _moved(checkpoint: Checkpoint, before: Checkpoint, path: str, to: str) -> Checkpoint:
    """A source's own directory, as it was before anything was set aside."""
    old, new = layout.source_of(path), layout.source_of(to)
    if old is None or new is None:
        raise MalformedFile(f"{path} is not moved by any repair", expected="a source's directory")
    added = [replace(log, name=new) for log in before.source_logs if log.name == old]
    logs = [log for log in checkpoint.source_logs if log.name != new]
    return replace(
        checkpoint,
        source_logs=tuple(sorted((*logs, *added), key=lambda log: log.name)),
        raw={**checkpoint.raw, **_renamed_paths(before.raw, path, to)},
        modified_ms={**checkpoint.modified_ms, **_renamed_paths(before.modified_ms, path, to)},
    )


def _renamed_paths(known: Mapping[str, Known], path: str, to: str) -> dict[str, Known]:
    return {f"{to}{one.removeprefix(path)}": value for one, value in known.items() if one.startswith(f"{path}/")}


def _with(checkpoint: Checkpoint, path: str, content: bytes) -> Checkpoint:
    """A file that we write is sound, so what cannot be parsed is a mistake of ours and shows as one."""
    folder, _, name = path.rpartition("/")
    faults = tuple(fault for fault in checkpoint.faults if fault.path != path)
    checkpoint = replace(checkpoint, faults=faults, raw={**checkpoint.raw, path: content})
    if path == layout.METADATA:
        root_names = tuple(sorted({*checkpoint.root_names, name}))
        return replace(checkpoint, metadata=parse_metadata(content), root_names=root_names)
    if folder.startswith(f"{layout.STATE}/") or layout.is_schema_log(folder):
        return checkpoint  # where it is one of those that name files, these follow
    number = layout.number_of(path)
    if folder == layout.OFFSETS:
        offsets = {**checkpoint.offsets, number: parse_offset_log(content, number)}
        names = _renamed(checkpoint.offset_names, new=name)
        return replace(checkpoint, offset_names=names, offsets=dict(sorted(offsets.items())))
    if folder == layout.COMMITS:
        commits = {**checkpoint.commits, number: parse_commit_log(content, number)}
        names = _renamed(checkpoint.commit_names, new=name)
        return replace(checkpoint, commit_names=names, commits=dict(sorted(commits.items())))
    if source := layout.source_of(folder):
        logs = {log.name: log for log in checkpoint.source_logs}
        log = logs.get(source) or SourceLog(source, "file", LogNames())
        if has_beginning(content):
            log = SourceLog(source, "kafka", LogNames((number,)), parse_initial_offset(content))
            return replace(checkpoint, source_logs=tuple((logs | {log.name: log}).values()))
        log = replace(
            log,
            kind="file",
            names=_renamed(log.names, new=name),
            entries={**log.entries, number: parse_source_log(content)},
        )
        return replace(checkpoint, source_logs=tuple((logs | {log.name: log}).values()))
    raise MalformedFile(f"{path} is not written by any repair", expected="a log's file")


def _renamed(names: LogNames, gone: Collection[str] = (), new: str | None = None) -> LogNames:
    """The names sorted out anew, directories still told apart from files."""
    if not gone and new is None:
        return names
    files = [*map(str, names.ids), *(name for name in names.others if name not in names.directories)]
    left = [name for name in files if name not in gone and name != new]
    sorted_out = parse_log_names([*left, new] if new else left)
    return replace(
        sorted_out,
        directories=tuple(name for name in names.directories if name not in gone),
        without_crc=tuple(name for name in names.without_crc if name not in gone and name != new),
    )


def _lacking(entries: Mapping[int, Entry], gone: Collection[str]) -> dict[int, Entry]:
    return {number: entry for number, entry in entries.items() if str(number) not in gone}


def _is_in(path: str, gone: Collection[str]) -> bool:
    """Itself, or a directory around it."""
    parts = path.split("/")
    return any("/".join(parts[:count]) in gone for count in range(1, len(parts) + 1))
