"""The state of things that a way out starts from or leads to: the files, how the query is started, and the sinks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from ckpttool.frozen import frozen, replace
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.model import Checkpoint
from ckpttool.plan.states import States, listing, obstacle
from ckpttool.scene.batches import Batch
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Conditions, Scene
from ckpttool.scene.sinks import SinkEvidence, SinkWrite

if TYPE_CHECKING:
    from ckpttool.kafka.diff import KafkaEvidence

LEDGERS = ("delta", "file", "iceberg")
KEEPS_NOTHING = ("noop", "memory")


def scene_of(evidence: Evidence, conditions: Conditions, states: States, *, kafka_asked: bool = False) -> Scene:
    """With what keeps the state from being loaded that the next batch begins with, if somebody looked at it."""
    scene = Scene(evidence, conditions, kafka_asked=kafka_asked)
    return replace(scene, state=obstacle(states, scene.next_id, conditions))


@frozen
class Situation:
    """`files`: the paths of the whole checkpoint, None if nobody listed them. `states`: what was found of versions of
    the state, by version. `kafka`: what the brokers said, None if nobody asked."""

    scene: Scene
    sinks: tuple[SinkEvidence, ...]
    files: frozenset[str] | None = None
    states: States = field(default_factory=dict)
    kafka: KafkaEvidence | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        return self.scene.checkpoint

    @property
    def root(self) -> str:
        return self.checkpoint.url

    @property
    def is_stateful(self) -> bool:
        return bool(self.checkpoint.operators) or self.checkpoint.has_state_directory

    @property
    def has_state_ids(self) -> bool:
        """Checkpoint format 2: each commit names the state files that the next batch loads."""
        return any(commit.state_unique_ids for commit in self.checkpoint.commits.values())

    @property
    def reached(self) -> int:
        """The highest batch that either log ever heard of, -1 if there is none."""
        return max((one for one in (self.scene.planned, self.scene.committed) if one is not None), default=-1)

    @property
    def witnesses(self) -> tuple[SinkEvidence, ...]:
        """The sinks in which a row could be twice, or missing."""
        return tuple(sink for sink in self.sinks if sink.kind not in KEEPS_NOTHING)

    @property
    def listing(self) -> frozenset[str] | None:
        """The paths below `state/`, as far as they are known; they are needed to touch it."""
        return listing(self.states) if self.files is None else self.files

    def restart(self) -> Restart:
        scene = self.scene
        return predict_restart(scene.evidence, scene.conditions, scene.state, kafka_asked=scene.kafka_asked)

    def batch(self, batch_id: int) -> Batch | None:
        return self.scene.batch(batch_id)

    def has_offsets(self, batch_id: int) -> bool:
        """Whether they are there and could be read."""
        return batch_id in self.checkpoint.offsets and batch_id in self.checkpoint.offset_names.ids

    def has_commit(self, batch_id: int) -> bool:
        return batch_id in self.checkpoint.commits and batch_id in self.checkpoint.commit_names.ids

    # -- what the sinks know -------------------------------------------------------------------------------------------

    def any_skips(self, batch_id: int) -> bool | None:
        return _any([skips(sink, batch_id) for sink in self.witnesses] if self.sinks else [None])

    def any_holds(self, batch_id: int) -> bool | None:
        return _any([self.holds(sink, batch_id) for sink in self.witnesses] if self.sinks else [None])

    def all_hold(self, batch_id: int) -> bool | None:
        if not self.sinks:
            return None
        lacking = _any([_not(self.holds(sink, batch_id)) for sink in self.witnesses])
        return _not(lacking)

    def holds(self, sink: SinkEvidence, batch_id: int) -> bool | None:
        """Whether the rows of a batch are in a sink; None where neither its record nor the commits tell."""
        if not sink.exists:
            return False
        if sink.error or sink.incomplete:
            return None
        if sink.kind not in LEDGERS:
            return True if batch_id in self.checkpoint.commit_names.ids else None
        write = latest_write(sink, batch_id)
        if write is not None:
            return None if write.rows_unsure else not write.rows_lost and not self._planned_after(write)
        if skips(sink, batch_id):
            return sink.seen_from_ms != 0  # the record's word, unless every write is known and none is this one
        known = sink.entry(sink.key) is not None or (not sink.ledger and sink.seen_from_ms == 0)
        return False if known else None

    def _planned_after(self, write: SinkWrite) -> bool:
        """Planned anew after the sink had a batch of that number: then the sink holds other rows under it."""
        if write.batch_id != self.scene.planned or not self.scene.is_replay or write.timestamp_ms is None:
            return False
        batch = self.batch(write.batch_id) if write.batch_id is not None else None
        metadata = batch.entry.metadata if batch and batch.entry else None
        return metadata is not None and metadata.timestamp_ms > write.timestamp_ms + 999


def skips(sink: SinkEvidence, batch_id: int) -> bool | None:
    """Whether the sink's record stops this number from being written."""
    if not sink.exists:
        return False
    if sink.error or sink.incomplete:
        return None
    if sink.kind not in LEDGERS:
        return None if sink.kind == "unknown" else False
    entry = sink.entry(sink.key)
    return entry is not None and entry.batch_id >= batch_id


def recorded(sink: SinkEvidence) -> int | None:
    """The last batch that the sink skips."""
    entry = sink.entry(sink.key) if sink.kind in LEDGERS and not sink.error else None
    return entry.batch_id if entry else None


def latest_write(sink: SinkEvidence, batch_id: int) -> SinkWrite | None:
    """Under the query's own id; where the record does not know that id, under any that a streaming query had."""
    if sink.entry(sink.key) is not None or sink.key_given:
        return sink.write_of(sink.key, batch_id)
    natives = [entry.app_id for entry in sink.ledger if entry.native]
    found = (sink.write_of(app_id, batch_id) for app_id in natives)
    return next((write for write in found if write), None)


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    if True in known:
        return True
    return None if None in known else False
