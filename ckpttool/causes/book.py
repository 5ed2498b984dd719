"""All causes, and which of them are told of a scene. Pure.

The surest speaks first, and what it explains is explained: another cause is told only if findings are left for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.causes import age, deploys, event_time, places, writers
from ckpttool.causes.base import SURENESS, KnownCause, Sign, Symptoms, ToldCause
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene

CAUSES: tuple[KnownCause, ...] = (
    *age.CAUSES,
    *deploys.CAUSES,
    *writers.CAUSES,
    *places.CAUSES,
    *event_time.CAUSES,
)


def causes_of(scene: Scene, findings: tuple[Finding, ...]) -> tuple[ToldCause, ...]:
    """The surest first; of those that are as sure, in the order of the book."""
    return tuple(_told(Symptoms(scene, findings)))


def _told(symptoms: Symptoms) -> Iterator[ToldCause]:
    explained: set[Finding] = set()
    for known, sign in sorted(_signs(symptoms), key=lambda one: SURENESS.index(one[1].sure)):
        found = symptoms.of(*known.explains) if sign.explains is None else sign.explains
        left = tuple(one for one in found if one not in explained)
        if left:
            explained.update(left)
            yield ToldCause(known, sign, left, symptoms.scene.root)


def _signs(symptoms: Symptoms) -> Iterator[tuple[KnownCause, Sign]]:
    for known in CAUSES:
        if known.id in symptoms.scene.unasked or symptoms.ids.isdisjoint(known.explains):
            continue
        if sign := known.look(symptoms):
            yield known, sign
