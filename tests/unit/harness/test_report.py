"""What a failure that was made small looks like, as text and as JSON."""

from __future__ import annotations

from msgspec.structs import replace

from ckpttool.harness.history import Histories
from ckpttool.harness.judge import judge
from ckpttool.harness.report import report_document
from ckpttool.harness.shrink import At, Schedule, Shrunk, Smallest
from tests.documents import shown
from tests.history_builders import Shape, sound_history

SCHEDULE = Schedule((At("commit-log/rename-begin", 0), At("offset-log-end", 0, 2)), batches=1, partitions=1, rows=2)


def smallest(finished: bool) -> Smallest:
    case = replace(sound_history(Shape()).case, image="/tmp/images/orders-smallest/0001")
    return Smallest("orders", "row-lost", Shrunk(SCHEDULE, 12, finished), case)


def test_the_smallest_stands_at_the_end() -> None:
    sound = sound_history(Shape())
    text = shown(report_document([judge(Histories(sound.run, (sound.case,)))], [smallest(finished=False)]))
    assert text.endswith(
        """
The smallest that still fails with row-lost (12 tried, and smaller ones may fail too):
   orders: commit-log/rename-begin, batch 0, hit 1
   orders: offset-log-end, batch 0, hit 2
   with an input of 1 batch, 2 rows in each, and 1 partition after a shuffle
   again: ckpt crash-test replay image-1
"""
    )
    assert "(12 tried):" in shown(report_document([], [smallest(finished=True)]))


def test_the_smallest_as_json() -> None:
    (fields,) = report_document([], [smallest(finished=True)]).fields()["smallest"]
    assert fields == {
        "scenario": "orders",
        "anomaly": "row-lost",
        "crashes": [
            {"point": "commit-log/rename-begin", "batch_id": 0, "hit": 1},
            {"point": "offset-log-end", "batch_id": 0, "hit": 2},
        ],
        "batches": 1,
        "partitions": 1,
        "rows": 2,
        "tried": 12,
        "finished": True,
        "image": "/tmp/images/orders-smallest/0001",
        "replay": "ckpt crash-test replay image-1",
    }
