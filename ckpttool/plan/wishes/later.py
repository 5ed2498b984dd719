"""Wishes that nobody grants yet, with the reason: who asks for one learns what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.plan.repair import Refusal
from ckpttool.plan.wishes.base import Wish
from ckpttool.scene.scene import Scene

# Verb → why not yet, and what there is meanwhile.
LATER: Mapping[str, str] = {
    "sink-log": (
        "what readers of the file sink see would change, and that is not shown as a difference yet; ckpt plan-recovery"
        " --sink URL says which entries are missing: restore those from a backup of the output"
    ),
    "source-log": (
        "a file that is taken out of the log may be listed and read again, and which of them still lie in the input is"
        " not looked at yet; restore the log from a backup, or begin a new checkpoint"
    ),
    "reset-state": (
        "sinks in update and append mode would get windows again that they have, which is not judged yet; a query"
        " that may forget its state can begin a new checkpoint at the same offsets"
    ),
    "repartition": (
        "only Spark itself, from 4.2 on, moves rows of state between partitions, and a plan cannot have it do that"
        " yet; a query without state takes spark.sql.shuffle.partitions from its session"
    ),
    "downgrade": (
        "what the newer release wrote into state and logs is not all known to be readable by the older one; begin a new"
        " checkpoint under the older release, at the same offsets"
    ),
}


class Later(Wish, frozen=True, tag="later"):
    wanted: str

    def repair(self, scene: Scene) -> Refusal:  # noqa: ARG002
        return Refusal(self.wanted, f"not yet: {LATER[self.wanted]}")
