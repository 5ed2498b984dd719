"""The table of causes: what they explain is in the book of laws, and a sound checkpoint has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.causes.book import CAUSES
from ckpttool.laws.book import every
from tests.samples.place import about, sample_names
from tests.unit.causes.happenings import told

IDS = {law.id for law in every()}


def test_ids_are_unique_and_no_law_has_them() -> None:
    ids = [cause.id for cause in CAUSES]
    assert len(set(ids)) == len(ids)
    assert IDS.isdisjoint(ids)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.id)
def test_a_cause_explains_findings_that_there_are(cause: object) -> None:
    known = next(one for one in CAUSES if one is cause)
    assert set(known.explains) <= IDS
    assert len(known.explains) > 1
    assert known.story.endswith(".")
    assert "{" not in known.command.replace("{path}", "")


@pytest.mark.parametrize(
    "name", [name for name in sample_names() if name.endswith("-sound") and "dstreams" not in name]
)
def test_nothing_happened_to_what_is_sound(sample: Callable[[str], Path], name: str) -> None:
    assert told(sample(name) / about(name)["checkpoint"]) == {}
