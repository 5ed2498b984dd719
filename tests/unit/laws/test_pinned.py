"""What the newest offsets pin is forced on the session and on the state: which values stop a restart, and as what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import Diagnosis, diagnose
from ckpttool.releases import Release, parse_release
from tests.builders import build
from tests.samples.place import place_sample
from tests.unit.laws.scenes import diagnosed

STREAMING = "spark.sql.streaming"
PARTITIONS = "spark.sql.shuffle.partitions"
POLICY = f"{STREAMING}.multipleWatermarkPolicy"
STRICT = f"{STREAMING}.statefulOperator.useStrictDistribution"
JOIN = f"{STREAMING}.join.stateFormatVersion"
CODEC = f"{STREAMING}.stateStore.compression.codec"
PROVIDER = f"{STREAMING}.stateStore.providerClass"
NEW: Release = (4, 2, 0)


def pinned(root: Path, key: str, value: str, release: Release = NEW, *, stateful: bool = False) -> Diagnosis:
    """Of a query whose newest offsets pin another value than those before."""
    newest = build(root, "k0-10 c | k10-20 c") / "offsets" / "1"
    before, found, after = newest.read_text().partition(f'"{key}":"')
    assert found
    newest.write_text(f'{before}{found}{value}"{after.partition(chr(34))[2]}')
    if stateful:
        (root / "state" / "0" / "0").mkdir(parents=True)
    return diagnosed(root, release)


@pytest.mark.parametrize(
    ("key", "value", "condition"),
    [
        (PARTITIONS, "two", "TYPE_MISMATCH"),
        (PARTITIONS, "2147483648", "TYPE_MISMATCH"),
        (PARTITIONS, "0", "REQUIREMENT"),
        (PARTITIONS, "-1", "REQUIREMENT"),
        (PARTITIONS, " 200 ", None),
        (STRICT, "yes", "TYPE_MISMATCH"),
        (STRICT, " TRUE ", None),
        (POLICY, "median", "REQUIREMENT"),
        (POLICY, "MAX", None),
        (JOIN, "5", "REQUIREMENT"),
        (JOIN, "4", None),
    ],
)
def test_a_value_must_be_one_that_the_session_takes(
    tmp_path: Path, key: str, value: str, condition: str | None
) -> None:
    found = pinned(tmp_path, key, value).prediction
    assert (found.error and found.error.condition) == (condition and f"INVALID_CONF_VALUE.{condition}")
    if condition:
        assert found.why == (f"offsets/1 pins {key} = {value}",)
        assert (found.error and found.error.phase, found.error and found.error.path) == ("init", "offsets/1")


def test_an_impossible_value_had_no_condition_at_first(tmp_path: Path) -> None:
    failure = pinned(tmp_path, PARTITIONS, "0", (4, 0, 4)).prediction.error
    assert failure
    assert (failure.class_name, failure.condition) == ("java.lang.IllegalArgumentException", None)


def test_only_the_newest_offsets_are_forced_on_the_session(tmp_path: Path) -> None:
    older = build(tmp_path, "k0-10 c | k10-20 c") / "offsets" / "0"
    older.write_text(older.read_text().replace('partitions":"200"', 'partitions":"0"'))
    assert diagnosed(tmp_path, NEW).prediction.outcome == "new_batch"


@pytest.mark.parametrize(
    ("release", "condition"),
    [
        ((3, 4, 4), None),
        ((3, 5, 0), "CODEC_NOT_AVAILABLE"),
        ((4, 0, 0), "CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION"),
    ],
)
def test_a_codec_that_there_is_not_stops_the_batch(tmp_path: Path, release: Release, condition: str | None) -> None:
    failure = pinned(tmp_path, CODEC, "lz5", release, stateful=True).prediction.error
    assert failure
    assert (failure.phase, failure.batch_id, failure.condition) == ("batch", 2, condition)


@pytest.mark.parametrize(("key", "value"), [(CODEC, "lz5"), (PROVIDER, "com.example.Provider")])
def test_a_query_without_state_does_not_mind(tmp_path: Path, key: str, value: str) -> None:
    assert pinned(tmp_path, key, value).prediction.outcome == "new_batch"


@pytest.mark.parametrize("codec", ["LZ4", "com.example.Codec"])
def test_codecs_are_known_in_any_case_and_classes_may_be_there(tmp_path: Path, codec: str) -> None:
    assert pinned(tmp_path, CODEC, codec, stateful=True).prediction.outcome == "new_batch"


def test_a_provider_that_spark_does_not_have(tmp_path: Path) -> None:
    found = pinned(tmp_path, PROVIDER, "com.example.Provider", stateful=True)
    assert found.prediction.outcome == "error"
    assert any("com.example.Provider" in why for why in found.prediction.why)


def test_databricks_has_a_provider_of_its_own(tmp_path: Path) -> None:
    found = pinned(tmp_path, PROVIDER, "com.databricks.sql.Provider", stateful=True)
    assert found.prediction.outcome == "new_batch"
    elsewhere = diagnose(replace(found.scene, start=replace(found.scene.start, is_named=True)))
    assert elsewhere.prediction.outcome == "error"
    assert any("com.databricks.sql.Provider" in why for why in elsewhere.prediction.why)


@pytest.mark.parametrize(
    ("release", "value", "outcome"),
    [
        ((3, 5, 7), "2", "new_batch"),
        ((3, 5, 7), "3", "error"),
        ((4, 0, 4), "3", "error"),
        ((4, 1, 3), "3", "new_batch"),
        ((4, 1, 3), "4", "error"),
        ((4, 2, 0), "4", "new_batch"),
    ],
)
def test_a_version_of_joins_that_came_later_is_none_for_older_releases(
    tmp_path: Path, release: Release, value: str, outcome: str
) -> None:
    assert pinned(tmp_path, JOIN, value, release).prediction.outcome == outcome


@pytest.mark.parametrize(
    ("sample", "key", "error"),
    [
        ("3.5.7-windowed-agg-hdfs-sound", "aggregation", "StateSchemaNotCompatible"),
        ("3.5.7-join-hdfs-sound", "join", "StateSchemaNotCompatible"),
        ("4.2.0-join-hdfs-sound", "join", "StateStoreValueSchemaNotCompatible"),
        ("3.5.7-dedup-hdfs-sound", "aggregation", None),
        ("3.5.7-session-window-hdfs-sound", "aggregation", None),
    ],
)
def test_a_layout_that_is_not_pinned_is_taken_for_the_first(
    tmp_path: Path, sample: str, key: str, error: str | None
) -> None:
    root = place_sample(sample, tmp_path)
    newest = max(int(one.name) for one in (root / "offsets").iterdir() if one.name.isdecimal())
    path = root / "offsets" / f"{newest}"
    lines = path.read_text().split("\n")
    head = json.loads(lines[1])
    assert head["conf"].pop(f"{STREAMING}.{key}.stateFormatVersion") == "2"
    path.write_text("\n".join((lines[0], json.dumps(head), *lines[2:])))
    path.with_name(f".{newest}.crc").unlink(missing_ok=True)
    failure = diagnosed(root, parse_release(sample.partition("-")[0])).prediction.error
    assert (failure.class_name.rpartition(".")[2] if failure else None) == error
