"""docs/exactly-once.md says what the judge knows, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

from ckpttool.harness.judge import PROPERTIES
from ckpttool.harness.judge.anomalies import ANOMALIES
from ckpttool.harness.judge.known import DEFECTS
from ckpttool.releases import spell_release

PAGE = (Path(__file__).parents[3] / "docs" / "exactly-once.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE)
]


def test_every_property_is_told() -> None:
    assert [row[0] for row in ROWS if re.fullmatch(r"P\d+", row[0])] == list(PROPERTIES)


def test_every_anomaly_is_told_in_its_own_words() -> None:
    told = {row[0].strip("`"): row[2] for row in ROWS if len(row) == 3 and row[1] in PROPERTIES}
    assert told == ANOMALIES


def test_every_defect_is_told_in_its_own_words() -> None:
    told = {(row[0].strip("`"), row[1], row[2]) for row in ROWS if len(row) == 3 and re.fullmatch(r"[\d.]+", row[1])}
    assert told == {(defect.id, spell_release(defect.since), defect.title) for defect in DEFECTS}
