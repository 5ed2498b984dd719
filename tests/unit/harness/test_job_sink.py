"""A directory that a job writes to: what a reader finds in it, and rows that are taken out for a control."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.harness.job_sink import SinkDirectory
from ckpttool.harness.place import JobPlace


@pytest.fixture
def place(tmp_path: Path) -> JobPlace:
    place = JobPlace(tmp_path)
    place.sink.mkdir()
    (place.sink / "a.json").write_text("")
    (place.sink / "b.json").write_text('{"id": 1}\n{"id": 2}\n')
    (place.sink / "c.json").write_text('{"id": 3}\n')
    return place


def test_the_job_is_given_the_directory(place: JobPlace) -> None:
    assert SinkDirectory(place).target == str(place.sink)


def test_lost_are_the_rows_of_one_file_that_has_some_and_they_are_named(place: JobPlace) -> None:
    sink = SinkDirectory(place)
    lost = sink.lose_rows("foreachBatch")
    assert lost == ({"id": 1}, {"id": 2})
    assert sink.read("foreachBatch").visible == ({"id": 3},)


def test_rows_of_files_that_no_manifest_names_are_not_visible(place: JobPlace) -> None:
    """A reader of a file sink goes by its log."""
    log = place.sink / "_spark_metadata"
    log.mkdir()
    entry = '{"path":"file://%s","size":10,"isDir":false,"modificationTime":1,"blockReplication":1,"blockSize":1,"action":"add"}'
    (log / "0").write_text("v1\n" + entry % (place.sink / "c.json"))
    sink = SinkDirectory(place)
    assert sink.read("file").visible == ({"id": 3},)
    assert sink.lose_rows("file") == ({"id": 3},)
    assert (place.sink / "b.json").exists()


def test_what_is_done_for_images_and_starts_changes_no_file(place: JobPlace) -> None:
    before = {path: path.read_bytes() for path in place.sink.iterdir()}
    sink = SinkDirectory(place)
    for step in (sink.begin, sink.before_copy, sink.after_put_back, sink.close):
        step()
    assert {path: path.read_bytes() for path in place.sink.iterdir()} == before
