"""A checkpoint after some steps, worked out on values: what is read of the files once the steps are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.errors import MalformedFile
from ckpttool.formats.file_log import NO_FILES
from ckpttool.plan.simulation import after_steps
from ckpttool.plan.steps import Conf, Step, Write, option, replace_file, session_conf, set_aside, set_aside_alone, write
from ckpttool.scene.batches import Batch
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import build
from tests.take_steps import take_steps

STORY = "f0 c | f1 c | f2"
WHY = "a test"
FIELDS = ("metadata", "offset_names", "offsets", "commit_names", "commits", "source_logs", "faults", "root_names")


def scene_of(root: Path) -> Scene:
    return Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0)))


def batches(scene: Scene, is_timed: bool) -> list[Batch]:
    found = scene.evidence.batches
    return [one if is_timed else replace(one, written_ms=None, committed_ms=None) for one in found]


def gone(*paths: str) -> Callable[[Path], Sequence[Step]]:
    return lambda root: [step for path in paths for step in set_aside(str(root), path, WHY)]


def gone_with_all_in_it(path: str) -> Callable[[Path], Sequence[Step]]:
    return lambda root: set_aside_alone(str(root), path, WHY)


def written(path: str, content: bytes) -> Callable[[Path], Sequence[Step]]:
    return lambda root: [write(str(root), path, content, WHY)]


def replaced(path: str, content: bytes) -> Callable[[Path], Sequence[Step]]:
    return lambda root: replace_file(str(root), path, content, WHY)


STEPS = {
    "the newest offsets": gone("offsets/2"),
    "a commit in the middle": gone("commits/0"),
    "a batch, newest first": gone("offsets/2", "commits/1", "offsets/1"),
    "an entry of a source": gone("sources/0/2"),
    "the query's id": gone("metadata"),
    "a log": gone_with_all_in_it("commits"),
    "the sources": gone_with_all_in_it("sources"),
    "a commit that was not there": written("commits/2", b'v1\n{"nextBatchWatermarkMs":7}'),
    "other offsets": replaced(
        "offsets/2", b'v1\n{"batchWatermarkMs":5,"batchTimestampMs":9,"conf":{}}\n{"logOffset":1}'
    ),
    "an entry without files": replaced("sources/0/1", NO_FILES),
    "another id": replaced("metadata", b'{"id":"11111111-2222-3333-4444-555555555555"}'),
}


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_it_is_what_is_read_after_the_steps_were_taken(tmp_path: Path, make: Callable[[Path], Sequence[Step]]) -> None:
    build(tmp_path, STORY)
    before, steps = scene_of(tmp_path), make(tmp_path)
    simulated = after_steps(before, steps)
    take_steps(tmp_path, steps)
    taken = scene_of(tmp_path)
    for field in FIELDS:
        assert getattr(simulated.checkpoint, field) == getattr(taken.checkpoint, field), field
    is_timed = not any(isinstance(step, Write) for step in steps)  # a file has no time yet where none was written
    assert batches(simulated, is_timed) == batches(taken, is_timed)
    assert any(getattr(before.checkpoint, field) != getattr(taken.checkpoint, field) for field in FIELDS)


@pytest.mark.parametrize("path", ["offsets/2", "commits/1", "sources/0/1", "metadata"])
def test_damage_goes_with_its_file(tmp_path: Path, path: str) -> None:
    build(tmp_path, STORY)
    (tmp_path / path).write_bytes(b"torn")
    before = scene_of(tmp_path)
    assert [fault.path for fault in before.checkpoint.faults] == [path]
    assert not after_steps(before, gone(path)(tmp_path)).checkpoint.faults
    assert not after_steps(before, gone_with_all_in_it(path.partition("/")[0])(tmp_path)).checkpoint.faults


def test_a_file_after_a_directory_of_its_name_counts(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    for name in ("2", "3"):
        (tmp_path / "commits" / name).mkdir()
    before = scene_of(tmp_path)
    assert before.checkpoint.commit_names.directories == ("3", "2")
    steps = [*set_aside_alone(str(tmp_path), "commits/2", WHY), *written("commits/2", b"v1\n{}")(tmp_path)]
    after = after_steps(before, steps).checkpoint.commit_names
    assert (list(after.ids), after.directories) == ([0, 1, 2], ("3",)), "the other one stands there still"


def test_settings_are_of_the_session_or_of_the_writer(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    steps: list[Conf] = [session_conf("spark.a", "1", WHY), option("startingOffsets", "earliest", WHY)]
    scene = Scene(scene_of(tmp_path).evidence, Start((4, 2, 0), options={"STARTINGOFFSETS": "latest", "other": "x"}))
    start = after_steps(scene, steps).start
    assert start.conf["spark.a"] == "1"
    assert dict(start.options) == {"other": "x", "startingOffsets": "earliest"}, "whatever its letters"


def test_what_no_repair_writes_is_a_mistake_of_ours(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    with pytest.raises(MalformedFile, match="not written by any repair"):
        after_steps(scene_of(tmp_path), [write(str(tmp_path), "state/7", b"x", WHY)])
