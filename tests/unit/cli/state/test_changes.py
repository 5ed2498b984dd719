"""`ckpt state diff` and `export`, on samples that Spark made."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_ckpt
from tests.unit.cli.state.commands import AGGREGATION, DEDUP, Sample, at, copied, counted, fields, lines
from tests.unit.state.made import hdfs_file, placed


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


FORMS = [pytest.param("parquet", marks=pytest.mark.extras), pytest.param("arrow", marks=pytest.mark.extras),
         "csv", "jsonl"]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_for_their_owner_alone_unless_asked_otherwise(sample: Sample, tmp_path: Path, form: str) -> None:
    def modes(name: str, *more: str) -> set[int]:
        fields("export", at(sample, AGGREGATION), str(tmp_path / name), "--to", form, *more)
        return {stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / name, *(tmp_path / name).iterdir()]}

    before = os.umask(0)
    try:
        assert modes("private") == {0o700, 0o600}
        assert modes("shared", "--mode", "640") == {0o750, 0o640}
    finally:
        os.umask(before)
    assert run_ckpt("state", "export", at(sample, AGGREGATION), str(tmp_path / "x"), "--mode", "999").code == 2


@pytest.mark.parametrize("form", FORMS)
def test_a_disk_that_is_full_leaves_no_half_of_a_file(sample: Sample, tmp_path: Path, form: str) -> None:
    """A limit on the size of files stands for it: writing fails in the same places."""
    target = tmp_path / "out"
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60)); from ckpttool.cli import main; main()"
    )
    # Without -B the limit would also cut what Python keeps of modules that it compiles.
    command = [
        sys.executable,
        "-B",
        "-c",
        program,
        "state",
        "export",
        at(sample, AGGREGATION),
        str(target),
        "--to",
        form,
    ]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (5, "")
    assert ran.stderr.startswith(f"ckpt: {target} cannot be written to: ")
    assert list(target.iterdir()) == []


def test_formulas_are_written_as_texts(tmp_path: Path) -> None:
    root = placed(tmp_path / "checkpoint", {"3.snapshot": hdfs_file({"=1+1": -1})})
    for more, first in (([], "'=1+1"), (["--no-csv-safe"], "=1+1")):
        target = tmp_path / f"out{len(more)}"
        assert run_ckpt("state", "export", str(root), str(target), "--to", "csv", *more).code == 0
        rows = list(csv.reader(io.StringIO((target / "part-00000.csv").read_text())))
        assert rows[1] == ["0", first, "-1"]


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
