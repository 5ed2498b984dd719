"""The lines of `ckpt log`: fields two blanks apart, each batch on one of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.report.document import Document
from ckpttool.report.views.log import log_document
from ckpttool.scene.batches import decode_batches
from tests.builders import EPOCH_MS, build
from tests.documents import shown


def log(root: Path, story: str) -> Document:
    checkpoint = open_checkpoint(str(build(root, story)))
    return log_document(checkpoint.url, tuple(decode_batches(checkpoint)))


def test_the_fields_are_two_blanks_apart(tmp_path: Path) -> None:
    lines = shown(log(tmp_path, "k0-10 f0 c | k10-1000010 f1")).splitlines()
    assert [re.split(" {2,}", line) for line in lines] == [
        [
            "0",
            "2023-11-14 22:13:20Z",
            "committed",
            "kafka t 1 partition, 10 (≤ 10 rows); file log entry 0 (1 log entry)",
        ],
        [
            "1",
            "2023-11-14 22:14:20Z",
            "planned",
            "kafka t 1 partition, 1,000,010 (≤ 1,000,000 rows); file log entry 1 (1 log entry)",
        ],
    ]


def test_fields_stand_below_each_other_whatever_is_not_there(tmp_path: Path) -> None:
    whole, lost, pending = shown(log(tmp_path, "k0-10 c | lost c | k20-30")).splitlines()
    assert [line.index(word) for line, word in ((whole, "committed"), (lost, "committed"), (pending, "planned"))] == [
        whole.index("committed")
    ] * 3
    assert whole.index("kafka") == pending.index("kafka")
    assert lost == "1  no offsets            committed", "and no blanks behind the last"
    assert pending.endswith("(?)"), "how far the step goes cannot be told without the batch before"


def test_a_source_that_has_read_nothing_yet_has_no_blanks_within_its_field(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 f0 c")
    offsets = tmp_path / "offsets" / "0"
    *kept, _ = offsets.read_text().splitlines()
    offsets.write_text("\n".join([*kept, "-"]))
    checkpoint = open_checkpoint(str(tmp_path))
    (line,) = shown(log_document(checkpoint.url, tuple(decode_batches(checkpoint)))).splitlines()
    assert re.split(" {2,}", line)[3:] == ["kafka t 1 partition, 10 (≤ 10 rows); nothing yet (-)"]


def test_a_name_in_an_offset_cannot_break_the_line(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c")
    offsets = tmp_path / "offsets" / "0"
    offsets.write_text(offsets.read_text().replace('{"t":', '{"a\\n1\\u001b[2J":'))
    checkpoint = open_checkpoint(str(tmp_path))
    lines = shown(log_document(checkpoint.url, tuple(decode_batches(checkpoint)))).splitlines()
    assert len(lines) == 1
    assert lines[0].isprintable()


def test_programs_get_a_line_of_json_for_each_batch(tmp_path: Path) -> None:
    lines = shown(log(tmp_path, "k0-10 c | lost c | k20-30 w5000"), "jsonl").splitlines()
    told = [json.loads(line) for line in lines]
    assert [(one["batch_id"], one["committed"], one["rows"]) for one in told] == [
        (0, True, 10),
        (1, True, None),
        (2, False, None),
    ]
    assert (told[0]["planned_ms"], told[0]["committed_ms"], told[1]["planned_ms"]) == (EPOCH_MS, EPOCH_MS + 500, None)
    assert told[2]["watermark_ms"] == 5000
