"""P5: the sink's own record of batches, also where a way out has restored it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import (
    ObservedCommit,
)
from ckpttool.harness.judge import Unknown, judge_case
from tests.history_builders import QUERY_ID, History, Shape, sound_history
from tests.unit.harness.judge.cases import judged, names, with_crash


@pytest.fixture
def rewound() -> History:
    """Batches 2 and 3 were in the table; it was restored to batch 1, its record lowered, and both ran again."""
    history = sound_history(Shape(window="done", crash_batch=3))
    log = history.case.after.sink or ()
    again = [replace(commit, version=commit.version + 4, files=(f"again-{commit.version}",)) for commit in log[2:]]
    lowered = ObservedCommit(version=5, app_id=QUERY_ID, batch_id=1, operation="WRITE", rows=())
    restored = ObservedCommit(version=4, operation="RESTORE", restored_to=1)
    after = replace(history.case.after, sink=(*log, restored, lowered, *again))
    case = replace(history.case, after=after, way_out="rewind-to-batch", rewound_to=1, prediction=None)
    return replace(history, case=case)


def test_a_table_that_was_restored_has_each_batch_once(rewound: History) -> None:
    judgement = judge_case(rewound.run, rewound.case)
    assert (judgement.verdict, names(judgement)) == ("valid", set())


def test_without_the_restore_the_same_log_has_batches_twice(rewound: History) -> None:
    log = [commit for commit in rewound.case.after.sink or () if commit.restored_to is None]
    judgement = judged(rewound, after=replace(rewound.case.after, sink=tuple(log)))
    assert "batch-twice-in-ledger" in names(judgement)


def test_a_record_that_is_lowered_by_nobody_is_an_anomaly(rewound: History) -> None:
    judgement = judged(rewound, way_out=None, rewound_to=None)
    assert "batch-twice-in-ledger" in names(judgement)


def test_a_version_whose_rows_were_not_read_is_unknown() -> None:
    history = sound_history(Shape())
    first, *others = history.case.after.sink or ()
    unread = replace(history.case.after, sink=(replace(first, rows=None), *others))
    disk = replace(history.case.crashes[0].disk, sink=(replace(first, rows=None),))
    outcome = judged(history, after=unread, crashes=with_crash(history.case, disk=disk)).outcomes["P5"]
    assert outcome == Unknown("the rows of version 0 of the sink were not read")
