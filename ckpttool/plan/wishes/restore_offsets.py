"""`restore-offsets`: offsets that are lost, from what the query told of the batch while it ran."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.progress import BatchProgress
from ckpttool.model import OffsetLogEntry
from ckpttool.plan.log_repairs import put_offsets
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, set_aside_checksum
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene

_ID = "restore-offsets"


class RestoreOffsets(Wish, frozen=True, tag="restore-offsets"):
    """What the progress told is kept, so that its file is not needed where the plan is carried out."""

    progress: BatchProgress

    def repair(self, scene: Scene) -> Repair | Refusal:
        told, path = self.progress, layout.offsets(self.progress.batch_id)
        pattern = _neighbour(scene, told.batch_id)
        if pattern is None or pattern.metadata is None:
            return Refusal(_ID, f"of the offsets around {path} none can be read: they have the query's configuration")
        if why := next(_misfit(scene, told, pattern), None):
            return Refusal(_ID, f"{path}: {why}")
        metadata = replace(pattern.metadata, watermark_ms=told.watermark_ms, timestamp_ms=told.timestamp_ms)
        sources = tuple(replace(source, text=text) for source, text in zip(pattern.sources, told.ends, strict=True))
        entry = replace(pattern, batch_id=told.batch_id, metadata=metadata, sources=sources)
        if scene.has_offsets(told.batch_id):
            if _same(entry, scene.checkpoint.offsets[told.batch_id]):
                return Repair(_ID, f"Leave {path} as it is", ())
            return Refusal(_ID, f"{path} is there, can be read, and says something else")
        why = f"the query told so when it ran batch {told.batch_id}"
        left = () if told.batch_id in scene.checkpoint.offset_names.ids else _stale(scene, path)
        steps = (*left, *put_offsets(scene, path, entry, why))
        return Repair(_ID, f"Write {path} again, from the query's progress", steps)


def _stale(scene: Scene, path: str) -> tuple[Step, ...]:
    return set_aside_checksum(scene.root, path, "the checksum of a file that is not there")


def _neighbour(scene: Scene, batch: int) -> OffsetLogEntry | None:
    """The offsets next to it, which have as many sources and what Spark pins."""
    return next(filter(None, map(scene.entry, (batch - 1, batch + 1))), None)


def _misfit(scene: Scene, told: BatchProgress, pattern: OffsetLogEntry) -> Iterator[str]:
    metadata = scene.checkpoint.metadata
    if scene.is_async or scene.is_continuous:
        yield "with asynchronous progress or continuous processing the progress tells other offsets than the log"
    if metadata is not None and metadata.id != told.query_id:
        yield f"the progress is of query {told.query_id}, and this is {metadata.id}"
    if len(told.ends) != len(pattern.sources):
        yield f"the progress has {len(told.ends)} sources, and the query {len(pattern.sources)}"
    if len(pattern.sources) > 1 and any(source.name for source in pattern.sources):
        yield "the sources have names, and the progress does not say which is which"
    before, after = scene.entry(told.batch_id - 1), scene.entry(told.batch_id + 1)
    if before and any(_value(one.text) != _value(text) for one, text in zip(before.sources, told.starts, strict=False)):
        yield f"the progress begins elsewhere than {layout.offsets(told.batch_id - 1)} ends"
    if after and told.timestamp_ms > (after.metadata.timestamp_ms if after.metadata else told.timestamp_ms):
        yield f"the progress is younger than {layout.offsets(told.batch_id + 1)}"


def _same(one: OffsetLogEntry, other: OffsetLogEntry) -> bool:
    return [_value(source.text) for source in one.sources] == [_value(source.text) for source in other.sources]


def _value(text: str | None) -> object:
    """The same offset may be spelled in several ways."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text
