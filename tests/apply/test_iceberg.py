"""An Iceberg table that a catalog has, of SQL, in SQLite: rolled back and led on again through pyiceberg."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table import Table
from pyiceberg.utils.config import Config

from ckpttool.apply.sinks import iceberg
from ckpttool.errors import Refused, Unavailable
from tests.apply.dying import Killed
from tests.apply.stages import FENCES, bodies, tree_of
from tests.apply.test_by_hand import says
from tests.builders import QUERY_ID, build
from tests.conftest import run_ckpt

NAME = "lake.beside.table"
THROUGH = ("--iceberg-table", NAME)
BATCHES = 4


class Lake:
    """Of each batch of a query, two rows in a table."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.plan = folder, build(folder / "q", "f0 c | f1 c | f2 c | f3 c"), folder / "plan"
        self.catalog = load_catalog("lake")
        self.catalog.create_namespace("beside")
        schema = pyarrow.schema([("batch", pyarrow.int64())])
        self.catalog.create_table("beside.table", schema, location=f"file://{self.path}")
        for batch in range(BATCHES):
            self.append(batch, {"spark.sql.streaming.queryId": QUERY_ID, "spark.sql.streaming.epochId": str(batch)})
        words = ("plan-recovery", str(self.root), "--sink", str(self.path), "--to-batch", "1", "--spark-version", "4.1")
        done = run_ckpt(*words, "--out", str(self.plan))
        assert done.code == 0, done.out + done.err
        self.was, self.old = self.table().metadata.current_snapshot_id, bodies(tree_of(self.root))

    @property
    def path(self) -> Path:
        return self.folder / "warehouse" / "beside" / "table"

    def table(self) -> Table:
        return self.catalog.load_table("beside.table")

    def append(self, batch: int, summary: dict[str, str] | None = None) -> None:
        rows = pyarrow.table({"batch": [batch, batch]})
        self.table().append(rows, snapshot_properties=summary or {})

    @property
    def rows(self) -> list[int]:
        return sorted(self.table().scan().to_arrow()["batch"].to_pylist())

    @property
    def is_fenced(self) -> bool:
        return (self.root / "metadata").read_bytes() in FENCES

    def apply(self, *words: str) -> dict[str, Any]:
        return says("apply", str(self.plan), *words)

    def resume(self, *words: str) -> dict[str, Any]:
        return says("apply", "--resume", str(self.root), *words)

    def undo(self, *words: str) -> dict[str, Any]:
        return says("undo", str(self.root), *words)

    def is_as_before(self) -> bool:
        same = self.table().metadata.current_snapshot_id == self.was
        return same and bodies(tree_of(self.root)) == self.old and not self.is_fenced


ALL, LEFT = [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """With the catalog configured as its user does it; pyiceberg reads that once in a process."""
    uri, warehouse = f"sqlite:///{tmp_path}/catalog", f"file://{tmp_path}/warehouse"
    text = f"catalog:\n  lake:\n    type: sql\n    uri: {uri}\n    warehouse: {warehouse}\n"
    (tmp_path / ".pyiceberg.yaml").write_text(text)
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    made = Lake(tmp_path)
    yield made
    assert isinstance(made.catalog, SqlCatalog)
    made.catalog.close()


def test_it_is_rolled_back_and_led_on_again(lake: Lake) -> None:
    done = lake.apply(*THROUGH)
    assert (done["exit"], done["state"], done["kept"], done["found"]["batch_id"]) == (0, "applied", True, 2)
    assert (lake.rows, lake.is_fenced) == (LEFT, False)
    assert next(step["result"] for step in done["steps"] if step["kind"] == "spark") == "done"
    assert lake.resume(*THROUGH)["state"] == "nothing_to_do"
    undone = lake.undo(*THROUGH)
    assert (undone["exit"], undone["state"], undone["identical"]) == (0, "undone", True)
    assert lake.rows == ALL
    assert lake.is_as_before()


def test_without_its_name_it_is_for_spark_and_with_it_goes_on(lake: Lake) -> None:
    first = lake.apply()
    assert (first["exit"], [reason["id"] for reason in first["reasons"]]) == (1, ["by-hand"])
    assert "--iceberg-table CATALOG.NAMESPACE.TABLE" in first["reasons"][0]["next_step"]
    assert lake.rows == ALL
    assert lake.resume(*THROUGH)["state"] == "applied"
    assert lake.rows == LEFT
    assert [reason["id"] for reason in lake.undo()["reasons"]] == ["by-hand"]
    assert lake.undo(*THROUGH)["state"] == "undone"
    assert lake.is_as_before()


real = iceberg.go


def before_it(*_: Any) -> None:
    raise Killed


def after_it(*given: Any) -> None:
    real(*given)
    raise Killed


@pytest.mark.parametrize("when", [before_it, after_it])
@pytest.mark.parametrize("named", [True, False], ids=["by-catalog", "by-place"])
def test_a_crash_around_the_commit_is_told_by_the_table(lake: Lake, when: Callable[..., None], named: bool) -> None:
    """With the name its catalog tells, without it the newest file of its metadata."""
    with patch.object(iceberg, "go", when), pytest.raises(Killed):
        lake.apply(*THROUGH)
    assert lake.is_fenced
    assert lake.rows == (LEFT if when is after_it else ALL)
    snapshots = len(lake.table().metadata.snapshot_log)
    gone_on = lake.resume(*(THROUGH if named or when is before_it else ()))
    assert (gone_on["state"], lake.rows) == ("applied", LEFT)
    assert len(lake.table().metadata.snapshot_log) == snapshots + (when is before_it), "it is not repeated"
    with patch.object(iceberg, "go", when), pytest.raises(Killed):
        lake.undo(*THROUGH)
    assert lake.is_fenced
    assert lake.undo(*THROUGH)["state"] == "undone"
    assert lake.is_as_before()


commit = SqlCatalog.commit_table


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_that_never_comes_is_looked_up(lake: Lake, arrives: bool) -> None:
    def lost(*given: Any) -> Any:
        if arrives:
            commit(*given)
        raise CommitStateUnknownException("no answer, token=SECRET123")

    with patch.object(SqlCatalog, "commit_table", lost):
        said = lake.apply(*THROUGH)
    assert "SECRET" not in str(said)
    if arrives:
        assert (said["state"], lake.rows) == ("applied", LEFT)
        return
    assert (said["exit"], said["state"], said["fenced"], lake.rows) == (5, "stopped", True, ALL)
    assert lake.resume(*THROUGH)["state"] == "applied"


def test_who_is_overtaken_changes_nothing(lake: Lake) -> None:
    """Between the last look and the commit: the catalog holds to the snapshot that was seen."""

    def overtaken(*given: Any) -> Any:
        with patch.object(SqlCatalog, "commit_table", commit):
            lake.append(9)
        return commit(*given)

    with patch.object(SqlCatalog, "commit_table", overtaken):
        said = lake.apply(*THROUGH)
    assert (said["exit"], said["state"], said["fenced"]) == (1, "stopped", True)
    assert [reason["id"] for reason in said["reasons"]] == ["sink-changed"]
    assert lake.rows == [*ALL, 9, 9]


def test_what_others_wrote_before_or_since_stays(lake: Lake) -> None:
    lake.apply(*THROUGH)
    lake.append(9)
    said = lake.undo(*THROUGH)
    assert (said["exit"], said["state"], lake.rows) == (6, "refused", [*LEFT, 9, 9])


def not_configured(_: Lake) -> str:
    return "nowhere.beside.table"


def not_there(_: Lake) -> str:
    return "lake.beside.nothing"


def no_name(_: Lake) -> str:
    return "table"


def elsewhere(lake: Lake) -> str:
    lake.catalog.create_table("beside.other", pyarrow.schema([("batch", pyarrow.int64())]))
    return "lake.beside.other"


def with_a_rule_for_its_branch(lake: Lake) -> str:
    with lake.table().manage_snapshots() as changes:
        changes.create_branch(lake.table().metadata.snapshots[-1].snapshot_id, "main", min_snapshots_to_keep=3)
    return NAME


@pytest.mark.parametrize("wrong", [not_configured, not_there, no_name, elsewhere, with_a_rule_for_its_branch])
def test_what_cannot_be_is_refused_before_anything_is_changed(lake: Lake, wrong: Callable[[Lake], str]) -> None:
    name = wrong(lake)
    said = lake.apply("--iceberg-table", name)
    assert (said["exit"], said["state"], said["changed"]) == (6, "refused", False), said["reasons"]
    assert said["reasons"][0]["next_step"]
    assert lake.is_as_before()


def test_a_table_whose_directory_counts_its_versions_is_no_catalogs(lake: Lake) -> None:
    """One of Spark's Hadoop catalog, which somebody has registered elsewhere."""
    (newest,) = {lake.table().metadata_location.removeprefix("file://")}
    registered = Path(newest).with_name("v7.metadata.json")
    registered.write_bytes(Path(newest).read_bytes())
    lake.catalog.register_table("beside.registered", str(registered))
    (reason,) = iceberg.not_possible("lake.beside.registered", "it", lake.was or 0)
    assert reason.id == "sink-feature"


def test_without_pyiceberg_its_extra_is_named() -> None:
    with patch.dict(sys.modules, {"pyiceberg.catalog": None}), pytest.raises(Refused) as refused:
        iceberg.current(NAME)
    assert refused.value.next_step == "pip install 'ckpttool[iceberg]'"


@pytest.mark.usefixtures("lake")
def test_a_catalog_that_does_not_answer_is_out_of_reach() -> None:
    with patch.object(SqlCatalog, "load_table", side_effect=OSError("no route")), pytest.raises(Unavailable):
        iceberg.current(NAME)


def test_the_command_finds_the_catalog_as_pyiceberg_does(lake: Lake, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [
        str(Path(sys.executable).with_name("ckpt")),
        "apply",
        str(lake.plan),
        *THROUGH,
        "--yes",
        "--settle",
        "0s",
    ]
    words = [*command, "--accept", "query-stopped"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, lake.rows) == (0, LEFT), done.stderr
