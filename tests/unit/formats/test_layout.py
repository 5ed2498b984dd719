"""Paths as Spark wrote them: each file of a sample lies where `layout` says that such a thing is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpttool.formats import layout

Sample = Callable[[str], Path]

VERSIONED = re.compile(r"\d+(_[0-9a-f-]+)?\.(delta|snapshot|changelog|zip)")
SAMPLES = [
    "4.2.0-file-to-parquet-sound",
    "4.2.0-windowed-agg-hdfs-sound",
    "4.2.0-windowed-agg-rocksdb-sound",
    "4.2.0-join-hdfs-sound",
]


def known(root: Path) -> Iterator[str]:
    """Where things may be, with what is numbered or named in a sample put in."""
    yield layout.METADATA
    for log, of in ((layout.OFFSETS, layout.offsets), (layout.COMMITS, layout.commits)):
        yield from (of(int(path.name)) for path in (root / log).glob("[0-9]*"))
    for path in root.glob("sources/*/[0-9]*"):
        yield layout.source_entry(path.parent.name, layout.number_of(path.name))
        yield layout.source_entry(path.parent.name, layout.compact(layout.number_of(path.name)))
    for number in (int(path.name) for path in root.glob("state/[0-9]*")):
        yield layout.operator_metadata_file(number)
        for store in (layout.DEFAULT_STORE, *layout.JOIN_STORES):
            yield layout.schema_file(number, store)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_file_of_a_sample_is_where_it_belongs(sample: Sample, name: str) -> None:
    root = sample(name) / "checkpoint"
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    places = set(known(root))
    places |= {layout.hadoop_crc(path) for path in files} | {layout.sidecar(path) for path in files}
    stores = {
        layout.store(int(path.parent.name), int(path.name), store)
        for path in root.glob("state/*/[0-9]*")
        for store in (layout.DEFAULT_STORE, *layout.JOIN_STORES)
    }
    strange = {
        path
        for path in files - places
        if not VERSIONED.fullmatch(Path(path).name) or str(Path(path).parent) not in stores
    }
    assert {path for path in strange if "/SSTs/" not in path} == set()


@pytest.mark.parametrize(("directory", "name"), [("sources/0", "0"), ("sources/orders", "orders"), ("state/0", None)])
def test_a_source_is_known_by_its_directory(directory: str, name: str | None) -> None:
    assert layout.source_of(directory) == name
