"""The state of things that a way out starts from or leads to: the files, how the query is started, and the sinks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.model import Checkpoint
from ckpttool.plan.states import States, listing
from ckpttool.scene.batches import Batch
from ckpttool.scene.scene import Scene
from ckpttool.scene.sinks import SinkEvidence, SinkView

if TYPE_CHECKING:
    from ckpttool.kafka.diff import KafkaEvidence

KEEPS_NOTHING = ("noop", "memory")


class Situation(Struct, frozen=True, dict=True):
    """A scene that a way out starts from or leads to. `files`: the paths of the whole checkpoint, if somebody listed
    them."""

    scene: Scene
    files: frozenset[str] | None = None

    @property
    def sinks(self) -> tuple[SinkEvidence, ...]:
        return self.scene.sinks

    @property
    def states(self) -> States:
        return self.scene.states

    @property
    def kafka(self) -> KafkaEvidence | None:
        return self.scene.kafka

    @property
    def checkpoint(self) -> Checkpoint:
        return self.scene.checkpoint

    @property
    def root(self) -> str:
        return self.checkpoint.url

    @property
    def is_stateful(self) -> bool:
        return self.scene.is_stateful

    @property
    def has_state_ids(self) -> bool:
        """Checkpoint format 2: each commit names the state files that the next batch loads."""
        return any(commit.state_unique_ids for commit in self.checkpoint.commits.values())

    @property
    def reached(self) -> int:
        """The highest batch that either log ever heard of, -1 if there is none."""
        return max((one for one in (self.scene.planned, self.scene.committed) if one is not None), default=-1)

    @property
    def witnesses(self) -> tuple[SinkView, ...]:
        """The sinks in which a row could be twice, or missing."""
        return tuple(view for view in self.scene.sink_views if view.sink.kind not in KEEPS_NOTHING)

    def with_sinks(self, sinks: tuple[SinkEvidence, ...]) -> Situation:
        return replace(self, scene=replace(self.scene, sinks=sinks))

    @property
    def listing(self) -> frozenset[str] | None:
        """The paths below `state/`, as far as they are known; they are needed to touch it."""
        return listing(self.states) if self.files is None else self.files

    @cached_property
    def restart(self) -> Restart:
        return predict_restart(self.scene)

    def batch(self, batch_id: int) -> Batch | None:
        return self.scene.batch(batch_id)

    def has_offsets(self, batch_id: int) -> bool:
        """Whether they are there and could be read."""
        return batch_id in self.checkpoint.offsets and batch_id in self.checkpoint.offset_names.ids

    def has_commit(self, batch_id: int) -> bool:
        return batch_id in self.checkpoint.commits and batch_id in self.checkpoint.commit_names.ids

    # -- what the sinks know -------------------------------------------------------------------------------------------

    def any_skips(self, batch_id: int) -> bool | None:
        return _any([view.skips(batch_id) for view in self.witnesses] if self.sinks else [None])

    def any_holds(self, batch_id: int) -> bool | None:
        return _any([view.holds(batch_id) for view in self.witnesses] if self.sinks else [None])

    def all_hold(self, batch_id: int) -> bool | None:
        if not self.sinks:
            return None
        return _not(_any([_not(view.holds(batch_id)) for view in self.witnesses]))


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _any(answers: Iterable[bool | None]) -> bool | None:
    known = list(answers)
    if True in known:
        return True
    return None if None in known else False
