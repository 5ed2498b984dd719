"""A recovery that is stopped itself, and what is recovered from then. With Spark: tests/crash/test_smoke.py."""

from __future__ import annotations

from typing import Any

from ckpttool.harness.crashed_recovery import cases_of_second_crashes, crash_recovery
from ckpttool.harness.history_json import encode_run
from ckpttool.harness.images import Image
from ckpttool.harness.scratch import Scratch
from tests.builders import build
from tests.unit.harness.scripted import Scripted, Stopped, at, trial_of

FIRST = Image(1, "offset-log-end", "offset-log-end", 3, "replayed", 1, 1, "main")


def test_each_case_has_both_crashes_and_its_own_image(entered: Scratch) -> None:
    job = Scripted(entered)
    trial = trial_of(job)
    trial.images.take(FIRST, job.place.root)
    trial.history.write_text(encode_run(trial.run))
    build(job.place.checkpoint, "k0-10 c | k10-30 c | k30-40")  # what came after the image is gone again

    def committed() -> None:
        build(job.place.checkpoint, "k0-10 c | k10-30 c")

    jvm: Any = Stopped((lambda: None, at("commit-log-begin", 1)), (committed, at("commit-log-end", 1)),
                       (lambda: None, at("commit-log-end", 2)))  # fmt: skip
    crashed = crash_recovery(trial, jvm, jvm, FIRST)
    assert jvm.first_batch == 1, "the batch that runs again"
    assert [image.name for image in crashed.victim.images] == ["commit-log-begin", "commit-log-end"], "of that batch"
    cases = list(cases_of_second_crashes(trial, job.ask, crashed))
    assert [[crash.point for crash in case.crashes] for case in cases] == [
        ["offset-log-end", "commit-log-begin"],
        ["offset-log-end", "commit-log-end"],
    ]
    assert [sorted(case.crashes[1].disk.commits) for case in cases] == [[0], [0, 1]]
    assert [case.name for case in cases] == [
        "again-offset-log-end-0001-commit-log-begin-1-1",
        "again-offset-log-end-0002-commit-log-end-1-1",
    ]
    assert len({case.image for case in cases}) == 2
    assert [image.name for image in trial.images] == ["offset-log-end"], "the first images are still there"


def test_where_nothing_is_planned_the_first_batch_is_stopped(entered: Scratch) -> None:
    job = Scripted(entered)
    trial = trial_of(job)
    for log in ("offsets", "commits"):
        for path in (job.place.checkpoint / log).iterdir():
            path.unlink()
    trial.images.take(FIRST, job.place.root)
    jvm: Any = Stopped((lambda: None, at("offset-log-begin", 0)))
    crashed = crash_recovery(trial, jvm, jvm, FIRST)
    assert jvm.first_batch == 0
    assert crashed.first.disk.offsets == {}
    assert len(list(crashed.victim.images)) == 1
