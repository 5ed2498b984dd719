"""Reading never writes, nowhere: every command that reads, as the system sees it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.parts.strace import written_by
from tests.samples.place import REPOSITORY, about
from tests.unit.report.test_renderers import FORMS, named

pytestmark = pytest.mark.extras

HARMLESS = {"/dev/null", "/dev/tty", "/dev/urandom"}
AGGREGATION = "4.2.0-windowed-agg-rocksdb-sound"
KAFKA = "4.2.0-kafka-to-delta-sound"
HISTORY = Path(__file__).parents[1] / "known_bad" / "row-lost.jsonl"
COMMANDS = [
    (AGGREGATION, ["inspect", "."]),
    (AGGREGATION, ["inspect", ".", "--timeline", "--format", "json"]),
    (AGGREGATION, ["inspect", ".", "--batch", "1"]),
    (AGGREGATION, ["plan-recovery", "."]),
    (AGGREGATION, ["plan-recovery", ".", "--state", "full", "--format", "json"]),
    (AGGREGATION, ["doctor", ".", "--profile", "quick"]),
    (AGGREGATION, ["doctor", ".", "--profile", "full", "--sink", "../output", "--format", "junit"]),
    (AGGREGATION, ["explain", "offsets/0", "--checkpoint", "."]),
    (KAFKA, ["plan-recovery", ".", "--sink", "../..", "--to-batch", "0"]),
    (KAFKA, ["kafka", "starting-offsets", "."]),
    (KAFKA, ["kafka", "diff", ".", "--bootstrap-server", "127.0.0.1:9", "--timeout", "0.2"]),
    (AGGREGATION, ["log", "."]),
    (AGGREGATION, ["files", ".", "000.json"]),
    (AGGREGATION, ["scan", ".."]),
    (AGGREGATION, ["diff", ".:0", ".:1"]),
    (AGGREGATION, ["state", "list", "."]),
    (AGGREGATION, ["state", "count", ".", "--exact", "--jobs", "2"]),
    (AGGREGATION, ["state", "rows", ".", "--format", "csv"]),
    (AGGREGATION, ["state", "get", ".", "{}"]),
    (AGGREGATION, ["state", "diff", ".", "--batch", "0", "--batch", "1"]),
    (AGGREGATION, ["state", "verify", "."]),
    (AGGREGATION, ["state", "size", "."]),
    (AGGREGATION, ["crash-test", "report", str(HISTORY), "--format", "junit"]),
    (AGGREGATION, ["crash-test", "list"]),
    (AGGREGATION, ["check-change", ".", "--query", "."]),
    (AGGREGATION, ["query", "describe", "."]),
    (AGGREGATION, ["undo", ".", "--list"]),
    (AGGREGATION, ["undo", ".", "--dry-run"]),
    (AGGREGATION, ["plan", "rewind", ".", "--to-batch", "1", "--sink", "../output"]),
    (AGGREGATION, ["plan", "drop-batch", "."]),
    (AGGREGATION, ["plan", "skip-batch", "."]),
    (AGGREGATION, ["plan", "query-id", ".", "--new"]),
    (AGGREGATION, ["plan", "renumber", ".", "--above-sink", "--sink", "../output"]),
    (AGGREGATION, ["plan", "sink-ledger", ".", "--set", "1", "--sink", "../output"]),
    (AGGREGATION, ["plan", "watermark", ".", "--set", "2026-11-18T14:00:00Z"]),
    (AGGREGATION, ["plan", "restore-offsets", ".", "1", "--progress", "metadata"]),
    (AGGREGATION, ["plan", "rename-found", "."]),
    (AGGREGATION, ["plan", "gc", "."]),
    (KAFKA, ["plan", "offsets", ".", "--set", "orders=1", "--bootstrap-server", "127.0.0.1:9", "--timeout", "0.2"]),
    (AGGREGATION, ["plan", "source", ".", "add", "1"]),
    (AGGREGATION, ["plan", "clone", ".", "../elsewhere", "--new-id"]),
    (AGGREGATION, ["plan", "fork", ".", "../elsewhere"]),
    (AGGREGATION, ["plan", "relocate", ".", "../elsewhere"]),
]
# What is there to write, or to run what writes.
WRITES = {"apply", "unlock", "state export", "crash-test run", "crash-test replay", "rehearse"}


@pytest.fixture
def places(sample: Callable[[str], Path], tmp_path: Path) -> Callable[[str], tuple[Path, dict[str, str]]]:
    """A copy of a sample to stand in, and an environment with a temporary directory and a home."""

    def place(name: str) -> tuple[Path, dict[str, str]]:
        shutil.copytree(sample(name), tmp_path / "data", symlinks=True)
        for folder in ("temporary", "home"):
            (tmp_path / folder).mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        own = {"TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        return tmp_path / "data" / about(name)["checkpoint"], kept | own | {"PYTHONPATH": str(REPOSITORY.parent)}

    return place


def tree(root: Path) -> dict[str, tuple[int, int, int]]:
    return {str(path): (found.st_mode, found.st_size, found.st_mtime_ns)
            for path in [root, *root.rglob("*")] for found in [path.lstat()]}  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), COMMANDS)
def test_nothing_is_written_outside_the_temporary_directory(
    places: Callable[[str], tuple[Path, dict[str, str]]], tmp_path: Path, name: str, arguments: list[str]
) -> None:
    checkpoint, environment = places(name)
    before = tree(tmp_path / "data") | tree(tmp_path / "home")
    command = [sys.executable, "-c", "from ckpttool.cli import main; main()", *arguments]
    written = written_by(command, tmp_path / "strace", checkpoint, environment)
    temporary = str(tmp_path / "temporary")
    assert {
        path for path in written - HARMLESS if not path.startswith((temporary, "/dev/shm/", "/proc/self/"))
    } == set()
    assert tree(tmp_path / "data") | tree(tmp_path / "home") == before
    assert list((tmp_path / "temporary").iterdir()) == [], "and what was needed there is gone"


def test_every_command_that_reads_is_there() -> None:
    assert {named(words) for _, words in COMMANDS} == FORMS.keys() - WRITES


def test_what_is_written_is_seen(tmp_path: Path) -> None:
    """The record that the test above relies on."""
    program = (
        "import os; open('a', 'w'); os.mkdir('b'); os.rename('a', 'b/c'); f = os.open('b', 0); os.unlink('c', dir_fd=f)"
    )
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    written = written_by([sys.executable, "-c", program], tmp_path / "strace", tmp_path, environment)
    assert written - HARMLESS >= {f"{tmp_path}/{name}" for name in ("a", "b", "b/c")}
