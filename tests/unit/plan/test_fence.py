"""The fence: it stands from before the first change to after the last, and what comes out is what would without it.

That Spark keeps out while it stands, and goes on exactly once afterwards: tests/differential/test_fence_vs_spark.py.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpttool import open_checkpoint
from ckpttool.formats.metadata import FENCE_ID
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.plan import Plan, Rewind, SetAside, Step, Wish, Write, plan_recovery
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import ASYNC_OPTION, Scene, Start
from tests.builders import QUERY_ID, build
from tests.conftest import run_ckpt
from tests.samples.place import about, place_sample, sample_names
from tests.take_steps import FENCE, files_below, take_steps, within_fence

STORY = "f0 c | f1 c | f2 c"
BACK = Rewind(to_batch=0)
Damage = Callable[[Path], object]


def look(root: Path, wish: Wish | None = None, is_async: bool | None = None) -> tuple[Plan, Restart]:
    options = {} if is_async is None else {ASYNC_OPTION: str(is_async).lower()}
    scene = Scene(gather_evidence(open_checkpoint(str(root))), Start((3, 5, 7), options=options))
    restart = predict_restart(scene)
    return plan_recovery(scene, restart, wish), restart


def steps_back(root: Path) -> tuple[Step, ...]:
    return look(root, BACK)[0].options[0].steps


def script(steps: tuple[Step, ...]) -> str:
    """As somebody saves the printed commands, and runs them with `bash` alone."""
    return "\n".join(step.shell for step in steps)


def run(text: str) -> int:
    return subprocess.run(["bash", "-c", text], check=False, capture_output=True).returncode


# -- where it stands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: (root / "offsets" / "2").write_text("v1\n{"),
        lambda root: (root / "metadata").unlink(),
        lambda root: (root / "metadata").write_text(f'{{"id":"{QUERY_ID}"'),
        lambda root: [(root / "metadata").unlink(), (root / "metadata").mkdir()],
    ],
    ids=["torn-offsets", "no-metadata", "torn-metadata", "a-directory-for-metadata"],
)
def test_it_is_around_whatever_changes_a_file(tmp_path: Path, damage: Damage) -> None:
    root = build(tmp_path / "q", STORY)
    damage(root)
    plan, _ = look(root)
    assert plan.options
    for way in plan.options:
        within_fence(way.steps)
    take_steps(root, plan.options[0].steps)
    assert not look(root)[0].repairs


def test_a_setting_alone_needs_none(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c"), is_async=False)
    (way,) = [way for way in plan.options if way.id == "restart-with-async-progress"]
    assert [step.kind for step in way.steps] == ["conf"]  # type: ignore[attr-defined]


def test_after_each_step_but_the_last_no_restart_is_predicted_and_none_is_helped(tmp_path: Path) -> None:
    """A way out from here would take the fence down over half of another."""
    root = build(tmp_path / "q", STORY)
    _, *steps = steps_back(root)
    for step in steps[:-1]:
        take_steps(root, [step])
        for wish in (None, BACK):
            plan, restart = look(root, wish)
            assert restart.error is not None
            assert (restart.error.phase, restart.error.class_name) == ("start", "java.lang.IllegalArgumentException")
            assert plan.options == ()
            assert any("q.set-aside/metadata" in refusal.why for refusal in plan.refused)
            (finding,) = [one for one in open_checkpoint(str(root)).faults if one.path == "metadata"]
            assert "restore" not in (finding.next_step or "restore"), "it would lift the fence"
    take_steps(root, steps[-1:])
    plan, restart = look(root)
    assert (restart.outcome, restart.batch_id, plan.options) == ("new_batch", 1, ())


def test_java_shows_it_whole() -> None:
    assert len(FENCE_ID) <= 36
    assert FENCE_ID.count("-") < 4


# -- what comes out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metadata", [f'{{"id":"{QUERY_ID}"}}', f'{{ "id": "{QUERY_ID}", "note": "ours" }}\n'])
def test_up_and_down_cancel_out(tmp_path: Path, metadata: str) -> None:
    root = build(tmp_path / "q", STORY)
    (root / "metadata").write_text(metadata)
    steps = steps_back(root)
    take_steps(Path(shutil.copytree(root, tmp_path / "without")), within_fence(steps))
    take_steps(root, steps)
    assert files_below(root) == files_below(tmp_path / "without")
    assert (root / "metadata").read_text() == metadata


def test_what_steps_make_of_metadata_it_becomes_in_the_end(tmp_path: Path) -> None:
    root = build(tmp_path / "q", STORY)
    (root / "metadata").write_text("torn")
    (root / ".metadata.crc").write_bytes(b"crc\0")
    way = look(root)[0].options[0]
    assert [step.path for step in within_fence(way.steps) if isinstance(step, SetAside | Write)] == [".metadata.crc"]
    assert run(script(way.steps)) == 0
    assert look(root)[1].outcome == "new_batch"
    assert (tmp_path / "q.set-aside" / "metadata").read_text() == "torn"


# -- by hand -----------------------------------------------------------------------------------------------------------


def test_the_file_keeps_its_mode_and_a_copy(tmp_path: Path) -> None:
    root = build(tmp_path / "q", STORY)
    before = (root / "metadata").read_bytes()
    (root / "metadata").chmod(0o640)
    steps = steps_back(root)
    for _ in range(2):  # somebody begins from the top once more
        assert run(script(steps[:2])) == 0
        assert (root / "metadata").read_text() == FENCE
        assert (tmp_path / "q.set-aside" / "metadata").read_bytes() == before
    assert run(script(steps[2:])) == 0
    assert (root / "metadata").read_bytes() == before
    assert (root / "metadata").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in root.iterdir()) == ["commits", "metadata", "offsets", "sources"]


def commands_of(root: Path, checkpoint: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """As somebody asks who stands beside the checkpoint."""
    sinks = [word for name in ("output", "table") if (root / name).is_dir() for word in ("--sink", name)]
    said = json.loads(run_ckpt("plan-recovery", checkpoint, *sinks, "--format", "json", cwd=root).out)
    return said["restart"], said["options"]


@pytest.mark.parametrize("name", sample_names())
def test_the_commands_printed_for_a_sample_mend_it(name: str, tmp_path: Path) -> None:
    """All but those for a Delta table, where ckpt was asked; no content of a file is gone but the fence's."""
    checkpoint = about(name)["checkpoint"]
    place_sample(name, tmp_path / "looked-at")
    for number, way in enumerate(commands_of(tmp_path / "looked-at", checkpoint)[1]):
        kinds = {step["kind"] for step in way["steps"]}
        if kinds & {"delta_restore", "delta_txn"} or kinds == {"conf"}:
            continue
        root = tmp_path / str(number)
        place_sample(name, root)
        before = set(files_below(root).values())
        done = subprocess.run(["bash", "-c", "\n".join(step["shell"] for step in way["steps"])], cwd=root, check=False)
        assert done.returncode == 0, way["id"]
        assert commands_of(root, checkpoint)[0]["outcome"] in ("replay", "new_batch", "fresh_start"), way["id"]
        assert before - set(files_below(root).values()) == set(), way["id"]


@pytest.mark.parametrize("lost", ["offsets/1", "commits/2", "sources/0/1"])
def test_what_fails_leaves_it_standing(tmp_path: Path, lost: str) -> None:
    root = build(tmp_path / "q", STORY)
    steps = steps_back(root)
    (root / lost).unlink()
    assert run(script(steps)) != 0
    assert (root / "metadata").read_text() == FENCE


@pytest.mark.parametrize("folder", ["offsets", "commits", "sources"])
def test_what_cannot_be_set_aside_leaves_it_standing(tmp_path: Path, folder: str) -> None:
    """`set -e` alone would go on after `mkdir … && mv …`."""
    root = build(tmp_path / "q", STORY)
    steps = steps_back(root)
    (tmp_path / "q.set-aside").mkdir()
    (tmp_path / "q.set-aside" / folder).write_text("in the way")
    assert run(script(steps)) != 0
    assert (root / "metadata").read_text() == FENCE
    assert (root / folder / ("0" if folder == "sources" else "2")).exists()


def test_where_nothing_can_be_set_aside_nothing_is_changed(tmp_path: Path) -> None:
    root = build(tmp_path / "q", STORY)
    before = files_below(root)
    (tmp_path / "q.set-aside").write_text("in the way")
    assert run(script(steps_back(root))) != 0
    assert files_below(root) == before


def test_what_only_a_person_can_do_is_not_passed_over(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "k0-10 c | k10-20 c")
    for version in (1, 2):
        (root / "state" / "0" / "0").mkdir(parents=True, exist_ok=True)
        (root / "state" / "0" / "0" / f"{version}.delta").write_bytes(b"x")
    assert run(script(steps_back(root))) != 0
    assert (root / "metadata").read_text() == FENCE
    assert (root / "offsets" / "1").exists()
