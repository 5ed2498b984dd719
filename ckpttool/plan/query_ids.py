"""The query's id, by which most sinks know its batches: another one, and what the sinks then are."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.metadata import encode_metadata
from ckpttool.model import QueryMetadata
from ckpttool.plan.steps import Step, replace_file, set_aside_checksum, write
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence


def new_id(scene: Scene, place: str | None = None) -> str:
    """The same plan has the same id: made from the place, its own or another, and from how far the query has come."""
    metadata = scene.checkpoint.metadata
    return str(uuid5(NAMESPACE_URL, f"{place or scene.root}#{scene.reached}#{metadata.id if metadata else ''}"))


def id_steps(scene: Scene, query_id: str, why: str) -> tuple[Step, ...]:
    content = encode_metadata(QueryMetadata(query_id))
    if layout.METADATA in scene.checkpoint.root_names:
        return replace_file(scene.root, layout.METADATA, content, why)
    left = layout.hadoop_crc(layout.METADATA) in scene.checkpoint.root_names
    return (*(stale_checksum(scene) if left else ()), write(scene.root, layout.METADATA, content, why))


def stale_checksum(scene: Scene) -> tuple[Step, ...]:
    return set_aside_checksum(scene.root, layout.METADATA, "the checksum of a file that is not there")


def known_as(sink: SinkEvidence, query_id: str) -> SinkEvidence:
    return sink if sink.kind == "file" or sink.key_given else replace(sink, key=query_id)
