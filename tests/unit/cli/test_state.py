"""`ckpt state`, on samples that Spark made: what its commands print, and the codes they end with."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpttool.storage import store as storage
from tests.conftest import run_ckpt
from tests.rocksdb_builders import snapshot
from tests.state_builders import ROCKSDB as ROCKSDB_PROVIDER
from tests.state_builders import checkpoint

Sample = Callable[[str], Path]

AGGREGATION = "4.2.0-windowed-agg-hdfs-sound"
ROCKSDB = "4.2.0-windowed-agg-rocksdb-sound"
JOIN = "4.2.0-join-hdfs-sound"
DEDUP = "4.2.0-dedup-rocksdb-sound"
OLD = "3.0.3-count-to-noop-sound"


def at(sample: Sample, name: str) -> str:
    return str(sample(name) / "checkpoint")


def lines(*arguments: str) -> list[dict[str, Any]]:
    ran = run_ckpt("state", "rows", *arguments, "--format", "jsonl")
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def fields(*arguments: str, code: int = 0) -> dict[str, Any]:
    ran = run_ckpt("state", *arguments, "--format", "json")
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["key"]["window"]["start"]: row["value"]["count"] for row in rows}


def test_list_tells_operators_stores_and_rows(sample: Sample) -> None:
    found = fields("list", at(sample, AGGREGATION))
    assert (found["schema"], found["batch"]) == ("ckpt.state-list/1", 4)
    (store,) = found["stores"]
    assert (store["operator"], store["name"], store["store"]) == (0, "stateStoreSave", "default")
    assert (store["partitions"], store["provider"], store["batch"]) == (2, "hdfs", 4)
    assert store["rows"] == len(lines(at(sample, AGGREGATION)))


@pytest.mark.parametrize("name", [AGGREGATION, ROCKSDB, AGGREGATION.replace("4.2.0", "3.5.7")])
def test_rows_are_those_that_the_input_gives(sample: Sample, name: str) -> None:
    """Files of two rows each, ten seconds apart, in windows of ten seconds: two rows in each window, and the windows
    that the watermark has passed are gone."""
    rows = counted(lines(at(sample, name)))
    assert set(rows.values()) == {2}
    assert "2023-11-14T22:13:50.000Z" in rows


def test_rows_of_an_earlier_batch(sample: Sample) -> None:
    assert counted(lines(at(sample, AGGREGATION), "--batch", "0")) == {"2023-11-14T22:13:20.000Z": 2}


def test_rows_as_csv_and_as_table(sample: Sample) -> None:
    ran = run_ckpt("state", "rows", at(sample, JOIN), "--store", "left-keyToNumValues", "--format", "csv")
    head, *rows = list(csv.reader(io.StringIO(ran.out)))
    assert head == ["partition", "key.field0", "value.value"]
    assert {row[2] for row in rows} == {"1"}
    ran = run_ckpt("state", "rows", at(sample, JOIN), "--store", "left-keyToNumValues", "--limit", "1")
    assert ran.out.splitlines()[0].split() == head
    assert len(ran.out.splitlines()) == 2
    assert "more than 1" in ran.err


@pytest.mark.extras
def test_rows_as_one_object(sample: Sample) -> None:
    found = fields("rows", at(sample, DEDUP))
    assert (found["schema"], found["store"], found["findings"]) == ("ckpt.state-rows/1", "default", [])
    assert found["columns"] == [
        {"name": "key", "type": "struct<name:string,at:timestamp>"},
        {"name": "value", "type": "struct<__dummy__:void>"},
    ]
    assert all(row["value"] == {"__dummy__": None} for row in found["rows"])


def test_rows_of_one_partition_and_a_condition(sample: Sample) -> None:
    path = at(sample, JOIN)
    every = lines(path, "--store", "right-keyWithIndexToValue")
    first = lines(path, "--store", "right-keyWithIndexToValue", "--partition", "0")
    assert first == [row for row in every if row["partition"] == 0] != every
    some = lines(
        path, "--store", "right-keyWithIndexToValue", "--where", "key.field0>=4", "--where", "value.matched=true"
    )
    assert some == [row for row in every if row["key"]["field0"] >= 4 and row["value"]["matched"]]
    named = lines(path, "--store", "right-keyWithIndexToValue", "--where", "value.name=birch")
    assert {row["value"]["name"] for row in named} == {"birch"}


def test_the_side_of_a_join_is_put_together(sample: Sample) -> None:
    indexed = lines(at(sample, JOIN), "--store", "left-keyWithIndexToValue")
    joined = lines(at(sample, JOIN), "--store", "left")
    without = [
        {
            **row,
            "key": {"field0": row["key"]["field0"]},
            "value": {k: v for k, v in row["value"].items() if k != "matched"},
        }
        for row in indexed
    ]
    assert sorted(map(json.dumps, joined)) == sorted(map(json.dumps, without))


def test_a_store_without_a_schema_is_shown_as_bytes(sample: Sample) -> None:
    (store,) = fields("list", at(sample, OLD))["stores"]
    assert (store["shape"], store["name"]) == ("raw", None)
    assert all(isinstance(row["key"], str) for row in lines(at(sample, OLD)))


@pytest.mark.parametrize("name", [pytest.param(DEDUP, marks=pytest.mark.extras), "4.2.0-dedup-hdfs-sound"])
def test_get_finds_every_key_in_its_partition(sample: Sample, name: str) -> None:
    for row in lines(at(sample, name)):
        found = fields("get", at(sample, name), json.dumps(row["key"]))
        assert found["rows"] == [row]


def test_get_takes_a_bare_value(sample: Sample) -> None:
    path = at(sample, JOIN)
    for row in lines(path, "--store", "left-keyToNumValues"):
        ran = run_ckpt(
            "state", "get", path, str(row["key"]["field0"]), "--store", "left-keyToNumValues", "--format", "jsonl"
        )
        assert json.loads(ran.out) == row


def test_diff_tells_what_a_batch_did(sample: Sample) -> None:
    path = at(sample, AGGREGATION)
    before, after = (counted(lines(path, "--batch", batch)) for batch in ("1", "4"))
    found = fields("diff", path, "--batch", "1", "--batch", "4")
    assert found["summary"] == {
        "added": len(after.keys() - before.keys()),
        "changed": sum(before[key] != after[key] for key in before.keys() & after.keys()),
        "removed": len(before.keys() - after.keys()),
    }
    assert len(found["changes"]) == sum(found["summary"].values()) > 0


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_diff_answers_for_what_is_wrong_at_either_batch(sample: Sample, tmp_path: Path, form: str) -> None:
    """An operator that describes itself anew with each run: what it said before the earlier batch is damaged."""
    root = tmp_path / "checkpoint"
    shutil.copytree(sample(AGGREGATION) / "checkpoint", root)
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2, "stateSchemaFilePaths": []}
    info = {"operatorId": 0, "operatorName": "stateStoreSave"}
    sound = {"operatorInfo": info, "stateStoreInfo": [store], "operatorPropertiesJson": "{}"}
    runs = root / "state/0/_metadata/v2"
    runs.mkdir()
    (runs / "3").write_text(f"v2\n{json.dumps(sound)}")
    assert run_ckpt("state", "diff", str(root), "--batch", "1", "--batch", "4", "--format", form).code == 0
    (runs / "0").write_text("v2\n{")
    ran = run_ckpt("state", "diff", str(root), "--batch", "1", "--batch", "4", "--format", form)
    assert (ran.code, "_metadata/v2/0" in ran.out + ran.err) == (1, True)


def test_count_adds_up(sample: Sample) -> None:
    for store in fields("count", at(sample, JOIN))["stores"]:
        rows = lines(at(sample, JOIN), "--store", store["store"])
        assert store["rows"] == len(rows) == sum(one["rows"] for one in store["rows_by_partition"])


def test_verify_finds_sound_state_loadable(sample: Sample) -> None:
    found = fields("verify", at(sample, ROCKSDB))
    assert (found["outcome"], found["newest_restorable_batch"], found["findings"]) == ("loadable", 4, [])
    assert sum(store["keys"] for store in found["stores"]) == len(lines(at(sample, ROCKSDB)))


def test_verify_names_the_file_and_the_batch_to_go_back_to(sample: Sample, tmp_path: Path) -> None:
    copy = copied(sample(AGGREGATION) / "checkpoint", tmp_path)
    damaged = copy / "state/0/1/5.delta"
    damaged.write_bytes(damaged.read_bytes()[:-30])
    found = fields("verify", str(copy), code=1)
    assert (found["outcome"], found["newest_restorable_batch"]) == ("failure", 3)
    assert [failure["path"] for failure in found["failures"]] == ["state/0/1/5.delta"]
    assert "state-file-corrupt" in [finding["id"] for finding in found["findings"]]
    ran = run_ckpt("state", "verify", str(copy))
    assert "cannot be loaded" in ran.out.splitlines()[0]
    assert "every store can be restored to: 3" in ran.out


@pytest.mark.extras
def test_verify_looks_inside_tables(tmp_path: Path) -> None:
    """RocksDB checks a block when it reads it, so Spark would load such a database, and fail when it comes there."""
    files = snapshot(3, [(b"\x00" + bytes(8) + at.to_bytes(8, "little"), bytes(17)) for at in range(2000)])
    assert fields("verify", str(database(tmp_path / "sound", files)))["outcome"] == "loadable"
    name = next(name for name in files if name.startswith("SSTs/"))
    files[name] = files[name][:900] + bytes(99) + files[name][999:]
    found = fields("verify", str(database(tmp_path / "damaged", files)), code=1)
    assert (found["outcome"], found["failures"]) == ("failure", [])
    assert [finding["id"] for finding in found["findings"]] == ["state-unreadable"]


@pytest.mark.extras
def test_verify_says_the_same_however_many_stores_it_takes_at_a_time(sample: Sample, tmp_path: Path) -> None:
    copy = copied(sample(JOIN) / "checkpoint", tmp_path / "hdfs")
    for damaged in sorted(copy.glob("state/0/*/*/*.delta"))[::3]:
        damaged.write_bytes(damaged.read_bytes()[:-30])
    whole = snapshot(3, [(b"\x00" + at.to_bytes(16, "little"), bytes(17)) for at in range(2000)])
    state: dict[str, bytes] = {}
    for partition in range(5):
        bad = {name: data[:900] + bytes(99) + data[999:] for name, data in whole.items() if name.startswith("SSTs/")}
        state |= {f"0/{partition}/{name}": data for name, data in {**whole, **(bad if partition % 2 else {})}.items()}
    database = checkpoint(tmp_path / "rocksdb", state, provider=ROCKSDB_PROVIDER, partitions=5)
    for root, findings in ((copy, 1), (database, 2)):
        said = [run_ckpt("state", "verify", str(root), "--format", "json", "--jobs", jobs) for jobs in ("1", "3")]
        assert len(json.loads(said[0].out)["findings"]) >= findings
        assert said[1] == said[0]


@pytest.mark.extras
def test_verify_reads_files_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = snapshot(3, [(b"\x00" + at.to_bytes(16, "big"), at.to_bytes(17, "big")) for at in range(5000)])
    table, *others = sorted(map(len, files.values()), reverse=True)
    monkeypatch.setattr(storage, "READ_LIMIT_BYTES", table - 1)
    assert max(others) < table - 1
    found = fields("verify", str(database(tmp_path, files)))
    assert (found["outcome"], found["why"]) == ("loadable", ["all files that version 3 needs were read to their end"])


@pytest.mark.extras
def test_verify_counts_the_keys_of_a_snapshot(tmp_path: Path) -> None:
    files = snapshot(3, [(b"a", b"1"), (b"b", b"2")], recorded=3)
    found = fields("verify", str(database(tmp_path, files)))
    assert [finding["id"] for finding in found["findings"]] == ["state-keys-miscounted"]


def database(root: Path, files: dict[str, bytes]) -> Path:
    return checkpoint(root, {f"0/0/{name}": data for name, data in files.items()}, provider=ROCKSDB_PROVIDER)


def test_verify_a_sample_of_the_partitions(sample: Sample) -> None:
    found = fields("verify", at(sample, AGGREGATION), "--sample", "1/2")
    assert {store["partition"] for store in found["stores"]} == {0}
    assert found["sample"] == [1, 2]


def test_size_adds_up_and_counts_what_maintenance_would_delete(sample: Sample) -> None:
    path = at(sample, "4.2.0-windowed-agg-snapshot-sound")
    found = fields("size", path, "--retain", "1")
    assert found["bytes"] == sum(store["bytes"] for store in found["stores"])
    assert found["garbage_bytes"] > 0 == fields("size", path)["garbage_bytes"]
    assert all(store["needed_bytes"] <= store["bytes"] for store in found["stores"])


@pytest.mark.extras
@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
def test_export_writes_every_row(sample: Sample, tmp_path: Path, form: str) -> None:
    path, target = at(sample, DEDUP), tmp_path / "out"
    found = fields("export", path, str(target), "--to", form)
    rows = lines(path)
    assert found["rows"] == len(rows)
    assert sorted(file.name for file in target.iterdir()) == [f"part-{partition:05}.{form}" for partition in (0, 1)]
    assert sorted(exported(target, form)) == sorted((row["key"]["name"], row["key"]["at"]) for row in rows)


def exported(directory: Path, form: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for file in sorted(directory.iterdir()):
        if form == "jsonl":
            found += [(row["key"]["name"], row["key"]["at"]) for row in map(json.loads, file.read_text().splitlines())]
        elif form == "csv":
            found += [(row["key.name"], row["key.at"]) for row in csv.DictReader(io.StringIO(file.read_text()))]
        else:
            import pyarrow.feather
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(file) if form == "parquet" else pyarrow.feather.read_table(file)
            found += [(row["key"]["name"], f"{row['key']['at']:%Y-%m-%dT%H:%M:%S}.000Z") for row in table.to_pylist()]
    return found


def test_export_touches_nothing_that_is_there(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ran = run_ckpt("state", "export", at(sample, DEDUP), str(tmp_path))
    assert (ran.code, ran.err.splitlines()[0]) == (6, f"ckpt: {tmp_path} is there and not empty")
    inside = str(sample(DEDUP) / "checkpoint" / "export")
    ran = run_ckpt("state", "export", at(sample, DEDUP), inside)
    assert ran.code == 6
    assert not Path(inside).exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("rows", JOIN), 2, "several stores; choose with --store"),
        (("rows", JOIN, "--operator", "3"), 4, "there is no operator 3"),
        (("rows", JOIN, "--store", "middle"), 4, "there is no store 'middle'"),
        (("rows", AGGREGATION, "--partition", "2"), 4, "there is no partition 2"),
        (("rows", AGGREGATION, "--batch", "99"), 4, "batch 99 of"),
        (("rows", AGGREGATION, "--where", "count"), 2, "'count' is no condition"),
        (("rows", AGGREGATION, "--where", "value.sum=1"), 2, "there is no column 'value.sum'"),
        (("get", DEDUP, '{"name":"nobody","at":"2023-11-14T22:13:20Z"}'), 4, "it was looked for in partition"),
        (("get", DEDUP, '{"nome":"x"}'), 2, "a key has no column 'nome'"),
        (("get", DEDUP, '{"name":7}'), 2, "does not fit the types of the key"),
        (("diff", AGGREGATION, "--batch", "1"), 2, "give --batch twice"),
        (("verify", AGGREGATION, "--sample", "3/2"), 2, "expected N/T"),
        (("list", "4.2.0-file-to-parquet-sound"), 4, "holds no state"),
    ],
)
def test_what_cannot_be_done_is_said(sample: Sample, arguments: tuple[str, ...], code: int, said: str) -> None:
    command, name, *rest = arguments
    ran = run_ckpt("state", command, at(sample, name), *rest)
    assert ran.code == code
    assert said in " ".join(ran.err.split())


def test_without_the_extra_it_is_said_what_is_missing(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    (store,) = fields("list", at(sample, ROCKSDB))["stores"]
    assert store["rows"] is not None or "rocksdict" in store["rows_unknown_why"]
    ran = run_ckpt("state", "rows", at(sample, "3.5.7-dedup-rocksdb-sound"), "--format", "jsonl")
    assert ran.code in (0, 6)
    assert ran.code == 0 or "pip install 'ckpttool[state]'" in ran.err


def copied(checkpoint: Path, target: Path) -> Path:
    import shutil

    copy = target / "checkpoint"
    shutil.copytree(checkpoint, copy)
    return copy


WINDOWS = "key STRUCT<window: STRUCT<start: TIMESTAMP, end: TIMESTAMP>>, value STRUCT<count: BIGINT>"


def test_a_schema_is_given_where_there_is_none(sample: Sample, tmp_path: Path) -> None:
    """As Spark before 3.1 left its state: the rows are those that the schema file would give."""
    copy = copied(sample(AGGREGATION) / "checkpoint", tmp_path)
    expected = lines(str(copy))
    changed = fields("diff", str(copy), "--batch", "1", "--batch", "4")["changes"]
    schema = copy / "state/0/0/_metadata/schema"
    saved = tmp_path / "schema"
    schema.rename(saved)
    (tmp_path / "ddl").write_text(WINDOWS)
    assert lines(str(copy)) != expected
    for given in (WINDOWS, str(tmp_path / "ddl"), str(saved)):
        assert lines(str(copy), "--schema", given) == expected
    assert fields("diff", str(copy), "--batch", "1", "--batch", "4", "--schema", WINDOWS)["changes"] == changed
    key = json.dumps(expected[0]["key"])
    assert fields("get", str(copy), key, "--schema", WINDOWS)["rows"] == expected[:1]
    fields("export", str(copy), str(tmp_path / "out"), "--to", "jsonl", "--schema", WINDOWS)
    exported = [line for part in sorted((tmp_path / "out").iterdir()) for line in part.read_text().splitlines()]
    assert [json.loads(line) for line in exported] == expected


def test_a_schema_that_does_not_fit_is_a_finding_or_wrong_usage(sample: Sample) -> None:
    old = at(sample, OLD)
    wide = "key STRUCT<" + ", ".join(f"c{one}: STRING" for one in range(9)) + ">, value STRUCT<count: BIGINT>"
    ran = run_ckpt("state", "rows", old, "--schema", wide)
    assert (ran.code, ran.out.count("\n") > 0) == (1, True)
    assert "state/0/0" in ran.err
    for path, schema in ((at(sample, AGGREGATION), WINDOWS), (old, "key INT"), (old, "key STRUCT<a: NOTHING>")):
        ran = run_ckpt("state", "rows", path, "--schema", schema)
        assert (ran.code, ran.out) == (2, "")
        assert "schema" in ran.err


@pytest.mark.parametrize("form", [pytest.param("parquet", marks=pytest.mark.extras), "jsonl"])
def test_partitions_are_the_same_side_by_side(sample: Sample, tmp_path: Path, form: str) -> None:
    path = at(sample, AGGREGATION)
    for jobs in ("1", "4"):
        fields("export", path, str(tmp_path / jobs), "--to", form, "--jobs", jobs)
    one, four = ([part.read_bytes() for part in sorted((tmp_path / jobs).iterdir())] for jobs in ("1", "4"))
    assert len(one) == 2
    assert one == four
    assert fields("count", path, "--jobs", "4") == fields("count", path)


@pytest.mark.extras
def test_a_damaged_partition_leaves_those_beside_it(sample: Sample, tmp_path: Path) -> None:
    copy = copied(sample(AGGREGATION) / "checkpoint", tmp_path)
    (copy / "state/0/0/5.delta").write_bytes(b"torn")
    found = fields("export", str(copy), str(tmp_path / "out"), "--jobs", "2", code=1)
    assert [finding["path"] for finding in found["findings"]] == ["state/0/0/5.delta"]
    assert [part.name for part in (tmp_path / "out").iterdir()] == ["part-00001.parquet"]
    counted = fields("count", str(copy), "--jobs", "2", code=1)
    assert [finding["path"] for finding in counted["findings"]] == ["state/0/0/5.delta"]
