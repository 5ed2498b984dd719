"""The socket source. It counts the rows of one connection, keeps none, and lets go of what is told to be done: a
restart counts from the beginning again, and is held against the rows of a connection that is no more."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.ordinal import OrdinalOffset
from ckpttool.connectors.socket_continuous import SocketContinuousOffset
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.formats.names import parse_long
from ckpttool.laws.base import REQUIREMENT, Law
from ckpttool.model import Finding, SparkError
from ckpttool.releases import since
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.scene import SOCKET, Failure, Scene
from ckpttool.words import counted

_GONE = "java.lang.IndexOutOfBoundsException"
_ANEW = "read from something that keeps its rows. To go on with a socket, start with a new checkpoint"


def _sources(scene: Scene) -> Iterator[SourceProgress]:
    newest = scene.batch(scene.committed if scene.is_continuous else scene.planned)
    return (source for source in newest.sources if scene.kind_of(source) == SOCKET) if newest else iter(())


def _rows_done(scene: Scene) -> int | None:
    """How many rows the source is told to let go of. None: it is not told so."""
    if scene.is_replay or scene.is_continuous:
        return None
    ends = [source.offset.position for source in _sources(scene) if isinstance(source.offset, OrdinalOffset)]
    return ends[0] + 1 if ends else None


def _stopped(scene: Scene) -> Failure | None:
    if scene.is_continuous:
        return _other_partitions(scene)
    path = layout.offsets(scene.planned or 0)
    for source in _sources(scene):
        if source.text is not None and parse_long(source.text) is None:
            why = f"source {source.key} in {path} is no number of a row"
            error = "java.lang.NumberFormatException"
            return Failure("batch", error, None, "For input string", why, scene.next_id, path=path)
    done = _rows_done(scene)
    if not done or scene.release >= since.SCALA_2_13:
        return None
    why = f"the socket source is to let go of {counted(done, 'row')} of a connection that is no more"
    return Failure("batch", _GONE, None, f"at 0 deleting {done}", why, scene.next_id, path=path)


def _other_partitions(scene: Scene) -> Failure | None:
    for source in _sources(scene):
        given, offset = parse_long(scene.start.of(source.key).option("numPartitions") or ""), source.offset
        if given is None or not isinstance(offset, SocketContinuousOffset) or len(offset.rows) == given:
            continue
        message = f"The previous run contained {len(offset.rows)} partitions, but {given} partitions are currently"
        why = f"the socket source had {counted(len(offset.rows), 'partition')}, and numPartitions asks for {given}"
        return Failure("init", REQUIREMENT, None, message, why, path=layout.offsets(scene.committed or 0))
    return None


def _look(scene: Scene) -> Iterator[Finding]:
    stop = _stopped(scene)
    path = layout.offsets(scene.planned or 0)
    for source in _sources(scene):
        why = stop.why if stop else _lost(scene, source)
        spark = stop.spark if stop else SparkError(ILLEGAL_STATE) if _rows_done(scene) else None
        if why is not None:
            yield Finding("socket-begins-anew", "error", path, why, "a source that keeps its rows", _ANEW, spark=spark)


def _lost(scene: Scene, source: SourceProgress) -> str | None:
    if scene.is_continuous or scene.planned is None:
        return None
    path = layout.offsets(scene.planned)
    if scene.is_replay:
        rows = source.step.amount if source.step else None
        if rows == 0 or not isinstance(source.offset, OrdinalOffset) or source.offset.position < 0:
            return None
        lost = "its rows" if rows is None else counted(rows, "row")
        return f"batch {scene.planned} runs again without {lost}: the socket source has none of an earlier connection"
    if _rows_done(scene):
        return (
            f"batch {scene.next_id} reads nothing and ends at -1, and the next one is not planned: Offsets committed"
            f" out of order: {source.text} followed by -1"
        )
    return f"the source begins at -1 again, where {path} ends: no batch is new to it, and it connects only for one"


PLANNED = (
    Law(
        "socket-begins-anew",
        "A socket source has none of the rows that the offsets count, and is told to let go of them.",
        "TextSocketMicroBatchStream.commit, TextSocketContinuousStream.planInputPartitions",
        _stopped,
        symptom="a socket source is restarted, and counts from the beginning",
        look=_look,
        next_step=_ANEW,
        errors=("IndexOutOfBoundsException: at 0 deleting", "Offsets committed out of order"),
        often=1,
    ),
)
