"""The book of laws: all that Spark minds and all that is told of a query, each with one entry. Pure.

What stops a restart stands in the order in which Spark comes to it, which differs between releases; the first law that
speaks decides. docs/recovery-rules.md and the index of docs/findings.md are made from these values.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws import (
    batch,
    commits,
    databricks,
    file_log,
    file_place,
    files,
    given,
    kinesis,
    known_bugs,
    logs,
    metadata,
    offsets,
    pinned,
    query,
    rate,
    socket,
    sources,
    state,
    two_queries,
)
from ckpttool.laws.base import Check, Law, answering
from ckpttool.laws.inputs import delta_lines, iceberg_lines
from ckpttool.model import Finding
from ckpttool.releases import NEWEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Scene

START = (*databricks.STARTED, *query.STARTED, *iceberg_lines.STARTED, *metadata.LAWS)
BATCH = (
    *rate.PLANNED,
    *socket.PLANNED,
    *kinesis.PLANNED,
    *file_log.NEXT_ENTRY,
    *batch.BEGUN,
    *state.LOADED,
    *batch.COMMITTED,
)

# What the two logs and the directories beside them show, in the order in which it is told.
TELLING = (
    *files.LAWS,
    *metadata.LAWS,
    *metadata.TOLD,
    *offsets.HEADS,
    *logs.NAMES,
    *commits.VERSIONS,
    *state.REPARTITION,
    *offsets.BOTH,
    *logs.FIRST_BATCH,
    *sources.OFFSETS,
    *two_queries.LAWS,
    *delta_lines.TOLD,
    *sources.BEGINNINGS,
    *file_log.ENTRIES,
    *file_place.TOLD,
    *sources.FIRST,
    *iceberg_lines.MADE,
    *kinesis.LAWS,
    *rate.PLANNED,
    *socket.PLANNED,
    *state.DIRECTORIES,
    *query.TOLD,
    *databricks.TOLD,
    *state.FILES,
    *given.LAWS,
    *known_bugs.LAWS,
)

# What the prediction itself gives to tell.
OF_THE_PREDICTION = (
    Law(
        "outcome-depends-on-version",
        "another release that may have written this would do something else",
        severities=("warning",),
    ),
    Law("planner-disagrees", "Spark's own planner says otherwise of a changed query", severities=("warning",)),
)


def before_batches(release: Release) -> tuple[Law, ...]:
    """What a query runs into between `start()` and the batch that it settles on."""
    made = (*file_log.MADE, *rate.MADE, *iceberg_lines.MADE)
    newest = (*logs.LISTED, *offsets.NEWEST)
    committed = (*commits.NEWEST, *state.REPARTITION)
    both = (*offsets.BOTH, *pinned.LAWS, *logs.FIRST_BATCH)
    opened = (*newest, *made, *committed, *both) if release >= since.LOGS_FIRST else (*made, *newest, *both, *committed)
    of_tables = (*delta_lines.LAST_RANGE, *iceberg_lines.LAST_RANGE)
    ranges = (*of_tables, *sources.LAST_RANGE, *file_log.LAST_RANGE, *file_place.LAST_RANGE)
    return (*opened, *sources.FIRST, *file_log.POSITIONS, *ranges, *offsets.EPOCHS)


def stopping(release: Release) -> Iterator[Law]:
    """The laws that can stop a restart under one release, in the order in which it runs into them."""
    return (law for law in (*START, *before_batches(release), *BATCH) if law.holds_for(release))


def first_obstacle(scene: Scene) -> tuple[Law, Failure | Doubt] | None:
    """Each check is asked once, for however many laws it answers."""
    laws = {law.id: law for law in stopping(scene.release)}
    if left_out := sorted(scene.unasked & {law.id for law in laws.values() if law.check}):
        return laws[left_out[0]], Doubt(f"{left_out[0]} could not be asked")
    checks: dict[Check, Law] = {}
    for law in laws.values():
        if law.check:
            checks.setdefault(law.check, law)
    for check, first in checks.items():
        if answer := check(scene):
            return laws.get(answer.law, first) if isinstance(answer, Failure) else first, answer
    return None


def told_by_files(scene: Scene) -> Iterator[Finding]:
    """What the checkpoint's own files tell. Each look is asked once, for however many laws it answers."""
    laws = files.LAWS if scene.evidence.mode == "dstreams" else TELLING
    for look in dict.fromkeys(law.look for law in answering(laws, scene.unasked) if law.look):
        yield from look(scene)


def every() -> tuple[Law, ...]:
    """All laws, by id: also those of parts that ordinary commands do not look at, and so do not import."""
    from ckpttool.laws import health
    from ckpttool.laws.changes import told as of_changes
    from ckpttool.laws.inputs import judge as in_inputs
    from ckpttool.laws.kafka import judge as in_kafka
    from ckpttool.laws.sinks import verdict as at_sinks

    of_files = dict.fromkeys((*TELLING, *START, *before_batches(NEWEST), *BATCH))  # some both stop and are told
    judged = (
        *state.OF_ROWS,
        *in_inputs.LAWS,
        *at_sinks.LAWS,
        *in_kafka.LAWS,
        *of_changes.LAWS,
        *health.LAWS,
        *query.OF_A_FLEET,
    )
    return tuple(sorted((*of_files, *judged, *OF_THE_PREDICTION), key=lambda law: law.id.lower()))
