"""Sinks' own records beside a checkpoint: found where they may be, and no trap for whoever looks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ckpttool.reading.ledger import load_ledgers
from ckpttool.storage.store import FileStat, LocalStore
from tests.builders import QUERY_ID, build
from tests.conftest import run_ckpt


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(build(tmp_path / "job" / "ck", "k0-10 c")))


def delta_commit(table: Path, version: int, *actions: object) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


def txn(batch: int, app_id: str = QUERY_ID) -> object:
    return {"txn": {"appId": app_id, "version": batch}}


def found(store: LocalStore, query_id: str | None = QUERY_ID) -> list[tuple[str, str, int | None]]:
    return [(ledger.kind, ledger.path, ledger.last_batch) for ledger in load_ledgers(store, query_id)]


def test_nothing_beside_is_nothing(store: LocalStore) -> None:
    assert found(store) == []


@pytest.mark.parametrize("place", ["..", "../..", "../output"])
def test_a_file_sinks_record_is_found_around_the_checkpoint(store: LocalStore, tmp_path: Path, place: str) -> None:
    log = Path(os.path.normpath(tmp_path / "job" / "ck" / place)) / "_spark_metadata"
    log.mkdir(parents=True)
    for name in ("7", "8", "9.compact", "10", "x", ".11.crc"):
        (log / name).write_bytes(b"v1")
    assert found(store) == [("file", place, 10)]


def test_the_newest_transaction_of_this_query_counts(store: LocalStore, tmp_path: Path) -> None:
    table = tmp_path / "job" / "table"
    delta_commit(table, 0, txn(3))
    delta_commit(table, 1, txn(4), txn(99, "somebody else"))
    delta_commit(table, 2, {"add": {}})
    assert found(store) == [("delta", "../table", 4)]
    assert found(store, query_id=None) == [("delta", "../table", None)]
    assert found(store, "another") == [("delta", "../table", None)]


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[" * 100_000, b'{"txn":' + b"9" * 100_000, b'{"txn":{"appId":1}}', b"null"]
)
def test_a_damaged_table_is_no_trap(store: LocalStore, tmp_path: Path, body: bytes) -> None:
    table = tmp_path / "job" / "table"
    delta_commit(table, 0, txn(3))
    (table / "_delta_log" / f"{1:020}.json").write_bytes(body)
    assert found(store) == [("delta", "../table", 3)]


@pytest.mark.parametrize("name", ["9" * 200 + ".json", "\u0663.json", "1.json", f"{1:020}.json.tmp"])
def test_odd_names_in_a_table_are_no_versions(store: LocalStore, tmp_path: Path, name: str) -> None:
    (tmp_path / "job/table/_delta_log").mkdir(parents=True)
    (tmp_path / "job/table/_delta_log" / name).write_text(json.dumps(txn(5)))
    assert found(store) == []


def test_pipes_and_links_beside_are_not_waited_for_or_followed(store: LocalStore, tmp_path: Path) -> None:
    table = tmp_path / "job" / "table"
    delta_commit(table, 0, txn(3))
    os.mkfifo(table / "_delta_log" / f"{1:020}.json")
    (table / "_delta_log" / f"{2:020}.json").symlink_to(tmp_path / "job/ck/metadata")
    assert found(store) == [("delta", "../table", 3)]


def test_many_neighbours_are_not_looked_into(tmp_path: Path) -> None:
    build(tmp_path / "ck", "k0-10 c")
    delta_commit(tmp_path / "a table", 0, txn(3))
    for number in range(20):
        (tmp_path / f"other-{number}").mkdir()
    store = Counting(str(tmp_path / "ck"))
    assert found(store) == []
    assert Counting.asked < 20


class Counting(LocalStore):
    asked = 0

    def stat(self, path: str) -> FileStat | None:
        Counting.asked += 1
        return super().stat(path)

    def above(self, levels: int = 1) -> LocalStore:
        return Counting(super().above(levels).url)

    def at(self, path: str) -> LocalStore:
        return Counting(super().at(path).url)


def test_a_name_beside_the_checkpoint_is_printed_harmlessly(store: LocalStore, tmp_path: Path) -> None:
    delta_commit(tmp_path / "job" / "\x1b[31m", 0, txn(0))
    assert found(store)
    outcome = run_ckpt("inspect", str(tmp_path / "job" / "ck"))
    assert "\x1b" not in outcome.out
    assert "\\x1b[31m" in outcome.out
