"""The book of laws: all that Spark minds and all that is told of a query, each with one entry. Pure.

What stops a restart stands in the order in which Spark comes to it, which differs between releases; the first law that
speaks decides. docs/recovery-rules.md and the index of docs/findings.md are made from these values.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws import batch, logs, places, sources, start
from ckpttool.laws.base import Law
from ckpttool.laws.checks import files, query
from ckpttool.laws.checks import logs as in_logs
from ckpttool.laws.checks import sources as in_sources
from ckpttool.laws.checks import state as in_state
from ckpttool.model import Finding
from ckpttool.releases import Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene

# What the two logs and the directories beside them show, in the order in which it is told.
TELLING: tuple[Law, ...] = (
    *files.LAWS,
    *start.RULES,
    *in_logs.LAWS,
    *logs.RULES,
    *in_sources.LAWS,
    *sources.LAST_RANGE,
    *in_state.LAWS,
    *query.LAWS,
)

# What the prediction itself gives to tell.
OF_THE_PREDICTION = (
    Law(
        "outcome-depends-on-version",
        "another release that may have written this would do something else",
        severities=("warning",),
    ),
    Law("restart-fails", "a restart will fail, for a reason of its own"),
)


def stopping(release: Release) -> Iterator[Law]:
    """The laws that can stop a restart under one release, in the order in which it runs into them."""
    before_batches = (
        (*start.RULES, *logs.NEWEST, *sources.AT_START, *logs.COMMITS, *logs.REST)
        if release >= since.LOGS_FIRST
        else (*start.RULES, *sources.AT_START, *logs.NEWEST, *logs.REST, *logs.COMMITS)
    )
    for law in (*before_batches, *sources.LAST_RANGE, *places.RULES, *batch.RULES):
        if law.holds_for(release):
            yield law


def first_obstacle(scene: Scene) -> tuple[Law, Failure | Doubt] | None:
    answers = ((law, law.check(scene)) for law in stopping(scene.release) if law.check)
    return next(((law, answer) for law, answer in answers if answer is not None), None)


def told_by_files(scene: Scene) -> Iterator[Finding]:
    """What the checkpoint's own files tell. Each look is asked once, for however many laws it answers."""
    laws = files.LAWS if scene.evidence.mode == "dstreams" else TELLING
    for look in dict.fromkeys(law.look for law in laws if law.look):
        yield from look(scene)


def every() -> tuple[Law, ...]:
    """All laws, by id: also those of parts that ordinary commands do not look at, and so do not import."""
    from ckpttool.laws import kafka_errors, state_verdict
    from ckpttool.laws.inputs import judge as in_inputs
    from ckpttool.laws.sinks import judge as in_sinks

    of_files = (*TELLING, *sources.AT_START, *places.RULES, *batch.RULES)
    judged = (*state_verdict.LAWS, *in_inputs.LAWS, *in_sinks.LAWS, *kafka_errors.LAWS)
    return tuple(sorted((*of_files, *judged, *OF_THE_PREDICTION), key=lambda law: law.id.lower()))
