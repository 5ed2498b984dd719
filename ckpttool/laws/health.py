"""What no restart tells: it goes on today, and something will end that, or hides what went wrong. Asked besides the
rest of the book by whoever wants to know how a query is, not by those who want to know what a restart does. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws import (
    databricks,
    file_log,
    one_way,
    pace,
    place,
    read_again,
    state_changed,
    state_upkeep,
    two_queries,
    watermark,
)
from ckpttool.laws.base import Law, Profile, answering
from ckpttool.laws.inputs import time_left as at_inputs
from ckpttool.laws.kafka import time_left as at_kafka
from ckpttool.laws.sinks import file_log as of_file_sinks
from ckpttool.laws.sinks import history, record
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene

LAWS: tuple[Law, ...] = (
    *two_queries.HEALTH,
    *read_again.HEALTH,
    *watermark.HEALTH,
    *pace.HEALTH,
    *one_way.HEALTH,
    *state_upkeep.HEALTH,
    *state_changed.HEALTH,
    *at_kafka.HEALTH,
    *at_inputs.HEALTH,
    *file_log.HEALTH,
    *databricks.HEALTH,
    *record.HEALTH,
    *history.HEALTH,
    *of_file_sinks.HEALTH,
    *place.HEALTH,
)


def told_of_health(scene: Scene, profile: Profile = "full") -> Iterator[Finding]:
    """Each look is asked once, for however many laws it answers, and only where what it needs was looked at."""
    unseen = {one.part for one in scene.not_looked_at} | ({"around"} if scene.around is None else set())
    laws = [law for law in answering(LAWS, scene.unasked) if law.needs not in unseen and law.applies_to(scene)]
    for look in dict.fromkeys(law.look for law in laws if law.look and profile in ("full", law.least)):
        yield from look(scene)
