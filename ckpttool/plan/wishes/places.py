"""`clone` and `fork`: a checkpoint that comes into being at another place, while this one stays as it is.

A clone has all that this one has; where files name others of the checkpoint by whole URLs, these follow. A fork has its
position alone, as batch 0 of a query that may have another shape. Both are born fenced: `metadata` is the last file
that comes, so what is half copied starts no query.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ckpttool.connectors.kafka import KIND, deserialize, encode_beginning
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.commits import encode_commit_log
from ckpttool.formats.metadata import encode_metadata
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.model import CommitLogEntry, QueryMetadata
from ckpttool.plan.conditions import Condition
from ckpttool.plan.moved_urls import follow_checkpoint, unseen_schema_log, with_own_urls
from ckpttool.plan.query_ids import known_as, new_id
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, copy, plain, write
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import log_of

CLONE, FORK = "clone", "fork"
SINK_OF_ITS_OWN = "sink-of-its-own"
_STANDS = "where this one stands is where the source begins"
_STATE_GIVEN_UP = Condition(
    "state-given-up", "what its state holds is given up: ckpt state rows PATH lists it by key, and of each operator"
)


class Clone(Wish, frozen=True, tag="clone"):
    """`same_id`: sinks take both for one query, so only one of them may ever start again."""

    target: str
    same_id: bool = False

    def reads_all_in(self, scene: Scene) -> Iterator[str]:
        yield from with_own_urls(scene)

    def repair(self, scene: Scene) -> Repair | Refusal:
        if why := lies_there(scene, self.target) or unseen_schema_log(scene):
            return Refusal(CLONE, why)
        metadata = scene.checkpoint.metadata
        if metadata is None:
            return Refusal(CLONE, "the query has no id that could be read")
        query_id = metadata.id if self.same_id else new_id(scene, self.target)
        try:
            follows = tuple(follow_checkpoint(scene, self.target))
        except MalformedFile as error:
            return Refusal(CLONE, f"what it names of itself cannot be read: {error.message}")
        sinks = None if self.same_id else tuple(known_as(sink, query_id) for sink in scene.sinks)
        told = "the only one of both that ever starts again" if self.same_id else "a query of its own"
        return Repair(
            CLONE,
            f"Copy the checkpoint to {self.target}, as {told}",
            (*copies(scene, self.target), *follows, _metadata(self.target, query_id)),
            sinks=sinks,
            conditions=(_one_alone() if self.same_id else _another_sink(),),
            target=self.target,
        )


class Fork(Wish, frozen=True, tag="fork"):
    """`new_state`: what the state holds is given up. Spark begins with empty state in batch 0 alone, so there the
    sources have to begin where this one stands: Kafka's do, if that is written down as where they once began."""

    target: str
    new_state: bool = False

    def repair(self, scene: Scene) -> Repair | Refusal:
        why = lies_there(scene, self.target)
        if why := why or (_not_from_the_start(scene) if self.new_state else _not_by_position(scene)):
            return Refusal(FORK, why)
        if self.new_state:
            return self._from_the_start(scene)
        query_id, entry = new_id(scene, self.target), scene.entry(scene.planned)
        if entry is None:
            return Refusal(FORK, f"offsets/{scene.planned} is not there, or cannot be read")
        watermark = entry.metadata.watermark_ms if entry.metadata else 0
        steps = (
            *_file_logs(scene, self.target),
            write(
                self.target, layout.offsets(0), encode_offset_log(replace(entry, batch_id=0)), "where this one stands"
            ),
            write(self.target, layout.commits(0), encode_commit_log(CommitLogEntry(0, 1, watermark)), "so it goes on"),
            _metadata(self.target, query_id),
        )
        return Repair(
            FORK,
            f"Begin a new checkpoint at {self.target}, where this one stands",
            steps,
            sinks=tuple(known_as(sink, query_id) for sink in scene.sinks),
            conditions=(_another_sink(),),
            target=self.target,
        )

    def _from_the_start(self, scene: Scene) -> Repair:
        query_id, newest = new_id(scene, self.target), scene.batch(scene.planned)
        steps = [
            write(self.target, layout.source_entry(source.key, 0), encode_beginning(deserialize(source.text)), _STANDS)
            for source in (newest.sources if newest else ())
            if source.text is not None
        ]
        return Repair(
            FORK,
            f"Begin a new checkpoint at {self.target}, where the sources of this one stand, and with no state",
            (*steps, _metadata(self.target, query_id)),
            sinks=tuple(known_as(sink, query_id) for sink in scene.sinks),
            conditions=(_another_sink(), _STATE_GIVEN_UP),
            target=self.target,
        )


def copies(scene: Scene, target: str) -> Iterator[Step]:
    own = {layout.METADATA, layout.OWN_DIRECTORY, layout.hadoop_crc(layout.METADATA)}
    for name in sorted(set(scene.checkpoint.root_names) - own):
        yield copy(scene.root, name, target, "as it is here")


def lies_there(scene: Scene, target: str) -> str | None:
    """Why it cannot come into being there."""
    here, there = plain(scene.root), plain(target)
    if f"{there}/".startswith(f"{here}/") or f"{here}/".startswith(f"{there}/"):
        return f"{target} lies in the checkpoint, or around it"
    return None


def _not_by_position(scene: Scene) -> str | None:
    """A position alone is not enough where something else is kept by the number of a batch."""
    if scene.is_stateful:
        return "the query is stateful, and its state is kept under the numbers of its batches: clone it"
    return _no_position(scene)


def _not_from_the_start(scene: Scene) -> str | None:
    """Only what has written down where it began goes by that."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        if scene.kind_of(source) != KIND:
            kind = scene.kind_of(source) or "unknown"
            return f"source {source.key} is of kind {kind}, which begins where its options say: only Kafka's begin here"
        if source.text is None:
            return f"source {source.key} has no offsets in offsets/{scene.planned}"
    return _no_position(scene)


def _no_position(scene: Scene) -> str | None:
    if scene.is_replay or scene.planned is None or scene.is_async:
        return "its newest batch is not finished, or none was planned: only the end of a finished batch is a position"
    for view in scene.witnesses:
        if view.sink.kind == "file" and view.sink.ledger:
            return f"{view.sink.path} skips batches by their numbers, and would skip those of a query that begins at 0"
        if view.sink.key_given:
            return f"{view.sink.path} knows the query by {view.sink.key}, and would skip its batches from 0 on"
    return None


def _file_logs(scene: Scene, target: str) -> Iterator[Step]:
    """A file source's offset is a number in its own log."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        log = log_of(scene, source)
        if log is not None and log.kind == "file":
            yield copy(scene.root, layout.source(log.name), target, "a file source tells by it which files it has seen")


def _metadata(target: str, query_id: str) -> Step:
    content = encode_metadata(QueryMetadata(query_id))
    return write(target, layout.METADATA, content, "takes the fence down: all is there")


def _another_sink() -> Condition:
    text = "the new query writes to a sink of its own, or this one never starts again: else rows are there twice"
    return Condition(SINK_OF_ITS_OWN, text)


def _one_alone() -> Condition:
    return Condition("one-of-both", "only one of both ever starts again: sinks take them for the same query")
