"""The connectors of Kinesis, whose next batch begins where the tasks of the newest one say that they came."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.kinesis import KIND, OF_AWSLABS, KinesisOffset
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import RESTORE, Law
from ckpttool.model import Finding, ShardCommits, SparkError
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.source_logs import log_of
from ckpttool.words import counted, listed

_NONE = "Unable to fetch committed metadata from previous batch"
_COMMITTER = "kinesis.metadataCommitterType"
_MISSING = "kinesis-shard-commits-missing"
_ANEW = f"{RESTORE}, or begin with a new checkpoint at a time: kinesis.startingPosition"


def _sources(scene: Scene) -> Iterator[tuple[SourceProgress, KinesisOffset]]:
    """Whose newest batch leaves nothing any more: one that runs again begins where its own line says, and leaves the
    ends anew, unless its sinks have it and no task runs."""
    newest, is_left = scene.batch(scene.planned), not scene.is_replay or not scene.asks_for_rows
    for source in newest.sources if newest and is_left and not scene.is_continuous else ():
        if isinstance(source.offset, KinesisOffset) and source.offset.number is not None:
            yield source, source.offset


def _keeps_them_here(scene: Scene, source: SourceProgress) -> bool:
    return (scene.start.of(source.key).option(_COMMITTER) or "HDFS").strip().upper() == "HDFS"


def _lost(scene: Scene) -> Failure | Doubt | None:
    return None if scene.is_replay else _stopped(scene)


def _stopped(scene: Scene) -> Failure | Doubt | None:
    for source, offset in _sources(scene):
        if not _keeps_them_here(scene, source):
            continue
        log = log_of(scene, source)
        commits = log.shard_commits if log else None
        if commits is None:
            where = f"{layout.source(source.key)} has no shard commits that could be read"
            return Doubt(f"{where}: they may be in DynamoDB, which Query of its table would tell ({_COMMITTER})")
        if not commits.shards:
            message = "does not exist" if commits.shards is None else _NONE
            why = f"the ends of batch {offset.number} of the connector are not there"
            return _failure(scene, commits, SparkError(ILLEGAL_STATE), message, why)
        if unread := {name: refused for name, refused in commits.shards.items() if refused}:
            why = f"it cannot read {listed(unread)} of its batch {offset.number}"
            return _failure(scene, commits, next(iter(unread.values())), "", why)
    return None


def _failure(scene: Scene, commits: ShardCommits, raised: SparkError, message: str, why: str) -> Failure:
    told = f"{commits.path}: {why}"
    return Failure("batch", raised.class_name, raised.condition, message, told, scene.next_id, path=commits.path)


def _not_left_again(scene: Scene) -> Iterator[Finding]:
    """The batch that runs again goes on; the one after it fails."""
    stopped = _stopped(scene) if scene.is_replay else None
    if isinstance(stopped, Failure):
        why = f"{stopped.why}. No task leaves them again, as the sinks have batch {scene.next_id}: the next one fails"
        yield Finding(_MISSING, "error", stopped.path or "", why, next_step=_ANEW, spark=SparkError(stopped.class_name))


def _told(scene: Scene) -> Iterator[Finding]:
    yield from _not_left_again(scene)
    for source, offset in _sources(scene):
        log = log_of(scene, source)
        commits = log.shard_commits if log else None
        if commits is None or not commits.shards or scene.is_replay:
            continue
        absent = [shard for shard in offset.open_shards if shard not in commits.shards]
        if absent:
            of = counted(len(offset.open_shards), "shard")
            anew = "begin anew, where the options say" if OF_AWSLABS not in commits.path else "are read a second time"
            why = f"of {of} of batch {offset.number}, {listed(absent)} left no end: its rows {anew}"
            expected = "a file for each shard that the batch read"
            yield Finding("kinesis-shard-commit-missing", "error", commits.path, why, expected, RESTORE)


PLANNED = (
    Law(
        _MISSING,
        "A Kinesis source begins a batch where the tasks of the one before say that they came.",
        "KinesisV2MicrobatchStream.latestOffset of awslabs, KinesisSource.getOffset of qubole",
        _lost,
        symptom=f"what the tasks of a {KIND.title()} source have left of their batch is gone",
        next_step=_ANEW,
        errors=("Unable to fetch committed metadata from previous batch", "/shard-commit/…does not exist"),
        often=1,
    ),
)
LAWS = (
    *PLANNED,
    Law(
        "kinesis-shard-commit-missing",
        "a shard of a Kinesis source has no end of the newest batch",
        look=_told,
    ),
)
