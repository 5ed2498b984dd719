"""The lines of a Delta source in the offset log, as Delta parses them: no table is needed for that. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.base import Order
from ckpttool.connectors.delta import EXAMPLES, KIND, DeltaOffset, deserialize
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.laws.base import RESTORE, Law
from ckpttool.model import Finding
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


def _odd(scene: Scene) -> Iterator[Finding]:
    """What Delta takes, though it never wrote it, and what takes it back: the newest range is not what it was."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source, earlier in beside(newest, before):
        if scene.is_continuous or scene.kind_of(source) != KIND or source.text is None or newest is None:
            continue
        path = layout.offsets(newest.id)
        try:
            end = deserialize(source.text)
            start = deserialize(earlier.text) if earlier and earlier.text is not None else None
        except MalformedFile:
            continue
        if not isinstance(source.offset, DeltaOffset):
            why = f"source {source.key}: the line lacks what Delta writes, and is taken for {end.summary()}"
            yield Finding("delta-offset-odd", "error", path, why, expected=EXAMPLES[0], next_step=_RESTORE)
        if start and start.table_id == end.table_id and end.order_to(start) in (Order.BEFORE, Order.MIXED):
            why = f"source {source.key} goes back from {start.summary()} to {end.summary()}: rows come twice"
            yield Finding("delta-offset-odd", "error", path, why, next_step=_RESTORE)


_RESTORE = "restore the line from a backup, or from the query's progress events"
TOLD = (
    Law(
        "delta-offset-odd",
        "a line of a Delta source that Delta takes, and reads other rows by than it had planned",
        look=_odd,
    ),
)
LAST_RANGE = (
    Law(
        "delta-offset-refused",
        "A Delta source parses the newest offsets and those before, and refuses what is no offset of its own.",
        "DeltaSourceOffset.Deserializer",
        _refused,
        symptom="a line of a Delta source is none that it takes",
        tells=("source-offset-malformed",),
        next_step=RESTORE,
        errors=(
            "DELTA_INVALID_SOURCE_OFFSET_FORMAT",
            "DELTA_INVALID_SOURCE_VERSION",
            "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION",
            "DeltaSourceOffset",
            "Should not deserialize END_INDEX",
            "InputCoercionException: Numeric value",
            "Cannot deserialize value of type `long` from",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=1,
    ),
)
