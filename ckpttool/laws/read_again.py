"""What was read, or will be, a second time, because the checkpoint forgot where a source was. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.base import TopicOffset
from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding, SourceLog
from ckpttool.scene.scene import RATE, Scene
from ckpttool.words import listed, spell_batches

_CRASHED_MS = 600_000  # a first start that failed writes no offsets either, and somebody is at it
_START_OVER = "to start over, remove sources/ as well (or take another checkpointLocation). Otherwise restore the logs"


def _flap(scene: Scene) -> Iterator[Finding]:
    """A partition that is gone from one batch's offsets and back in a later one's."""
    newest = scene.evidence.newest
    for source in newest.sources if newest else ():
        away: dict[str, list[int]] = {}
        back: dict[str, int] = {}
        known: set[str] = set()
        for batch in scene.evidence.batches:
            offset = next((one.offset for one in batch.sources if one.key == source.key), None)
            if not isinstance(offset, TopicOffset) or not offset.positions():
                continue
            here = set(offset.positions())
            for part in known - here:
                away.setdefault(part, []).append(batch.id)
            back.update((part, batch.id) for part in here & away.keys() if part not in back)
            known |= here
        if back:
            part, batch_id = next(iter(sorted(back.items())))
            yield Finding(
                "partition-flap",
                "warning",
                layout.offsets(batch_id),
                f"{listed(sorted(back))} had no offset in {spell_batches(away[part])} and has one again: batch"
                f" {batch_id} began there with the earliest record, and what had been read came again",
                expected="every partition in each batch, once it was there",
                next_step="see what hid it then (a recreated topic, a subscription, a broker that answered in part),"
                " and take the rows out of the sink that are there twice",
            )


def _half_reset(scene: Scene) -> Iterator[Finding]:
    """Both logs are gone, and what the sources keep is not: they begin as it says, whatever their options say."""
    if scene.planned is not None or scene.committed is not None:
        return
    for log in scene.checkpoint.source_logs:
        if told := _beginning_of(scene, log):
            path = layout.source(log.name)
            yield Finding("half-reset", "warning", path, told, expected="no sources/", next_step=_START_OVER)


def _beginning_of(scene: Scene, log: SourceLog) -> str | None:
    newest = max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=0)
    if log.kind == "file" and newest > 0:
        return f"no batch is in the logs, and this source has {newest + 1} entries: the first batch reads them all"
    if log.kind in ("file", RATE) or log.initial is None:
        return None
    written = scene.checkpoint.modified_ms.get(layout.source_entry(log.name, 0))
    if scene.now_ms is None or written is None or scene.now_ms - written < _CRASHED_MS:
        return None
    return (
        f"no batch is in the logs, and this source has where it began once ({log.initial.text.strip()[:60]}): it begins"
        " there again, and startingOffsets counts for nothing"
    )


HEALTH = (
    Law("partition-flap", "a partition was away and is back", look=_flap, severities=("warning",), needs="batches"),
    Law(
        "half-reset",
        "the logs were removed, and what the sources keep was not",
        look=_half_reset,
        severities=("warning",),
        needs="clock",
    ),
)
