"""The table of points, and where a hit stands."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import STEPS, Disk, ObservedCommit, Window
from ckpttool.harness.points import PLACES, Standings, breakpoints, drifted, stops, witness

ORDER: list[Window] = ["rebuilt", "replayed", "in-effect", "doubled", "done"]


def test_windows_follow_the_life_of_a_batch() -> None:
    for place in PLACES:
        assert place.step in STEPS
        if place.before and place.after:
            assert ORDER.index(place.before) <= ORDER.index(place.after), place.name
        assert (place.before is None) == (place.inside or place.apart), place.name


def test_names_are_unique() -> None:
    assert len({place.name for place in PLACES}) == len(PLACES)


def test_points_of_other_queries_are_not_armed() -> None:
    names = set(stops(["files", "foreach-batch"]))
    assert {"offset-log-begin", "offset-log-end", "source-log-end", "foreach-batch-end", "batch-run-begin"} <= names
    assert not {"plan-ready-end", "rocksdb-commit-begin", "table-log-begin"} & names


def test_one_point_in_several_classes() -> None:
    found = [point.classes for point in breakpoints(stops(["changelog"])) if point.name == "changelog-end"]
    assert found == ["*.StateStoreChangelogWriter", "*.StateStoreChangelogWriterV1", "*.StateStoreChangelogWriterV2"]


def test_a_method_that_has_moved_is_told() -> None:
    chosen = stops(["files"])
    armed = {name: 1 for name in chosen if name not in ("offset-log-end", "source-log-compact-begin")}
    assert drifted(chosen, armed) == ["offset-log-end"]
    assert drifted(chosen, armed | {"offset-log-end": 0}) == ["offset-log-end"]
    assert drifted(chosen, armed | {"offset-log-end": 2}) == []


BATCH = ObservedCommit(version=7, app_id="query", batch_id=2)
PLANNED = Disk(offsets={1: "", 2: ""}, commits={1: ""}, sink=(ObservedCommit(version=6, app_id="query", batch_id=1),))
WRITTEN = replace(PLANNED, sink=(*(PLANNED.sink or ()), BATCH))
DISKS = {
    "rebuilt": replace(PLANNED, offsets={1: ""}),
    "replayed": PLANNED,
    "doubled": WRITTEN,
    "done": replace(WRITTEN, commits={1: "", 2: ""}),
}


def test_what_the_sink_had_before_the_run_bears_no_witness() -> None:
    """The second of two crashes: the first was after the sink's commit."""
    assert witness("replayed", 2, WRITTEN) is False
    assert witness("replayed", 2, WRITTEN, before=WRITTEN) is True
    assert witness("replayed", 2, WRITTEN, before=PLANNED) is False
    assert witness("done", 2, WRITTEN, before=WRITTEN) is False


@pytest.mark.parametrize("window", DISKS)
@pytest.mark.parametrize("lies", DISKS)
def test_the_disk_bears_witness(window: Window, lies: str) -> None:
    assert witness(window, 2, DISKS[lies]) is (window == lies)


def test_a_sink_without_a_record_says_less() -> None:
    assert witness("doubled", 2, replace(PLANNED, sink=None)) is True
    assert witness("done", 2, replace(PLANNED, sink=None)) is False
    assert witness(None, 2, PLANNED) is None


def test_what_writes_any_file_stands_where_its_caller_stands() -> None:
    standings = Standings(stops(["files"]))

    def at(point: str, thread: str = "stream") -> tuple[str, int, Window | None]:
        found = standings.of(point, thread)
        return found.name, found.step, found.window

    assert at("offset-log-begin") == ("offset-log-begin", 3, "rebuilt")
    assert at("rename-begin") == ("offset-log/rename-begin", 3, "rebuilt")
    assert at("rename-begin", "another") == ("rename-begin", 3, None)
    assert at("rename-end") == ("offset-log/rename-end", 3, "replayed")
    assert at("offset-log-end") == ("offset-log-end", 3, "replayed")
    assert at("batch-end-begin") == ("batch-end-begin", 8, "doubled")
    assert at("commit-log-begin") == ("commit-log-begin", 8, "doubled")
    assert at("rename-end") == ("commit-log/rename-end", 8, "done")


def test_a_place_left_by_an_exception_is_left() -> None:
    standings = Standings(stops(["files"]))
    standings.of("batch-end-begin", "stream")
    standings.of("commit-log-begin", "stream")  # and no return
    standings.of("batch-end-end", "stream")
    assert standings.of("rename-begin", "stream").window is None


def test_what_is_written_somewhere_in_a_long_place_may_stand_anywhere() -> None:
    standings = Standings(stops(["foreach-batch"]))
    standings.of("foreach-batch-begin", "stream")
    assert standings.of("rename-end", "stream").window is None
