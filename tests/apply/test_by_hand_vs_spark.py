"""Steps that only Spark can take, and Spark taking them: a Delta table that delta-rs cannot write is restored by it, an
Iceberg table rolled back. Before, in between and after, both ways: every row is in the sink once. Or pyiceberg does it,
in a catalog that both use, and Spark goes on."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.literals import shell_path
from tests.conftest import run_ckpt
from tests.differential.test_fence_vs_spark import Stage, everything_once
from tests.differential.test_sinks_vs_spark import BATCHES, SPARKS, Scene
from tests.differential.test_tables_as_sinks_vs_spark import CATALOGS, CONF, PATH, ROWS, SCRIPT, Table, conf
from tests.samples.process import SparkProcess

pytestmark = pytest.mark.spark

KEPT = 2
REFUSAL = "Invalid UUID string: unfinished: run ckpt apply --resume"
DEFAULTS = "spark.databricks.delta.properties.defaults"
FEATURES = {"rowTracking": "enableRowTracking", "inCommitTimestamp": "enableInCommitTimestamps",
            "typeWidening": "enableTypeWidening"}  # fmt: skip


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("by-hand"))
    yield made
    made.close()


def told(*words: str) -> tuple[int, dict[str, Any], str]:
    done = run_ckpt(*words, "--yes", "--settle", "0s", "--accept", "query-stopped", "--format", "json")
    return done.code, json.loads(done.out), done.err


def table_with(stage: Stage, spark: str, feature: str) -> Scene:
    scene = Scene(stage.on(spark), stage.folder / f"{spark} {feature}", "delta")
    scene.conf = {f"{DEFAULTS}.{FEATURES[feature]}": "true"}
    scene.root.mkdir(parents=True)
    assert scene.run(BATCHES, once=False) is None
    assert feature in "".join(path.read_text() for path in scene.versions())
    return scene


def statement(reason: str) -> str:
    """As it is printed, for the table of the scene."""
    return "RESTORE" + reason.partition("RESTORE")[2]


def apply_with_spark(scene: Scene, plan: Path) -> str:
    """Its id. It stops at the step, refuses to go on before it is taken, and Spark does not start."""
    code, first, err = told("apply", str(plan), "--accept", "query-id-changes")
    assert (code, first["state"], first["changed"], first["fenced"]) == (1, "stopped", True, True), first["reasons"]
    assert [reason["id"] for reason in first["reasons"]] == ["by-hand"]
    goes_on = f"ckpt: ckpt apply --resume {shell_path(str(scene.checkpoint))} goes on; ckpt undo "
    assert err.splitlines()[-1].startswith(goes_on)
    error = scene.run(BATCHES + 1)
    assert error is not None
    assert REFUSAL in error["message"]
    assert told("apply", "--resume", str(scene.checkpoint))[0] == 1
    scene.sql(statement(first["reasons"][0]["text"]))
    code, done, _ = told("apply", "--resume", str(scene.checkpoint))
    assert (code, done["state"], done["kept"], done["fenced"]) == (0, "applied", True, False), done["reasons"]
    return str(done["id"])


@pytest.mark.parametrize(
    ("spark", "feature"),
    [
        (SPARKS[-1], "rowTracking"),
        pytest.param(SPARKS[-1], "inCommitTimestamp", marks=pytest.mark.at_length),
        pytest.param(SPARKS[-1], "typeWidening", marks=pytest.mark.at_length),
        pytest.param(SPARKS[0], "rowTracking", marks=pytest.mark.at_length),
    ],
)
def test_spark_restores_what_only_spark_can_write(stage: Stage, spark: str, feature: str, tmp_path: Path) -> None:
    scene, plan, before = table_with(stage, spark, feature), tmp_path / "plan.json", tmp_path / "before"
    options = ("--sink", str(scene.table), "--spark-version", spark, "--to-batch", str(KEPT), "--out", str(plan))
    assert run_ckpt("plan-recovery", str(scene.checkpoint), *options).code == 0
    shutil.copytree(scene.root, before)
    apply_with_spark(scene, plan)
    assert scene.run(BATCHES + 1, once=False) is None
    assert scene.rows() == everything_once(BATCHES + 1), "on the new one"
    shutil.rmtree(scene.root)
    shutil.copytree(before, scene.root)
    apply_with_spark(scene, plan)
    taken_back(scene)
    assert scene.run(BATCHES + 1, once=False) is None
    assert scene.rows() == everything_once(BATCHES + 1), "on the old one"


def taken_back(scene: Scene) -> None:
    code, first, err = told("undo", str(scene.checkpoint))
    assert (code, first["state"], first["fenced"]) == (1, "stopped", True), first["reasons"]
    assert err.splitlines()[-1] == f"ckpt: ckpt undo {shell_path(str(scene.checkpoint))} goes on"
    scene.sql(statement(first["reasons"][0]["text"]))
    code, done, _ = told("undo", str(scene.checkpoint))
    assert (code, done["state"], done["identical"]) == (0, "undone", True), done["reasons"]


# -- Iceberg -----------------------------------------------------------------------------------------------------------

ICEBERG_SPARK = "3.5.7"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def session(root: Path) -> dict[str, str]:
    """With the catalog that the printed command makes."""
    catalog = CATALOGS["iceberg"] | {".warehouse": f"file://{root}/warehouse"}
    ours = {f"spark.sql.catalog.ckpt{key}": value for key, value in catalog.items()}
    return conf("iceberg", root) | ours | {"spark.sql.extensions": EXTENSIONS}


def call(said: dict[str, Any]) -> str:
    (reason,) = said["reasons"]
    assert reason["id"] == "by-hand", reason
    return "CALL" + str(reason["text"]).partition("CALL")[2]


def test_an_iceberg_table_is_rolled_back_and_forth(tmp_path: Path) -> None:
    root, checkpoint, plan = tmp_path / "a", str(tmp_path / "a" / "checkpoint"), str(tmp_path / "plan.json")
    root.mkdir()
    with SparkProcess(ICEBERG_SPARK, ("iceberg",), script=SCRIPT, path=PATH, conf=session(root)) as running:
        table = Table(running, root, "iceberg")
        table.ask(count=4, once=False)
        words = ("--sink", str(table.path), "--spark-version", ICEBERG_SPARK, "--to-batch", "1")
        assert run_ckpt("plan-recovery", checkpoint, *words, "--out", plan).code == 0
        for way in ("there and back", "there again, and on"):
            code, first, _err = told("apply", plan)
            assert (code, first["fenced"]) == (1, True), first["reasons"]
            table.ask(sql=call(first))
            assert table.rows() == Counter(range(2 * ROWS))
            code, done, _err = told("apply", "--resume", checkpoint)
            assert (code, done["state"], done["kept"]) == (0, "applied", True), done["reasons"]
            if way == "there and back":
                code, first, _err = told("undo", checkpoint)
                assert code == 1, first["reasons"]
                table.ask(sql=call(first))
                code, done, _err = told("undo", checkpoint)
                assert (code, done["identical"]) == (0, True), done["reasons"]
                assert table.rows() == Counter(range(4 * ROWS))
        table.ask(count=5, once=False)
        assert table.rows() == Counter(range(5 * ROWS)), "what was rolled back is written again, once"


def in_sqlite(root: Path) -> dict[str, str]:
    """The catalog `ice` of these tests, where pyiceberg has it too."""
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        ".uri": f"jdbc:sqlite:{root}/catalog?journal_mode=WAL",  # Spark keeps reading while the other writes
        ".jdbc.schema-version": "V1",
        ".warehouse": f"file://{root}/warehouse",
    }
    return CONF | {f"spark.sql.catalog.ice{key}": value for key, value in catalog.items()}


def test_spark_goes_on_with_a_table_that_pyiceberg_led_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.utils.config import Config

    root, checkpoint, plan = tmp_path / "a", str(tmp_path / "a" / "checkpoint"), str(tmp_path / "plan.json")
    root.mkdir()
    monkeypatch.setenv("PYICEBERG_CATALOG__ICE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__ICE__URI", f"sqlite:///{root}/catalog")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    through, jars = ("--iceberg-table", "ice.db.sink"), ("iceberg", "sqlite")
    with SparkProcess(ICEBERG_SPARK, jars, script=SCRIPT, path=PATH, conf=in_sqlite(root)) as running:
        table = Table(running, root, "iceberg")
        table.ask(count=4, once=False)
        words = ("--sink", str(table.path), "--spark-version", ICEBERG_SPARK, "--to-batch", "1")
        assert run_ckpt("plan-recovery", checkpoint, *words, "--out", plan).code == 0
        for way in ("there and back", "there again, and on"):
            code, done, _err = told("apply", plan, *through)
            assert (code, done["state"], done["kept"]) == (0, "applied", True), done["reasons"]
            table.ask(sql="REFRESH TABLE ice.db.sink")
            assert table.rows() == Counter(range(2 * ROWS))
            if way == "there and back":
                code, done, _err = told("undo", checkpoint, *through)
                assert (code, done["state"], done["identical"]) == (0, "undone", True), done["reasons"]
                table.ask(sql="REFRESH TABLE ice.db.sink")
                assert table.rows() == Counter(range(4 * ROWS))
        table.ask(count=5, once=False)
        table.ask(sql="REFRESH TABLE ice.db.sink")
        assert table.rows() == Counter(range(5 * ROWS)), "what was rolled back is written again, once"
