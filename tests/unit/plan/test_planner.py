"""Ways out, damage by damage: which there are, what they cost, in which order, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.formats.commits import parse_commit_log
from ckpttool.laws.book import every, stopping
from ckpttool.laws.restart import Restart, predict_restart
from ckpttool.model import LogNames
from ckpttool.plan import DeltaRestore, DeltaTxn, Manual, Plan, SetAside, WayOut, Wish, Write, plan_recovery
from ckpttool.plan.steps import set_aside
from ckpttool.plan.troubles import BY_LAW, OF_NO_LAW
from ckpttool.releases import NEWEST, Release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import ASYNC_OPTION, Scene, Start
from ckpttool.scene.sinks import LedgerEntry, SinkEvidence, SinkWrite
from ckpttool.scene.state_chain import Mode
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID, build
from tests.state_builders import DELTA
from tests.take_steps import files_below, look_at_states, take_steps, within_fence

STORY = "k0-10 c | k10-30 c | k30-60 c"
Damage = Callable[[Path], object]
WITH_THIS_PYTHON = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def delta(*batches: int, rows: int = 10, **fields: object) -> SinkEvidence:
    """A Delta table that has these batches, batch N as its version N."""
    writes = tuple(SinkWrite(f"version {one}", EPOCH_MS * 2, QUERY_ID, one, one, rows=rows) for one in batches)
    ledger = (LedgerEntry(QUERY_ID, batches[-1]),) if batches else ()
    evidence = SinkEvidence("delta", "/lake/orders", key=QUERY_ID, ledger=ledger, writes=writes, seen_from_ms=0)
    return replace(evidence, **fields)


KAFKA = SinkEvidence("kafka", "kafka")


def look(
    root: Path,
    *sinks: SinkEvidence,
    spark: Release = (4, 2, 0),
    wish: Wish | None = None,
    is_async: bool | None = None,
    state: bool = False,
) -> tuple[Plan, Restart]:
    evidence = gather_evidence(open_checkpoint(str(root)))
    options = {} if is_async is None else {ASYNC_OPTION: str(is_async).lower()}
    scene = Scene(evidence, Start(spark, options=options), sinks)
    restart = predict_restart(replace(scene, sinks=()))
    looked = replace(scene, states=look_at_states(root, scene, wish, "quick", partitions=2)) if state else scene
    return plan_recovery(looked, restart, wish), restart


def ids(plan: Plan) -> list[str]:
    return [option.id for option in plan.options]


def paths(way: WayOut) -> list[str]:
    """What is set aside and written within the fence, without the checksums."""
    named = [step for step in within_fence(way.steps) if isinstance(step, SetAside | Write)]
    return [f"{'-' if isinstance(step, SetAside) else '+'}{step.path}" for step in named if ".crc" not in step.path]


def rows(way: WayOut) -> tuple[int | None, int | None, int | None]:
    return way.rows_lost, way.rows_duplicated, way.rows_replayed


def nothing(_: Path) -> None:
    pass


def remove(name: str) -> Damage:
    return lambda root: (root / name).unlink()


def a_directory_for(name: str) -> Damage:
    def damage(root: Path) -> None:
        (root / name).unlink()
        (root / name).mkdir()

    return damage


def put(name: str, content: str = "") -> Damage:
    return lambda root: (root / name).write_text(content)


def mended(root: Path, *sinks: SinkEvidence, **given: object) -> Plan:
    """The plan after the first way out was taken."""
    plan, _ = look(root, *sinks, **given)  # type: ignore[arg-type]
    take_steps(root, plan.options[0].steps)
    after, restart = look(root, *sinks, **given)  # type: ignore[arg-type]
    assert restart.outcome in ("replay", "new_batch", "fresh_start"), restart.why
    return after


# -- what needs no way out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", ["", "k0-10", STORY, "k0-10 c | k10-20", "b7 k0-10 c | k10-20 c"])
def test_a_restart_that_goes_on_needs_no_repair(tmp_path: Path, story: str) -> None:
    plan, _ = look(build(tmp_path, story))
    assert not plan.repairs


# -- one damage, one table: story, damage, sinks → the cheapest way out, its rows, its steps ---------------------------

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


def test_a_stale_checksum_is_set_aside(tmp_path: Path) -> None:
    put("offsets/.3.crc")(build(tmp_path, STORY))
    plan, _ = look(tmp_path)
    (step,) = within_fence(plan.options[0].steps)
    assert isinstance(step, SetAside)
    assert step.path == "offsets/.3.crc"
    assert not mended(tmp_path).repairs


@pytest.mark.parametrize(("root", "crcs"), [("/data/q", 1), ("file:///data/q", 1), ("s3://lake/q", 0)])
def test_a_local_file_goes_with_its_checksum(root: str, crcs: int) -> None:
    """Left over, it would stop Spark from writing a file of that name; only Hadoop's local file system has them."""
    steps = set_aside(root, "offsets/2", "")
    assert [step.path for step in steps] == ["offsets/.2.crc", "offsets/2"][1 - crcs :]
    assert "s3://lake/q.set-aside/offsets/2" in steps[0].shell or crcs


def test_every_rule_has_ways_out_or_a_refusal() -> None:
    known = {rule.id for release in [(2, 4, 0), (4, 0, 0), NEWEST] for rule in stopping(release)}
    assert known - BY_LAW.keys() == set()


def test_repairs_hang_on_laws() -> None:
    book = {law.id for law in every()}
    assert BY_LAW.keys() - book == set()
    assert OF_NO_LAW.keys() & book == set()


def test_two_damages_are_mended_together(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    put("commits/2")(tmp_path)
    remove("metadata")(tmp_path)
    remove("offsets/1")(tmp_path)
    plan, _ = look(tmp_path, delta(0, 1, 2, key=None))
    assert set(paths(plan.options[0])) == {"-commits/2", "+commits/2", "+offsets/1"}
    assert not mended(tmp_path, delta(0, 1, 2)).repairs


# -- what is refused, and what is said to be unknown -------------------------------------------------------------------


def test_a_batch_that_the_sink_has_is_not_planned_anew(tmp_path: Path) -> None:
    put("offsets/2")(build(tmp_path, "k0-10 c | k10-30 c | k30-60"))
    plan, _ = look(tmp_path, delta(0, 1, 2))
    assert not plan.options
    assert ["a sink has batch 2" in refusal.why for refusal in plan.refused] == [True]


def test_without_a_sink_the_costs_are_unknown_and_it_says_so(tmp_path: Path) -> None:
    put("offsets/2")(build(tmp_path, "k0-10 c | k10-30 c | k30-60"))
    way = look(tmp_path)[0].options[0]
    assert rows(way)[:2] == (None, None)
    assert any("--sink" in condition for condition in way.preconditions)


def test_offsets_lost_under_a_file_sink_are_not_started_over(tmp_path: Path) -> None:
    build(tmp_path, "lost c | lost c")
    sink = SinkEvidence("file", "/out", ledger=(LedgerEntry(None, 1),), seen_from_ms=0)
    plan, _ = look(tmp_path, sink)
    assert not plan.options
    assert plan.refused[0].id == "start-over"
    assert ids(look(tmp_path)[0]) == ["start-over"]


def test_a_newer_format_is_left_to_the_newer_spark(tmp_path: Path) -> None:
    put("offsets/2", "v9\n{}")(build(tmp_path, STORY))
    assert "edit-newer-format" in {refusal.id for refusal in look(tmp_path)[0].refused}


def test_a_commit_that_names_state_is_not_forged(tmp_path: Path) -> None:
    build(tmp_path, STORY, commits_version=2)
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    put("commits/2")(tmp_path)
    assert "write-commit-again" not in ids(look(tmp_path)[0])


def test_a_written_commit_goes_on_with_the_watermark_of_the_next_batch(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 w5000 c9000 | k20-30 w9000")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    put("commits/1")(tmp_path)
    write = next(step for step in within_fence(look(tmp_path)[0].options[0].steps) if isinstance(step, Write))
    assert parse_commit_log(write.content.encode(), 1).next_watermark_ms == 9000


# -- the sink is ahead, or knows the query by another name -------------------------------------------------------------


def test_a_rewound_checkpoint_takes_the_sink_along(tmp_path: Path) -> None:
    plan, restart = look(build(tmp_path, STORY), delta(0, 1, 2, 3, 4))
    assert restart.outcome == "new_batch"
    ways = {way.id: way for way in plan.options}
    assert ids(plan)[0] == "bring-sink-down"
    restore, txn = within_fence(plan.options[0].steps)
    assert isinstance(restore, DeltaRestore)
    assert isinstance(txn, DeltaTxn)
    assert (restore.version, txn.version, txn.app_id) == (2, 2, QUERY_ID)
    assert rows(ways["bring-sink-down"]) == (0, 0, 20)
    assert rows(ways["new-query-id"]) == (0, 20, 20)
    assert rows(ways["renumber-above-sink"]) == (0, 20, 20)


def test_a_batch_that_the_sink_skips_for_ever_is_taken_out_of_it(tmp_path: Path) -> None:
    """Its commit has to name state, and no task of it would run; so it has to run."""
    build(tmp_path, "k0-10 c | k10-30 c | k30-60", commits_version=2)
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    plan, _ = look(tmp_path, delta(0, 1, 2))
    (way,) = [way for way in plan.options if way.id == "bring-sink-down"]
    restore, txn = within_fence(way.steps)
    assert isinstance(restore, DeltaRestore)
    assert isinstance(txn, DeltaTxn)
    assert (restore.version, txn.version) == (1, 1)
    build(tmp_path, "k0-10 c | k10-30 c | k30-60", commits_version=1)  # which names no state
    assert look(tmp_path, delta(0, 1, 2))[0].options == ()


def test_other_writers_are_not_undone(tmp_path: Path) -> None:
    sink = delta(0, 1, 2, 3)
    sink = replace(sink, writes=(*sink.writes, SinkWrite("version 4", EPOCH_MS * 2, None, None, 4, "MERGE", 7)))
    plan, _ = look(build(tmp_path, STORY), sink)
    assert "bring-sink-down" not in ids(plan)
    assert any("version 4" in refusal.why for refusal in plan.refused)


def test_after_a_restore_only_the_record_is_lowered(tmp_path: Path) -> None:
    sink = delta(0, 1, 2, 3)
    gone = tuple(replace(write, rows_lost="restored") if write.version == 3 else write for write in sink.writes)
    plan, _ = look(build(tmp_path, STORY), replace(sink, writes=gone))
    assert [type(step) for step in within_fence(plan.options[0].steps)] == [DeltaTxn]
    assert rows(plan.options[0]) == (0, 0, 10)


def test_an_iceberg_table_is_rolled_back_by_a_person(tmp_path: Path) -> None:
    """Only who knows its catalog can; a script that is run through stops there."""
    writes = tuple(
        SinkWrite(f"snapshot {one}7", EPOCH_MS * 2, QUERY_ID, one, one * 10 + 7, rows=10) for one in range(3)
    )
    sink = replace(delta(0, 1, 2), kind="iceberg", writes=writes)
    (way,) = look(build(tmp_path, STORY), sink, wish=Wish(to_batch=1))[0].options
    step = within_fence(way.steps)[0]
    assert isinstance(step, Manual)
    assert step.target == "sink"
    assert "rollback_to_snapshot('NAMESPACE.TABLE', 17)" in step.shell
    assert subprocess.run(["bash", "-c", f"set -e\n{step.shell}\ntrue"], check=False).returncode == 1


def test_a_sink_that_went_back_is_filled_again(tmp_path: Path) -> None:
    """Nothing stops the restart, and nothing else would bring batches 1 and 2 back."""
    plan, restart = look(build(tmp_path, STORY), delta(0))
    assert restart.outcome == "new_batch"
    assert [(way.id, rows(way)) for way in plan.repairs] == [("refill-sink", (0, 0, 50))]
    assert paths(plan.options[0]) == ["-commits/2", "-offsets/2", "-commits/1", "-offsets/1"]
    assert not mended(tmp_path, delta(0)).repairs


def file_sink(names: LogNames) -> SinkEvidence:
    return SinkEvidence("file", "/out", ledger=(LedgerEntry(None, names.ids[-1]),), seen_from_ms=0, names=names)


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (LogNames((0, 1, 2), directories=("3",)), "3"),
        (LogNames((0, 1, 2), orphan_crcs=(".3.crc",)), ".3.crc"),
    ],
)
def test_what_stands_in_the_way_of_a_sink_is_set_aside(tmp_path: Path, names: LogNames, path: str) -> None:
    plan, restart = look(build(tmp_path, STORY), file_sink(names))
    assert restart.batch_id == 3
    way = plan.options[0]
    assert (way.id, rows(way)) == ("clear-the-way-of-sink", (0, 0, 0))
    (step,) = within_fence(way.steps)
    assert isinstance(step, SetAside)
    assert step.path == f"/out/_spark_metadata/{path}"


def test_a_sink_whose_log_has_a_hole_is_not_promised_anything(tmp_path: Path) -> None:
    build(tmp_path, "b8 k0-10 c | k10-20")
    plan, _ = look(tmp_path, file_sink(LogNames((0, 1, 2, 4, 5, 6, 7, 8))))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["rebuild-sink-log"]


@pytest.mark.parametrize(
    "sink",
    [
        delta(0, 1, 2),
        delta(),  # perhaps another table
        delta(0, ledger=(LedgerEntry(QUERY_ID, 0, native=False),)),  # who writes by hand may leave batches out
        delta(0, incomplete="its checkpoint cannot be read"),
    ],
)
def test_nothing_is_filled_again_that_may_be_there(tmp_path: Path, sink: SinkEvidence) -> None:
    assert not look(build(tmp_path, STORY), sink)[0].options


def test_batches_beyond_reach_are_not_filled_again(tmp_path: Path) -> None:
    plan, _ = look(build(tmp_path, "b7 k0-10 c | k10-20 c"), delta(0))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["refill-sink"]


def test_rows_of_a_checkpoint_that_is_gone_are_told(tmp_path: Path) -> None:
    plan, restart = look(build(tmp_path, ""), delta(0, 1, key="another"))
    assert restart.outcome == "fresh_start"
    assert [refusal.id for refusal in plan.refused] == ["restore-from-backup"]
    assert QUERY_ID in plan.refused[0].why


def test_ways_out_have_ids_of_their_own(tmp_path: Path) -> None:
    remove("metadata")(build(tmp_path, STORY))
    other = LedgerEntry("11111111-2222-4333-8444-555555555555", 2)
    sink = delta(0, 1, 2, key=None)
    plan, _ = look(tmp_path, replace(sink, ledger=(*sink.ledger, other)))
    assert ids(plan)[:2] == ["restore-query-id", "restore-query-id:2"]


def test_the_id_under_which_the_sink_knows_the_batch_is_restored(tmp_path: Path) -> None:
    other = "11111111-2222-4333-8444-555555555555"
    sink = delta(0, 1, 2)
    sink = replace(
        sink,
        ledger=(LedgerEntry(other, 2),),
        writes=tuple(replace(write, app_id=other) for write in sink.writes),
    )
    plan, restart = look(build(tmp_path, "k0-10 c | k10-30 c | k30-60"), sink)
    assert restart.outcome == "replay"
    assert ids(plan)[0] == "restore-query-id"
    assert rows(plan.options[0]) == (0, 0, 30)


# -- choices about the batch that would run again ----------------------------------------------------------------------


def test_a_pending_batch_can_be_skipped_or_planned_anew(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-30 c | k30-60")
    ways = {way.id: way for way in look(tmp_path, delta(0, 1))[0].options}
    assert {id: rows(way) for id, way in ways.items()} == {
        "drop-planned-batch": (0, 0, 30),
        "skip-batch": (30, 0, 0),
    }
    assert not any(way.is_repair for way in ways.values())
    assert ids(look(tmp_path, delta(0, 1, 2))[0]) == ["skip-batch"]
    assert rows(look(tmp_path, delta(0, 1, 2))[0].options[0]) == (0, 0, 0)


def test_a_stateful_batch_is_not_skipped(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-30")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "skip-batch" not in ids(look(tmp_path, delta(0))[0])


def test_async_gaps_are_bridged_by_async_progress(tmp_path: Path) -> None:
    build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c")
    plan, restart = look(tmp_path, is_async=False)
    assert restart.outcome == "error"
    assert "restart-with-async-progress" in ids(plan)


# -- rewinds that were asked for ---------------------------------------------------------------------------------------


def test_rewinding_counts_what_is_replayed_and_goes_newest_first(tmp_path: Path) -> None:
    build(tmp_path, f"{STORY} | k60-100")
    plan, _ = look(tmp_path, delta(0, 1, 2), wish=Wish(to_batch=0))
    way = plan.options[0]
    assert rows(way) == (0, 0, 90)
    assert paths(way) == ["-offsets/3", "-commits/2", "-offsets/2", "-commits/1", "-offsets/1"]
    assert isinstance(within_fence(way.steps)[0], DeltaRestore)
    assert rows(look(tmp_path, KAFKA, wish=Wish(to_batch=1))[0].options[0]) == (0, None, 70)


def test_rewinding_to_a_time_keeps_what_was_planned_by_then(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    by_time = look(tmp_path, wish=Wish(to_time_ms=EPOCH_MS + MINUTE_MS + 1))[0]
    assert by_time.options[0].steps == look(tmp_path, wish=Wish(to_batch=1))[0].options[0].steps
    assert not look(tmp_path, wish=Wish(to_time_ms=EPOCH_MS - 1))[0].options


def test_the_reach_ends_where_the_files_do(tmp_path: Path) -> None:
    build(tmp_path, "b7 k0-10 c | k10-20 c | k20-30 c")
    plan, _ = look(tmp_path)
    assert plan.reach
    assert (plan.reach.batch_id, plan.reach.planned_ms) == (8, EPOCH_MS + 2 * MINUTE_MS)
    assert not look(tmp_path, wish=Wish(to_batch=7))[0].options


@pytest.mark.parametrize("batch", [3, 4, -1])
def test_there_is_no_going_back_to_what_was_not_committed(tmp_path: Path, batch: int) -> None:
    plan, _ = look(build(tmp_path, f"{STORY} | k60-70"), wish=Wish(to_batch=batch))
    assert not plan.options
    assert plan.refused


def state_of(root: Path, *versions: int) -> None:
    for partition in "01":
        directory = root / "state" / "0" / partition
        directory.mkdir(parents=True)
        for version in versions:
            (directory / f"{version}.delta").write_bytes(b"x")
            (directory / f".{version}.delta.crc").write_bytes(b"x")
        (directory / f"{versions[-1]}.snapshot").write_bytes(b"x")


def test_rewinding_sets_newer_state_aside_first(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    state_of(tmp_path, 1, 2, 3)
    way = look(tmp_path, wish=Wish(to_batch=1), state=True)[0].options[0]
    kept = {f"state/0/{partition}/{version}.delta" for partition in "01" for version in (1, 2)}
    assert paths(way)[:4] == [f"-state/0/{partition}/3.{kind}" for kind in ("snapshot", "delta") for partition in "01"]
    take_steps(tmp_path, way.steps)
    left = {name for name in files_below(tmp_path) if name.startswith("state/") and ".crc" not in name}
    assert left == kept
    assert isinstance(within_fence(look(tmp_path, wish=Wish(to_batch=0))[0].options[0].steps)[0], Manual)


def test_state_that_is_not_kept_any_more_is_out_of_reach(tmp_path: Path) -> None:
    build(tmp_path, STORY)
    state_of(tmp_path, 3)
    assert not look(tmp_path, wish=Wish(to_batch=1), state=True)[0].options
    assert not look(tmp_path, wish=Wish(to_batch=1))[0].options


def test_rewinding_a_file_source_lets_it_find_its_files_again(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c | f2 c")
    way = look(tmp_path, wish=Wish(to_batch=0))[0].options[0]
    assert paths(way)[-2:] == ["-sources/0/2", "-sources/0/1"]
    assert not mended(tmp_path, wish=Wish(to_batch=0)).options


# -- state that cannot be loaded, or that another timeline left --------------------------------------------------------

SOUND = {f"state/0/0/{version}.delta": DELTA for version in (1, 2, 3)}


def with_state(root: Path, **damage: bytes | None) -> Path:
    """Three committed batches with what they left in one partition; `d3=b""` is what 3.delta is instead."""
    kinds = {"d": "delta", "s": "snapshot"}
    files: dict[str, bytes | None] = dict(SOUND)
    files |= {f"state/0/0/{name[1:]}.{kinds[name[0]]}": body for name, body in damage.items()}
    build(root, STORY)
    for name, body in files.items():
        if body is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(body)
    return root


def look_at_state(
    root: Path, *sinks: SinkEvidence, spark: Release = (4, 2, 0), wish: Wish | None = None, mode: Mode = "full"
) -> tuple[Plan, Restart]:
    evidence = gather_evidence(open_checkpoint(str(root)))
    scene = Scene(evidence, Start(spark), sinks)
    scene = replace(scene, states=look_at_states(root, scene, wish, mode, partitions=1))
    restart = predict_restart(scene)
    return plan_recovery(scene, restart, wish), restart


def mended_state(root: Path, *sinks: SinkEvidence, **given: Any) -> Plan:
    take_steps(root, look_at_state(root, *sinks, **given)[0].options[0].steps)
    after, restart = look_at_state(root, *sinks, **given)
    assert restart.outcome == "new_batch", restart.why
    return after


def test_damaged_changes_mean_going_back_to_a_batch_whose_state_is_sound(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"cut")
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "error"
    way = plan.options[0]
    assert (way.id, rows(way)) == ("rewind-to-batch", (0, 0, 30))
    assert paths(way) == ["-state/0/0/3.delta", "-commits/2", "-offsets/2"]
    assert "restore-from-backup" in {refusal.id for refusal in plan.refused}
    assert not mended_state(tmp_path, delta(0, 1)).repairs


def test_versions_that_do_not_load_either_are_passed_over(tmp_path: Path) -> None:
    plan, _ = look_at_state(with_state(tmp_path / "one", d2=b"cut", d3=b"cut"), delta(0, 1, 2))
    assert "end of batch 0" in plan.options[0].title
    plan, _ = look_at_state(with_state(tmp_path / "other", d1=None), delta(0, 1, 2))
    assert ids(plan) == ["start-over"]
    assert any("state/0/0/1.delta" in refusal.why for refusal in plan.refused)


@pytest.mark.parametrize(("spark", "needed"), [((3, 5, 7), True), ((4, 2, 0), False)])
def test_a_damaged_snapshot_goes_if_its_changes_are_there(tmp_path: Path, spark: Release, needed: bool) -> None:
    """Since 4.2 Spark goes on to an older one by itself."""
    with_state(tmp_path, s2=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), spark=spark)
    assert bool(plan.options) is needed
    if needed:
        assert (plan.options[0].id, rows(plan.options[0])) == ("set-aside-state-snapshot", (0, 0, 0))
        assert paths(plan.options[0]) == ["-state/0/0/2.snapshot"]
        assert not mended_state(tmp_path, delta(0, 1, 2), spark=spark).options


def test_a_damaged_snapshot_stays_if_its_changes_are_gone(tmp_path: Path) -> None:
    with_state(tmp_path, s2=b"cut", d1=None)
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), spark=(3, 5, 7))
    assert "set-aside-state-snapshot" not in ids(plan)


def test_names_alone_promise_nothing(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), mode="quick")
    assert any("only names were looked at" in one for one in plan.options[0].preconditions)
    with_state(tmp_path, d3=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2))
    assert not any("only names" in one for one in plan.options[0].preconditions)


def test_without_the_state_files_a_failure_of_state_has_no_way_out(tmp_path: Path) -> None:
    with_state(tmp_path, d3=b"cut")
    scene = Scene(gather_evidence(open_checkpoint(str(tmp_path))), Start((4, 2, 0)))
    looked = replace(scene, states=look_at_states(tmp_path, scene, partitions=1))
    plan = plan_recovery(scene, predict_restart(looked))
    assert not plan.options
    assert [refusal.id for refusal in plan.refused] == ["restore-from-backup"]


def test_a_wish_for_state_that_does_not_load_is_refused(tmp_path: Path) -> None:
    with_state(tmp_path, d1=b"cut")
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2), wish=Wish(to_batch=1))
    assert not plan.options
    assert "version 2 of the state" in plan.refused[0].why


@pytest.mark.parametrize(("name", "stale"), [("s4", True), ("d4", False)])
def test_whole_copies_of_another_timeline_are_set_aside(tmp_path: Path, name: str, stale: bool) -> None:
    """Changes are overwritten when the batch comes; a whole copy would be loaded instead of them."""
    with_state(tmp_path, **{name: DELTA})
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "new_batch"
    assert ids(plan) == (["set-aside-stale-state"] if stale else [])
    if stale:
        assert paths(plan.options[0]) == ["-state/0/0/4.snapshot"]
        assert not mended_state(tmp_path, delta(0, 1, 2)).options


def test_what_stands_in_the_way_of_state_is_set_aside(tmp_path: Path) -> None:
    with_state(tmp_path)
    (tmp_path / "state/0/0/4.delta").mkdir()
    plan, restart = look_at_state(tmp_path, delta(0, 1, 2))
    assert restart.outcome == "error"
    assert (plan.options[0].id, paths(plan.options[0])) == ("clear-the-way-of-state", ["-state/0/0/4.delta"])
    assert not mended_state(tmp_path, delta(0, 1, 2)).options


def test_a_broken_schema_is_left_to_the_query_to_write(tmp_path: Path) -> None:
    with_state(tmp_path)
    (tmp_path / "state/0/0/_metadata").mkdir()
    put("state/0/0/_metadata/schema", "zeros")(tmp_path)
    plan, _ = look_at_state(tmp_path, delta(0, 1, 2))
    assert plan.options[0].id == "set-aside-state-schema"
    assert any("operators are the same" in one for one in plan.options[0].preconditions)
    assert not mended_state(tmp_path, delta(0, 1, 2)).options


# -- the same by hand --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelled", ["it's", "./it's", "{here}/it's", "file:{here}/it's"])
def test_the_command_lowers_what_the_table_has_recorded(tmp_path: Path, spelled: str) -> None:
    """With a time, without which Delta may forget it. The restore before it: test_fence_vs_spark."""
    table = tmp_path / "it's"
    for batch in range(3):
        record = CommitProperties(app_transactions=[Transaction(QUERY_ID, batch, EPOCH_MS)])
        write_deltalake(str(table), pyarrow.table({"id": [batch]}), mode="append", commit_properties=record)
    build(tmp_path / "q", STORY)
    (way,) = look(tmp_path / "q", delta(0, 1, 2, path=spelled.format(here=tmp_path)), wish=Wish(to_batch=0))[0].options
    (step,) = [step for step in way.steps if isinstance(step, DeltaTxn)]
    subprocess.run(["bash", "-ec", step.shell], check=True, cwd=tmp_path, env=os.environ | WITH_THIS_PYTHON)
    assert DeltaTable(str(table)).transaction_version(QUERY_ID) == 0
    newest = max((table / "_delta_log").glob("*.json")).read_text()
    assert '"lastUpdated":1' in newest


@pytest.mark.parametrize(
    ("spark", "package"),
    [
        ((3, 4, 4), "delta-core_2.12:2.4.0"),
        ((3, 5, 8), "delta-spark_2.12:3.3.2"),
        ((4, 0, 0), "delta-spark_2.13:4.0.0"),
        ((4, 0, 4), "delta-spark_4.0_2.13:4.4.0"),
        ((4, 3, 0), "delta-spark_4.2_2.13:4.4.0"),  # there is none for it yet
    ],
)
def test_a_restore_brings_the_delta_of_its_spark(tmp_path: Path, spark: Release, package: str) -> None:
    (way,) = look(build(tmp_path, STORY), delta(0, 1, 2), spark=spark, wish=Wish(to_batch=0))[0].options
    (step,) = [step for step in way.steps if isinstance(step, DeltaRestore)]
    assert f"--packages io.delta:{package} " in step.shell


@pytest.mark.parametrize("spelled", ["sink", "./sink", "{here}/sink", "file:{here}/sink", "file://{here}/sink/"])
def test_the_commands_find_the_sink_however_it_was_spelled(tmp_path: Path, spelled: str) -> None:
    """A relative path is not one below the checkpoint: the commands are run where ckpt was."""
    build(tmp_path / "q", STORY)
    log = tmp_path / "sink" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in range(3):
        (log / str(batch)).write_text("v1\n")
    sink = replace(file_sink(LogNames((0, 1, 2))), path=spelled.format(here=tmp_path))
    (way,) = look(tmp_path / "q", sink, wish=Wish(to_batch=1))[0].options
    for step in way.steps:
        subprocess.run(["bash", "-ec", step.shell], check=True, cwd=tmp_path)
    assert [path.name for path in log.iterdir()] == ["0", "1"]
    assert (tmp_path / "sink.set-aside" / "_spark_metadata" / "2").exists()
    assert not (tmp_path / "q" / "offsets" / "2").exists()


@pytest.mark.parametrize(
    ("story", "damage"),
    [
        ("f0 c | f1 c | f2 c", put("offsets/2")),
        (STORY, put("commits/2", "{")),
        (STORY, remove("metadata")),
        ("lost c | lost c", nothing),
    ],
)
def test_the_shell_commands_do_the_same(tmp_path: Path, story: str, damage: Damage) -> None:
    """A path with a blank and a quote in it, as paths may have."""
    by_steps, by_shell = tmp_path / "it's one", tmp_path / "it's two"
    for root in (by_steps, by_shell):
        damage(build(root, story))
    take_steps(by_steps, look(by_steps)[0].options[0].steps)
    for step in look(by_shell)[0].options[0].steps:
        subprocess.run(["bash", "-ec", step.shell], check=True)
    expected, found = files_below(by_steps), files_below(by_shell)
    for written in (expected, found):
        written.pop("metadata", None)  # a new id is made from the place
    assert found == expected
