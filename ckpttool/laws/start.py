"""What `start()` itself trips over: the query's id."""

from __future__ import annotations

from ckpttool.formats import layout
from ckpttool.laws.base import RENAME_REFUSED, SPARK_RUNTIME, Law, concurrent_use, error_of
from ckpttool.laws.checks.files import check_files
from ckpttool.laws.checks.logs import check_metadata
from ckpttool.releases import since
from ckpttool.scene.scene import Doubt, Failure, Scene

UNREAD = ("unreadable", "file-vanished")


def _metadata_malformed(scene: Scene) -> Failure | Doubt | None:
    fault = scene.fault(layout.METADATA)
    if fault is None:
        return None
    if fault.id in UNREAD:
        return Doubt(f"`metadata` was not read: {fault.message}")
    class_name, condition = error_of(fault, scene.release)
    return Failure("start", class_name, condition, fault.message, f"`metadata`: {fault.message}")


def _metadata_write(scene: Scene) -> Failure | None:
    """A new id is written where none is: not over a checksum that is left."""
    checkpoint = scene.checkpoint
    crc, names = layout.hadoop_crc(layout.METADATA), checkpoint.root_names
    if not scene.is_local or crc not in names or layout.METADATA in names:
        return None
    why = f"{crc} is left over, and a rename onto it fails"
    return Failure("start", RENAME_REFUSED, concurrent_use(scene.release), "Rename destination", why)


def _metadata_missing(scene: Scene) -> Failure | None:
    if scene.checkpoint.metadata or (scene.planned is None and scene.committed is None):
        return None
    if not scene.is_on("spark.sql.streaming.checkpoint.verifyMetadataExists.enabled", default=True):
        return None
    return Failure(
        "start",
        SPARK_RUNTIME,
        "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
        "the metadata file is missing but offset and/or commit logs contain data",
        "`metadata` is missing, and the logs hold batches",
    )


def _memory_sink(scene: Scene) -> Failure | None:
    """The memory sink keeps nothing that a restart could go on from; complete output needs nothing."""
    if all(sink.kind != "memory" for sink in scene.sinks) or "offsets" not in scene.checkpoint.root_names:
        return None
    if scene.checkpoint.has_state_directory:
        return None  # a stateful query that was meant to be restarted has complete output
    return Failure(
        "start",
        "org.apache.spark.sql.AnalysisException",
        "_LEGACY_ERROR_TEMP_1299" if scene.release >= since.LEGACY_CONDITIONS else None,
        "This query does not support recovering from checkpoint location",
        "the memory sink refuses a checkpoint that has offsets",
    )


RULES = (
    Law(
        "memory-sink",
        "The memory sink, unless its output mode is complete, refuses a location with `offsets/`.",
        "ResolveWriteToStream",
        _memory_sink,
    ),
    Law(
        "metadata-corrupt",
        "`metadata` must be a JSON object whose `id` is a UUID; `start()` throws otherwise.",
        "StreamMetadata.read, StreamExecution",
        _metadata_malformed,
        symptom="`metadata` cannot be read",
        look=check_files,
        tells=("unreadable", "file-vanished", "changed-while-read"),
    ),
    Law(
        "metadata-missing",
        "Without `metadata`, logs that hold batches are refused by `start()`; up to 4.1 a new id is taken silently.",
        "StreamingQueryCheckpointMetadata",
        _metadata_missing,
        since=since.METADATA_WANTED,
        symptom="the query's id is lost",
        look=check_metadata,
    ),
    Law(
        "metadata-write",
        "Where `metadata` is missing, a stale checksum in its place stops `start()`.",
        "StreamMetadata.write, Hadoop's LocalFs",
        _metadata_write,
    ),
)
