"""What a sink's own record says of a batch."""

from __future__ import annotations

from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite

SINK = SinkEvidence(
    "delta",
    "t",
    ledger=(LedgerEntry("other", 9), LedgerEntry("q", 4)),
    writes=(
        SinkWrite("version 3", 1, "q", 4),
        SinkWrite("version 4", 2, "other", 4),
        SinkWrite("version 5", 3, "q", 4, rows_lost="why"),
    ),
)


def test_a_query_is_told_from_others_by_its_application() -> None:
    assert SINK.entry("q") == LedgerEntry("q", 4)
    assert SINK.entry(None) is None


def test_the_last_write_of_a_batch_counts() -> None:
    found = SINK.write_of("q", 4)
    assert found
    assert found.place == "version 5"
    assert SINK.write_of("q", 5) is None
