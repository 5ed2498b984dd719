"""How a law of sinks speaks: its verdict, and the finding that tells of it."""

from __future__ import annotations

import pytest

from ckpttool.laws.sinks.base import said
from ckpttool.scene.sinks import SinkView, Verdict
from tests.unit.laws.sinks.tables import REPLAY, table, write


@pytest.mark.parametrize(
    ("verdict", "severity"), [("skipped_rows_lost", "error"), ("duplicated", "error"), ("unknown", "warning")]
)
def test_what_harms_is_an_error_and_what_is_open_a_warning(verdict: Verdict, severity: str) -> None:
    spoken = said(SinkView(table(5, write()), REPLAY), verdict, "so it is", "txn-expired", "do this")
    assert [(one.id, one.severity, one.message, one.next_step) for one in spoken.findings] == [
        ("txn-expired", severity, "so it is", "do this")
    ]


def test_without_an_id_nobody_has_to_act() -> None:
    assert said(SinkView(table(5, write()), REPLAY), "written", "so it is").findings == ()


def test_a_record_that_is_further_on_loses_the_batches_in_between_too() -> None:
    (finding,) = said(SinkView(table(8, write()), REPLAY), "skipped_rows_lost", "lost", "txn-expired").findings
    assert finding.message == "lost. The same goes for every batch up to 8"
