"""Verdicts as people read them: the matrix, witnesses, and what a failure that was made small looks like."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from msgspec.structs import replace

from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_histories, parse_histories
from ckpttool.harness.judge import judge
from ckpttool.harness.report import report_document
from ckpttool.harness.shrink import At, Schedule, Shrunk, Smallest
from tests.documents import shown
from tests.history_builders import STEP_OF, History, Shape, sound_history
from tests.unit.harness.reports import KNOWN_BAD, report, write

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


def test_the_matrix_has_a_row_for_each_point_in_the_order_of_the_steps(tmp_path: Path) -> None:
    several = [sound_history(Shape(window=window, crash_batch=batch)) for window in STEP_OF for batch in (0, 2)]
    path = write(tmp_path / "a.jsonl", several[0], *(history.case for history in several))
    code, text = report(path, form="text")
    assert code == 0
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("Step"))
    assert lines[head].split() == ["Step", "Point", "Window", "Batch", "0", "Batch", "2"]
    rows = lines[head + 1 : head + 6]
    assert [row.split()[0] for row in rows] == ["2", "4", "7", "point", "8"]
    assert all(row.count("valid") == 2 for row in rows)
    assert max(map(len, lines)) <= 80


def test_witnesses_stand_below(tmp_path: Path) -> None:
    shutil.copy(KNOWN_BAD / "batch-twice-in-ledger.jsonl", tmp_path)
    text = report(tmp_path, form="text")[1]
    assert "batch-twice-in-ledger (P5): batch 2 is in versions 2 and 4 of the sink (versions 2, 4)" in text
    assert '{"id": 5, "k": "c", "v": 50, "at": 5000}' in text
    assert "again: ckpt crash-test replay image-1" in text


def test_what_fails_alike_is_told_once(tmp_path: Path) -> None:
    bad = parse_histories((KNOWN_BAD / "row-lost.jsonl").read_text())
    (case,) = bad.cases
    cases = [replace(case, name=f"{n}", crashes=(replace(case.crashes[0], nth=n),)) for n in range(1, 9)]
    (tmp_path / "a.jsonl").write_text(encode_histories(replace(bad, cases=tuple(cases))))
    lines = report(tmp_path, form="text")[1].splitlines()
    assert "1. point in doubled, batch 2: invalid" in lines
    at = lines.index("1. point in doubled, batch 2: invalid")
    assert lines[at + 1].startswith("   so are 7 more: point in doubled, batch 2, hit 2; ")
    assert lines[at + 1].endswith("; and 3 more")
    assert sum("row-lost" in line for line in lines) == 1
    assert "8 of 8 INVALID" in "\n".join(lines)


def test_what_was_done_by_hand_stands_apart(tmp_path: Path, sound: History) -> None:
    crash = replace(sound.case.crashes[0], mode="torn", edit="checkpoint/offsets/2 cut")
    torn = replace(sound.case, name="torn", crashes=(crash,), way_out="rewind-to-batch")
    twice = replace(sound.case, name="twice", crashes=sound.case.crashes * 2)
    text = report(write(tmp_path / "a.jsonl", sound, sound.case, torn, twice), form="text")[1]
    assert re.search(r"By hand, on what is left at point in doubled, batch 2\nDamage +Way out +Verdict\n", text)
    assert re.search(r"\ncheckpoint/offsets/2 cut +rewind-to-batch +\w+\n", text)
    assert "A second crash, in the recovery from one at point in doubled\nStep " in text
