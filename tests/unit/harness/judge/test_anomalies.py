"""Recorded histories, each with one thing that is wrong: all are rejected, each by its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.history_json import parse_histories
from ckpttool.harness.judge import Invalid, judge
from tests.told_anomalies import ANOMALIES

FOLDER = Path(__file__).parents[3] / "known_bad"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.jsonl"))}


def test_there_is_one_for_each_anomaly() -> None:
    assert FILES.keys() == ANOMALIES.keys()


@pytest.mark.parametrize("name", FILES)
def test_it_is_rejected_by_its_name(name: str) -> None:
    """And by the property that the page names."""
    (judgement,) = judge(parse_histories(FILES[name].read_text(encoding="utf-8"))).judgements
    found = {
        (anomaly.name, by)
        for by, outcome in judgement.outcomes.items()
        if isinstance(outcome, Invalid)
        for anomaly in outcome.anomalies
    }
    assert (name, ANOMALIES[name]) in found
    assert found <= ANOMALIES.items()
    assert judgement.verdict != "valid"


def test_a_control_that_is_silent_is_told() -> None:
    judged = judge(parse_histories(FILES["control-silent"].read_text(encoding="utf-8")))
    assert [control.is_silent for control in judged.controls] == [True]


def test_the_witnesses_of_a_duplicate_name_its_versions() -> None:
    judged = judge(parse_histories(FILES["batch-twice-in-ledger"].read_text(encoding="utf-8")))
    (anomaly,) = judged.judgements[0].anomalies
    assert len(anomaly.versions) == 2
    assert anomaly.rows
