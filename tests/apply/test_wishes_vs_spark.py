"""Real Spark after each wish: made by it, planned, carried out, taken back, carried out once more, started.

What was promised is held against what it does: the batch, its ranges, its watermark, and the rows in the sink. What is
taken back is byte for byte what Spark had left; what of a Delta table is, `test_delta` tells.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.apply.started import check_start, inputs, on_each_spark, uncommitted
from tests.apply.typed import QUIET, carried_out, told
from tests.differential.test_fence_vs_spark import Stage, everything_once, on_disk
from tests.differential.test_sinks_vs_spark import BATCHES, LAST, ROWS, Scene

pytestmark = [pytest.mark.spark, pytest.mark.extras]

TEMPORARY = ".{}.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp"
Rows = Callable[[Scene], Counter[int]]


@dataclass(frozen=True)
class Wished:
    """`make`: what becomes of the six batches before. `accepts`: what the plan asks. `rows`: in the sink, when one more
    file has come and the query has run; None: windows, which are told by their watermark. `gates`: run with each
    change, on the newest release."""

    words: tuple[str, ...]
    sink: str
    make: Callable[[Scene], object] = lambda _: None
    accepts: tuple[str, ...] = ()
    rows: Rows | None = lambda scene: everything_once(len(inputs(scene)))
    gates: bool = False

    def __str__(self) -> str:
        return f"{' '.join(self.words)} {self.sink}"


def planned_alone(scene: Scene) -> None:
    """The sink did not get it."""
    uncommitted(scene)
    scene.drop_last_sink_commit()


def known_by_another_id(scene: Scene) -> None:
    uncommitted(scene)
    scene.give_another_id()


def from_a_backup(scene: Scene) -> None:
    for log in ("offsets", "commits", "sources/0"):
        scene.drop_batches(log, above=LAST - 2)


def restored_and_uncommitted(scene: Scene) -> None:
    """The table is back at the batch before, and its record is not."""
    uncommitted(scene)
    scene.sql(f"RESTORE TABLE {{table}} TO VERSION AS OF {len(scene.versions()) - 2}")


def never_renamed(scene: Scene) -> None:
    path = scene.checkpoint / "offsets" / str(LAST)
    temporary = path.with_name(TEMPORARY.format(path.name))
    path.with_name(f".{path.name}.crc").rename(temporary.with_name(f".{temporary.name}.crc"))
    path.rename(temporary)


def torn_and_told(scene: Scene) -> None:
    """The progress is what a listener would have logged, a line for each trigger."""
    told = scene.ask(query=scene.sink, count=BATCHES + 1, once=False)["progress"]
    (scene.root / "progress").write_text("".join(json.dumps(one) + "\n" for one in told))
    path = scene.checkpoint / "offsets" / str(BATCHES)
    path.write_bytes(path.read_bytes()[:40])


def littered(scene: Scene) -> None:
    for name in (f"offsets/{TEMPORARY.format(3)}", "commits/.77.crc", f"state/0/0/{TEMPORARY.format('1.delta')}"):
        path = scene.checkpoint / name
        if path.parent.exists():
            path.write_bytes(b"v1")
            os.utime(path, (1, 1))


def without_the_last(_: Scene) -> Counter[int]:
    return everything_once(BATCHES + 1) - Counter(range(LAST * ROWS, (LAST + 1) * ROWS))


def last_two_twice(_: Scene) -> Counter[int]:
    return everything_once(BATCHES + 1) + Counter(range((LAST - 1) * ROWS, (LAST + 1) * ROWS))


WISHES = (
    Wished(("rewind", "--to-batch", "2"), "delta", gates=True),
    Wished(("rewind", "--to-batch", "2"), "file"),
    Wished(("drop-batch",), "delta", planned_alone),
    Wished(("drop-batch",), "file", planned_alone, gates=True),
    Wished(("skip-batch",), "delta", uncommitted),
    Wished(("skip-batch",), "delta", planned_alone, ("rows-lost",), without_the_last),
    Wished(("skip-batch",), "file", uncommitted, gates=True),
    Wished(("query-id", "--from-sink"), "delta", known_by_another_id, gates=True),
    Wished(("query-id", "--new"), "delta"),
    Wished(("query-id", "--set", "99999999-2222-4333-8444-555555555555"), "file"),
    Wished(("renumber", "--above-sink"), "file", from_a_backup, ("rows-twice",), last_two_twice, gates=True),
    Wished(("renumber", "--above-sink"), "delta", from_a_backup, ("rows-twice",), last_two_twice),
    Wished(("sink-ledger", "--set", str(LAST - 1)), "delta", restored_and_uncommitted, gates=True),
    Wished(("watermark", "--set", "2030-01-01T00:00:00Z"), "windows", accepts=("rows-lost",), rows=None, gates=True),
    Wished(("watermark", "--set", "2030-01-01T00:00:00Z", "--close"), "windows", accepts=("rows-lost",), rows=None),
    Wished(("watermark", "--set", "2023-11-14T22:13:25Z"), "windows", lambda _: None,
           ("rows-twice", "windows-twice"), None),
    Wished(("restore-offsets", str(BATCHES), "--progress", "{root}/progress"), "file", torn_and_told, gates=True),
    Wished(("restore-offsets", str(BATCHES), "--progress", "{root}/progress"), "delta", torn_and_told),
    Wished(("rename-found",), "file", never_renamed, gates=True),
    Wished(("rename-found",), "delta", never_renamed),
    Wished(("gc",), "file", littered),
    Wished(("gc",), "windows", littered, rows=None),
)  # fmt: skip


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("wishes"))
    yield made
    made.close()


def planned(wished: Wished, scene: Scene, spark: str, plan: Path) -> dict[str, Any]:
    verb, *rest = (word.format(root=scene.root) for word in wished.words)
    options = ("--sink", str(scene.table), "--spark-version", spark, "--out", str(plan))
    found = told("plan", verb, str(scene.checkpoint), *rest, *options)
    assert found["exit"] in (0, 1), found  # 1: what is told of the sink besides stays an error
    asks = sorted(one["id"] for one in found["option"]["conditions"] if one["who"] == "you")
    assert asks == sorted(wished.accepts)
    return found


def is_taken_back(scene: Scene, before: dict[str, bytes]) -> None:
    done = told("undo", str(scene.checkpoint), *QUIET)
    assert (done["exit"], done["identical"]) == (0, True), done
    assert {path: body for path, body in on_disk(scene).items() if not path.startswith("_ckpt/")} == before


@pytest.mark.parametrize(("spark", "wished"), list(on_each_spark(WISHES)))
def test_spark_does_what_was_promised(spark: str, wished: Wished, stage: Stage, tmp_path: Path) -> None:
    scene = stage.scene(spark, wished.sink)
    wished.make(scene)
    before = on_disk(scene)
    if scene.sink != "delta":  # where taking back is a commit more, and so another table to plan for
        planned(wished, scene, spark, tmp_path / "once.json")
        carried_out(wished.accepts, tmp_path / "once.json")
        is_taken_back(scene, before)
        shutil.rmtree(scene.checkpoint / "_ckpt")
    promise = planned(wished, scene, spark, tmp_path / "plan.json")["restart"]
    carried_out(wished.accepts, tmp_path / "plan.json")
    check_start(scene, promise)
    if wished.rows is not None:
        assert scene.rows() == wished.rows(scene)
