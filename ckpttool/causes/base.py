"""What a cause is: something that happened to a checkpoint, known by what it leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ckpttool.literals import shell_path
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene

Sureness = Literal["certain", "likely", "possible"]  # the surest first
SURENESS: tuple[Sureness, ...] = ("certain", "likely", "possible")


class Symptoms(Struct, frozen=True, dict=True):
    """What was seen, and all that was found wrong with it."""

    scene: Scene
    findings: tuple[Finding, ...]

    def of(self, *ids: str) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.id in ids)

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self.findings)


def is_copied(scene: Scene) -> bool:
    """Whether files were written long after the batches that they are of: most of them, and the oldest."""
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    late = [one for one in timed if one.is_late]
    return bool(late) and late[0] is timed[0] and 2 * len(late) > len(timed)


def tells_of_state(scene: Scene) -> bool:
    """Whether a batch that is done had state: by what describes it, or by a watermark."""
    logged = any(one.watermark_ms for one in scene.evidence.batches) or scene.evidence.logs_tell_of_state
    return logged or describes_state(scene)


def describes_state(scene: Scene) -> bool:
    """Whether an operator's metadata is there, or the schema of one of its stores."""
    return any(one.metadata or any(store.schema for store in one.stores) for one in scene.checkpoint.operators)


class Sign(Struct, frozen=True):
    """What shows that it happened. `told`: what was seen of it here. `explains`: the findings that come of it, where
    those are not all that the cause may explain. `would_tell`: what would make it certain. `command`: what to look at
    first, where that depends on what was seen."""

    sure: Sureness
    told: str
    explains: tuple[Finding, ...] | None = None
    would_tell: str | None = None
    command: str | None = None


class KnownCause(Struct, frozen=True):
    """One thing that happens to checkpoints.

    `story`: how it comes to that. `shown_by`: what it is recognised by. `explains`: the ids of findings that may come
    of it; it is told only above such ones. `look`: whether it happened. `advice`: what to do first, in words, and
    `command`: the same as a command, in which `{path}` is the checkpoint. `never`: ways out that are not needed, and
    cost more than what happened."""

    id: str
    title: str
    story: str
    shown_by: str
    explains: tuple[str, ...]
    look: Callable[[Symptoms], Sign | None]
    advice: str
    command: str
    never: tuple[str, ...] = ()


class ToldCause(Struct, frozen=True):
    """A cause that was recognised. `findings`: those that come of it; of which no other cause is told."""

    known: KnownCause
    sign: Sign
    findings: tuple[Finding, ...]
    path: str

    @property
    def id(self) -> str:
        return self.known.id

    @property
    def command(self) -> str:
        return (self.sign.command or self.known.command).replace("{path}", shell_path(self.path))
