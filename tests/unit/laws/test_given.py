"""What becomes of options and settings that a restart was given, and of those that nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, open_checkpoint
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.given import Given, meant, not_advised_again
from ckpttool.model import Finding
from ckpttool.releases import Release
from tests.builders import build
from tests.unit.kafka.scenes import broker, query
from tests.unit.kafka.scenes import told as by_broker

NEW: Release = (4, 2, 0)
OLD: Release = (3, 5, 7)
PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
VERSION = "spark.sql.streaming.stateStore.checkpointFormatVersion"
ADAPTIVE = "spark.sql.adaptive.enabled"


def restarted(
    root: Path,
    history: str,
    release: Release = NEW,
    *,
    conf: dict[str, str] | None = None,
    options: dict[str, str] | None = None,
    stateful: bool = False,
) -> Diagnosis:
    build(root, history)
    if stateful:
        (root / "state" / "0" / "0").mkdir(parents=True)
    start = Start(release, conf=conf or {}, options=options or {})
    return diagnose(Scene(gather_evidence(open_checkpoint(str(root))), start))


def setting(root: Path, key: str, value: str, release: Release = NEW, *, stateful: bool = False) -> Given:
    return restarted(root, "k0-10 c | k10-20 c", release, conf={key: value}, stateful=stateful).given[0]


def option(root: Path, history: str, key: str, value: str = "x") -> Given:
    return restarted(root, history, options={key: value}).given[0]


def told(diagnosis: Diagnosis) -> dict[str, str]:
    ids = ("conf-pinned", "option-ignored", "option-unknown")
    return {one.id: one.path for one in diagnosis.findings if one.id in ids}


@pytest.mark.parametrize(
    ("key", "release", "stateful", "answer"),
    [
        (PARTITIONS, OLD, True, "pinned"),
        (PARTITIONS, NEW, True, "pinned"),
        (PARTITIONS, OLD, False, "pinned"),
        (PARTITIONS, NEW, False, "taken"),  # from 4.1 on only the partitions of state are pinned
        (PROVIDER, OLD, False, "pinned"),
        ("spark.sql.streaming.stateStore.encodingFormat", OLD, False, "unknown"),  # came with 4.0
        ("spark.sql.streaming.stateStore.encodingFormat", NEW, False, "pinned"),
        ("spark.sql.streaming.offsetLog.formatVersion", NEW, False, "pinned"),
        (VERSION, NEW, False, "taken"),
        (VERSION, (4, 3, 0), False, "pinned"),
        (ADAPTIVE, OLD, False, "pinned"),
        (ADAPTIVE, NEW, False, "taken"),
        (ADAPTIVE, NEW, True, "pinned"),
        ("spark.sql.streaming.stateStore.minDeltasForSnapshot", OLD, False, "taken"),
        ("spark.sql.streaming.stateStore.rocksdb.maxOpenFiles", (3, 3, 0), False, "unknown"),
        ("spark.sql.streaming.stateStore.rocksdb.maxOpenFiles", OLD, False, "taken"),
        ("spark.sql.nonsense", NEW, False, "unknown"),
        ("spark.hadoop.fs.s3a.endpoint", NEW, False, "unknown"),
    ],
)
def test_a_setting_is_taken_or_pinned_or_unknown(
    tmp_path: Path, key: str, release: Release, stateful: bool, answer: str
) -> None:
    assert setting(tmp_path, key, "7", release, stateful=stateful).answer == answer


def test_the_file_that_pins_a_setting_is_named_and_its_value(tmp_path: Path) -> None:
    found = restarted(tmp_path, "k0-10 c | k10-20 c", OLD, conf={PARTITIONS: "400"})
    assert found.given == (Given("conf", PARTITIONS, "400", "pinned", "offsets/1", found.given[0].finding, "200"),)
    finding = next(one for one in found.findings if one.id == "conf-pinned")
    assert finding.path == "offsets/1"
    assert finding.message == f"{PARTITIONS} = 400 was given, and this file overrules it: 200 stays"


def test_what_was_given_as_it_is_pinned_is_no_finding(tmp_path: Path) -> None:
    found = restarted(tmp_path, "k0-10 c | k10-20 c", OLD, conf={PARTITIONS: "200"})
    assert found.given[0].answer == "pinned"
    assert told(found) == {}


def test_a_new_query_takes_what_it_will_pin(tmp_path: Path) -> None:
    tmp_path.joinpath("metadata").write_text('{"id":"8b1c4a3e-0c5d-4f1a-9d1c-2a3b4c5d6e7f"}')
    scene = Scene(gather_evidence(open_checkpoint(str(tmp_path))), Start(OLD, conf={PARTITIONS: "400"}))
    assert diagnose(scene).given[0].answer == "taken"


@pytest.mark.parametrize(
    ("history", "key", "answer", "by"),
    [
        ("k0-10 c | k10-20 c", "startingOffsets", "ignored", "sources/0/0"),
        ("k0-10 c | k10-20 c", "STARTINGOFFSETS", "ignored", "sources/0/0"),
        ("k0-10 c | k10-20 c", "failOnDataLoss", "taken", "the kafka source"),
        ("k0-10 c | k10-20 c", "kafka.bootstrap.servers", "taken", "the kafka source"),
        ("k0-10 c | k10-20 c", "startingVersion", "ignored", "it is one of delta sources, and none is here"),
        ("k0-10 c | k10-20 c", "checkpointLocation", "taken", "the query"),
        ("k0-10 c | k10-20 c", "zzz", "unknown", "no source and no sink that is known here has such an option"),
    ],
)
def test_an_option_is_taken_or_ignored_or_unknown(tmp_path: Path, history: str, key: str, answer: str, by: str) -> None:
    found = option(tmp_path, history, key)
    assert (found.answer, found.by) == (answer, by)


def test_where_a_query_begins_is_taken_until_it_is_settled(tmp_path: Path) -> None:
    root = build(tmp_path, "k0-10 c")
    (root / "commits" / "0").unlink()
    (root / "sources" / "0" / "0").unlink()
    start = Start(NEW, options={"startingOffsets": "latest"})
    assert diagnose(Scene(gather_evidence(open_checkpoint(str(root))), start)).given[0].answer == "taken"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("kafka.sasl.jaas.config", "hunter2", "***"),
        ("zzz", "hunter2", "***"),
        ("path", "s3://key:hunter2@bucket/t", "s3://key:***@bucket/t"),
        ("failOnDataLoss", "false", "false"),
    ],
)
def test_a_value_that_may_be_a_secret_is_not_shown(tmp_path: Path, key: str, value: str, shown: str) -> None:
    assert option(tmp_path, "k0-10 c | k10-20 c", key, value).value == shown


def test_what_counts_for_nothing_is_told_and_what_is_taken_is_not(tmp_path: Path) -> None:
    options = {"startingOffsets": "latest", "zzz": "1", "failOnDataLoss": "false"}
    assert told(restarted(tmp_path, "k0-10 c | k10-20 c", options=options)) == {
        "option-ignored": "sources/0/0",
        "option-unknown": ".",
    }


@pytest.mark.parametrize(
    ("kind", "key", "name"),
    [
        ("option", "failOnDatalos", "failOnDataLoss"),
        ("option", "startingOffset", "startingOffsets"),
        ("option", "maxFilesPerTirgger", "maxFilesPerTrigger"),
        ("option", "FAILONDATALOSS", None),
        ("option", "topc", None),  # near to anything
        ("option", "somethingElse", None),
        ("conf", "spark.sql.shuffle.partition", PARTITIONS),
        ("conf", "spark.sql.Shuffle.partitions", PARTITIONS),  # of settings, upper and lower case are told apart
        ("conf", "spark.sql.nonsense", None),
        ("conf", "spark.hadoop.fs.s3a.endpoint", None),
        ("option", PARTITIONS, f"--conf {PARTITIONS}"),
        ("conf", "StartingOffsets", "--option StartingOffsets"),
        ("conf", "hoodie.anything", None),
    ],
)
def test_a_slip_leads_to_the_name_that_was_meant(kind: str, key: str, name: str | None) -> None:
    assert meant("option" if kind == "option" else "conf", key) == name


@pytest.mark.parametrize(
    ("options", "conf", "left"),
    [
        ({}, {}, "go back, or go on by failOnDataLoss=false, or by a.b=true"),
        ({"failondataloss": "FALSE"}, {}, "go back, or by a.b=true"),
        ({"failOnDataLoss": "true"}, {}, "go back, or go on by failOnDataLoss=false, or by a.b=true"),
        ({"failOnDataLoss": "false"}, {"a.b": "true"}, "go back"),
    ],
)
def test_what_was_given_is_not_advised_again(options: dict[str, str], conf: dict[str, str], left: str) -> None:
    step = "go back, or go on by failOnDataLoss=false, or by a.b=true"
    finding = Finding("x", "error", ".", "gone", next_step=step)
    assert not_advised_again(finding, Start(NEW, options=options, conf=conf)).next_step == left


def test_where_only_what_was_given_was_advised_nothing_is() -> None:
    finding = Finding("x", "error", ".", "gone", next_step="set ignoreDeletes=true if it may go on")
    assert not_advised_again(finding, Start(NEW, options={"ignoreDeletes": "true"})).next_step is None


@pytest.mark.parametrize(("loss", "advised"), [("true", True), ("false", False)])
def test_a_diagnosis_advises_nothing_that_was_given(loss: str, advised: bool) -> None:
    scene = query({"t": {0: 100}}, failOnDataLoss=loss)
    asked = replace(scene, kafka=by_broker(scene, broker({"t": {0: (130, 300)}})))
    steps = [finding.next_step or "" for finding in diagnose(asked).findings]
    assert any("failOnDataLoss=false" in step for step in steps) == advised


@pytest.mark.parametrize(
    ("name", "release", "moves"),
    [
        ("4.2.0-windowed-agg-rocksdb-sound", NEW, True),
        ("4.2.0-windowed-agg-rocksdb-sound", OLD, False),
        ("4.2.0-windowed-agg-hdfs-sound", NEW, False),  # Spark breaks the checkpoint before it refuses
    ],
)
def test_state_that_spark_can_move_to_other_partitions(
    name: str, release: Release, moves: bool, sample: Callable[[str], Path]
) -> None:
    evidence = gather_evidence(open_checkpoint(str(sample(name) / "checkpoint")))
    found = diagnose(Scene(evidence, Start(release, conf={PARTITIONS: "9"}))).findings
    (finding,) = (one for one in found if one.id == "conf-pinned")
    assert ("StreamingCheckpointManager.repartition" in (finding.next_step or "")) is moves
