"""What is compared with the query that wrote the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, gather_evidence, load_checkpoint, open_store
from ckpttool.laws.changes.base import Deploy
from ckpttool.laws.changes.judge import judge_changes
from ckpttool.model import Checkpoint
from ckpttool.query.model import Meaning, QueryWatermark
from ckpttool.scene.windows import StoredWindows
from tests.builders import build
from tests.unit.laws.changes.queries import COUNT, NEW, QUERY, WATERMARK, but, counting, held, judged, only

SESSION = Meaning(keys=("session_window(ts, 7 seconds)",), gap="7 seconds")
PLAIN = "(precisetimestampconversion(ts, T, LongType) - 0) % 10000000"
WINDOWED = Meaning(keys=("window(ts, 10000 ms, 10000 ms)",), values=("count(1)",), window_ms=10000, slide_ms=10000)


def meaning(**changed: Any) -> Any:
    assert COUNT.meaning
    return counting(meaning=replace(COUNT.meaning, **changed))


@pytest.mark.parametrize(
    ("before", "after", "id_", "answer"),
    [
        (QUERY, meaning(values=("count(1)", "sum(id)")), "state-meaning-changed", "rows_differ"),
        (QUERY, meaning(keys=("upper(k)",)), "state-meaning-changed", "rows_differ"),
        (QUERY, meaning(keys=("coalesce(k, )",)), "state-meaning-changed", "harmless"),
        (
            counting(meaning=WINDOWED),
            counting(meaning=replace(WINDOWED, keys=("window(ts, 20000 ms, 20000 ms)",), window_ms=20000)),
            "window-changed",
            "rows_differ",
        ),
        (
            counting(meaning=Meaning(keys=("session_window(ts, 3 seconds)",), gap="3 seconds")),
            counting(meaning=Meaning(keys=("session_window(ts, 7 seconds)",), gap="7 seconds")),
            "gap-changed",
            "rows_differ",
        ),
        (meaning(limit=7), meaning(limit=3), "limit-changed", "harmless"),
        (meaning(join_type="INNER"), meaning(join_type="LEFT OUTER"), "join-type-changed", "rows_differ"),
        (meaning(condition="(k = k)"), meaning(condition="(k = g)"), "join-condition-changed", "rows_differ"),
        (meaning(timeout="NoTimeout"), meaning(timeout="EventTimeTimeout"), "timeout-changed", "rows_differ"),
    ],
)
def test_what_no_schema_tells(before: Any, after: Any, id_: str, answer: str) -> None:
    (change,) = only(judged(after, before), id_)
    assert (change.answer, change.told_by) == (answer, "was")
    assert any(one.startswith("operator 0 (stateStoreSave) was of the same before: ") for one in
               judged(after, before, with_was=False).assumes) or not (after.operators[0].meaning.keys)  # fmt: skip


def test_where_windows_begin_stands_in_the_plan() -> None:
    plans = [f"Project [(precisetimestampconversion(ts, T, LongType) - {start}) % 10000000]" for start in (0, 3000000)]
    before, after = (replace(counting(meaning=WINDOWED), plan=(plan,), plan_sha256=plan) for plan in plans)
    (change,) = only(judged(after, before), "window-changed")
    assert change.answer == "rows_differ"
    untold = replace(after, plan=("Project [window]",), plan_sha256="")
    (change,) = only(judged(untold, before), "window-changed")
    assert change.answer == "unknown"


@pytest.mark.parametrize(
    ("before", "after", "id_", "answer"),
    [
        ((), (WATERMARK,), "watermark-added", "harmless"),
        ((WATERMARK,), (), "watermark-removed", "rows_differ"),
        ((WATERMARK,), (replace(WATERMARK, delay_ms=1),), "watermark-delay-changed", "harmless"),
        ((WATERMARK,), (replace(WATERMARK, column="ts2"),), "watermark-column-changed", "rows_differ"),
    ],
)
def test_watermarks(before: Any, after: tuple[QueryWatermark, ...], id_: str, answer: str) -> None:
    (change,) = only(judged(but(watermarks=after), but(watermarks=before)), id_)
    assert change.answer == answer


def test_without_state_nobody_goes_by_a_watermark() -> None:
    before, after = but(operators=(), watermarks=(WATERMARK,)), but(operators=())
    (change,) = only(judged(after, before), "watermark-removed")
    assert change.answer == "harmless"


def stored(*newest: tuple[int, int], sessions: bool = False) -> Scene:
    """A checkpoint whose state holds these windows, in seconds."""
    several = tuple((start * 1_000_000, end * 1_000_000) for start, end in newest)
    windows = (StoredWindows(0, len(several), several, sessions),)
    return Scene(gather_evidence(Checkpoint("/ck", None)), Start(NEW), windows=windows)


@pytest.mark.parametrize(
    ("meaning", "begin", "scene", "ids"),
    [
        (WINDOWED, 0, stored((10, 20), (20, 30)), []),
        (WINDOWED, 0, stored((0, 20), (20, 40)), ["window-changed"]),
        (WINDOWED, 0, stored((0, 20), (20, 30)), []),  # it was changed before
        (WINDOWED, 3_000_000, stored((10, 20), (20, 30)), ["window-changed"]),
        (WINDOWED, 3_000_000, stored((3, 13)), []),
        (SESSION, 0, stored((1, 4), (5, 9), sessions=True), ["gap-changed"]),
        (SESSION, 0, stored((1, 4), (5, 12), sessions=True), []),
    ],
)
def test_the_state_shows_its_windows(meaning: Meaning, begin: int, scene: Scene, ids: list[str]) -> None:
    plan = (f"(precisetimestampconversion(ts, T, LongType) - {begin}) % 10000000",)
    new = replace(counting(meaning=meaning), plan=plan)
    found = judge_changes(Deploy(new, held(), NEW, None, scene)).found
    assert [change.id for change in found if change.told_by == "state"] == ids


def test_what_the_state_shows_is_told_once() -> None:
    longer = replace(WINDOWED, keys=("window(ts, 20000 ms, 20000 ms)",), window_ms=20000, slide_ms=20000)
    before, after = counting(meaning=WINDOWED), counting(meaning=longer)
    found = judge_changes(Deploy(after, held(), NEW, before, stored((10, 20)))).found
    assert [(change.id, change.told_by) for change in found] == [("window-changed", "state")]


LONGER = replace(WINDOWED, keys=("window(ts, 20000 ms, 20000 ms)",), window_ms=20000, slide_ms=20000)
SHORT = Meaning(keys=("session_window(ts, 3 seconds)",), gap="3 seconds")


def emptied(root: Path, reached_ms: int) -> Scene:
    """A checkpoint whose state keeps no window any more, behind this watermark."""
    checkpoint = load_checkpoint(open_store(str(build(root, f"k0-10 c{reached_ms}"))))
    return Scene(gather_evidence(checkpoint), Start(NEW), windows=(StoredWindows(0, 0, ()),))


@pytest.mark.parametrize(
    ("before", "after", "reached_ms", "answer"),
    [
        (WINDOWED, LONGER, 40_000, "harmless"),
        (WINDOWED, LONGER, 30_000, "rows_differ"),  # of 20 to 40 s, what came before 30 s is in another window
        (LONGER, WINDOWED, 30_000, "harmless"),
        (WINDOWED, replace(WINDOWED, values=("sum(v)",)), 30_001, "harmless"),
        (SESSION, SHORT, 1, "harmless"),
        (SHORT, SESSION, 1, "rows_differ"),  # one that ended would have gone on
    ],
)
def test_of_what_the_state_keeps_nothing_of_nothing_is_mixed(
    tmp_path: Path, before: Meaning, after: Meaning, reached_ms: int, answer: str
) -> None:
    new, old = (replace(counting(meaning=one), plan=(PLAIN,)) for one in (after, before))
    (change,) = only(judge_changes(Deploy(new, held(), NEW, old, emptied(tmp_path, reached_ms))), *_ids(before, after))
    assert change.answer == answer


def _ids(before: Meaning, after: Meaning) -> tuple[str, ...]:
    if before.gap != after.gap:
        return ("gap-changed",)
    return ("window-changed",) if before.window_ms != after.window_ms else ("state-meaning-changed",)


def test_nothing_has_to_be_assumed_of_what_is_closed(tmp_path: Path) -> None:
    new = replace(counting(meaning=WINDOWED), plan=(PLAIN,))
    for reached_ms, is_assumed in ((30_000, False), (30_001, True)):
        scene = emptied(tmp_path / str(reached_ms), reached_ms)
        assumes = judge_changes(Deploy(new, held(), NEW, None, scene)).assumes
        assert any(one.startswith("operator 0") for one in assumes) is is_assumed
