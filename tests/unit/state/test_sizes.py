"""What the files of a store amount to: what is needed, and what maintenance would delete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ckpttool.state import sizes
from ckpttool.state.sizes import measure_stores
from tests.state_builders import ROCKSDB
from tests.unit.state.made import hdfs_file, placed, read


def test_what_is_needed_is_the_newest_base_and_what_follows(tmp_path: Path) -> None:
    whole, change = hdfs_file({"a": 1, "b": 2}), hdfs_file({"a": 3})
    files = {"1.delta": whole, "2.snapshot": whole, "2.delta": change, "3.delta": change, ".3.delta.crc": b"x"}
    (size,) = measure_stores(read(placed(tmp_path, files)))
    assert (size.base_version, size.changes, size.needed_bytes) == (2, 1, len(whole) + len(change))
    assert (size.garbage_files, size.why) == (0, None)


def test_files_before_the_oldest_base_that_must_stay_are_garbage(tmp_path: Path) -> None:
    files = {f"{version}.delta": hdfs_file({"a": version}) for version in (1, 2, 3)}
    (size,) = measure_stores(read(placed(tmp_path, files | {"2.snapshot": hdfs_file({"a": 2})})), retained=1)
    assert (size.garbage_files, size.garbage_bytes) == (1, len(files["1.delta"]))


def test_a_store_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    (size,) = measure_stores(read(placed(tmp_path, {"3.delta": hdfs_file({"a": 3})})))
    assert size.needed_bytes is None
    assert size.why


def test_what_must_stay_is_told_in_one_look_at_the_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def counting(versions: Iterable[int], default: int | None = None) -> int | None:
        looked_at.extend(found := list(versions))
        return max(found, default=default)

    monkeypatch.setattr(sizes, "max", counting, raising=False)
    files = {f"{version}.zip": b"" for version in range(1, 101)}
    (size,) = measure_stores(read(placed(tmp_path, files, provider=ROCKSDB)), retained=10)
    assert size.garbage_files == 90
    assert len(looked_at) <= 3 * len(files)
