"""The lines of a Delta source in the offset log, as Delta parses them: no table is needed for that. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.delta import KIND, deserialize
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.laws.base import RESTORE, Law
from ckpttool.scene.batches import SourceProgress, beside
from ckpttool.scene.scene import Failure, Phase, Scene


def _refused(scene: Scene) -> Failure | None:
    """The end is parsed before the start: when the query starts, if its range is asked for then, else in its batch."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    if scene.is_continuous:
        return None
    for source, earlier in beside(newest, before):
        if scene.kind_of(source) != KIND or source.text is None:
            continue
        for batch_id, text in _parsed(scene, source, earlier):
            try:
                deserialize(text)
            except MalformedFile as error:
                return _failure(
                    scene, error, batch_id, asked_when(scene, earlier.text if earlier else None, source.text)
                )
    return None


def _parsed(scene: Scene, end: SourceProgress, start: SourceProgress | None) -> Iterator[tuple[int | None, str]]:
    for batch_id, line in ((scene.planned, end), (scene.previous, start)):
        if line is not None and line.text is not None:
            yield batch_id, line.text


def asked_when(scene: Scene, start: object, end: object) -> Phase:
    """A committed range is asked for when the query starts; so is one that runs again and is empty, or the first."""
    follows = scene.committed is not None and scene.committed + 1 == scene.planned
    return "init" if not scene.is_replay or (follows and start in (None, end)) else "batch"


def _failure(scene: Scene, error: MalformedFile, batch_id: int | None, phase: Phase) -> Failure:
    path = layout.offsets(batch_id or 0)
    why = f"the Delta source's line in {path} is refused: {error.message}"
    spark = error.spark
    assert spark
    batch = scene.next_id if phase == "batch" else None
    return Failure(phase, spark.class_name, spark.condition, "", why, batch, path=path, expected=error.expected)


LAST_RANGE = (
    Law(
        "delta-offset-refused",
        "A Delta source parses the newest offsets and those before, and refuses what is no offset of its own.",
        "DeltaSourceOffset.Deserializer",
        _refused,
        symptom="a line of a Delta source is none that it takes",
        tells=("source-offset-malformed",),
        next_step=RESTORE,
    ),
)
