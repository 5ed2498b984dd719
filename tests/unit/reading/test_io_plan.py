"""Which files are opened: the newest, found by their names alone, and never one that a file's contents name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.api import inspect_checkpoint
from ckpttool.model import LogNames
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.reading.io_plan import last_run, live_files, opened_by_spark
from ckpttool.storage.store import FileStat, LocalStore
from tests.builders import build
from tests.conftest import run_ckpt
from tests.unit.reading.inspected import found, inspect_json, is_printable, still_reports


def test_a_hundred_thousand_batches(tmp_path: Path) -> None:
    """Only the newest are opened, and no other name is looked at on its own."""
    newest = range(99_900, 100_000)
    root = build(tmp_path, " | ".join(f"b{batch} k{batch}-{batch + 1} c" for batch in newest))
    store = LongLogs(root, [str(batch) for batch in range(newest.start)])
    inspection = inspect_checkpoint(load_checkpoint(store))
    assert inspection.prediction.batch_id == 100_000
    assert len(inspection.checkpoint.offset_names.ids) == 100_000
    assert inspection.findings == ()
    assert store.asked < 500


class LongLogs(LocalStore):
    """Logs with more names than files; counts what is asked about single files."""

    def __init__(self, root: Path, more: list[str]) -> None:
        super().__init__(str(root))
        self.more = more
        self.asked = 0

    def list(self, path: str = "") -> list[str]:
        return [*super().list(path), *(self.more if path in ("offsets", "commits") else [])]

    def stat(self, path: str) -> FileStat | None:
        self.asked += 1
        return super().stat(path)

    def read(self, path: str) -> bytes:
        self.asked += 1
        return super().read(path)


@pytest.mark.parametrize(
    "names",
    [
        ["1000000000000000000"],
        ["0", "9223372036854775806"],
        ["2147483646.compact", "9223372036854775806"],
        ["2147483646.compact", "4000000000"],
        ["9223372036854775807.compact"],
        ["5.compact", "2147483653.compact"],
        ["5.compact", "3000000005.compact", "3000000009"],
    ],
)
def test_stray_numbers_in_a_file_sources_log_are_findings(tmp_path: Path, names: list[str]) -> None:
    root = build(tmp_path, "f0 c | f1 c")
    for name in names:
        (root / "sources/0" / name).write_bytes((root / "sources/0/0").read_bytes())
    code, fields = inspect_json(root)
    assert code == 1
    assert {"source-log-hole", "source-log-compact-names"} & set(found(fields))
    assert fields["next_batch"]["outcome"] == "error"
    assert still_reports(fields)


@pytest.mark.parametrize("store_name", ["../../../../..", "a\0b", "x" * 5000, "", ".", "a/b", "default"])
def test_a_stores_name_in_a_file_never_becomes_a_path_by_itself(tmp_path: Path, store_name: str) -> None:
    root = build(tmp_path / "ck", "f0 c | f1 c")
    store = {
        "storeName": store_name,
        "numColsPrefixKey": 0,
        "numPartitions": 1,
        "stateSchemaFilePaths": ["../../../etc/passwd"],
    }
    operator = {
        "operatorInfo": {"operatorId": 0, "operatorName": "\x1b[31m"},
        "stateStoreInfo": [store],
        "operatorPropertiesJson": "{}",
    }
    for directory in ("state/0/0", "state/0/_metadata/v2", "state/0/_stateSchema/default"):
        (root / directory).mkdir(parents=True)
    (root / "state/0/_metadata/v2/0").write_text("v2\n" + json.dumps(operator))
    asked: list[str] = []
    inspection = inspect_checkpoint(load_checkpoint(Asking(root, asked)))
    assert not any("passwd" in path or store_name in path for path in asked if store_name not in ("", ".", "default"))
    assert [operator.stores[0].name for operator in inspection.checkpoint.operators] == [store_name]
    assert is_printable(run_ckpt("inspect", str(root)).out.encode())


class Asking(LocalStore):
    """Writes down every path it is asked for."""

    def __init__(self, root: Path, asked: list[str]) -> None:
        super().__init__(str(root))
        self.asked = asked

    def list(self, path: str = "") -> list[str]:
        self.asked.append(path)
        return super().list(path)

    def read(self, path: str) -> bytes:
        self.asked.append(path)
        return super().read(path)


def test_the_newest_names_are_opened_and_compact_files_by_theirs() -> None:
    names = LogNames(ids=(0, 1, 3, 4, 10, 11), compact_ids=(9,))
    assert opened_by_spark(names, 2) == (10, 11)
    assert live_files(names, 10) == (["9.compact", "10", "11"], 0)
    assert live_files(names, 2) == (["10", "11"], 1)
    assert live_files(LogNames(), 2) == ([], 0)


def test_an_operator_last_described_itself_before_a_batch() -> None:
    runs = {"state/0/_metadata/v2": ["0", "7", "12", "x"]}
    assert last_run(lambda path: runs.get(path, []), 0) == 12
    assert last_run(lambda path: runs.get(path, []), 0, until=11) == 7
    assert last_run(lambda path: runs.get(path, []), 1) is None
