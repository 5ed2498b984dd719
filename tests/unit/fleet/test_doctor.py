"""A fleet's checkups: the worst first, and what only several checkpoints show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.builders import build
from tests.conftest import run_ckpt

SOUND = "k0-10 c | k10-20 c | k20-30 c"
BROKEN = "k0-10 c | k10-20 c | lost c"


def with_own_id(root: Path, number: int) -> Path:
    (root / "metadata").write_text(f'{{"id":"00000000-0000-4000-8000-{number:012}"}}')
    return root


def fleet(root: Path) -> dict[str, Any]:
    return dict(json.loads(run_ckpt("scan", str(root), "--doctor", "--format", "json").out))


def lines(root: Path) -> list[tuple[str, str]]:
    seen = fleet(root)["checkpoints"]
    return [(one["checkpoint"].rpartition("/")[2], one["health"]) for one in seen]


def alone(root: Path) -> str:
    verdict: str = json.loads(run_ckpt("doctor", str(root), "--profile", "quick", "--format", "json").out)["verdict"]
    return verdict


def test_the_worst_comes_first_and_has_the_verdict_of_the_doctor(tmp_path: Path) -> None:
    for number, (name, story) in enumerate((("a", SOUND), ("b", BROKEN), ("c", SOUND))):
        with_own_id(build(tmp_path / name, story), number)
    (tmp_path / "c" / "offsets" / "2").write_text("v9\n")
    found = lines(tmp_path)
    assert dict(found) == {name: alone(tmp_path / name) for name in "abc"}
    assert [name for name, _ in found][-1] == "a"
    assert run_ckpt("scan", str(tmp_path), "--doctor").code == 1


def test_two_with_one_query_id_are_warned_of(tmp_path: Path) -> None:
    build(tmp_path / "a", SOUND)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with_own_id(build(tmp_path / "c", SOUND), 7)
    verdicts = dict(lines(tmp_path))
    assert (verdicts["a"], verdicts["b"], verdicts["c"]) == ("attention", "attention", alone(tmp_path / "c"))
    told = {
        one["checkpoint"][-1]: [finding["id"] for finding in one["findings"]] for one in fleet(tmp_path)["checkpoints"]
    }
    assert "query-id-shared" in told["a"]
    assert "query-id-shared" in told["b"]
    assert "query-id-shared" not in told["c"]
    screen = run_ckpt("scan", str(tmp_path), "--doctor").out
    assert screen.startswith("3 checkpoints: ")


def test_what_cannot_be_looked_at_does_not_spoil_the_others(tmp_path: Path) -> None:
    build(tmp_path / "a", SOUND)
    (tmp_path / "b" / "offsets").mkdir(parents=True)
    (tmp_path / "b" / "commits").mkdir()
    assert ("a", alone(tmp_path / "a")) in lines(tmp_path)


def test_without_it_a_scan_says_nothing_of_health(tmp_path: Path) -> None:
    build(tmp_path / "a", SOUND)
    (one,) = json.loads(run_ckpt("scan", str(tmp_path), "--format", "json").out)["checkpoints"]
    assert one["health"] is None
