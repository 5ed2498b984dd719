"""A real kill at one point: what is witnessed of it, and when there was none. With Spark: tests/crash/test_kills.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool.harness.history import Crash
from ckpttool.harness.kills import NUMBER, kill_at
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.shrink import At
from tests.builders import build
from tests.unit.harness.scripted import Scripted, Stopped, at, trial_of

POINT = "offset-log-end"


def killed(job: Scripted, jvm: Any, where: At) -> Crash | None:
    return kill_at(trial_of(job), jvm, jvm, where)


def plan(job: Scripted, story: str) -> Any:
    return lambda: build(job.place.checkpoint, story)


def test_the_process_is_killed_where_it_stands_and_the_disk_is_what_the_image_has(entered: Scratch) -> None:
    job = Scripted(entered)
    jvm = Stopped((plan(job, "k0-10"), at(POINT, 0)), (plan(job, "k0-10 c | k10-30"), at(POINT, 1)))
    crash = killed(job, jvm, At(POINT, 1))
    assert crash is not None
    assert (jvm.frozen, jvm.killed, jvm.first_batch) == (True, True, 0)
    assert (crash.mode, crash.point, crash.batch_id, crash.proof.dead) == ("kill", POINT, 1, True)
    assert crash.proof.witness
    assert crash.proof.note == "the disk is what the image has"
    (image,) = trial_of(job).images
    assert image.number == NUMBER


def test_it_starts_on_nothing_but_the_input(entered: Scratch) -> None:
    job = Scripted(entered)
    (job.place.root / "input").mkdir()
    there: list[set[str]] = []
    jvm = Stopped((lambda: there.append({path.name for path in job.place.root.iterdir()}), at(POINT, 0)))
    killed(job, jvm, At(POINT, 0))
    assert there == [{"input"}]


@pytest.mark.parametrize("where", [At(POINT, 2), At(POINT, 1, nth=2), At("commit-log-end", 1)])
def test_a_point_that_is_not_reached_is_no_crash(entered: Scratch, where: At) -> None:
    job = Scripted(entered)
    jvm = Stopped((plan(job, "k0-10"), at(POINT, 0)), (lambda: None, at(POINT, 1)))
    assert killed(job, jvm, where) is None
    assert not jvm.killed


def test_what_is_written_behind_the_image_is_told(entered: Scratch) -> None:
    """Somebody who was not frozen goes on writing: then the image is not what the kill left."""
    job = Scripted(entered)

    class Restless(Stopped):
        def kill(self) -> int:
            (job.place.sink / "late.json").write_text("{}")
            return super().kill()

    def planned() -> None:
        build(job.place.checkpoint, "k0-10")
        job.place.sink.mkdir(exist_ok=True)

    crash = killed(job, Restless((planned, at(POINT, 0))), At(POINT, 0))
    assert crash is not None
    assert not crash.proof.witness
    assert crash.proof.note == "the disk differs from the image in sink/, sink/late.json"


def test_a_process_that_was_not_ended_by_the_kill_is_not_dead(entered: Scratch) -> None:
    job = Scripted(entered)

    class Gone(Stopped):
        def kill(self) -> int:
            return 1

    crash = killed(job, Gone((plan(job, "k0-10"), at(POINT, 0))), At(POINT, 0))
    assert crash is not None
    assert crash.proof.dead is False


def test_the_images_lie_apart_from_the_job(entered: Scratch) -> None:
    job = Scripted(entered)
    killed(job, Stopped((plan(job, "k0-10"), at(POINT, 0))), At(POINT, 0))
    folder: Path = trial_of(job).images.folder
    assert not folder.is_relative_to(job.place.root)
