"""The words that several commands have for a source's step: how many of what, how sure, and what nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool import open_checkpoint
from ckpttool.connectors.base import OffsetStep
from ckpttool.report.views.batches import (
    commit_fields,
    find_batch,
    offset_fields,
    spell_kind,
    spell_label,
    spell_reached,
    spell_step,
    spell_step_briefly,
)
from ckpttool.scene.batches import Batch, decode_batches
from tests.builders import build


def batches(root: Path, story: str, **versions: Any) -> tuple[Batch, ...]:
    return tuple(decode_batches(open_checkpoint(str(build(root, story, **versions)))))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (OffsetStep(1_200_000, "rows", exact=True), "1,200,000 rows"),
        (OffsetStep(1, "rows", exact=True), "1 row"),
        (OffsetStep(1, "log entries", exact=True), "1 log entry"),
        (OffsetStep(5, "rows", exact=False), "≤ 5 rows"),
        (OffsetStep(0, "rows", exact=False), "0 rows"),  # at most none is none
        (OffsetStep(None, "rows", exact=False, note="opaque to us"), "opaque to us"),
        (OffsetStep(None, "rows", exact=False), "not told by the offsets"),
        (None, ""),
    ],
)
def test_a_step_in_words(step: OffsetStep | None, expected: str) -> None:
    assert spell_step(step) == expected


def test_a_step_in_a_table_is_no_sentence(tmp_path: Path) -> None:
    first, second = batches(tmp_path, "r5 - c | k3-4 - c")
    assert [spell_step_briefly(source) for source in (*first.sources, *second.sources)] == ["5 seconds", "-", "?", "-"]


def test_a_source_goes_by_its_name_or_else_by_its_place(tmp_path: Path) -> None:
    (by_place,) = batches(tmp_path / "one", "- k0-5 c")
    (by_name,) = batches(tmp_path / "two", "k0-5 k0-5 c", offsets_version=2)
    assert [spell_label(source) for source in by_place.sources] == ["0", "1"]
    assert [source.name for source in by_name.sources] == [spell_label(source) for source in by_name.sources]
    assert [spell_kind(source) for source in by_place.sources] == ["", "kafka"]
    assert [spell_reached(one) for one in (*by_place.sources, None)] == [
        "nothing yet",
        "t 1 partition, 5",
        "nothing yet",
    ]


def test_programs_are_told_of_a_batch_without_offsets_what_is_known(tmp_path: Path) -> None:
    found = batches(tmp_path, "lost c | k0-10 c")
    lost = find_batch(found, 0)
    assert lost
    assert find_batch(found, 7) is find_batch(found, None) is None
    assert offset_fields(lost) == {
        "batch_id": 0,
        "version": None,
        "timestamp_ms": None,
        "watermark_ms": None,
        "conf": {},
        "sources": [],
    }


def test_an_offset_is_json_in_json_and_its_step_says_how_it_went_back(tmp_path: Path) -> None:
    _, back = batches(tmp_path, "k0-10 c | k10-7 c")
    (source,) = offset_fields(back)["sources"]
    assert source["offset"] == {"t": {"0": 7}}
    assert source["step"]["backwards"] == ["t-0"]


@pytest.mark.parametrize(
    ("version", "ids", "sinks"), [(1, None, 0), (2, {"0": [["e8f1"]]}, 0), (3, {"0": [["e8f1"]]}, 1)]
)
def test_what_a_commit_says_beside_the_watermark(tmp_path: Path, version: int, ids: object, sinks: int) -> None:
    (batch,) = batches(tmp_path, "k0-10 c5000", commits_version=version)
    assert batch.commit
    fields = commit_fields(batch.commit)
    assert (fields["next_watermark_ms"], fields["state_unique_ids"], len(fields["sinks"])) == (5000, ids, sinks)
