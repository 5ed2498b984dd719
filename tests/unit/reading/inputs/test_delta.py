"""The table of a Delta source: which one it is, and how much of its log is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.reading.inputs import delta as loading
from ckpttool.reading.inputs import load_inputs
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import Scene, Start
from tests.unit.laws.inputs.places import Place, metadata, offset

OTHER = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.ran()
    return made


def test_without_a_path_no_table_is_looked_at(place: Place) -> None:
    evidence = gather_evidence(load_checkpoint(open_store(str(place.checkpoint))))
    assert load_inputs(Scene(evidence, Start((4, 2, 0))), place.doors()) == ()


def test_of_two_tables_the_path_is_that_of_the_one_it_fits(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.batch(0, offset(4), offset(7, table_id=OTHER))
    place.batch(1, offset(5), offset(8, table_id=OTHER))
    assert [one.range.source for one in place.look() if isinstance(one, DeltaInput)] == ["0"]
    place.commit(0, metadata("99999999-2222-4333-8444-555555555555"))
    assert [one.range.source for one in place.look() if isinstance(one, DeltaInput)] == ["0", "1"]


def test_a_url_is_told_without_its_secret(place: Place) -> None:
    (table,) = place.look(path="nosuch://user:secret@host/table")
    assert isinstance(table, DeltaInput)
    assert table.error is not None
    assert "secret" not in f"{table.path} {table.error}"


@pytest.mark.parametrize("told_by", ["checksum", "commit", "checkpoint"])
def test_who_the_table_is_is_told_by_what_is_left_of_its_log(place: Place, told_by: str) -> None:
    if told_by == "checksum":
        (place.log / f"{4:020}.crc").write_text('{"metadata": {"id": "told by the checksum"}}')
    if told_by == "checkpoint":
        place.checkpoint_log(3, metadata("told by the checkpoint"))
        place.forget(0, 1, 2, 3)
    if told_by == "commit":
        place.commit(2, metadata("told by the commit"))
    (table,) = place.look()
    assert isinstance(table, DeltaInput)
    assert table.metadata
    assert table.metadata.table_id == f"told by the {told_by}"


def test_too_many_versions_are_not_all_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_COMMITS_READ", 3)
    place.add(5)
    place.add(6)
    place.remove(7)
    (table,) = place.look()
    assert isinstance(table, DeltaInput)
    assert (len(table.commits), table.unread) == (3, 7)
    assert place.judge() == (None, ())
