"""A plan that lies in a checkpoint leads out of it only who has carried it out before, or points there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.apply.dying import Killed, System, on
from tests.apply.stages import STAGES, Stage, bury, carry_out, copied, tree_of
from tests.apply.typed import QUIET
from tests.conftest import run_ckpt
from tests.contract.test_authorities import OPTIONS, leaves
from tests.parts.recorder import recorded

FILE_SINK = next(stage for stage in STAGES if stage.name == "rewind-file-sink")


def applied(stage: Stage, folder: Path) -> Path:
    root = stage.set_up(folder)
    plan = stage.plan(root)
    accepted = [word for one in plan.conditions if one.who == "you" for word in ("--accept", one.id)]
    sinks = [word for sink in plan.asked.sinks for word in ("--sink", sink)]
    to_batch = ["--to-batch", str(stage.to_batch)]
    done = run_ckpt("apply", str(root), "--take", stage.take, *to_batch, *sinks, *accepted, *QUIET)
    assert done.code == 0, done.err
    return root


def test_one_s_own_leads_where_it_led(tmp_path: Path) -> None:
    root = applied(FILE_SINK, tmp_path / "a")
    assert run_ckpt("undo", str(root), *QUIET).code == 0


def test_one_that_was_found_leads_nowhere_unpointed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = applied(FILE_SINK, tmp_path / "a")
    before, sink = tree_of(tmp_path / "a"), str(root.parent / "output")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    done = run_ckpt("undo", str(root), *QUIET, "--format", "json")
    (reason,) = json.loads(done.out)["reasons"]
    assert (done.code, reason["id"]) == (6, "not-pointed-at")
    assert f"--look-at {sink}" in reason["next_step"]
    (listed,) = json.loads(run_ckpt("undo", str(root), "--list", "--format", "json").out)["applies"]
    assert (listed["undoable"], listed["why_not"].split(":")[0]) == (False, sink)
    assert tree_of(tmp_path / "a") == before
    assert run_ckpt("undo", str(root), *QUIET, "--look-at", sink).code == 0


def test_within_the_checkpoint_any_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    assert run_ckpt("undo", str(root), *QUIET).code == 0


def test_one_that_was_copied_along_is_of_the_place_where_it_was_made(tmp_path: Path) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    other = copied(root, tmp_path / "b")
    before = tree_of(tmp_path)
    done = run_ckpt("undo", str(other), *QUIET, "--format", "json")
    (reason,) = json.loads(done.out)["reasons"]
    assert (done.code, reason["id"]) == (6, "plan-does-not-fit")
    assert (reason["expected"], reason["found"]) == (str(root), str(other))
    assert tree_of(tmp_path) == before


def test_a_link_to_the_checkpoint_is_the_checkpoint(tmp_path: Path) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    (tmp_path / "link").symlink_to(root)
    assert run_ckpt("undo", str(tmp_path / "link"), *QUIET).code == 0


ELSEWHERE = ("abfss://c@{}.dfs.core.windows.net/x", "webhdfs://{}.invalid:9870/x", "s3a://{}/x", "http://{}.invalid/x")


def with_other_texts(plan: Path, change: Callable[[str], str]) -> Iterator[None]:
    """The plan with all that it says of the sink changed together, then with one of its texts at a time."""
    told = json.loads(plan.read_bytes())
    sink = told["asked"]["sinks"][0]
    for _ in ELSEWHERE:
        save(plan, json.loads(json.dumps(told).replace(sink, change(""))))
        yield
    for holder, key in list(leaves(told)):
        before, holder[key] = holder[key], change(holder[key])
        save(plan, told)
        yield
        holder[key] = before


def save(plan: Path, told: dict[str, Any]) -> None:
    """As somebody does who knows how plans are saved."""
    rest = {name: value for name, value in told.items() if name != "sha256"}
    digest = sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    plan.write_text(json.dumps({**rest, "sha256": digest}))


@pytest.mark.parametrize("calls", [40, 10_000])
def test_no_text_of_a_plan_that_was_found_leads_anywhere(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-way, or done. Each text in turn becomes a place elsewhere, of one kind or another."""
    root = FILE_SINK.set_up(tmp_path / "a")
    with on(System(calls)), suppress(Killed):
        carry_out(FILE_SINK.plan(root))
    bury(root)
    (plan,) = root.glob("_ckpt/applies/*/plan.json")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    options = [word for option in OPTIONS for word in ("--storage-option", option)]
    others = (["undo", "--list"], ["apply", "--resume", "--yes"], ["inspect"], ["plan-recovery"])
    kinds, asked, number = cycle(ELSEWHERE), list[str](), 0
    with recorded(asked.append):
        for _ in with_other_texts(plan, lambda text: next(kinds).format("planted") + text):
            number += 1
            command, *words = others[number % len(others)]
            for chosen in ([command, *words], ["undo", *QUIET]):
                outcome = run_ckpt(chosen[0], str(root), *chosen[1:], *options)
                assert outcome.code != 70, outcome.err
                assert "Usage:" not in outcome.err, outcome.err
    assert number > 100
    assert asked == []


def test_a_sink_that_a_plan_only_relies_on_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = applied(STAGES[0], tmp_path / "a")
    (plan,) = root.glob("_ckpt/applies/*/plan.json")
    told = json.loads(plan.read_bytes())
    told["relies_on"]["sinks"] = [{"kind": "delta", "path": "s3a://elsewhere/table", "version": 3}]
    save(plan, told)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    done = run_ckpt("undo", str(root), *QUIET, "--format", "json")
    (reason,) = json.loads(done.out)["reasons"]
    assert (done.code, reason["id"]) == (6, "not-pointed-at")
    assert "--look-at s3a://elsewhere" in reason["next_step"]
