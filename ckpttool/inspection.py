"""`inspect_checkpoint`: everything that the files of a checkpoint tell, drawn together as one value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ckpttool.frozen import frozen
from ckpttool.laws.checks import check_checkpoint, worst_first
from ckpttool.laws.restart import Restart, choose_release, predict_next_batch, untold_failure
from ckpttool.laws.state_verdict import check_state_files, count_loadable
from ckpttool.model import Checkpoint, Finding
from ckpttool.reading.needed_state import look_at_needed_state
from ckpttool.scene.evidence import Evidence, gather_evidence
from ckpttool.scene.state_chain import StateFiles
from ckpttool.storage.store import Store


@frozen
class Inspection:
    """What `ckpt inspect` shows; `report/` gives it its two voices. `state`: the files that the next batch begins with,
    if anybody looked at them."""

    evidence: Evidence
    next_batch: Restart
    findings: tuple[Finding, ...]
    state: StateFiles | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        return self.evidence.checkpoint

    @cached_property
    def loadable(self) -> Mapping[int, tuple[int | None, int]]:
        """By operator: how many of its partitions the newest release that may have written them loads, and of how
        many. None: that is not known."""
        if self.state is None:
            return {}
        counts = count_loadable(self.state, choose_release(self.evidence, None)[0])
        return {operator.id: (counts[operator.id], operator.partitions) for operator in self.state.operators}

    @property
    def exit_code(self) -> int:
        """1: a finding of severity error; 5: something could not be reached; 3: no verdict on the next batch."""
        if any(finding.severity == "error" for finding in self.findings):
            return 1
        if self.checkpoint.unreachable or (self.state and self.state.unreachable):
            return 5
        return 3 if self.next_batch.outcome == "unknown" and self.evidence.mode != "dstreams" else 0


def inspect_checkpoint(checkpoint: Checkpoint, now_ms: int | None = None, store: Store | None = None) -> Inspection:
    """Check and explain a loaded checkpoint. `now_ms`: the clock, for telling whether the query seems to run.

    `store`: where it was loaded from, to see by names and sizes whether its state can be loaded too."""
    evidence = gather_evidence(checkpoint)
    state = look_at_needed_state(store, evidence) if store else None
    next_batch = predict_next_batch(evidence, state)
    findings = worst_first([*check_checkpoint(evidence, now_ms), *(check_state_files(state) if state else ())])
    return Inspection(evidence, next_batch, (*untold_failure(next_batch, findings), *findings), state)
