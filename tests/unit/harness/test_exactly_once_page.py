"""docs/exactly-once.md says what the judge knows, no more and no less."""

from __future__ import annotations

import re

from ckpttool.harness.judge import PROPERTIES
from ckpttool.harness.judge.known import DEFECTS
from ckpttool.releases import spell_release
from tests.told_anomalies import ANOMALIES, ROWS


def test_every_property_is_told() -> None:
    assert [row[0] for row in ROWS if re.fullmatch(r"P\d+", row[0])] == list(PROPERTIES)


def test_every_anomaly_is_of_a_property() -> None:
    """Which one finds it, recorded histories show: `judge/test_anomalies.py`."""
    assert set(ANOMALIES.values()) == PROPERTIES.keys()


def test_every_defect_is_told_in_its_own_words() -> None:
    told = {(row[0].strip("`"), row[1], row[2]) for row in ROWS if len(row) == 3 and re.fullmatch(r"[\d.]+", row[1])}
    assert told == {(defect.id, spell_release(defect.since), defect.title) for defect in DEFECTS}
