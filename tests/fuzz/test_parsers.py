"""The first inputs of the fuzzer of parsers, and that both fuzzers tell what is broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpttool.errors import MalformedFile
from tests.fuzz.commands import RULES, Input, input_of
from tests.fuzz.edits import EDITS, Edit
from tests.fuzz.parsers import problem_of, run_random, told
from tests.fuzz.seeds import load_seeds
from tests.fuzz.smallest import smallest
from tests.fuzz.worker import Ran

pytestmark = pytest.mark.extras

INPUTS = 50_000


def test_parsers_answer_whatever_they_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    ended = run_random(load_seeds(), INPUTS, sys.maxsize, seed=1)
    assert ended == 0, capsys.readouterr().out


def naive(data: bytes) -> None:
    if b"\xff" in data:
        raise ValueError(len(data))


def garrulous(data: bytes) -> None:
    raise MalformedFile("x" * len(data), expected="less")


def test_what_a_parser_must_not_do_is_told_with_the_smallest_input() -> None:
    data = b"a" * 100 + b"\xff" + b"b" * 100
    problem = problem_of(naive, data)
    assert problem
    assert "ValueError" in problem
    assert "(b'\\xff')" in told("naive", naive, data, problem)
    assert problem_of(naive, b"") is None
    assert problem_of(garrulous, b"a") is None
    assert problem_of(garrulous, bytes(2000))


def test_the_smallest_keeps_what_matters() -> None:
    assert smallest(tuple(range(100)), lambda some: {7, 70} <= set(some)) == (7, 70)


SOUND = Ran(code=0, signal=None, out=b"{}\n", err=b"", cpu_s=0.1, peak_bytes=2**20)


@pytest.mark.parametrize(
    "ran",
    [
        Ran(70, None, b"{}", b"", 0, 0),
        Ran(99, None, b"{}", b"socket.connect", 0, 0),
        Ran(None, "SIGSEGV", b"{}", b"", 0, 0),
        Ran(1, None, b"{}", b"Traceback (most recent call last)", 0, 0),
        Ran(0, None, b"{}\x1b[2J", b"", 0, 0),
        Ran(0, None, b"{}", "\u202e".encode(), 0, 0),
        Ran(0, None, b"\xff", b"", 0, 0),
        Ran(0, None, b"{", b"", 0, 0),
        Ran(0, None, b"{}", b"hunter2-canary", 0, 0),
        Ran(0, None, b"{}", b"", 11, 0),
        Ran(0, None, b"{}", b"", 0, 2**30),
    ],
    ids=str,
)
def test_whatever_a_command_must_not_do_breaks_a_rule(ran: Ran) -> None:
    arguments = ["inspect", "x", "--format", "json"]
    assert not any(rule(arguments, SOUND) for rule in RULES)
    assert any(rule(arguments, ran) for rule in RULES)


def test_an_input_is_the_same_again(tmp_path: Path) -> None:
    def content(place: Path, one: Input) -> list[tuple[str, int, bytes]]:
        place.mkdir()
        one.place(place)
        return [
            (
                path.relative_to(place).as_posix(),
                path.lstat().st_mode,
                path.read_bytes() if path.suffix == ".crc" else b"",
            )
            for path in sorted(place.rglob("*"))
        ]

    one = input_of(3, 5)
    assert one == input_of(3, 5)
    assert content(tmp_path / "a", one) == content(tmp_path / "b", one)


@pytest.mark.parametrize("kind", EDITS)
def test_every_edit_changes_something(tmp_path: Path, kind: str) -> None:
    def look(place: Path) -> dict[str, tuple[int, int, int]]:
        found = {path.as_posix(): path.lstat() for path in place.rglob("*")}
        return {name: (one.st_ino, one.st_ctime_ns, one.st_mode) for name, one in found.items()}

    Input("4.2.0-windowed-agg-snapshot-sound" if kind == "change_zip" else "4.2.0-join-hdfs-sound", (), "").place(
        tmp_path
    )
    before = look(tmp_path)
    for seed in range(5):
        Edit(kind, seed).apply(tmp_path)
    assert look(tmp_path) != before
