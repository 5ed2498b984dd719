"""`ckpt plan offsets`, typed. With a real broker: tests/differential/test_offsets_vs_spark.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import build
from tests.conftest import run_ckpt

NOBODY = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "0.2")


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ((), 2, "say what to change"),
        (("--set", "t:0=5"), 2, "--bootstrap-server HOST:PORT"),
        (("--set", "t:0=", *NOBODY), 2, "no place in a partition"),
        (("--set", "t=version:5", *NOBODY), 2, "is of a Delta source"),
        (("--set", "0=version:5", "--drop-topic", "t"), 2, "go without versions"),
        (("--set", "0=version:5@/a", "--option", "path=/b"), 2, "two are named"),
        (("--add-topic", "u", *NOBODY), 2, "expected [SOURCE:]TOPIC"),
        (("--cluster", "b:9092", *NOBODY), 2, "need each other"),
        (("--cluster", "b:9092", "--by-time", "--set", "t=5", *NOBODY), 2, "follow from times"),
        (("--cluster", "b:9092", "--by-time", "--map", "t=u", *NOBODY), 2, "the same names"),
        (("--from", "nowhere.json", *NOBODY), 2, "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_refused_at_once(words: tuple[str, ...], code: int, why: str, tmp_path: Path) -> None:
    done = run_ckpt("plan", "offsets", str(build(tmp_path, "k0-10 c | k10-30 c")), *words)
    assert done.code == code
    assert why in done.err


@pytest.mark.extras
def test_nobody_answers(tmp_path: Path) -> None:
    done = run_ckpt("plan", "offsets", str(build(tmp_path, "k0-10 c | k10-30 c")), "--set", "t:0=5", *NOBODY)
    assert done.code == 5


def test_a_file_of_something_else(tmp_path: Path) -> None:
    listed = tmp_path / "offsets.json"
    listed.write_text("[1, 2]")
    root = str(build(tmp_path / "q", "k0-10 c | k10-30 c"))
    done = run_ckpt("plan", "offsets", root, "--from", str(listed), *NOBODY)
    assert done.code == 6
    assert "is not what ckpt kafka starting-offsets prints" in done.err
