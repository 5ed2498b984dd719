"""Two queries that take turns on one checkpoint: what a source reads becomes something else, and comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.renames import number_of_temporary
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, listed, shown, spell_batches

_TICK_MS = 1_000
_OF_MANY = ("integer", "python", "unknown", "socket-continuous")  # what sources of several kinds write


class _Turn(Struct):
    """Batches that have something in common with each other, one after the other."""

    reads: frozenset[str]
    batches: list[int]


def _reads(source: SourceProgress) -> frozenset[str]:
    """By name, else by kind; empty where the offset does not tell."""
    if source.offset is None or source.offset.kind in _OF_MANY or source.offset.problems():
        return frozenset()
    return frozenset(source.offset.reads()) or frozenset([f"a {source.offset.kind} source"])


def _turns(scene: Scene, key: str) -> list[_Turn]:
    turns: list[_Turn] = []
    for batch in scene.evidence.batches:
        reads = next((_reads(source) for source in batch.sources if source.key == key), frozenset[str]())
        if not reads:
            continue
        if turns and turns[-1].reads & reads:
            turns[-1].reads |= reads
            turns[-1].batches.append(batch.id)
        else:
            turns.append(_Turn(reads, [batch.id]))
    return turns


def _look(scene: Scene) -> Iterator[Finding]:
    newest = scene.evidence.newest
    for source in newest.sources if newest else ():
        turns = _turns(scene, source.key)
        back = next((turn for turn in turns if any(turn.reads & other.reads for other in _apart(turns, turn))), None)
        if back is None:
            continue
        mine = [turn for turn in turns if turn.reads & back.reads]
        others = [turn for turn in turns if not turn.reads & back.reads]
        yield Finding(
            id="foreign-query",
            severity="error",
            path=layout.offsets(others[-1].batches[-1]),
            message=f"two queries have used this checkpoint in turn: {_spell(mine)}, {_spell(others)}",
            expected="a checkpoint for each query",
            next_step="stop both. Keep this checkpoint for one of them, rewound to before the first batch of the other,"
            " and give the other a checkpointLocation of its own",
        )


def _apart(turns: list[_Turn], turn: _Turn) -> list[_Turn]:
    """Later turns that others lie before."""
    return turns[turns.index(turn) + 2 :]


def _spell(turns: list[_Turn]) -> str:
    batches = sorted(batch for turn in turns for batch in turn.batches)
    verb = "reads" if len(batches) == 1 else "read"
    reads = listed(sorted(map(shown, frozenset().union(*(turn.reads for turn in turns)))))
    return f"{spell_batches(batches)} {verb} {reads}"


def _two_writers(scene: Scene) -> Iterator[Finding]:
    """One query writes a file of a log at a time, and the offsets of a batch before the commit of the next one."""
    logs = ((layout.OFFSETS, scene.checkpoint.offset_names), (layout.COMMITS, scene.checkpoint.commit_names))
    for log, names in logs:
        begun = Counter(number_of_temporary(name) for name in names.temporary)
        newest = max((number for number, times in begun.items() if number is not None and times > 1), default=None)
        if newest is not None:
            what = f"{counted(begun[newest], 'write')} of {log}/{newest} were begun and not ended"
            yield _told_of_two(f"{log}/{newest}", f"{what}: by two drivers, or by one that was killed there each time")
    if late := next(written_late(scene), None):
        why = f"it was written after commits/{late + 1}: another driver was at work, or somebody has put it back"
        yield _told_of_two(layout.offsets(late), why)


def written_late(scene: Scene) -> Iterator[int]:
    """Batches whose offsets are younger than the commit of the next one. Only by times that are those of the batches
    themselves: copies have others."""
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    if scene.mode != "microbatch" or not all(one.is_timely for one in timed):
        return
    for batch, after in pairwise(timed):
        if after.id == batch.id + 1 and after.committed_ms and (batch.written_ms or 0) > after.committed_ms + _TICK_MS:
            yield batch.id


def _told_of_two(path: str, message: str) -> Finding:
    step = "stop every driver that has this checkpointLocation (an orchestrator's retry?) and start one"
    return Finding("two-writers", "warning", path, message, expected="one driver at a time", next_step=step)


HEALTH = (
    Law(
        "two-writers",
        "two drivers seem to write this checkpoint at once",
        look=_two_writers,
        severities=("warning",),
        needs="batches",
        errors=(
            "CONCURRENT_STREAM_LOG_UPDATE",
            "Multiple streaming queries are concurrently using",
            "Concurrent update to the log. Multiple streaming jobs detected for",
            "DELTA_CONCURRENT_TRANSACTION",
            "ConcurrentTransactionException",
        ),
        often=3,
    ),
)
LAWS = (
    Law(
        "foreign-query",
        "what a source reads changes to something else and back: two queries share the checkpoint",
        look=_look,
        needs="batches",
    ),
)
