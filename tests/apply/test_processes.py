"""Processes that are killed by the system at a call of their own, as strace lets it happen: no exception, no flush, no
lock let go. What is left is what the tests with an exception in its place say."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.apply.dying import System, on
from tests.apply.stages import FENCES, STAGES, Stage, bodies, bury, go_on, take_back, tree_of
from tests.parts.strace import ensure_strace
from tests.samples.place import REPOSITORY

pytestmark = pytest.mark.extras

CALLS = ("linkat", "renameat", "unlinkat", "mkdirat", "fchmod", "fsync", "write", "utimensat")
ERRORS = ("EIO", "ENOSPC", "EACCES", "EROFS", "ETIMEDOUT")
Bodies = dict[str, bytes | None]
PROGRAM = "from ckpttool.cli import main; main()"
SEED = 18


def run(words: Sequence[str], strace: Sequence[str], record: Path) -> tuple[int, str]:
    """Each in a process of its own, whose number nobody has when it is gone. With what it said on standard error."""
    command = [ensure_strace(), "-f", "-y", "-qq", "-o", str(record), *strace, sys.executable, "-c", PROGRAM, *words]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    return done.returncode, done.stderr


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


def calls_of(stage: Stage, folder: Path) -> list[tuple[str, int]]:
    """Those that change something here, in any order: each by its name, and the how manieth of that it is."""
    victim, seen, found = Victim(stage, folder), Counter[str](), []
    code, said = run(victim.apply, ["-e", f"trace={','.join(f'?{one}' for one in CALLS)}"], victim.record)
    assert code == 0, said
    for name, line in re.findall(r"^\d+ +(\w+)\((.*)", victim.record.read_text(), re.MULTILINE):
        seen[name] += 1
        if str(folder) in line:
            found.append((name, seen[name]))
    assert set(seen) <= set(CALLS)
    return random.Random(SEED).sample(found, len(found))


def lead_out(victim: Victim, new: Bodies, *, forward: bool, told: str) -> None:
    left = bodies(tree_of(victim.folder))
    assert left in (victim.old, new) or victim.is_fenced(), told
    if any(victim.checkpoint.glob("_ckpt/applies/*/plan.json")):
        bury(victim.checkpoint)
        with on(System()):
            assert (go_on(victim.checkpoint) if forward else take_back(victim.checkpoint)) is not None
        assert bodies(tree_of(victim.folder)) == (new if forward else victim.old), told


def killed_at_a_call(folder: Path, most: int | None) -> None:
    stage, fenced = STAGES[0], 0
    calls = calls_of(stage, folder / "whole" / "x")
    new = bodies(tree_of(folder / "whole" / "x"))
    for number, (name, n) in enumerate(calls[:most]):
        victim = Victim(stage, folder / str(number) / "x")
        inject = ["-e", f"trace={name}", "-e", f"inject={name}:signal=SIGKILL:when={n}"]
        assert run(victim.apply, inject, victim.record)[0] != 0, f"{name} {n}"
        fenced += victim.is_fenced()
        lead_out(victim, new, forward=number % 2 == 1, told=f"{name} {n}")
    assert fenced > 0


def failing_at_a_call(folder: Path, most: int | None) -> None:
    """Once, or from then on. What could not be told, as nothing can be read any more, is still as it was."""
    stage = STAGES[0]
    calls = calls_of(stage, folder / "whole" / "x")
    new = bodies(tree_of(folder / "whole" / "x"))
    for number, (name, n) in enumerate(calls[:most]):
        victim, error = Victim(stage, folder / str(number) / "x"), ERRORS[number % len(ERRORS)]
        told = f"{name} {n} {error}"
        stays = "+" if number % 2 else ""
        inject = ["-e", f"trace={name}", "-e", f"inject={name}:error={error}:when={n}{stays}"]
        code, said = run(victim.apply, inject, victim.record)
        left = bodies(tree_of(victim.folder))
        assert "Traceback" not in said, (told, said)
        assert code in (0, 1, 5, 6), (told, code, said)
        assert left == {0: new, 6: victim.old}.get(code, left), (told, code, said)
        if code != 6:  # then nothing was left to lead out of
            lead_out(victim, new, forward=number % 3 == 1, told=told)


def test_a_process_killed_at_a_call_leaves_what_leads_out(tmp_path: Path) -> None:
    killed_at_a_call(tmp_path, 10)


def test_a_process_whose_call_fails_leaves_it_too(tmp_path: Path) -> None:
    failing_at_a_call(tmp_path, 10)


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
@pytest.mark.parametrize("at_each", [killed_at_a_call, failing_at_a_call])
def test_so_does_one_at_any_call(at_each: Callable[[Path, int | None], None], tmp_path: Path) -> None:
    at_each(tmp_path, None)
