"""Who else wrote to the checkpoint."""

from __future__ import annotations

from ckpttool.causes.base import KnownCause, Sign, Symptoms
from ckpttool.formats import layout
from ckpttool.laws.two_queries import written_late
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene
from ckpttool.words import listed

_TWO, _HAND = "two-writers", "hand-edited-log"
_OF_CONTENT = ("offset-regression", "conf-drift-in-log", "watermark-regression", "partitions-gone", "offset-file-torn")
_RUNS = "the orchestrator's runs at that time: two applications with this checkpointLocation"


def _two_drivers(symptoms: Symptoms) -> Sign | None:
    """Writes that were begun twice may be of one driver that was killed twice there; a batch that is planned after the
    one behind it was committed is of another one."""
    told, scene = symptoms.of(_TWO), symptoms.scene
    if not told:
        return None
    late = next(written_late(scene), None)
    what = "; ".join(f"{one.path}: {one.message.partition(':')[0]}" for one in told)
    if late is not None:
        batch, after = scene.batch(late), scene.batch(late + 1)
        if batch and after and (batch.logged_ms or 0) > (after.committed_ms or 0):
            return Sign("certain", f"batch {late} was planned after batch {late + 1} was committed")
        if symptoms.of("hand-edited-log"):
            return None
    if symptoms.of("sink-batch-twice") or (late is not None and len(told) > 1):
        return Sign("likely", what, would_tell=_RUNS)
    return Sign("possible", what, would_tell=_RUNS)


def _another_query(symptoms: Symptoms) -> Sign | None:
    told = symptoms.of("foreign-query")
    return Sign("certain", told[0].message) if told else None


def _edited(symptoms: Symptoms) -> Sign | None:
    """Its checksum is of what was there before, or the file is younger than its batch while all others are not. What
    ckpt apply changes it says itself."""
    scene = symptoms.scene
    stale = scene.around.stale_checksums if scene.around else ()
    if stale and symptoms.of(_HAND):
        about = tuple(one for one in symptoms.findings if one.id == _HAND or one.path in stale)
        told = f"{listed(stale)}: not what the checksum beside it was made of"
        return Sign("certain", told, (*about, *_of_order(symptoms, about)))
    young = [] if layout.OWN_DIRECTORY in scene.checkpoint.root_names else _younger_than_its_batch(scene)
    about = tuple(one for one in symptoms.findings if one.id in _OF_CONTENT and one.path in map(layout.offsets, young))
    if not about:
        return None
    told = f"{listed(map(layout.offsets, young))}: written long after the batch was planned, as no other"
    return Sign("likely", told, about, "who has written there: the store's access log, or the shell's history")


def _younger_than_its_batch(scene: Scene) -> list[int]:
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    late = [one.id for one in timed if one.is_late]
    return late if len(late) < len(timed) - len(late) else []


def _of_order(symptoms: Symptoms, about: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What follows from the numbers in those files."""
    return tuple(one for one in symptoms.of(*_OF_CONTENT, _TWO) if one not in about)


CAUSES = (
    KnownCause(
        "edited-by-hand",
        "somebody has edited a file of the checkpoint by hand",
        "Offsets that were set back to read once more, a commit that was copied to skip a batch, a pinned value that"
        " was changed: Spark takes it, and what fits no more comes out later. On a local disk Hadoop's checksum beside"
        " the file is of what was there before.",
        "a checksum that is not the file's, or one file that is younger than its batch and disagrees with its"
        " neighbours",
        (_HAND, *_OF_CONTENT, _TWO),
        _edited,
        "ask what was meant by it; put the file back as it was, or let ckpt plan make the change, which ckpt undo takes"
        " back",
        "ckpt diff {path} BACKUP",
        never=("start-over",),
    ),
    KnownCause(
        "another-query",
        "another query has used this checkpoint",
        "A job was copied and its checkpointLocation was not changed, or a notebook tried something in the place of the"
        " job. Each goes on where the other stood: batches of one are missing in the sink of the other, and deleting"
        " the checkpoint each time, as people do, loses or doubles more.",
        "what a source reads changes to something else, and back",
        (
            "foreign-query",
            "partitions-gone",
            "partitions-added",
            "partition-flap",
            "source-kind-changed",
            "source-count-changed",
            "offset-regression",
            "watermark-regression",
            "conf-drift-in-log",
        ),
        _another_query,
        "give each query a checkpointLocation of its own; this one goes back to before the first batch of the other",
        "ckpt log {path}",
        never=("start-over",),
    ),
    KnownCause(
        "two-drivers",
        "two drivers wrote to this checkpoint at once",
        "An orchestrator's retry while the first run was alive, a second schedule, a notebook beside the job, a driver"
        " that lost its cluster manager and not its life. On a store that renames by copying neither of them fails:"
        " each plans batches that the other does not know of, and sinks that know the query by its id skip one of"
        " them.",
        "offsets that were planned after the batch behind them was committed, or writes of one file that were begun"
        " twice",
        (_TWO, "commit-ahead-of-offset", "sink-batch-twice", "offset-regression", "leftover-temporary-file"),
        _two_drivers,
        "stop every driver that has this checkpointLocation, and start one",
        "ckpt log {path}",
        never=("start-over",),
    ),
)
