"""Keys of two shapes in one table: of samples that real Spark wrote with a key that another query would have written,
and of stores made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.formats.state.entries import delta_entries
from ckpttool.scene.around import TwoShapes
from ckpttool.state.shapes import two_shapes
from tests.builders import write
from tests.samples.place import about, place_sample, sample_names
from tests.state_builders import ROCKSDB, lz4, plain
from tests.unit.state.made import changelog, hdfs_file, placed, rocks_value
from tests.unsafe_rows import row, schema

HELD = [name for name in sample_names() if name.partition("-")[0] >= "3.5" and about(name)["defect"] is None]
NUMBER = schema(("k", "long"))


def shapes(root: Path, batch: int | None = None) -> list[TwoShapes]:
    store = open_store(str(root))
    checkpoint = load_checkpoint(store)
    last = checkpoint.last_commit_batch if batch is None else batch
    return [] if last is None else list(two_shapes(store, checkpoint, last))


@pytest.mark.parametrize("name", HELD)
def test_what_spark_wrote_has_one_shape(sample: Callable[[str], Path], name: str) -> None:
    assert shapes(sample(name) / str(about(name)["checkpoint"])) == []


def give_a_shorter_window(root: Path, version: int) -> None:
    """A window of the same start that ends five seconds earlier, in this version of partition 0."""
    state = root / "state" / "0" / "0"
    keys = [pair for path in state.glob("*.delta") for _, pairs in delta_entries(path.read_bytes()) for pair in pairs]
    key, value = keys[0]
    end = int.from_bytes(key[-8:], "little") - 5_000_000
    path = state / f"{version}.delta"
    before = [pair for _, pairs in delta_entries(path.read_bytes()) for pair in pairs]
    write(path, lz4(plain([*before, (key[:-8] + end.to_bytes(8, "little"), value)])), 1)


@pytest.mark.parametrize(("version", "since"), [(5, 4), (4, 3), (1, None)])
def test_windows_of_two_lengths(tmp_path: Path, version: int, since: int | None) -> None:
    """Since the version that has the second; of the oldest nobody knows since when."""
    root = place_sample("4.2.0-windowed-agg-hdfs-sound", tmp_path)
    give_a_shorter_window(root, version)
    (found,) = shapes(root)
    assert {shape for shape, _ in found.shapes} == {"of windows of 10 s", "of windows of 5 s"}
    assert (found.operator, found.path, found.since) == (0, "state/0/0", since)


def test_rows_of_another_schema(tmp_path: Path) -> None:
    other = lz4(plain([(row(NUMBER, (7,)), bytes(16))]))
    root = placed(tmp_path, {"1.delta": hdfs_file({"a": 1, "some longer key": 2}), "2.delta": other})
    write(root / "state/0/0/3.delta", hdfs_file({}), 1)
    (found,) = shapes(root, 2)
    assert found.shapes == (("of the recorded schema", 2), ("of another schema than the recorded one", 1))


def test_rows_of_another_schema_in_rocksdb(tmp_path: Path) -> None:
    other = lz4(plain([(b"\x00" + row(NUMBER, (7,)), rocks_value(1))]))
    files = {"1.changelog": changelog({"a": 1}), "2.changelog": other, "3.changelog": changelog({"": 1})}
    (found,) = shapes(placed(tmp_path, files, ROCKSDB), 2)
    assert found.shapes == (("of the recorded schema", 2), ("of another schema than the recorded one", 1))


def test_files_that_cannot_be_read_tell_nothing_here(tmp_path: Path) -> None:
    root = placed(tmp_path, {"1.delta": b"damaged", "2.delta": b"", "3.delta": hdfs_file({})})
    assert shapes(root, 2) == []
