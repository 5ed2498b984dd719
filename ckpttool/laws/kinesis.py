"""The connectors of Kinesis, whose next batch begins where the tasks of the newest one say that they came."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.kinesis import KIND, OF_AWSLABS, KinesisOffset
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import RESTORE, Law
from ckpttool.model import Finding, ShardCommits
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.source_logs import log_of
from ckpttool.words import counted, listed

_COMMITTER = "kinesis.metadataCommitterType"
_MISSING = "kinesis-shard-commits-missing"
_ANEW = f"{RESTORE}; or begin with a new checkpoint at a time: kinesis.startingPosition"


def _sources(scene: Scene) -> Iterator[tuple[SourceProgress, KinesisOffset]]:
    """Whose newest batch is done: one that runs again begins where its own line says."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest and not scene.is_replay and not scene.is_continuous else ():
        if isinstance(source.offset, KinesisOffset) and source.offset.number is not None:
            yield source, source.offset


def _keeps_them_here(scene: Scene) -> bool:
    return (scene.start.option(_COMMITTER) or "HDFS").strip().upper() == "HDFS"


def _lost(scene: Scene) -> Failure | Doubt | None:
    for source, offset in _sources(scene) if _keeps_them_here(scene) else ():
        log = log_of(scene, source)
        commits = log.shard_commits if log else None
        if commits is None:
            where = f"{layout.source(source.key)} has no shard commits that could be read"
            return Doubt(f"{where}: they may be in DynamoDB, which Query of its table would tell ({_COMMITTER})")
        if not commits.shards:
            return _failure(scene, commits, f"the ends of batch {offset.number} of the connector are not there")
        if unread := [name for name, is_read in commits.shards.items() if not is_read]:
            return _failure(scene, commits, f"it cannot read {listed(unread)} of its batch {offset.number}")
    return None


def _failure(scene: Scene, commits: ShardCommits, why: str) -> Failure:
    message = "Unable to fetch committed metadata from previous batch" if not commits.shards else "Gave up after"
    return Failure("batch", ILLEGAL_STATE, None, message, f"{commits.path}: {why}", scene.next_id, path=commits.path)


def _told(scene: Scene) -> Iterator[Finding]:
    for source, offset in _sources(scene):
        log = log_of(scene, source)
        commits = log.shard_commits if log else None
        if commits is None or not commits.shards:
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
