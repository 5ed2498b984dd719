"""What the files of a store amount to: what is needed, and what maintenance would delete."""

from __future__ import annotations

from pathlib import Path

from ckpttool.state.sizes import measure_stores
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
