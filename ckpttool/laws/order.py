"""What stops a restart, rule by rule, in the order in which Spark comes to it. Pure.

A rule looks at a `Scene` (what the files show, and under which release and settings the query is started) and yields a
`Failure`, a `Doubt` where the files leave it open, or nothing. The first that speaks decides. docs/recovery-rules.md is
generated from these values.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws import batch, logs, places, sources, start
from ckpttool.laws.base import Rule
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene


def rules_in_order(release: Release) -> Iterator[Rule]:
    """The rules of one release, in the order in which it runs into them."""
    early = release >= since.LOGS_FIRST
    before_batches = (
        (*start.RULES, *logs.NEWEST, *sources.AT_START, *logs.COMMITS, *logs.REST)
        if early
        else (*start.RULES, *sources.AT_START, *logs.NEWEST, *logs.REST, *logs.COMMITS)
    )
    for rule in (*before_batches, *sources.LAST_RANGE, *places.RULES, *batch.RULES):
        if rule.holds_for(release):
            yield rule


def first_obstacle(scene: Scene) -> Failure | Doubt | None:
    answers = (rule.check(scene) for rule in rules_in_order(scene.release))
    return next((answer for answer in answers if answer is not None), None)
