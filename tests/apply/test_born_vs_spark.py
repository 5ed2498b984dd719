"""Real Spark on a checkpoint that came into being at another place, as a clone of one, as its fork, or moved there.

It starts where the plan says, in a sink of its own or in the same; taken back before, nothing of it is there. The old
one is untouched, and goes on as if nothing had been.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ckpttool.formats.metadata import MOVED_ID
from tests.apply.started import check_start, on_each_spark, uncommitted
from tests.apply.typed import QUIET, carried_out, told
from tests.differential.test_fence_vs_spark import Stage, everything_once
from tests.differential.test_sinks_vs_spark import BATCHES, LAST, ROWS, SPARKS, Scene
from tests.take_steps import files_below

pytestmark = [pytest.mark.spark, pytest.mark.extras]

OWN, SAME = ("sink-of-its-own",), ("one-of-both",)


def of_files(first: int, last: int) -> Counter[int]:
    return Counter(range(first * ROWS, (last + 1) * ROWS))


@dataclass(frozen=True)
class Born:
    """`into`: the sink of the new query. `rows`: in it, when one more file has come; None: windows, of which those have
    to come that the old query tells next."""

    words: tuple[str, ...]
    sink: str
    accepts: tuple[str, ...]
    rows: Counter[int] | None
    into: str = "sink"
    make: Callable[[Scene], object] = lambda _: None
    gates: bool = False

    def __str__(self) -> str:
        return f"{' '.join(self.words)} {self.sink} into {self.into}"


CASES = (
    Born(("clone", "--same-id"), "delta", SAME, everything_once(BATCHES + 1), make=uncommitted, gates=True),
    Born(("clone", "--same-id"), "file", SAME, everything_once(BATCHES + 1), make=uncommitted),
    Born(("clone", "--new-id"), "delta", OWN, of_files(LAST, BATCHES), into="another", make=uncommitted),
    Born(("clone", "--new-id"), "file", OWN, of_files(BATCHES, BATCHES), into="another"),
    Born(("clone", "--new-id"), "windows", OWN, None, into="another"),
    Born(("fork",), "delta", OWN, everything_once(BATCHES + 1), gates=True),
    Born(("fork",), "delta", OWN, of_files(BATCHES, BATCHES), into="another"),
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("born"))
    yield made
    made.close()


def planned(born: Born, old: Scene, new: Scene, spark: str, plan: Path) -> dict[str, Any]:
    verb, *rest = born.words
    words = (str(old.checkpoint), str(new.checkpoint), *rest, "--sink", str(new.table))
    found = told("plan", verb, *words, "--spark-version", spark, "--out", str(plan))
    assert found["exit"] in (0, 1), found["refused"]  # 1: what is told of the sink besides stays an error
    assert [one["id"] for one in found["option"]["conditions"] if one["who"] == "you"] == [*born.accepts]
    if verb == "fork" and born.into == "sink":
        assert [one["verdict"] for one in found["sinks"]] == ["written"]
        assert [one["id"] for one in found["findings"] if one["severity"] == "error"] == []
    restart: dict[str, Any] = found["restart"]
    return restart


def recorded(scene: Scene) -> dict[str, int]:
    """By the table's own record: the last batch of each query."""
    actions = [json.loads(line) for version in scene.versions() for line in version.read_text().splitlines()]
    return {one["txn"]["appId"]: one["txn"]["version"] for one in actions if "txn" in one}


@pytest.mark.parametrize(("spark", "born"), list(on_each_spark(CASES)))
def test_the_new_one_starts_where_the_old_one_stands(spark: str, born: Born, stage: Stage, tmp_path: Path) -> None:
    old = stage.scene(spark, born.sink)
    born.make(old)
    new, before = replace(old, at="copy", into=born.into), files_below(old.checkpoint)
    promise = planned(born, old, new, spark, tmp_path / "plan.json")
    carried_out(born.accepts, tmp_path / "plan.json")
    assert told("undo", str(new.checkpoint), *QUIET)["state"] == "undone"
    assert not new.checkpoint.exists()
    carried_out(born.accepts, tmp_path / "plan.json")
    assert files_below(old.checkpoint) == before
    had, ids = old.rows(), {old.query_id(): LAST}
    check_start(new, promise)
    assert files_below(old.checkpoint) == before
    refused = told("undo", str(new.checkpoint), *QUIET)
    assert (refused["exit"], refused["reasons"][0]["id"]) == (6, "query-ran-since")
    assert (new.query_id() == old.query_id()) == ("--same-id" in born.words)
    if born.rows is not None:
        assert new.rows() == born.rows
    if born.sink == "delta":
        last = max(int(path.name) for path in (new.checkpoint / "commits").glob("[0-9]*"))
        assert recorded(new) == ({} if born.into == "another" else ids) | {new.query_id(): last}
    if born.into == "another":
        assert old.run(BATCHES + 1, once=False) is None
        if born.rows is None:
            assert old.rows() - had == new.rows()
            assert new.rows()
        else:
            assert old.rows() == everything_once(BATCHES + 1)


@pytest.mark.at_length
@pytest.mark.parametrize("sink", ["file", "delta", "windows"])
@pytest.mark.parametrize("spark", SPARKS)
def test_where_it_was_moved_to_it_goes_on_and_where_it_was_nothing_starts(
    spark: str, sink: str, stage: Stage, tmp_path: Path
) -> None:
    """With its input and its sink, which were copied there with their times."""
    old = stage.scene(spark, sink)
    uncommitted(old)
    new = replace(old, root=tmp_path / "there")
    for directory in ("input", old.into):
        shutil.copytree(old.root / directory, new.root / directory)
    before, rows = files_below(old.checkpoint), new.rows()
    maps = [part for one in ("input", old.into) for part in ("--map", f"{old.root / one}={new.root / one}")]
    words = (str(old.checkpoint), str(new.checkpoint), *maps, "--sink", str(new.table), "--spark-version", spark)
    found = told("plan", "relocate", *words, "--out", str(tmp_path / "plan.json"))
    assert found["exit"] in (0, 1), found["refused"]
    accepted = tuple(one["id"] for one in found["option"]["conditions"] if one["who"] == "you")
    assert set(accepted) <= {"query-stopped"}
    carried_out(accepted, tmp_path / "plan.json")
    assert told("undo", str(new.checkpoint), *QUIET)["state"] == "undone"
    assert {path: body for path, body in files_below(old.checkpoint).items() if "_ckpt/" not in path} == before
    assert not new.checkpoint.exists()
    carried_out(accepted, tmp_path / "plan.json")
    left = files_below(old.root)
    failed = old.run(BATCHES + 1)
    assert failed is not None
    assert MOVED_ID in failed["message"]
    assert {path: body for path, body in files_below(old.root).items() if not path.startswith("input/")} == {
        path: body for path, body in left.items() if not path.startswith("input/")
    }
    check_start(new, found["restart"])
    if sink == "windows":
        assert rows <= new.rows()
        assert max(new.rows().values()) == 1
    else:
        assert new.rows() == everything_once(BATCHES + 1)
