"""The stores of a provider: snapshots, changelogs, and the ids that lead from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import state_files
from ckpttool.state.reader import open_state
from ckpttool.state.stores import Stores
from ckpttool.state.survey import count_rows, total
from ckpttool.storage.store import open_store
from tests.state_builders import ROCKSDB, lineage, plain, utf, zstd
from tests.unit.state.made import KEY, VALUE, changelog, hdfs_file, placed, read, rocks_snapshot, rows_of
from tests.unsafe_rows import row


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["bigint", "string"])
def test_large_tables_are_counted_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: state_files.Kind
) -> None:
    root = state_files.hdfs(tmp_path / "state", 1000, kind)
    reader = open_state(open_store(str(root)))
    (table,) = reader.tables
    one_by_one = count_rows(reader, table)
    monkeypatch.setattr("ckpttool.state.stores._WORTH_NUMPY_BYTES", 0)
    torn = root / "state/0/2/7.delta"
    torn.write_bytes(torn.read_bytes()[:-40])
    assert count_rows(reader, table) == one_by_one | {2: None}
    assert [finding.path for finding in reader.findings] == ["state/0/2/7.delta"]
    assert total(one_by_one.values()) == 1000
    monkeypatch.delattr(Stores, "_replayed")  # nobody is there who would count one by one
    assert reader.count(table, 0) == 250


@pytest.mark.extras
def test_changelogs_are_applied_on_top_of_a_snapshot(tmp_path: Path) -> None:
    files = {
        **rocks_snapshot(1, {"a": 1, "b": 1, "c": 1}),
        "2.changelog": changelog({"a": 2, "b": None, "d": 2}),
        "3.changelog": changelog({"b": 3, "d": None}),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 2, "b": 3, "c": 1}


def test_changelogs_alone_need_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocksdict", None)
    files = {"1.changelog": changelog({"a": 1}), "2.changelog": changelog({}), "3.changelog": changelog({"b": 2})}
    assert rows_of(read(placed(tmp_path, files, ROCKSDB))) == {"a": 1, "b": 2}


@pytest.mark.extras
def test_ids_lead_from_changelog_to_snapshot(tmp_path: Path) -> None:
    """A changelog of the same version with another id, of an attempt that failed, is not looked at."""
    files = {
        **rocks_snapshot("1_x", {"a": 1}),
        "2_y.changelog": changelog({"b": 2}, utf("v3") + lineage((1, "x"))),
        "2_other.changelog": changelog({"wrong": 2}, utf("v3") + lineage((1, "x"))),
        "3_z.changelog": changelog({"a": None}, utf("v3") + lineage((1, "x"), (2, "y"))),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))) == {"b": 2}


def test_ids_lead_further_back_than_one_changelog_tells(tmp_path: Path) -> None:
    files = {
        "1_x.changelog": changelog({"a": 1}, utf("v3") + lineage()),
        "2_y.changelog": changelog({"b": 2}, utf("v3") + lineage((1, "x"))),
        "3_z.changelog": changelog({"c": 3}, utf("v3") + lineage((2, "y"))),
    }
    assert rows_of(read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))) == {"a": 1, "b": 2, "c": 3}


def test_a_lineage_that_goes_round_in_circles_ends(tmp_path: Path) -> None:
    files = {"3_z.changelog": changelog({"c": 3}, utf("v3") + lineage((3, "z")))}
    reader = read(placed(tmp_path, files, ROCKSDB, unique_ids=["z"]))
    assert rows_of(reader) == {}
    assert [finding.id for finding in reader.findings] == ["state-file-missing"]


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda body: body,
    "cut": lambda body: body[:-30],
    "a block that is none": lambda body: body[:30] + b"\xff" * 200 + body[230:],
    "another checksum": lambda body: body[:17] + b"\0\0" + body[19:],
    "no header": lambda body: b"x" + body,
    "of zstd": lambda _: zstd(plain([(row(KEY, ("z",)), row(VALUE, (7,)))])),
    "more behind its end": lambda body: body + b"LZ4Block and so on, for longer than a header is",
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("harm", HARMS)
def test_small_deltas_are_read_together_as_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    files = {
        f"{number}.delta": hdfs_file({f"key {number * 7 % 50} {at}" * 9: number for at in range(8)})
        for number in range(1, 101)
    }
    root = placed(tmp_path, files, batch=99)
    path = root / "state/0/0/70.delta"
    path.write_bytes(HARMS[harm](path.read_bytes()))
    together = read(root)
    rows = rows_of(together)
    monkeypatch.setattr("ckpttool.state.stores._TOGETHER", 0)
    alone = read(root)
    assert (rows, together.findings) == (rows_of(alone), alone.findings)
    assert (len(rows) > 0) == (harm in ("nothing", "of zstd", "more behind its end"))
