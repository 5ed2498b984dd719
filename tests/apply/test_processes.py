"""Processes that are killed by the system at a call of their own, as strace lets it happen: no exception, no flush, no
lock let go. What is left is what the tests with an exception in its place say."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.apply.dying import System, on
from tests.apply.stages import FENCES, STAGES, Stage, bodies, go_on, take_back, tree_of
from tests.parts.strace import ensure_strace
from tests.samples.place import REPOSITORY

pytestmark = pytest.mark.extras

CALLS = ("linkat", "renameat", "unlinkat", "mkdirat", "fchmod", "fsync")
PROGRAM = "from ckpttool.cli import main; main()"
SEED = 18


def run(words: Sequence[str], strace: Sequence[str], record: Path) -> int:
    """Each in a process of its own, whose number nobody has when it is gone."""
    command = [ensure_strace(), "-f", "-qq", "-o", str(record), *strace, sys.executable, "-c", PROGRAM, *words]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


class Victim:
    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.folder, self.record = stage, folder, folder.with_name("strace")
        self.checkpoint = stage.set_up(folder)
        sinks = [word for sink in stage.sinks for word in ("--sink", sink)]
        back = [] if stage.to_batch is None else ["--to-batch", str(stage.to_batch)]
        self.apply = ["apply", str(self.checkpoint), "--take", stage.take, *sinks, *back, "--yes", "--settle", "0s"]
        self.old = bodies(tree_of(folder))

    def is_fenced(self) -> bool:
        return (self.checkpoint / "metadata").read_bytes() in FENCES


def calls_of(stage: Stage, folder: Path) -> Counter[str]:
    victim = Victim(stage, folder)
    assert run(victim.apply, ["-e", f"trace={','.join(f'?{one}' for one in CALLS)}"], victim.record) == 0
    found = Counter(re.findall(r"^\d+ +(\w+)\(", victim.record.read_text(), re.MULTILINE))
    assert set(found) <= set(CALLS)
    return found


def killed_at_a_call(folder: Path, most: int | None) -> None:
    stage = STAGES[0]
    calls = calls_of(stage, folder / "whole" / "x")
    new = bodies(tree_of(folder / "whole" / "x"))
    every = [(name, n) for name, count in sorted(calls.items()) for n in range(1, count + 1)]
    fenced = 0
    for number, (name, n) in enumerate(random.Random(SEED).sample(every, len(every))[:most]):
        victim = Victim(stage, folder / str(number) / "x")
        inject = ["-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={n}"]
        assert run(victim.apply, inject, victim.record) != 0, f"{name} {n}"
        left = bodies(tree_of(victim.folder))
        assert left in (victim.old, new) or victim.is_fenced(), f"{name} {n}"
        fenced += victim.is_fenced()
        if any(victim.checkpoint.glob("_ckpt/applies/*/plan.json")):
            with on(System()):
                outcome = go_on(victim.checkpoint) if number % 2 else take_back(victim.checkpoint)
            assert outcome is not None
            assert bodies(tree_of(victim.folder)) == (new if number % 2 else victim.old), f"{name} {n}"
    assert fenced > 0


def test_a_process_killed_at_a_call_leaves_what_leads_out(tmp_path: Path) -> None:
    killed_at_a_call(tmp_path, 10)


def start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *words], env=environment, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("seed", range(3))
def test_of_two_at_once_one_does_it(seed: int, tmp_path: Path) -> None:
    """Both look, and then find what the other has left: a lock, a fence, or another checkpoint than was planned for."""
    victim = Victim(STAGES[0], tmp_path / str(seed) / "x")
    both = [start(victim.apply), start(victim.apply)]
    assert sorted(one.wait() for one in both) == [0, 6]
    new = bodies(tree_of(victim.folder))
    assert "q/offsets/2" not in new
    assert not victim.is_fenced()
    assert not (victim.checkpoint / "_ckpt" / "lock").exists()
    with on(System()):
        take_back(victim.checkpoint)
    assert bodies(tree_of(victim.folder)) == victim.old


@pytest.mark.at_length
def test_so_does_one_killed_at_any_call(tmp_path: Path) -> None:
    killed_at_a_call(tmp_path, None)
