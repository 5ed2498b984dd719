"""Ways out, damage by damage: which there are, what they cost, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.plan import DeltaRestore, DeltaTxn, Rewind, SetAside, Step, _in_order
from ckpttool.plan.conditions import OF_COST
from ckpttool.plan.steps import write
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence
from tests.builders import QUERY_ID, build
from tests.take_steps import take_steps
from tests.unit.plan.plans import (
    KAFKA,
    STORY,
    Damage,
    a_directory_for,
    delta,
    ids,
    look,
    mended,
    nothing,
    paths,
    put,
    remove,
    rows,
)


@pytest.mark.parametrize("story", ["", "k0-10", STORY, "k0-10 c | k10-20", "b7 k0-10 c | k10-20 c"])
def test_a_restart_that_goes_on_needs_no_repair(tmp_path: Path, story: str) -> None:
    plan, _ = look(build(tmp_path, story))
    assert not plan.repairs


CASES: dict[str, tuple[str, Damage, tuple[SinkEvidence, ...], str, tuple[int | None, ...], list[str]]] = {
    "offset-file-torn, pending, sink lacks it": (
        "k0-10 c | k10-30 c | k30-60",
        put("offsets/2", "v1\n{"),
        (delta(0, 1),),
        "drop-planned-batch",
        (0, 0, None),
        ["-offsets/2"],
    ),
    "offset-file-torn, committed, sink can be restored": (
        STORY,
        put("offsets/2"),
        (delta(0, 1, 2),),
        "rewind-to-batch",
        (0, 0, 10),
        ["-commits/2", "-offsets/2"],
    ),
    "commit-file-torn": (
        STORY,
        put("commits/2", "v1\n{"),
        (KAFKA,),
        "write-commit-again",
        (0, 0, 0),
        ["-commits/2", "+commits/2"],
    ),
    "previous-offset-missing, committed": (
        STORY,
        remove("offsets/1"),
        (),
        "copy-as-previous-offsets",
        (0, 0, 0),
        ["+offsets/1"],
    ),
    "previous-offset-missing, pending and in the sink": (
        "k0-10 c | k10-30 c | k30-60",
        remove("offsets/1"),
        (delta(0, 1, 2),),
        "begin-earlier",
        (0, 0, 10),
        ["+offsets/1"],
    ),
    "commit-ahead-of-offset, sink stands where the offsets do": (
        STORY,
        remove("offsets/2"),
        (delta(0, 1),),
        "rewind-to-batch",
        (0, 0, None),
        ["-commits/2"],
    ),
    "stray-batch-file": (STORY, put("offsets/100", "v1"), (delta(0, 1, 2),), "drop-planned-batch", (0, 0, None),
                         ["-offsets/100"]),
    "non-canonical-batch-name": (STORY, put("offsets/003"), (), "set-aside-misnamed-file", (0, 0, 0), ["-offsets/003"]),
    "non-canonical-commit": (STORY, put("commits/+3"), (), "set-aside-misnamed-file", (0, 0, 0), ["-commits/+3"]),
    "metadata-missing, sink remembers": (
        STORY, remove("metadata"), (delta(0, 1, 2, key=None),), "restore-query-id", (0, 0, 0), []
    ),
    "metadata-corrupt, id still legible": (
        STORY, put("metadata", f'{{"id":"{QUERY_ID}"'), (), "restore-query-id", (0, 0, 0), []
    ),
    "source-log-hole": (
        "f0 c | f1 c | f2 c", remove("sources/0/1"), (KAFKA,),
        "empty-source-log-entry", (0, None, None), ["+sources/0/1"]
    ),
    "source-log-torn beyond what was read": (
        "f0 c | f1 c", put("sources/0/2", "v1\n{"), (), "set-aside-source-log-entry", (0, 0, 0), ["-sources/0/2"]
    ),
    "directory in the way": (
        STORY, a_directory_for("commits/2"), (delta(0, 1, 2),),
        "set-aside-directory", (0, 0, 30), ["-commits/2"]
    ),
    "offset-ahead-by-two, sink stands at the commit": (
        "k0-10 c | k10-30 | k30-60 | k60-90", nothing, (delta(0),), "run-left-out-batches", (0, 0, 80),
        ["-offsets/3", "-offsets/2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_cheapest_way_out(tmp_path: Path, name: str) -> None:
    story, damage, sinks, id, cost, steps = CASES[name]
    damage(build(tmp_path, story))
    plan, _ = look(tmp_path, *sinks)
    way = plan.options[0]
    assert (way.id, rows(way), paths(way)) == (id, cost, steps)
    assert way.is_repair
    take_steps(tmp_path, way.steps)
    restart = look(tmp_path)[1]
    assert restart.outcome in ("replay", "new_batch"), restart.why


def test_two_damages_are_mended_together(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    put("commits/2")(tmp_path)
    remove("metadata")(tmp_path)
    remove("offsets/1")(tmp_path)
    plan, _ = look(tmp_path, delta(0, 1, 2, key=None))
    assert set(paths(plan.options[0])) == {"-commits/2", "+commits/2", "+offsets/1"}
    assert not mended(tmp_path, delta(0, 1, 2)).repairs


def test_ways_out_have_ids_of_their_own(tmp_path: Path) -> None:
    remove("metadata")(build(tmp_path, STORY))
    other = LedgerEntry("11111111-2222-4333-8444-555555555555", 2)
    sink = delta(0, 1, 2, key=None)
    plan, _ = look(tmp_path, replace(sink, ledger=(*sink.ledger, other)))
    assert ids(plan)[:2] == ["restore-query-id", "restore-query-id:2"]


def test_what_a_later_repair_sets_aside_is_not_written() -> None:
    """A commit is written again, and then its batch is undone: neither may be left."""
    steps: list[Step] = [
        aside("commits/3"),
        written("commits/3"),
        aside("offsets/3"),
        aside("commits/3"),
        written("commits/2"),
    ]
    assert _in_order(iter(steps)) == (aside("commits/3"), aside("offsets/3"), written("commits/2"))
    assert _in_order(iter([written("offsets/4"), aside("offsets/4")])) == ()
    assert _in_order(iter([written("offsets/4"), aside("offsets")])) == (aside("offsets"),)


def test_a_table_goes_where_the_last_repair_leads_it() -> None:
    """As where batch 3 is undone, and then batch 2 because its offsets are no offsets."""
    steps = [restored(2), recorded("q", 2), aside("offsets/3"), restored(1), recorded("q", 1), recorded("other", 7)]
    assert _in_order(iter(steps)) == (restored(1), recorded("q", 1), recorded("other", 7), aside("offsets/3"))


def restored(version: int) -> Step:
    return DeltaRestore(table="/lake/orders", version=version, why="because", shell="")


def recorded(app_id: str, batch: int) -> Step:
    return DeltaTxn(table="/lake/orders", app_id=app_id, version=batch, why="because", shell="")


def aside(path: str) -> Step:
    return SetAside(path=path, why="because", shell="")


def written(path: str) -> Step:
    return write("/q", path, b"v1\n{}", "because")


def test_offsets_with_another_number_of_sources_than_all_before_are_not_copied(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-30 c | k30-60 k0-5 c")
    plan, restart = look(tmp_path)
    assert restart.outcome == "error"
    assert "copy-as-previous-offsets" not in ids(plan)
    assert any(one.id == "copy-as-previous-offsets" and "wrong one" in one.why for one in plan.refused)


def test_an_entry_is_not_emptied_whose_files_another_one_lists(tmp_path: Path) -> None:
    """They would never be read: the batch that reads them is planned, and no longer finds them."""
    build(tmp_path, "f0 c | f1 c | f2")
    log = tmp_path / "sources" / "0"
    (log / "2").rename(log / "3")
    plan, _ = look(tmp_path)
    assert "empty-source-log-entry" not in ids(plan)
    (log / "3").unlink()
    plan, _ = look(tmp_path)
    assert "empty-source-log-entry" in ids(plan)


def test_what_rests_on_files_that_spark_did_not_write_promises_nothing_of_rows(tmp_path: Path) -> None:
    """Going back to before them does not rest on them any more."""
    root = build(tmp_path / "q", "f0 c | f1 c | f2 c | f3 c")
    for entry in (0, 1, 3):
        (root / "sources" / "0" / f".{entry}.crc").write_bytes(b"crc\x00")
    for batch, asks in ((2, ["files-as-written", "rows-lost", "rows-twice"]), (1, [])):
        plan, _ = look(root, delta(0, 1, 2, 3), wish=Rewind(batch))
        (way,) = plan.options
        assert [one.id for one in way.conditions if one.id in ("files-as-written", *OF_COST)] == asks
        assert rows(way)[:2] == ((None, None) if asks else (0, 0))
        assert ("sources/0/2" in "".join(way.preconditions)) == bool(asks)
