"""What laws share: from when to when one holds, and how the same trouble is called from release to release."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.laws.base import Law, around_a_task, finding_of, severity_by_age, unread
from ckpttool.model import Finding
from ckpttool.releases import Release
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.sinks import SinkEvidence, SinkKind
from tests.builders import build
from tests.unit.kafka.scenes import query
from tests.unit.laws.scenes import diagnosed

STORY = "k0-10 c | k10-20 c"
NEW: Release = (4, 2, 0)


def error(root: Path, release: Release) -> Failure:
    failure = diagnosed(root, release).prediction.error
    assert failure
    return failure


@pytest.mark.parametrize(
    ("release", "holds"), [((3, 4, 4), False), ((3, 5, 0), True), ((4, 0, 4), True), ((4, 1, 0), False)]
)
def test_a_law_holds_from_its_first_release_up_to_before_its_last(release: Release, holds: bool) -> None:
    assert Law("x", "x", since=(3, 5, 0), until=(4, 1, 0)).holds_for(release) is holds


def test_a_law_without_an_end_holds_on() -> None:
    assert Law("x", "x", since=(3, 5, 0)).holds_for((9, 9, 9))


def test_a_law_that_tells_itself_does_not_say_the_path_twice() -> None:
    failure = Failure("init", "a.B", "C", "", "offsets/1: it is cut", path="offsets/1", expected="more")
    told = finding_of(Law("x", "x", next_step="mend it"), failure)
    assert (told.id, told.path, told.message) == ("x", "offsets/1", "it is cut")
    assert (told.expected, told.next_step, told.spark) == ("more", "mend it", failure.spark)


@pytest.mark.parametrize(
    ("name", "phase", "batch"), [("offsets", "init", None), ("commits", "batch", 0), ("state", "batch", 0)]
)
def test_a_file_in_the_place_of_a_directory_stops_it_where_it_writes(
    tmp_path: Path, name: str, phase: str, batch: int | None
) -> None:
    root = build(tmp_path, "" if name == "offsets" else "k0-10")
    shutil.rmtree(root / name, ignore_errors=True)
    (root / name).write_text("x")
    failure = error(root, NEW)
    assert (failure.phase, failure.batch_id, failure.path) == (phase, batch, name)
    assert failure.class_name.endswith(".ParentNotDirectoryException")


@pytest.mark.parametrize(("release", "condition"), [((3, 3, 4), None), ((3, 4, 0), "_LEGACY_ERROR_TEMP_2207")])
def test_a_refused_rename_got_a_condition(tmp_path: Path, release: Release, condition: str | None) -> None:
    (build(tmp_path, STORY) / "offsets" / ".2.crc").write_bytes(b"crc\0")
    assert (error(tmp_path, release).condition, error(tmp_path, release).batch_id) == (condition, 2)


def test_a_name_in_another_spelling_is_missed_under_its_own(tmp_path: Path) -> None:
    (build(tmp_path, STORY) / "offsets" / "005").write_text("x")
    assert (error(tmp_path, NEW).path, error(tmp_path, NEW).message) == ("offsets/5", "offsets/5 does not exist")


def test_nothing_comes_after_the_highest_number(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c")
    for log in ("offsets", "commits"):
        (tmp_path / log / "0").rename(tmp_path / log / str(2**63 - 1))
    assert error(tmp_path, NEW).message == "More than Int.MaxValue elements."


@pytest.mark.parametrize(
    ("release", "class_name", "condition"),
    [
        ((3, 5, 7), "java.lang.IllegalStateException", None),
        ((4, 0, 0), "org.apache.spark.SparkIllegalStateException", "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"),
    ],
)
def test_a_version_that_is_not_read_yet(
    tmp_path: Path, release: Release, class_name: str, condition: str | None
) -> None:
    newest = build(tmp_path, STORY) / "offsets" / "1"
    for version in (b"v2", b"v9"):
        newest.write_bytes(version + newest.read_bytes()[2:])
        found = error(tmp_path, release)
        assert (found.class_name, found.condition, found.path) == (class_name, condition, "offsets/1")


def test_a_version_is_read_from_its_first_release_on(tmp_path: Path) -> None:
    root = build(tmp_path, STORY, offsets_version=2)
    assert diagnosed(root, NEW).prediction.outcome == "new_batch"
    assert error(root, (4, 1, 3)).message == "maximum supported log version is v1, but encountered v2"


@pytest.mark.parametrize(
    ("fault", "known"), [("unreadable", False), ("file-vanished", False), ("offset-file-torn", True)]
)
def test_what_was_not_read_is_a_doubt_and_what_is_damaged_a_failure(fault: str, known: bool) -> None:
    answer = unread(query({"t": {0: 1}}), Finding(fault, "error", "offsets/0", "no"), "init", "offsets/0")
    assert isinstance(answer, Failure if known else Doubt)
    assert "offsets/0" in answer.why


def test_what_is_wrong_below_the_two_files_that_spark_opens_is_history() -> None:
    scene = query(*({"t": {0: number}} for number in range(4)))
    assert [severity_by_age(scene, number) for number in range(4)] == ["warning", "warning", "error", "error"]


@pytest.mark.parametrize(
    ("release", "sink", "condition"),
    [
        ((3, 2, 4), "kafka", None),
        ((3, 3, 0), "kafka", "WRITING_JOB_ABORTED"),
        ((3, 3, 0), "delta", None),
        ((3, 4, 0), "kafka", None),
        ((3, 4, 0), "delta", "TASK_WRITE_FAILED"),
        ((4, 0, 0), "delta", None),
    ],
)
def test_what_a_sink_puts_around_a_failure_of_its_tasks(
    release: Release, sink: SinkKind, condition: str | None
) -> None:
    scene: Scene = replace(query({"t": {0: 1}}, release=release), sinks=(SinkEvidence(sink, "/out"),))
    assert around_a_task(scene) == condition
