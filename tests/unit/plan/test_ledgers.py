"""A sink brought down to a batch: what that takes, who refuses it, and the commands that do it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.model import LogNames
from ckpttool.plan import DeltaRestore, DeltaTxn, Rewind, Spark, Write
from ckpttool.plan.steps import Check
from ckpttool.releases import Release
from ckpttool.scene.sinks import SinkWrite
from tests.builders import EPOCH_MS, QUERY_ID, build
from tests.take_steps import within_fence
from tests.unit.plan.plans import (
    STORY,
    delta,
    file_sink,
    ids,
    look,
    rows,
)

WITH_THIS_PYTHON = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


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
    (way,) = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))[0].options
    step = within_fence(way.steps)[0]
    assert isinstance(step, Spark)
    assert step.check == Check("iceberg", "/lake/orders", 17, 27)
    assert "rollback_to_snapshot('NAMESPACE.TABLE', 17)" in step.shell
    assert subprocess.run(["bash", "-c", f"set -e\n{step.shell}\ntrue"], check=False).returncode == 1


@pytest.mark.parametrize("takes", [True, False])
def test_an_iceberg_table_from_which_others_deleted_is_not_rolled_back(tmp_path: Path, *, takes: bool) -> None:
    writes = [SinkWrite(f"snapshot {one}7", EPOCH_MS * 2, QUERY_ID, one, one * 10 + 7, rows=10) for one in range(3)]
    writes.append(SinkWrite("snapshot 37", EPOCH_MS * 2, version=37, operation="delete", empty=True, takes=takes))
    sink = replace(delta(0, 1, 2), kind="iceberg", writes=tuple(writes))
    plan, _ = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))
    assert bool(plan.options) != takes
    assert any("snapshot 37" in refusal.why for refusal in plan.refused) == takes


def test_one_that_is_found_by_its_place_is_in_a_catalog_of_that_place(tmp_path: Path) -> None:
    writes = tuple(SinkWrite(f"snapshot {one}", EPOCH_MS * 2, QUERY_ID, one, one, rows=10) for one in range(3))
    sink = replace(delta(0, 1, 2, path="/lake/db/it`s"), kind="iceberg", writes=writes, by_place=True)
    (way,) = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))[0].options
    step = within_fence(way.steps)[0]
    assert isinstance(step, Spark)
    assert step.program == "CALL ckpt.system.rollback_to_snapshot('`db`.`it``s`', 1)"
    assert "spark.sql.catalog.ckpt.warehouse=/lake " in step.shell


# -- what only Spark can write -----------------------------------------------------------------------------------------


def test_a_table_that_only_spark_writes_is_restored_by_it_and_forgets_the_query(tmp_path: Path) -> None:
    """No SQL lowers a record: so the query gets an id that the record does not have."""
    sink = delta(0, 1, 2, features=frozenset({"appendOnly", "rowTracking"}))
    (way,) = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))[0].options
    steps = within_fence(way.steps)
    assert isinstance(steps[0], Spark)
    assert steps[0].program == "RESTORE TABLE delta.`/lake/orders` TO VERSION AS OF 1"
    assert steps[0].check == Check("delta", "/lake/orders", 1, 2)
    (metadata,) = [step for step in way.steps if isinstance(step, Write) and "unfinished" not in step.content]
    assert QUERY_ID not in metadata.content
    assert way.after.sinks[0].key != QUERY_ID
    assert rows(way) == (0, 0, 30)
    assert not any(isinstance(step, DeltaTxn) for step in way.steps)


def test_a_new_id_of_the_query_does_not_help_where_the_record_is_of_another(tmp_path: Path) -> None:
    sink = delta(0, 1, 2, features=frozenset({"inCommitTimestamp"}), key_given=True)
    plan, _ = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))
    assert plan.options == ()
    assert any("inCommitTimestamp" in refusal.why for refusal in plan.refused)


def test_a_table_that_forbids_removals_is_not_restored(tmp_path: Path) -> None:
    sink = delta(0, 1, 2, is_append_only=True)
    plan, _ = look(build(tmp_path, STORY), sink, wish=Rewind(to_batch=1))
    assert plan.options == ()
    assert any("delta.appendOnly" in refusal.why for refusal in plan.refused)


@pytest.mark.extras
@pytest.mark.parametrize("spelled", ["it's", "./it's", "{here}/it's", "file:{here}/it's"])
def test_the_command_lowers_what_the_table_has_recorded(tmp_path: Path, spelled: str) -> None:
    """With a time, without which Delta may forget it. The restore before it: test_fence_vs_spark."""
    import pyarrow
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

    table = tmp_path / "it's"
    for batch in range(3):
        record = CommitProperties(app_transactions=[Transaction(QUERY_ID, batch, EPOCH_MS)])
        write_deltalake(str(table), pyarrow.table({"id": [batch]}), mode="append", commit_properties=record)
    build(tmp_path / "q", STORY)
    sink = delta(0, 1, 2, path=spelled.format(here=tmp_path))
    (way,) = look(tmp_path / "q", sink, wish=Rewind(to_batch=0))[0].options
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
    (way,) = look(build(tmp_path, STORY), delta(0, 1, 2), spark=spark, wish=Rewind(to_batch=0))[0].options
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
    (way,) = look(tmp_path / "q", sink, wish=Rewind(to_batch=1))[0].options
    for step in way.steps:
        subprocess.run(["bash", "-ec", step.shell], check=True, cwd=tmp_path)
    assert sorted(path.name for path in log.iterdir()) == ["0", "1"]
    assert (tmp_path / "sink.set-aside" / "_spark_metadata" / "2").exists()
    assert not (tmp_path / "q" / "offsets" / "2").exists()
