"""What follows from what was seen and from how the query is started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import open_checkpoint
from ckpttool.laws.restart import predict_restart
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.scene.state_chain import StateFiles
from tests.builders import build


def scene_of(root: Path, story: str, **start: object) -> Scene:
    checkpoint = open_checkpoint(str(build(root, story)))
    return Scene(gather_evidence(checkpoint), Start((4, 2, 0), **start))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("story", "planned", "committed", "is_replay", "next_id"),
    [
        ("", None, None, False, 0),
        ("k0-10", 0, None, True, 0),
        ("k0-10 c", 0, 0, False, 1),
        ("k0-10 c | k10-20", 1, 0, True, 1),
        ("b7 k0-10 c | k10-20 c", 8, 8, False, 9),
    ],
)
def test_a_batch_that_is_planned_and_not_committed_runs_again(
    tmp_path: Path, story: str, planned: int | None, committed: int | None, is_replay: bool, next_id: int
) -> None:
    scene = scene_of(tmp_path, story)
    assert (scene.planned, scene.committed, scene.is_replay, scene.next_id) == (planned, committed, is_replay, next_id)


def test_a_name_in_another_spelling_counts_as_the_newest_batch(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c")
    (root / "offsets" / "007").write_bytes((root / "offsets" / "1").read_bytes())
    assert Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0))).planned == 7


def test_the_batch_before_is_the_next_lower_only_where_progress_is_asynchronous(tmp_path: Path) -> None:
    story = "b0 k0-10 c | b5 k10-20 c"
    assert scene_of(tmp_path / "a", story, options={"ASYNCprogresstrackingenabled": "false"}).previous == 4
    assert scene_of(tmp_path / "b", story, options={"asyncProgressTrackingEnabled": "True"}).previous == 0
    assert scene_of(tmp_path / "c", "k0-10 c").previous is None


def test_the_trigger_that_is_given_counts_before_the_one_that_files_show(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "k0-10 c | k10-20", trigger="real-time")
    assert (scene.is_realtime, scene.is_replay, scene.replays_as_logged) == (True, True, False)


@pytest.mark.parametrize("trigger", ["real-time", "continuous"])
def test_what_has_no_commit_is_planned_anew_after_the_last_that_has(tmp_path: Path, trigger: str) -> None:
    planned_twice = "k0-10 c | k10-20 | k20-30"
    assert scene_of(tmp_path / "a", planned_twice, trigger=trigger).next_id == 1
    assert scene_of(tmp_path / "b", planned_twice).next_id == 2
    assert scene_of(tmp_path / "c", "k0-10", trigger=trigger).next_id == 0
    assert predict_restart(scene_of(tmp_path / "d", planned_twice, trigger=trigger)).batch_id == 1


def test_the_state_that_is_needed_is_that_of_the_next_batch(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "k0-10 c | k10-20 c")
    states = {1: StateFiles(1, "quick"), 2: StateFiles(2, "quick")}
    assert scene.needed_state is None
    assert Scene(scene.evidence, scene.start, states=states).needed_state == states[2]


def test_what_nobody_looked_at_is_named(tmp_path: Path) -> None:
    assert [one.part for one in scene_of(tmp_path / "a", "k0-10 c").not_looked_at] == ["sinks", "brokers"]
    assert [one.part for one in scene_of(tmp_path / "b", "f0 c | f1").not_looked_at] == ["sinks", "inputs"]


def test_of_two_spellings_of_an_option_spark_takes_the_one_that_was_given_last() -> None:
    options = {"maxFilesPerTrigger": "1", "PATH": "/first", "path": "/last"}
    assert Start((4, 2, 0), options=options).option("Path") == "/last"
    assert Start((4, 2, 0), options=options).option("startingVersion") is None


def test_a_kind_that_was_known_is_kept_where_the_newest_line_is_damaged(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "k0-10 c | k10-20 c")
    assert scene.kinds == {"kafka"}
    newest = tmp_path / "offsets" / "1"
    newest.write_text("\n".join([*newest.read_text().splitlines()[:2], '{"damaged":1}']))
    damaged = Scene(gather_evidence(open_checkpoint(str(tmp_path))), scene.start)
    assert damaged.evidence.newest
    assert damaged.evidence.newest.sources[0].text == '{"damaged":1}'
    assert damaged.kinds == {"kafka"}


def test_a_kind_is_known_by_the_log_that_the_source_keeps(tmp_path: Path) -> None:
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)
    (log / "0").write_text('v1\n{"path":"file:///in/a","timestamp":1,"batchId":0}')
    scene_of(tmp_path, "k0-10 c")
    newest = tmp_path / "offsets" / "0"
    newest.write_text("\n".join([*newest.read_text().splitlines()[:2], "{}"]))
    assert Scene(gather_evidence(open_checkpoint(str(tmp_path))), Start((4, 2, 0))).kinds == {"file"}


def test_a_kind_is_known_by_the_options_before_there_are_offsets(tmp_path: Path) -> None:
    kafka = {"kafka.bootstrap.servers": "broker:9092"}
    assert scene_of(tmp_path / "given", "", options=kafka).kinds == {"kafka"}
    assert scene_of(tmp_path / "not", "").kinds == set()


@pytest.mark.parametrize(
    ("start", "mode"),
    [
        ({}, "async"),
        ({"options": {"asyncProgressTrackingEnabled": "false"}}, "microbatch"),
        ({"trigger": "continuous"}, "continuous"),
        ({"trigger": "real-time"}, "realtime"),
    ],
)
def test_the_mode_is_the_one_that_is_asked_for_and_else_the_one_that_the_files_show(
    tmp_path: Path, start: dict[str, object], mode: str
) -> None:
    assert scene_of(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c", **start).mode == mode
