"""Two batches held against each other: nothing where they are the same, and each thing that is not."""

from __future__ import annotations

from pathlib import Path

from ckpttool import open_checkpoint
from ckpttool.api import inspect_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.fleet.comparison import Difference, compare_batches
from tests.builders import build


def compared(a: Diagnosis, batch_a: int, b: Diagnosis, batch_b: int) -> dict[str, Difference]:
    found = compare_batches(a, a.evidence.batches[batch_a], b, b.evidence.batches[batch_b])
    return {one.what: one for one in found}


def diagnosis(root: Path, story: str = "k0-10 c | k10-25 c | k25-30") -> Diagnosis:
    return inspect_checkpoint(open_checkpoint(str(build(root, story))))


def test_a_batch_is_equal_to_itself_and_to_its_copy(tmp_path: Path) -> None:
    one, copy = diagnosis(tmp_path / "one"), diagnosis(tmp_path / "copy")
    assert compared(one, 1, one, 1) == compared(one, 1, copy, 1) == {}


def test_batches_of_one_checkpoint_differ_in_their_offsets_and_not_in_their_query(tmp_path: Path) -> None:
    one = diagnosis(tmp_path)
    forth, back = compared(one, 0, one, 1), compared(one, 1, one, 0)
    assert {"batch", "source 0", "planned (ms)"} <= set(forth) == set(back)
    assert "query id" not in forth
    step, back_step = forth["source 0"].step, back["source 0"].step
    assert step
    assert back_step
    assert (step.amount, bool(step.backwards), bool(back_step.backwards)) == (15, False, True)
    assert (back["batch"].a, back["batch"].b) == (forth["batch"].b, forth["batch"].a) == ("1", "0")


def test_a_commit_that_is_not_there_is_told(tmp_path: Path) -> None:
    one = diagnosis(tmp_path)
    assert compared(one, 1, one, 2)["commit"] == Difference("commit", "committed", "no commit")


def test_a_source_that_only_one_side_has(tmp_path: Path) -> None:
    one, two = diagnosis(tmp_path / "one", "k0-10 c"), diagnosis(tmp_path / "two", "k0-10 f0 c")
    assert (compared(one, 0, two, 0)["source 1"].a, compared(two, 0, one, 0)["source 1"].b) == (None, None)
