"""Tears are edits of one file, and there are enough of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.images import contents
from ckpttool.harness.place import JobPlace
from ckpttool.harness.tears import Tear, find, tear, tears
from tests.samples.place import place_sample

SAMPLES = {"hdfs": "4.2.0-windowed-agg-hdfs-sound", "rocksdb": "4.2.0-windowed-agg-rocksdb-sound"}


@pytest.fixture(params=SAMPLES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> JobPlace:
    place_sample(SAMPLES[request.param], tmp_path)
    return JobPlace(tmp_path)


def test_there_are_enough(place: JobPlace) -> None:
    found = list(tears(place))
    assert len({one.name for one in found}) == len(found) >= 25


def test_each_changes_one_file_and_its_checksum(place: JobPlace, tmp_path: Path) -> None:
    before = contents(tmp_path)
    for one in tears(place):
        path = find(place, one.target)
        assert path
        crc = path.with_name(f".{path.name}.crc")
        kept = {file: file.read_bytes() for file in (path, crc) if file.exists()}
        told = tear(place, one)
        assert str(path.relative_to(tmp_path)) in told
        after = contents(tmp_path)
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        changed -= {name for name in changed if name.endswith("/")}
        assert changed <= {str(file.relative_to(tmp_path)) for file in (path, crc)}, one.name
        assert str(path.relative_to(tmp_path)) in changed, one.name
        for file, data in kept.items():
            file.write_bytes(data)
        assert contents(tmp_path) == before


def test_a_checksum_goes_or_stays(place: JobPlace) -> None:
    path = find(place, "offsets")
    assert path
    crc = path.with_name(f".{path.name}.crc")
    tear(place, Tear("offsets", "cut", keeps_crc=True))
    assert crc.exists()
    tear(place, Tear("offsets", "cut", keeps_crc=False))
    assert not crc.exists()


def test_the_file_before_the_newest(place: JobPlace) -> None:
    newest, before = find(place, "commits"), find(place, "commits-before")
    assert newest
    assert before
    assert int(newest.name) == int(before.name) + 1
