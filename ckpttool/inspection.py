"""`inspect_checkpoint`: everything that the files of a checkpoint tell, drawn together as one value."""

from __future__ import annotations

from ckpttool.checks import check_checkpoint
from ckpttool.evidence import Evidence, gather_evidence
from ckpttool.frozen import frozen
from ckpttool.model import Checkpoint, Finding
from ckpttool.restart import Restart, predict_next_batch, untold_failure


@frozen
class Inspection:
    """What `ckpt inspect` shows; `report/` gives it its two voices."""

    evidence: Evidence
    next_batch: Restart
    findings: tuple[Finding, ...]

    @property
    def checkpoint(self) -> Checkpoint:
        return self.evidence.checkpoint

    @property
    def exit_code(self) -> int:
        """1: a finding of severity error; 5: something could not be reached; 3: no verdict on the next batch."""
        if any(finding.severity == "error" for finding in self.findings):
            return 1
        if self.checkpoint.unreachable:
            return 5
        return 3 if self.next_batch.outcome == "unknown" and self.evidence.mode != "dstreams" else 0


def inspect_checkpoint(checkpoint: Checkpoint, now_ms: int | None = None) -> Inspection:
    """Check and explain a loaded checkpoint. `now_ms`: the clock, for telling whether the query seems to run."""
    evidence = gather_evidence(checkpoint)
    next_batch, findings = predict_next_batch(evidence), check_checkpoint(evidence, now_ms)
    return Inspection(evidence, next_batch, (*untold_failure(next_batch, findings), *findings))
