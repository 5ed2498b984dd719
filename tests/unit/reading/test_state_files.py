"""Which files of state there are and must be, and which of them the next batch needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import Unavailable
from ckpttool.formats.layout import JOIN_STORES
from ckpttool.model import ColumnFamilySchema, Operator, OperatorStore, StateSchema
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.reading.state_files import expected_partitions, expected_stores, load_state_files
from ckpttool.storage.store import LocalStore
from tests import state_builders as made
from tests.samples.place import REPOSITORY, about
from tests.unit.reading.loaded_state import STATEFUL, kinds, load, with_ids


@pytest.mark.parametrize("name", STATEFUL)
def test_all_files_of_a_sample_are_sound(name: str) -> None:
    """Those that Spark made; what the damage is in, is not the state."""
    files = load(REPOSITORY / name / str(about(name)["checkpoint"]), partitions=2)
    assert files.stores
    assert not kinds(files)
    assert not any(operator.schema_faults or operator.metadata_faults for operator in files.operators)
    assert all(store.opened for store in files.stores)


def test_quick_opens_nothing(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {"0/0/2.delta": b"not empty, not anything"})
    store = load(root, "quick").stores[0]
    assert not store.opened
    assert set(store.sizes) == {"1.delta", "2.delta", "3.delta"}
    assert kinds(load(root)) == {"state/0/0/2.delta": "stream"}


def test_quick_sees_empty_files_and_directories(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(2) | {"0/0/1.delta": b""})
    (root / "state/0/0/3.delta").mkdir()
    assert kinds(load(root, "quick")) == {"state/0/0/1.delta": "stream", "state/0/0/3.delta": "not-a-file"}


def test_only_what_is_needed_is_opened(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3, 4) | {"0/0/2.snapshot": made.DELTA})
    assert load(root).stores[0].opened == {"2.snapshot", "3.delta"}


def test_a_bad_base_leads_to_the_one_before(tmp_path: Path) -> None:
    snapshots = {"0/0/1.snapshot": made.DELTA, "0/0/2.snapshot": b"bad"}
    store = load(made.checkpoint(tmp_path, made.deltas(1, 2, 3) | snapshots)).stores[0]
    assert store.opened == {"1.snapshot", "2.snapshot", "2.delta", "3.delta"}


def test_a_zip_leads_to_its_tables(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.rocksdb_snapshot(3), provider=made.ROCKSDB)
    assert load(root).stores[0].opened == {"3.zip", "SSTs/3.sst"}
    assert not kinds(load(root))


def test_a_table_that_is_gone(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.rocksdb_snapshot(3), provider=made.ROCKSDB)
    (root / "state/0/0/SSTs/3.sst").unlink()
    assert kinds(load(root)) == {"state/0/0/SSTs/3.sst": "missing"}


def test_ids_lead_from_changelog_to_changelog(tmp_path: Path) -> None:
    state = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((2, "b"),)))
    zips = {"0/0/2_b.zip": b"bad", "0/0/3_stale.changelog": b"of another run"}
    root = made.checkpoint(tmp_path, state | zips, provider=made.ROCKSDB, unique_ids=["c"])
    store = load(root).stores[0]
    assert store.lineage == ((2, "b"),)
    assert store.ancestry == ((1, "a"),)
    assert store.opened == {"1_a.changelog", "2_b.changelog", "3_c.changelog", "2_b.zip"}


def test_partitions_that_are_not_there_are_told_once(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3), partitions=10**9)
    assert [store.partition for store in load(root, partitions=10**9).stores] == [0, 1]


def test_which_partitions_there_must_be() -> None:
    keyless = StateSchema(2, ())
    assert expected_partitions(Operator(0, "globalLimit", ()), 5, "01234") == range(1)
    assert expected_partitions(
        Operator(0, "dedupe", (OperatorStore("default", 5, "hdfs", keyless),)), 2, "01"
    ) == range(2)
    assert expected_partitions(Operator(0, "dedupe", ()), None, ["0", "1", "2", "_metadata"]) == range(3)


def test_which_stores_there_must_be() -> None:
    assert expected_stores(Operator(0, None, ())) == ("default",)
    three = tuple(OperatorStore(name, 1, "hdfs") for name in JOIN_STORES[:3])
    assert expected_stores(Operator(0, None, three)) == JOIN_STORES


def test_a_directory_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3))
    listed = LocalStore.list

    def refuse(self: LocalStore, path: str = "") -> list[str]:
        if path == "state/0/0":
            raise Unavailable("no")
        return listed(self, path)

    store = LocalStore(str(root))
    checkpoint = load_checkpoint(store)
    monkeypatch.setattr(LocalStore, "list", refuse)
    assert load_state_files(store, checkpoint, 3, 1).unreachable == ("state/0/0",)


def test_entries_are_counted_where_there_is_a_directory(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, {})
    assert load(root).entries is None
    (root / "state/0/0").mkdir(parents=True)
    assert load(root).entries == 1


@pytest.mark.parametrize(
    ("key", "value", "single"),
    [
        ([], ["count"], True),
        ([("key", "void")], ["value"], True),
        ([("key", "void")], ["count"], False),
        ([("key", "long")], ["value"], False),
    ],
)
def test_what_has_no_key_has_one_partition(key: list[tuple[str, str]], value: list[str], single: bool) -> None:
    """Spark before 4.0 left no metadata that names a global limit."""
    keys = {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in key]}
    values = {"type": "struct", "fields": [{"name": name, "type": "long"} for name in value]}
    schema = StateSchema(2, (ColumnFamilySchema("default", keys, values),))
    operator = Operator(0, None, (OperatorStore("default", None, "hdfs", schema),))
    assert expected_partitions(operator, 3, ("0", "1", "2")) == range(1 if single else 3)


@pytest.mark.parametrize("fields", [7, [7], ["key"], [[]], [{"name": {}}]], ids=str)
def test_a_schema_of_other_things_than_fields_has_a_key(fields: Any) -> None:
    schema = StateSchema(2, (ColumnFamilySchema("default", {"fields": fields}, {"fields": fields}),))
    operator = Operator(0, None, (OperatorStore("default", None, "hdfs", schema),))
    assert expected_partitions(operator, 3, ("0", "1", "2")) == range(3)


def test_directories_that_a_single_name_stands_for_are_not_all_looked_at() -> None:
    operator = Operator(0, "dedupe", ())
    assert expected_partitions(operator, 10**7, ["0", "1", "3", "9999999"]) == range(1003)
    assert expected_partitions(operator, None, ["0", "1", "9999999"]) == range(1002)
    assert expected_partitions(operator, 10**7, [str(one) for one in range(30_000)]) == range(20_000)
