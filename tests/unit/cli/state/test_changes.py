"""`ckpt state diff` and `export`, on samples that Spark made."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.unit.cli.state.commands import AGGREGATION, DEDUP, Sample, at, copied, counted, fields, lines


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
