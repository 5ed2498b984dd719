"""Every command of a plan, with names that want to be commands: what is run is what the plan says, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ckpttool.plan import DeltaRestore, DeltaTxn, Manual, Rewind, SetAside, Write, steps
from tests.builders import build
from tests.unit.plan.plans import STORY, delta, look, state_of

NAMES = ["it's", 'a"b', "$(touch canary)", "`touch canary`", "a\ntouch canary\n", "; touch canary;", "-rf", "--",
         "a b", "*", "\\", "&& touch canary", "#", "${HOME}", "\u202e", "{a,b}"]  # fmt: skip
TAKEN_APART = ["a;DROP TABLE x", "a--b", "a/*b", "it's", "${env:HOME}", "a\nb"]
ROOTS = ["", "s3://lake/", "/data/", "file:/data/"]
PROGRAMS = ("mv", "mkdir", "cp", "cat", "find", "hadoop", "spark-sql", "python3", "touch", "rm")


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """Programs that write down what they are called with, and do nothing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        path = folder / name
        path.write_text(f"#!/bin/bash\nprintf '%s\\0' {name} \"$@\" $'\\1' >> '{tmp_path}/called'\n")
        path.chmod(0o755)
    return folder


def called(stubs: Path, command: str) -> list[list[str]]:
    work = stubs.parent / "work"
    work.mkdir(exist_ok=True)
    (stubs.parent / "called").write_text("")
    subprocess.run(["bash", "-n", "-c", command], check=True)
    environment = os.environ | {"PATH": str(stubs), "HOME": "/home/of/somebody"}
    subprocess.run(["/bin/bash", "-c", command], cwd=work, env=environment, check=False, capture_output=True)
    assert not [path.name for path in work.rglob("*canary*") if path.name == "canary"]
    calls = (stubs.parent / "called").read_text().split("\1\0")[:-1]
    return [call.split("\0")[:-1] for call in calls]


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_moved_is_what_was_named(stubs: Path, root: str, name: str) -> None:
    url = f"{root}{name}"
    (step,) = steps.set_aside_alone(url, f"offsets/{name}", "")
    calls = called(stubs, step.shell)
    assert len(calls) == 2
    here = steps.plain(url)
    moved = [_unpatterned(word) if "://" in root else word for word in calls[1][-2:]]
    assert [word.removeprefix("./") for word in moved] == [f"{here}/offsets/{name}", f"{here}.set-aside/offsets/{name}"]
    assert not [word for word in calls[1][-2:] if word.startswith("-")]


@pytest.mark.parametrize("name", NAMES)
def test_no_other_program_is_run(stubs: Path, name: str) -> None:
    """In a whole way back, with its fence, its sink and its logs."""
    sink = delta(0, 1, 2, path=f"/lake/{name}")
    (way,) = look(build(stubs.parent / name, STORY), sink, wish=Rewind(to_batch=0))[0].options
    assert {type(step) for step in way.steps} >= {Manual, SetAside, Write, DeltaRestore, DeltaTxn}
    allowed = {"mkdir", "mv", "cp", "cat", "spark-sql", "python3"}
    for step in way.steps:
        assert {call[0] for call in called(stubs, step.shell)} <= allowed


@pytest.mark.parametrize("name", NAMES)
def test_a_setting_is_one_line_that_does_nothing(stubs: Path, name: str) -> None:
    for step in (steps.session_conf(name, name, ""), steps.option(name, name, "")):
        assert step.shell.isprintable()
        assert called(stubs, step.shell) == []


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("a`b c", "`/lake/a``b c`"),
        *((one, None) for one in ("a;DROP TABLE x", "a--b", "a/*b", "it's", "${env:HOME}", "a\nb")),
    ],
)
def test_a_table_that_spark_sql_would_take_apart_is_left_to_people(
    stubs: Path, tmp_path: Path, name: str, identifier: str | None
) -> None:
    sink = delta(0, 1, 2, path=f"/lake/{name}")
    (way,) = look(build(tmp_path / "q", STORY), sink, wish=Rewind(to_batch=0))[0].options
    (step,) = [step for step in way.steps if isinstance(step, DeltaRestore)]
    calls = called(stubs, step.shell)
    expected = [] if identifier is None else [f"RESTORE TABLE delta.{identifier} TO VERSION AS OF 0"]
    assert [call[-1] for call in calls] == expected


def test_state_is_looked_for_where_it_is(stubs: Path, tmp_path: Path) -> None:
    """By hand, in a place whose name wants to be a command."""
    root = build(tmp_path / "it's; touch canary", "k0-10 c | k10-30 c")
    state_of(root, 1, 2)
    (way,) = look(root, wish=Rewind(to_batch=0))[0].options
    (step,) = [step for step in way.steps if isinstance(step, Manual) and step.target == "state"]
    assert called(stubs, step.shell)[0][:2] == ["find", f"{root}/state"]


def _unpatterned(word: str) -> str:
    found, at = "", 0
    while at < len(word):
        at += word[at] == "\\"
        found += word[at]
        at += 1
    return found
