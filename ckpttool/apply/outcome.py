"""How carrying a plan out ends, whichever way: values, and the two exceptions that end it early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from ckpttool.apply.plan_file import Promise
from ckpttool.errors import CkptError, Refused, Unavailable
from ckpttool.model import Finding

State = Literal["applied", "undone", "nothing_to_do", "refused", "stopped", "planned"]


class WhyNot(Struct, frozen=True):
    """A reason. Its id is stable; docs/cli.md has them all."""

    id: str
    text: str
    expected: str | None = None
    found: str | None = None
    next_step: str | None = None


class NotApplied(Refused):
    """Nothing outside `_ckpt/` is changed."""

    def __init__(self, *reasons: WhyNot) -> None:
        super().__init__("; ".join(reason.text for reason in reasons), reasons[0].next_step)
        self.reasons: Sequence[WhyNot] = reasons


class StoppedFenced(CkptError):
    """Something is half done, and the fence stands."""

    exit_code = 1

    def __init__(self, *reasons: WhyNot) -> None:
        super().__init__("; ".join(reason.text for reason in reasons), reasons[0].next_step)
        self.reasons: Sequence[WhyNot] = reasons


class StoppedOutOfReach(StoppedFenced, Unavailable):
    """For something that may be as it should be, and cannot be seen."""

    exit_code = Unavailable.exit_code


class SparkStart(Struct, frozen=True):
    """What Spark did, started on a copy (`--verify-with-spark`). `sources`: of the batch that it committed first, where
    they are to be seen, from where to where each was read. `error`: a class, unless only the end of a log tells."""

    version: str | None = None
    batch_id: int | None = None
    sources: list[dict[str, Any]] = []
    error: dict[str, str | None] | None = None


class StepResult(Struct):
    """`before`, `after`: size and SHA-256."""

    n: int
    kind: str
    path: str | None
    table: str | None
    result: Literal["done", "was_done", "pending", "failed"] = "pending"
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    ms: int = 0


class Outcome(Struct):
    """What is shown in the end, also where it ended early."""

    plan_id: str
    option: str
    undoes: bool = False
    state: State = "planned"
    changed: bool = False
    fenced: bool = False
    resumed: bool = False
    took_over: bool = False
    keeps_state: bool = True
    steps: list[StepResult] = []
    backup: dict[str, Any] | None = None
    promise: Promise | None = None
    found: Promise | None = None
    kept: bool | None = None
    findings: Sequence[Finding] = ()
    in_spark: SparkStart | None = None
    sinks: list[dict[str, Any]] = []
    conf: list[dict[str, str]] = []
    reasons: list[WhyNot] = []
    next: list[str] = []
    identical: bool | None = None
    times_restored: bool | None = None
    requests: dict[str, int] = {}
    error: BaseException | None = None
