"""A sink that the next batch fails in, as its own log shows beforehand. Pure."""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE, LONG_MAX
from ckpttool.formats.file_log import is_compaction_id
from ckpttool.formats.layout import COMPACT_SUFFIX
from ckpttool.laws.base import REQUIREMENT, rename_refused
from ckpttool.model import LogNames
from ckpttool.releases import Release, since
from ckpttool.scene.compaction import LOG, interval_of, lacking_ids
from ckpttool.scene.scene import Doubt, Failure
from ckpttool.scene.sinks import SinkView
from ckpttool.storage.urls import is_local


def what_stops(view: SinkView, batch: int, release: Release) -> Failure | Doubt | None:
    sink = view.sink
    if isinstance(sink.error, MalformedFile):
        return Doubt(f"the log of the sink {sink.path} is damaged: {sink.error.message}")
    if sink.error is not None or sink.names is None:
        return None
    if LONG_MAX in (*sink.names.ids[-1:], *sink.names.compact_ids[-1:]):
        why = f"{LOG}/{LONG_MAX} is there, and nothing can come after it"
        return Failure("batch", REQUIREMENT, None, "More than Int.MaxValue elements.", why, batch)
    if view.skips(batch):
        return None
    try:
        interval = interval_of(sink.names)
    except MalformedFile as error:
        class_name = error.spark.class_name if error.spark else ILLEGAL_STATE
        return Failure("batch", class_name, None, "assertion failed", f"{LOG}: {error.message}", batch)
    compacts = is_compaction_id(batch, interval)
    if compacts and (lacking := lacking_ids(sink.names, batch, interval)):
        return _entry_missing(lacking[0], batch, release)
    return _place_taken(sink.path, sink.names, batch, release, COMPACT_SUFFIX if compacts else "")


def _entry_missing(entry: int, batch: int, release: Release) -> Failure:
    why = f"batch {batch} compacts {LOG}, and entry {entry} is not there"
    class_name, condition = ILLEGAL_STATE, None
    if release >= since.SINK_LOG_CONDITION:
        class_name, condition = "org.apache.spark.SparkFileNotFoundException", "BATCH_METADATA_NOT_FOUND"
    return Failure("batch", class_name, condition, "Unable to find batch", why, batch)


def _place_taken(path: str, names: LogNames, batch: int, release: Release, suffix: str) -> Failure | None:
    """Something lies where the batch's entry belongs, and the sink takes it for another query at work."""
    name = f"{batch}{suffix}"
    if name in names.directories:
        why = f"{LOG}/{name} is a directory"
        return Failure("batch", ILLEGAL_STATE, None, f"Race while writing batch {batch}", why, batch)
    crc = layout.hadoop_crc(name)
    if crc in names.orphan_crcs and is_local(path):
        return rename_refused(f"{LOG}/{crc}", release, "batch", batch)
    return None
