"""What a sink has recorded, beside what the checkpoint says is done."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.scene.sinks import LedgerEntry
from tests.unit.laws.sinks.tables import NEXT, Q, said, table, write


def test_committed_batches_that_the_sink_lacks() -> None:
    assert said(table(2, write(2)), NEXT) == ("written", ["sink-behind-checkpoint error"])
    assert said(table(None), NEXT) == ("written", ["sink-behind-checkpoint error"])
    assert said(table(None), replace(NEXT, committed=None))[1] == []
    appended = replace(table(None), ledger=(LedgerEntry(Q, 2, 1, False),))
    assert said(appended, NEXT) == ("written", [])  # foreachBatch may leave empty batches out
