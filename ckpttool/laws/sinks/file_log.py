"""A file sink's own log: what in it stops the next batch, or a later one, and whoever reads the sink. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX
from ckpttool.formats.file_log import is_compaction_id
from ckpttool.laws.base import REQUIREMENT, RESTORE, Law, rename_refused
from ckpttool.laws.sinks.base import SinkLaw
from ckpttool.model import Finding, LogNames
from ckpttool.releases import Release, since
from ckpttool.scene.compaction import LOG, interval_of, lacking_ids, next_compaction
from ckpttool.scene.scene import Failure, Scene
from ckpttool.scene.sinks import SinkVerdict, SinkView
from ckpttool.storage.urls import is_local

RESTORE_ENTRIES = "bring the missing entries back, or write one compact entry that lists the existing data files"


def what_stops(view: SinkView, release: Release) -> Failure | None:
    """How the next batch fails in this sink."""
    names = view.sink.names
    if names is None or view.sink.error:
        return None
    return _cannot_compact(view, names, release) or _cannot_write(view, names, release)


def _cannot_compact(view: SinkView, names: LogNames, release: Release) -> Failure | None:
    """The log is compacted as part of every n-th batch, which then reads the entries before."""
    batch = view.logs.batch_id
    if view.skips(batch):
        return None
    try:
        interval = interval_of(names)
    except MalformedFile as error:
        class_name = error.spark.class_name if error.spark else ILLEGAL_STATE
        return Failure("batch", class_name, None, "assertion failed", f"{LOG}: {error.message}", batch, path=LOG)
    lacking = lacking_ids(names, batch, interval) if is_compaction_id(batch, interval) else []
    if not lacking:
        return None
    why = f"batch {batch} compacts {LOG}, and entry {lacking[0]} is not there"
    class_name, condition = ILLEGAL_STATE, None
    if release >= since.SINK_LOG_CONDITION:
        class_name, condition = "org.apache.spark.SparkFileNotFoundException", "BATCH_METADATA_NOT_FOUND"
    return Failure("batch", class_name, condition, "Unable to find batch", why, batch, path=f"{LOG}/{lacking[0]}")


def _cannot_write(view: SinkView, names: LogNames, release: Release) -> Failure | None:
    """Nothing comes after the highest number; and what lies in an entry's place is taken for another query at work."""
    batch = view.logs.batch_id
    if LONG_MAX in (*names.ids[-1:], *names.compact_ids[-1:]):
        path = f"{LOG}/{LONG_MAX}"
        why = f"{path} is there, and nothing can come after it"
        return Failure("batch", REQUIREMENT, None, "More than Int.MaxValue elements.", why, batch, path=path)
    if view.skips(batch):
        return None
    name = layout.compact(batch) if is_compaction_id(batch, interval_of(names)) else str(batch)
    if name in names.directories:
        path, message = f"{LOG}/{name}", f"Race while writing batch {batch}"
        return Failure("batch", ILLEGAL_STATE, None, message, f"{path} is a directory", batch, path=path)
    crc = layout.hadoop_crc(name)
    if crc in names.orphan_crcs and is_local(view.sink.path):
        return rename_refused(f"{LOG}/{crc}", release, "batch", batch)
    return None


def _holes(view: SinkView, _: SinkVerdict) -> Iterator[Finding]:
    names, logs, entry = view.sink.names, view.logs, view.sink.entry(None)
    if names is None:
        return
    path = f"{view.sink.path}/{LOG}"
    try:
        interval = interval_of(names)
    except MalformedFile as error:
        yield Finding("spark-metadata-missing-or-moved", "error", path, error.message)
        return
    if entry is None and logs.committed is None:
        return
    coming = max(logs.batch_id, 0 if entry is None else entry.batch_id + 1)
    if lacking := lacking_ids(names, coming, interval):
        fails = next_compaction(coming, interval)
        message = f"entry {lacking[0]} is missing: readers fail, and batch {fails} will, which compacts the log"
        yield Finding("spark-metadata-missing-or-moved", "error", path, message, next_step=RESTORE_ENTRIES)


def _sink_log_write(scene: Scene) -> Failure | None:
    stopped = (what_stops(view, scene.release) for view in scene.sink_views)
    return next((failure for failure in stopped if failure), None)


LAWS = (
    Law(
        "sink-log-write",
        "A file sink writes the batch's entry to its log, and every n-th time one that replaces those before.",
        "FileStreamSink.addBatch, CompactibleFileStreamLog.add",
        _sink_log_write,
        symptom="the file sink's log takes no entry for the batch",
        needs="sinks",
        tells=("spark-metadata-missing-or-moved",),
        next_step=f"set aside what stands in its place, or {RESTORE}",
    ),
    SinkLaw("spark-metadata-missing-or-moved", "entries of the file sink's log are missing", of_others=_holes),
)
