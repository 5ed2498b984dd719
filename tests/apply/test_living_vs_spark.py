"""What each release makes of a fence and of trip wires: it starts under neither, and touches nothing; and a query that
ran all the while, whom a fence does not stop, dies at its next batch, and its sink gets nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ckpttool.api import Restarted
from ckpttool.apply import carry_out as carrying_out
from ckpttool.apply.plan_file import PlanFile
from ckpttool.apply.work import Work
from ckpttool.formats.metadata import APPLY_FENCE
from ckpttool.plan import Rewind
from ckpttool.releases import parse_release
from tests.apply.dying import Killed, System, on
from tests.apply.stages import bury, carry_out, plan_for, take_back
from tests.differential.sweep import observe
from tests.samples.process import JOBS, SparkProcess
from tests.take_steps import files_below

pytestmark = [pytest.mark.spark, pytest.mark.at_length]

Told = dict[str, Any]
RELEASES = ("3.3.4", "3.4.4", "3.5.7", "4.0.4", "4.1.3", "4.2.0", "4.3.0")
SCRIPT = Path(__file__).with_name("living_queries.py")
BATCHES, ROWS, KEPT = 4, 2, 1
REFUSAL = "Invalid UUID string: unfinished: run ckpt apply --resume"
WIRE = "is not finished. Run: ckpt apply --resume"
PYSPARK_HAS_IT = (4, 2, 0)  # a trigger of real-time mode, which the JVM has since 4.1
CAUGHT_UP: Told = {"availableNow": True}
SOON: Told = {"processingTime": "100 milliseconds"}
# Said of a batch that somebody else has written; 3.3 reads the wire first.
WRITTEN_BY_ANOTHER = (
    WIRE,
    "Multiple streaming jobs detected for",
    "Multiple streaming queries are concurrently using",
    "CONCURRENT_STREAM_LOG_UPDATE",
)


class Scene:
    def __init__(
        self, running: SparkProcess, spark: str, root: Path, sink: str = "json", conf: dict[str, str] | None = None
    ) -> None:
        self.running, self.spark, self.root, self.sink, self.conf = running, spark, root, sink, conf or {}
        self.checkpoint = root / "checkpoint"
        root.mkdir()

    def ask(self, do: str, files: int = BATCHES, **trigger: object) -> Told | None:
        """What stopped it, if something did."""
        asked = {"root": str(self.root), "sink": self.sink, "do": do, "files": files, "trigger": trigger}
        error: Told | None = self.running.run({**asked, "conf": self.conf})["error"]
        return error

    def plan(self) -> PlanFile:
        output = self.root / "output" if self.sink == "json" else "foreachBatch"
        asked = Restarted(release=parse_release(self.spark), sinks=[str(output)], wish=Rewind(KEPT))
        return plan_for(self.checkpoint, "rewind-to-batch", asked)

    def rows(self) -> Counter[int]:
        if self.sink != "each":
            return Counter(row["id"] for row in observe.sink("json", self.root / "output")["rows"])
        return Counter(map(int, (self.root / "rows").read_text().split()))

    def files(self) -> dict[str, bytes]:
        """All but what is ours."""
        found = files_below(self.root)
        return {path: body for path, body in found.items() if not path.startswith(("checkpoint/_ckpt/", "pipe"))}


@pytest.fixture(scope="module", params=RELEASES)
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, SparkProcess]]:
    with SparkProcess(request.param, script=SCRIPT, path=[JOBS.parent]) as process:
        yield request.param, process


def everything_once(files: int) -> Counter[int]:
    return Counter(range(files * ROWS))


def is_refused(scene: Scene, words: str) -> None:
    before = files_below(scene.root)
    for trigger in ({"once": True}, CAUGHT_UP, SOON):
        error = scene.ask("run", **trigger)
        assert error is not None
        assert words in error["message"], (trigger, error)
        assert files_below(scene.root) == before, trigger


def test_nothing_starts_under_the_fence_nor_under_the_wires(running: tuple[str, SparkProcess], tmp_path: Path) -> None:
    """Killed where both are up. Then somebody takes the fence down by hand, and the wires are what is left."""
    spark, process = running
    scene = Scene(process, spark, tmp_path / "query")
    assert scene.ask("run", **CAUGHT_UP) is None
    metadata = (scene.checkpoint / "metadata").read_bytes()
    with patch.object(carrying_out, "take_steps", side_effect=Killed), on(System()), pytest.raises(Killed):
        carry_out(scene.plan())
    fence = (scene.checkpoint / "metadata").read_bytes()
    assert fence.decode() == APPLY_FENCE
    is_refused(scene, REFUSAL)
    wire = scene.checkpoint / "offsets" / str(BATCHES)
    kept = wire.read_bytes()
    wire.unlink()
    is_refused(scene, REFUSAL)
    wire.write_bytes(kept)
    (scene.checkpoint / "metadata").write_bytes(metadata)
    is_refused(scene, WIRE)
    (scene.checkpoint / "metadata").write_bytes(fence)
    bury(scene.checkpoint)
    with on(System()):
        undone = take_back(scene.checkpoint)
    assert undone is not None
    assert undone.state == "undone"
    assert scene.ask("run", BATCHES + 1, **CAUGHT_UP) is None
    assert scene.rows() == everything_once(BATCHES + 1)


def test_nor_does_one_without_batches_or_in_real_time(running: tuple[str, SparkProcess], tmp_path: Path) -> None:
    spark, process = running
    scene = Scene(
        process, spark, tmp_path / "query", "noop", {"spark.sql.streaming.realTimeMode.allowlistCheck": "false"}
    )
    triggers: list[Told] = [{"continuous": "300 milliseconds"}]
    triggers += [{"realTime": "5 seconds"}] if parse_release(spark) >= PYSPARK_HAS_IT else []
    assert scene.ask("run", **triggers[0]) is None
    (scene.checkpoint / "metadata").write_text(APPLY_FENCE)
    before = files_below(scene.root)
    for trigger in triggers:
        error = scene.ask("run", **trigger)
        assert error is not None
        assert REFUSAL in error["message"], trigger
        assert files_below(scene.root) == before


# -- one that lives ----------------------------------------------------------------------------------------------------


def woken(scene: Scene, wake: Callable[[], None], ends: str) -> set[str]:
    """It comes to its next batch, or to the end of the one that it is in, when the wires are up. How `ckpt apply` ends
    then; and which files of the query were others when it was dead."""
    died: list[Told | None] = []
    real, before, touched = carrying_out._look_again, scene.files(), set[str]()

    def meanwhile(*given: Any, **named: Any) -> None:
        wake()
        there = scene.files()
        died.append(scene.ask("end", BATCHES + 1))
        touched.update(path for path, body in scene.files().items() if there.get(path) != body)
        assert there.keys() <= scene.files().keys()
        real(*given, **named)

    with patch.object(carrying_out, "_look_again", meanwhile), on(System()):
        done = carry_out(scene.plan())
    assert (done.state, done.fenced) == (ends, False), done.reasons
    (error,) = died
    assert error is not None
    assert any(words in error["message"] for words in WRITTEN_BY_ANOTHER), error
    if ends == "refused":
        assert {reason.id for reason in done.reasons} <= {"plan-does-not-fit", "sink-changed", "tripped"}
        after = scene.files()
        assert touched == {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return touched


def test_an_idle_query_dies_before_its_sink(running: tuple[str, SparkProcess], tmp_path: Path) -> None:
    """What it wrote tells that it lived: nothing is carried out."""
    spark, process = running
    scene = Scene(process, spark, tmp_path / "query")
    assert scene.ask("live", **SOON) is None
    touched = woken(scene, lambda: None, "refused")
    source = {f"checkpoint/sources/0/{name}" for name in (str(BATCHES), f".{BATCHES}.crc")}
    assert touched <= source | {f"input/00{BATCHES}.json"}
    assert scene.ask("run", BATCHES + 2, **CAUGHT_UP) is None
    assert scene.rows() == everything_once(BATCHES + 2)


def test_one_that_was_started_between_the_look_and_the_fence_keeps_what_it_wrote(
    running: tuple[str, SparkProcess], tmp_path: Path
) -> None:
    """It goes on: nothing of the plan is left but what is ours."""
    spark, process = running
    scene = Scene(process, spark, tmp_path / "query")
    assert scene.ask("run", **CAUGHT_UP) is None
    back_up = Work.back_up

    def late(work: Work, *given: Any) -> None:
        back_up(work, *given)
        assert scene.ask("live", BATCHES + 1, **SOON) is None

    with patch.object(Work, "back_up", late), on(System()):
        done = carry_out(scene.plan())
    assert (done.state, done.fenced, done.changed) == ("refused", False, False)
    assert {reason.id for reason in done.reasons} <= {"plan-does-not-fit", "sink-changed", "tripped"}
    assert scene.ask("stop", BATCHES + 2) is None
    assert scene.rows() == everything_once(BATCHES + 2)
    assert scene.ask("run", BATCHES + 3, **CAUGHT_UP) is None
    assert scene.rows() == everything_once(BATCHES + 3)


def test_one_inside_a_batch_dies_at_its_commit(running: tuple[str, SparkProcess], tmp_path: Path) -> None:
    """It leaves nothing to see, and the plan is carried out. Its function had the rows by then, as it had those of the
    batches that the plan goes back over."""
    spark, process = running
    scene = Scene(process, spark, tmp_path / "query", "each")
    assert scene.ask("run", **CAUGHT_UP) is None
    pipe = scene.root / "pipe"
    os.mkfifo(pipe)
    assert scene.ask("live", BATCHES + 1, **SOON) is None
    with pipe.open("w") as held:  # it is inside: it reads
        assert (scene.checkpoint / "offsets" / str(BATCHES)).exists()

        def let_go() -> None:
            pipe.unlink()
            held.write("go on")
            held.close()

        assert woken(scene, let_go, "applied") == set()
    assert not (scene.checkpoint / "commits" / str(KEPT + 1)).exists()
    assert scene.ask("run", BATCHES + 1, **CAUGHT_UP) is None
    again = Counter(range((KEPT + 1) * ROWS, (BATCHES + 1) * ROWS))
    assert scene.rows() == everything_once(BATCHES + 1) + again
