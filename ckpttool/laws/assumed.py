"""What a prediction takes for granted: what was not given, and what nobody has looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.hudi import KIND as HUDI
from ckpttool.connectors.iceberg import KIND as ICEBERG
from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.laws.state_load import TABLES_UNREAD
from ckpttool.model import Checkpoint
from ckpttool.scene.scene import Scene

STATE_NOT_READ = "state bodies not read"
KAFKA_NOT_ASKED = "Kafka still has what the query reads next"
ICEBERG_NOT_ASKED = "the Iceberg table still has the snapshots that the query reads next (--option path= looks)"
ICEBERG_FILES = "the data files of the Iceberg table are there: not all of its manifests were read"
# Sources whose servers nobody asks here, and the calls that would tell.
NOT_ASKED = {
    "kinesis": "Kinesis still has what the query reads next (GetShardIterator of each position, ListShards)",
    "pulsar": "Pulsar still has what the query reads next (pulsar-admin topics get-message-by-id)",
    "pubsub-lite": "Pub/Sub Lite still has what the query reads next (ComputeMessageStats from the offset)",
    "mongodb": "MongoDB's oplog still has what the query reads next (db.getReplicationInfo())",
    "cosmos": "Cosmos still has what the query reads next (the change feed's FeedRange with that continuation)",
    "eventhubs": "Event Hubs still has what the query reads next (getPartitionProperties: beginningSequenceNumber)",
}
HUDI_NOT_ASKED = "the Hudi table's timeline still reaches back to where the query reads next (--option path= looks)"
HUDI_FILES = "the Hudi table's cleaner has left the files of the instants that the query reads next"


def assumed(scene: Scene) -> Iterator[str]:
    start = scene.start
    if start.conf:
        yield "the rest of the session's configuration as it was, or Spark's defaults"
    rest = "other options" if start.options else "options"
    yield f"the sources' {rest} as they were, or Spark's defaults"
    yield from _not_looked_at(scene.checkpoint)
    if any(files.mode == "quick" for files in scene.states.values()):
        yield STATE_NOT_READ
    if scene.needed_state and scene.needed_state.has_unread_tables:
        yield TABLES_UNREAD
    kinds = scene.kinds
    yield from (said for kind, said in NOT_ASKED.items() if kind in kinds)
    if ICEBERG in kinds or scene.inputs:
        yield from _of_iceberg(scene)
    if HUDI in kinds:
        yield HUDI_FILES if scene.inputs else HUDI_NOT_ASKED
    if scene.kafka is None and KAFKA in kinds:
        yield KAFKA_NOT_ASKED
    elif scene.kafka is not None:
        from ckpttool.kafka.diff import views_of

        yield from dict.fromkeys(said for view in views_of(scene, scene.kafka) for said in view.assumes)


def _of_iceberg(scene: Scene) -> Iterator[str]:
    if not scene.inputs:
        yield ICEBERG_NOT_ASKED
        return
    from ckpttool.scene.iceberg import IcebergInput

    tables = [one for one in scene.inputs if isinstance(one, IcebergInput)]
    if not all(one.files_known for one in tables) or (not tables and ICEBERG in scene.kinds):
        yield ICEBERG_FILES


def _not_looked_at(checkpoint: Checkpoint) -> Iterator[str]:
    """What few requests leave open: names of a log too long to list, and entries of sources' logs."""
    for directory, names in (("offsets", checkpoint.offset_names), ("commits", checkpoint.commit_names)):
        if names.unlisted_below is not None:
            yield f"no log file above id {names.last} in {directory}/ (probed, and --listing full proves it)"
    for log in checkpoint.source_logs:
        if log.unread:
            yield f"{log.unread} older {'entries' if log.unread > 1 else 'entry'} of sources/{log.name} sound"
