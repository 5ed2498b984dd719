"""A Delta table goes back together with the checkpoint: rows and record in one commit, and back again in another."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from ckpttool.api import Restarted
from ckpttool.apply.run import exit_code_of
from ckpttool.apply.sinks import delta
from ckpttool.errors import Unavailable
from ckpttool.plan import Rewind
from ckpttool.report.views.apply import head
from tests.apply.dying import Killed, System, on
from tests.apply.stages import (
    DELTA_LOG,
    FENCES,
    Stage,
    bodies,
    bury,
    carry_out,
    copied,
    go_on,
    plan_for,
    sampled,
    take_back,
    tree_of,
)
from tests.apply.test_killed import Trial, ended, kill
from tests.builders import build
from tests.conftest import run_ckpt

pytestmark = pytest.mark.extras

SAMPLE = "3.5.7-delta-to-delta-sound"
STAGE = Stage("delta", sampled(SAMPLE), "rewind-to-batch", 1, ("table",))
KILLS = 14
NOW_MS = 2_000_000_000_000


def table_of(checkpoint: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(str(checkpoint.parent / "table"))


class TableTrial(Trial):
    """What is in the table counts, not in which files."""

    @property
    def now(self) -> Any:
        return {path: one for path, one in tree_of(self.folder).items() if "table" not in path}

    def table(self) -> tuple[list[Any], int | None]:
        found = table_of(self.checkpoint)
        app_id = delta.table_changes(self.plan)[0].app_id
        rows = found.to_pyarrow_dataset().to_table().to_pylist()
        return sorted(map(repr, rows)), found.transaction_version(app_id)


@pytest.fixture
def trial(tmp_path: Path) -> TableTrial:
    made = TableTrial(STAGE, tmp_path / "trial")
    made.old = {path: one for path, one in made.old.items() if "table" not in path}
    made.new = made.now
    return made


def both(trial: TableTrial) -> tuple[Any, Any]:
    """What the table holds before and after."""
    after = trial.table()
    trial.put_back(trial.before)
    return trial.table(), after


def test_rows_and_record_go_back_in_one_commit_and_come_again_in_one(trial: TableTrial) -> None:
    after, version = trial.table(), table_of(trial.checkpoint).version()
    done = take_back(trial.checkpoint)
    assert done is not None
    assert (done.state, done.identical) == ("undone", True)
    assert done.sinks[0]["ledger_before"] == done.sinks[0]["ledger_after"]
    assert table_of(trial.checkpoint).version() == version + 1
    again = trial.table()
    trial.put_back(trial.before)
    assert trial.table() == again
    assert table_of(trial.checkpoint).version() == version - 1
    assert len(after[0]) < len(again[0])
    assert (after[1], again[1]) == (1, 3)


def before_the_commit(*_: object) -> None:
    raise Killed


def after_the_commit(*given: Any) -> None:
    commit(*given)
    raise Killed


commit = delta._commit


@pytest.mark.parametrize("when", [before_the_commit, after_the_commit])
@pytest.mark.parametrize("forward", [True, False], ids=["on", "back"])
def test_a_crash_around_the_commit_is_told_by_the_table(
    trial: TableTrial, when: Callable[..., None], forward: bool
) -> None:
    before, after = both(trial)
    with patch.object(delta, "_commit", when), on(System()), pytest.raises(Killed):
        carry_out(trial.plan)
    assert trial.is_fenced()
    assert trial.table() == (after if when is after_the_commit else before)
    bury(trial.checkpoint)
    if forward:
        go_on(trial.checkpoint)
        assert (trial.table(), bodies(trial.now)) == (after, bodies(trial.new))
        return
    with patch.object(delta, "_commit", when), on(System()):
        kill(lambda: take_back(trial.checkpoint), 10_000, "kill")
    bury(trial.checkpoint)
    ended(lambda: take_back(trial.checkpoint))
    assert (trial.table(), bodies(trial.now)) == (before, bodies(trial.old))


def lost(*given: Any) -> None:
    commit(*given)
    raise Unavailable("no answer")


def test_an_answer_that_never_comes_is_looked_up(trial: TableTrial) -> None:
    before, after = both(trial)
    with patch.object(delta, "_commit", lost), on(System()):
        assert carry_out(trial.plan).state == "applied"
        assert trial.table() == after
        done = take_back(trial.checkpoint)
    assert done is not None
    assert (done.state, trial.table()) == ("undone", before)


def test_a_table_out_of_reach_stops_it_behind_the_fence_and_tells_no_secret(trial: TableTrial) -> None:
    from deltalake.exceptions import DeltaError

    before, _ = both(trial)
    failure = DeltaError("503 from https://store/table?sig=hunter2")
    with patch("deltalake.DeltaTable.restore", side_effect=failure), on(System()):
        done = carry_out(trial.plan)
    assert (done.state, done.fenced, exit_code_of(done)) == ("stopped", True, 5)
    assert "hunter2" not in repr(done.reasons)
    assert trial.table() == before
    bury(trial.checkpoint)
    with on(System()):
        assert go_on(trial.checkpoint).state == "applied"


def test_a_commit_is_on_the_disk_before_the_fence_falls(trial: TableTrial) -> None:
    """delta-rs does not see to it: after a power cut Spark would go on from the new logs over the old table."""
    trial.put_back(trial.before)
    flushed: list[tuple[str, bool]] = []

    def note(_: System, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if DELTA_LOG in path.parts:
            flushed.append((path.name, trial.is_fenced()))

    with patch.object(System, "_flush", note), on(System()):
        carry_out(trial.plan)
        take_back(trial.checkpoint)
    version = table_of(trial.checkpoint).version()
    commits = [f"{one:020}.json" for one in (version - 1, version)]
    assert set(flushed) == {(name, True) for name in (*commits, "_delta_log")}


def test_killed_anywhere_both_ways_lead_out(trial: TableTrial, tmp_path: Path) -> None:
    before, after = both(trial)
    for at in sorted(random.Random(18).sample(range(8, len(trial.calls)), KILLS)):
        trial.killed(at, "kill")
        image = tmp_path / "killed"
        shutil.copytree(trial.folder, image)
        assert trial.is_fenced() or (trial.table(), bodies(trial.now)) in (
            (before, bodies(trial.old)),
            (after, bodies(trial.new)),
        )
        trial.go_on()
        assert (trial.table(), bodies(trial.now)) == (after, bodies(trial.new)), at
        trial.put_back(image)
        trial.take_back()
        assert (trial.table(), bodies(trial.now)) == (before, bodies(trial.old)), at
        shutil.rmtree(image)


# -- refused -----------------------------------------------------------------------------------------------------------


def append(checkpoint: Path) -> None:
    """By somebody else."""
    from deltalake import write_deltalake

    table = table_of(checkpoint)
    write_deltalake(table, table.to_pyarrow_dataset().to_table().slice(0, 1), mode="append")


def test_what_others_wrote_since_is_not_undone(trial: TableTrial) -> None:
    append(trial.checkpoint)
    with on(System()):
        done = take_back(trial.checkpoint)
    assert done is not None
    assert (done.state, done.changed, exit_code_of(done)) == ("refused", False, 6)
    assert {reason.id for reason in done.reasons} == {"sink-changed"}
    trial.put_back(trial.before)
    append(trial.checkpoint)
    before = trial.table()
    with on(System()):
        done = carry_out(trial.plan)
    assert done.state == "refused"
    assert {reason.id for reason in done.reasons} <= {"sink-changed", "plan-does-not-fit"}
    assert trial.table() == before


def vacuum(table: Path, version: int) -> None:
    """As far as it matters: files that this commit has removed are gone."""
    for line in (table / DELTA_LOG / f"{version:020}.json").read_text().splitlines():
        if "remove" in (action := json.loads(line)):
            (table / action["remove"]["path"]).unlink()


def test_what_was_vacuumed_does_not_come_again_and_that_is_said_before_the_fence(trial: TableTrial) -> None:
    assert head(trial.plan).endswith("undo: before the next VACUUM")
    after = trial.table()
    vacuum(trial.checkpoint.parent / "table", table_of(trial.checkpoint).version())
    with on(System()):
        done = take_back(trial.checkpoint)
    assert done is not None
    assert (done.state, done.changed, exit_code_of(done)) == ("refused", False, 6)
    assert [reason.id for reason in done.reasons] == ["sink-changed"]
    assert "VACUUM" in done.reasons[0].text
    assert (trial.table(), bodies(trial.now)) == (after, bodies(trial.new))


def test_nor_does_it_when_a_plan_is_carried_out(orders: Path) -> None:
    """Of a query that writes its table anew with each batch."""
    shutil.rmtree(orders.with_name("orders"))
    table_at(orders.with_name("orders"), "job", "overwrite")
    vacuum(orders.with_name("orders"), 2)
    before = bodies(tree_of(orders))
    quiet = ("--take", "rewind-to-batch", "--yes", "--settle", "0s", "--accept", "query-stopped", "--format", "json")
    done = json.loads(run_ckpt("apply", str(orders), *going_back(orders, 1), *quiet).out)
    assert (done["state"], done["changed"]) == ("refused", False)
    assert "VACUUM" in done["reasons"][0]["text"], done["reasons"]
    assert bodies(tree_of(orders)) == before


def test_who_is_faster_stops_it_behind_the_fence(trial: TableTrial) -> None:
    trial.put_back(trial.before)

    def overtaken(*given: Any) -> None:
        append(trial.checkpoint)
        commit(*given)

    with patch.object(delta, "_commit", overtaken), on(System()):
        done = carry_out(trial.plan)
    assert (done.state, done.fenced, exit_code_of(done)) == ("stopped", True, 1)
    assert [reason.id for reason in done.reasons] == ["sink-changed"]


@pytest.mark.parametrize("setting", ["delta.appendOnly", "delta.enableRowTracking"])
def test_what_delta_rs_must_not_or_cannot_do_is_refused(trial: TableTrial, setting: str) -> None:
    trial.put_back(trial.before)
    (change,) = delta.table_changes(trial.plan)
    table = delta.OpenTable(change)

    features = ["rowTracking"] if "Row" in setting else None
    protocol = SimpleNamespace(reader_features=None, writer_features=features, min_writer_version=2)
    metadata = SimpleNamespace(configuration={setting: "true"})
    opened = SimpleNamespace(protocol=lambda: protocol, metadata=lambda: metadata)
    with patch.object(delta, "_opened", lambda _: opened):
        assert [reason.id for reason in table.not_possible()] == ["sink-feature"]
    assert list(table.not_possible()) == []
    nowhere = delta.OpenTable(replace(change, table=f"{change.table}-not-there"))
    assert [reason.id for reason in nowhere.not_possible()] == ["sink-feature"]


# -- several tables of one batch function ------------------------------------------------------------------------------


def table_at(path: Path, app_id: str, mode: Literal["append", "overwrite"] = "append") -> None:
    """Of which every version is a batch, with two rows."""
    import pyarrow
    from deltalake import CommitProperties, Transaction, write_deltalake

    for batch in range(4):
        record = CommitProperties(app_transactions=[Transaction(app_id, batch, NOW_MS)])
        rows = pyarrow.table({"id": [2 * batch, 2 * batch + 1]})
        write_deltalake(str(path), rows, mode=mode, commit_properties=record)


def rows_and_record(path: Path, app_id: str) -> tuple[list[int], int | None]:
    from deltalake import DeltaTable

    table = DeltaTable(str(path))
    return sorted(table.to_pyarrow_dataset().to_table()["id"].to_pylist()), table.transaction_version(app_id)


@pytest.mark.parametrize("app_ids", [("job", "job"), ("job-a", "job-b")], ids=["one-id", "an-id-each"])
def test_every_table_of_a_batch_function_goes_back_each_in_one_commit(app_ids: tuple[str, str], tmp_path: Path) -> None:
    root = build(tmp_path / "q", "f0 c | f1 c | f2 c | f3 c")
    tables = [(tmp_path / name, app_id) for name, app_id in zip("ab", app_ids, strict=True)]
    for path, app_id in tables:
        table_at(path, app_id)
    ids = app_ids if len({*app_ids}) > 1 else app_ids[:1]
    words = [word for path, _ in tables for word in ("--sink", str(path))]
    words += [word for one in ids for word in ("--txn-app-id", one)]
    plan = tmp_path / "plan.json"
    done = run_ckpt("plan-recovery", str(root), *words, "--to-batch", "1", "--out", str(plan))
    assert plan.exists(), done.out + done.err
    quiet = ("--yes", "--settle", "0s", "--format", "json")
    applied = json.loads(run_ckpt("apply", str(plan), *quiet).out)
    assert applied["state"] == "applied", applied["reasons"]
    assert [(one["version_before"], one["version_after"], one["ledger_after"]) for one in applied["sinks"]] == [
        (3, 4, 1)
    ] * 2
    assert [rows_and_record(*one) for one in tables] == [([0, 1, 2, 3], 1)] * 2
    undone = json.loads(run_ckpt("undo", str(root), *quiet).out)
    assert (undone["state"], undone["identical"]) == ("undone", True)
    assert [rows_and_record(*one) for one in tables] == [(list(range(8)), 3)] * 2


def test_between_two_tables_it_is_fenced_and_goes_on(tmp_path: Path) -> None:
    """Killed when the first has its commit, and the second not yet."""
    root = build(tmp_path / "q", "f0 c | f1 c | f2 c | f3 c")
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        table_at(path, "job")
    asked = Restarted(wish=Rewind(1), sinks=[str(path) for path in paths], txn_app_id="job")
    plan = plan_for(root, "rewind-to-batch", asked)
    with patch.object(delta, "_commit", after_the_commit), on(System()), pytest.raises(Killed):
        carry_out(plan)
    assert [rows_and_record(path, "job")[1] for path in paths] == [1, 3]
    assert (root / "metadata").read_bytes() in FENCES
    bury(root)
    with on(System()):
        assert go_on(root).state == "applied"
    assert [rows_and_record(path, "job") for path in paths] == [([0, 1, 2, 3], 1)] * 2


# -- a table that went back before -------------------------------------------------------------------------------------


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A query of four batches, and beside it its table."""
    table_at(tmp_path / "orders", "job")
    root = build(tmp_path / "q", "f0 c | f1 c | f2 c | f3 c")
    copied(root, tmp_path / "as-it-was")
    return root


def going_back(root: Path, to_batch: int) -> tuple[str, ...]:
    return ("--sink", str(root.with_name("orders")), "--txn-app-id", "job", "--to-batch", str(to_batch))


def goes_back(root: Path, to_batch: int) -> None:
    quiet = ("--take", "rewind-to-batch", "--yes", "--settle", "0s", "--accept", "query-stopped", "--format", "json")
    done = json.loads(run_ckpt("apply", str(root), *going_back(root, to_batch), *quiet).out)
    assert done["state"] == "applied", done["reasons"]


def is_taken_back(root: Path) -> None:
    done = json.loads(run_ckpt("undo", str(root), "--yes", "--settle", "0s", "--format", "json").out)
    assert (done["state"], done["identical"]) == ("undone", True), done["reasons"]


def rows_are(root: Path, *rows: int, record: int) -> None:
    assert rows_and_record(root.with_name("orders"), "job") == (list(rows), record)


def write_batch(root: Path, batch: int, *rows: int) -> None:
    """The query goes on, and its batch has these rows."""
    import pyarrow
    from deltalake import CommitProperties, Transaction, write_deltalake

    written = CommitProperties(app_transactions=[Transaction("job", batch, NOW_MS)])
    table = pyarrow.table({"id": list(rows)})
    write_deltalake(str(root.with_name("orders")), table, mode="append", commit_properties=written)
    for log in ("offsets", "commits", "sources/0"):
        shutil.copy(root.with_name("as-it-was") / log / str(batch), root / log / str(batch))


def test_what_was_taken_back_can_go_back_again(orders: Path) -> None:
    """The commits of an apply, and of taking it back, are nobody else's."""
    for to_batch, rows in ((1, range(4)), (2, range(6)), (0, range(2))):
        goes_back(orders, to_batch)
        rows_are(orders, *rows, record=to_batch)
        is_taken_back(orders)
        rows_are(orders, *range(8), record=3)


def test_behind_an_earlier_way_back_a_batch_is_the_one_that_was_written_then(orders: Path) -> None:
    """Batches 2 and 3 came twice, with other rows: those of the first time do not come again."""
    goes_back(orders, 1)
    write_batch(orders, 2, 4, 5, 6, 7)
    write_batch(orders, 3, 8, 9)
    goes_back(orders, 2)
    rows_are(orders, *range(8), record=2)
    is_taken_back(orders)
    rows_are(orders, *range(10), record=3)


@pytest.mark.parametrize("taken", ["id = 6", "id < 2"], ids=["of-what-goes", "of-what-stays"])
def test_what_somebody_deleted_does_not_come_again(orders: Path, taken: str) -> None:
    from deltalake import DeltaTable

    DeltaTable(str(orders.with_name("orders"))).delete(taken)
    told = run_ckpt("plan-recovery", str(orders), *going_back(orders, 2), "--format", "json")
    plan = json.loads(told.out)
    assert plan["options"] == []
    assert any("version 4" in one["why"] for one in plan["refused"])
