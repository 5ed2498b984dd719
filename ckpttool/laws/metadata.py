"""`metadata`, which has the query's id."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.envelope import parse_json_object
from ckpttool.formats.metadata import APPLY_FENCE, UNDO_FENCE
from ckpttool.formats.values import decode_utf8
from ckpttool.laws.base import SPARK_RUNTIME, Law, rename_refused, unread
from ckpttool.laws.files import check_files
from ckpttool.model import Finding
from ckpttool.releases import since
from ckpttool.scene.scene import Doubt, Failure, Scene

UNFINISHED = "apply-unfinished"


def _fenced_off(scene: Scene) -> Failure | Doubt | None:
    fault = scene.fault(layout.METADATA)
    if fault is None or fault.id != UNFINISHED:
        return None
    failure = unread(scene, fault, "start", "`metadata`")
    fence = parse_json_object(decode_utf8(scene.checkpoint.raw[layout.METADATA]))["id"]
    return replace(failure, message=f"Invalid UUID string: {fence}") if isinstance(failure, Failure) else failure


def check_unfinished(scene: Scene) -> Iterator[Finding]:
    """Where the fence stands, its own fault tells."""
    plan, fault = scene.checkpoint.unfinished, scene.fault(layout.METADATA)
    if plan is not None and not (fault and fault.id == UNFINISHED):
        yield Finding(
            id=UNFINISHED,
            severity="error",
            path=f"{layout.OWN_DIRECTORY}/",
            message="ckpt apply has begun to carry a plan out here, or to take it back, and has not ended",
            next_step="ckpt apply --resume PATH goes on, ckpt undo PATH takes it back",
        )


def _metadata_malformed(scene: Scene) -> Failure | Doubt | None:
    fault = scene.fault(layout.METADATA)
    return unread(scene, fault, "start", "`metadata`") if fault and fault.id != UNFINISHED else None


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


def check_journal(scene: Scene) -> Iterator[Finding]:
    """`ckpt apply` leaves a journal in `_ckpt/`, without which nobody can go on or take it back. Whoever carries steps
    out by hand puts up another fence."""
    raw = scene.checkpoint.raw.get(layout.METADATA, b"").strip()
    if raw in (APPLY_FENCE.encode(), UNDO_FENCE.encode()) and scene.checkpoint.unfinished is None:
        yield Finding(
            id="fence-without-journal",
            severity="error",
            path=layout.METADATA,
            message=f"the fence of ckpt apply stands here, and no journal of it in {layout.OWN_DIRECTORY}/: a copy of a"
            " checkpoint that was being changed, or somebody has removed that directory",
            expected='`{"id":"<uuid>"}`',
            next_step="bring the directory back for --resume or undo. Without it no step is known to be done: compare"
            " with a backup, then ckpt plan query-id --from-sink gives the query its id",
        )


def check_metadata(scene: Scene) -> Iterator[Finding]:
    checkpoint = scene.checkpoint
    if "metadata" in checkpoint.root_names or not (checkpoint.offset_names.ids or checkpoint.commit_names.ids):
        return
    yield Finding(
        id="metadata-missing",
        severity="error",
        path=layout.METADATA,
        message="the query's id is lost. Spark up to 4.1 takes a new one without a word, and a sink that knows the"
        " query by its id then writes a replayed batch twice",
        expected='`{"id":"<uuid>"}`',
        next_step="write the file with the old id: from a backup, the sink's ledger, or the driver's log",
    )


def _metadata_write(scene: Scene) -> Failure | None:
    """A new id is written where none is: not over a checksum that is left."""
    checkpoint = scene.checkpoint
    crc, names = layout.hadoop_crc(layout.METADATA), checkpoint.root_names
    if not scene.is_local or crc not in names or layout.METADATA in names:
        return None
    return rename_refused(crc, scene.release, "start")


TOLD = (Law("fence-without-journal", "the fence of a plan stands, and its journal is gone", look=check_journal),)
LAWS = (
    Law(
        UNFINISHED,
        "While `ckpt apply` or `ckpt undo` is under way the id in `metadata` is no UUID. `start()` throws.",
        "StreamMetadata.read, StreamExecution",
        _fenced_off,
        symptom="a plan was begun and is not finished",
        look=check_unfinished,
        tells=("fence-without-journal",),
        errors=("Invalid UUID string: unfinished: run ckpt",),
        often=1,
    ),
    Law(
        "metadata-corrupt",
        "`metadata` must be a JSON object whose `id` is a UUID. `start()` throws otherwise.",
        "StreamMetadata.read, StreamExecution",
        _metadata_malformed,
        symptom="`metadata` cannot be read",
        look=check_files,
        tells=("unreadable", "file-vanished", "changed-while-read"),
        errors=(
            "Invalid UUID string",
            "No content to map due to end-of-input",
            "(InputStreamReader)",
            "Did not find value which can be converted into java.lang.String",
            'Cannot invoke "String.length()" because "name" is null',
            "StreamMetadata",
            "Unexpected end-of-input…StreamMetadata",
            "UUID string too large",
            "MappingException",
            "MalformedInputException",
            "assertion failed",
            "JsonEOFException",
            "JsonParseException",
        ),
    ),
    Law(
        "metadata-missing",
        "Without `metadata`, logs that hold batches are refused by `start()`. Up to 4.1 a new id is taken silently.",
        "StreamingQueryCheckpointMetadata",
        _metadata_missing,
        since=since.METADATA_WANTED,
        symptom="the query's id is lost",
        look=check_metadata,
        errors=("STREAMING_CHECKPOINT_MISSING_METADATA_FILE",),
        often=3,
    ),
    Law(
        "metadata-write",
        "Where `metadata` is missing, a stale checksum in its place stops `start()`.",
        "StreamMetadata.write, Hadoop's LocalFs",
        _metadata_write,
        symptom="a stale checksum lies where the query's id is to be written",
        next_step="set the checksum aside, or give the query its id back",
        errors=("Rename destination…metadata.crc already exists",),
        often=1,
    ),
)
