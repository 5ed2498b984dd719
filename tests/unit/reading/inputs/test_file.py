"""The input files of a batch that runs again: which are looked for, and what is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.errors import Unavailable
from ckpttool.reading.inputs import file as loading
from ckpttool.reading.inputs import load_inputs
from ckpttool.scene.scene import NotLookedAt
from ckpttool.storage.doors import Doors
from tests.unit.reading.inputs.replayed import Query

DELETED = "source-file-deleted-before-replay"


def test_what_is_there_is_nothing_to_tell_of(query: Query) -> None:
    assert query.findings() == []


def test_a_file_that_is_gone_loses_its_rows(query: Query) -> None:
    os.unlink(query.input / "3.json")
    (finding,) = query.findings()
    assert (finding.id, finding.severity, finding.path) == (DELETED, "error", "sources/0")
    assert "batch 3" in finding.message
    assert str(query.input / "3.json") in finding.message


def test_only_the_batch_that_runs_again_is_looked_at(query: Query) -> None:
    for number in range(3):
        os.unlink(query.input / f"{number}.json")
    assert query.findings() == []


def test_a_committed_batch_is_not_read_again(tmp_path: Path) -> None:
    query = Query(tmp_path, "f0 c | f1 c | f2 c | f3 c")
    os.unlink(query.input / "3.json")
    assert query.findings() == []


def test_one_of_several_files(query: Query) -> None:
    query.reads(3, "a.json", "b ü%.json", "c.json")
    assert query.findings() == []
    os.unlink(query.input / "b ü%.json")
    (finding,) = query.findings()
    assert "of its 3 input files 1 cannot be found" in finding.message
    assert "b ü%.json" in finding.message


def test_a_compact_entry_repeats_those_of_other_batches(query: Query) -> None:
    query.reads(3, "old.json", suffix=".compact", at=1)
    os.unlink(query.input / "old.json")
    assert query.findings() == []
    query.reads(3, "new.json", suffix=".compact", at=3)
    os.unlink(query.input / "new.json")
    assert [finding.id for finding in query.findings()] == [DELETED]


def test_a_folder_that_is_gone(query: Query) -> None:
    query.reads(3, "day=3/x.json")
    (query.input / "day=3" / "x.json").unlink()
    (query.input / "day=3").rmdir()
    assert [finding.id for finding in query.findings()] == [DELETED]


def test_no_more_than_the_newest_are_looked_for(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_FILES_LOOKED_FOR", 2)
    query.reads(3, "a", "b", "c")
    found = query.look()
    assert (found.files.looked_at, found.left_out) == (2, 1)
    assert [finding.id for finding in query.findings()] == ["source-not-looked-at"]


def test_the_newest_are_looked_for_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_FILES_LOOKED_FOR", 1)
    query = Query(tmp_path, "f0 c | f1 c | f3")
    (query.root / "sources" / "0" / "2").write_bytes((query.root / "sources" / "0" / "3").read_bytes())
    query.reads(2, "2.json")
    os.unlink(query.input / "2.json")
    assert not query.look().files.gone
    os.unlink(query.input / "3.json")
    assert query.look().files.gone == {str((query.input / "3.json").as_uri())}


def test_a_store_that_does_not_answer_is_told(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(Doors, "follow", refuse)
    (finding,) = query.findings()
    assert (finding.id, finding.severity) == ("source-unreachable", "warning")


@pytest.mark.parametrize("url", ["memory://bucket/gone.json", "file:///elsewhere/gone.json"])
def test_a_place_that_only_a_file_names_is_not_looked_at_until_it_is_pointed_at(query: Query, url: str) -> None:
    query.lists(3, url)
    (finding,) = query.findings()
    option = "--look-at memory://bucket" if url.startswith("memory") else "--look-at /elsewhere"
    assert (finding.id, finding.severity) == ("source-not-looked-at", "info")
    assert finding.next_step == option
    assert f"{option} has it looked at" in finding.message, "text shows no next step of what is only told"
    assert query.look().files.looked_at == 0


def test_what_is_pointed_at_is_looked_at(query: Query, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    query.lists(3, (tmp_path / "more" / "gone.json").as_uri(), "memory://bucket/gone.json")
    found = query.follow(str(tmp_path / "more"), "memory://bucket").files
    assert (found.looked_at, len(found.gone), found.not_looked_at) == (2, 2, ())


def test_what_was_not_looked_at_is_named_beside_the_answer(query: Query) -> None:
    query.lists(3, "s3a://elsewhere/day=1/x.json")
    scene = query.scene()
    scene = replace(scene, inputs=load_inputs(scene, query.doors()))
    assert NotLookedAt("inputs", "what it reads in s3a://elsewhere/day=1") in scene.not_looked_at


def test_a_chain_of_file_systems_is_not_opened(query: Query) -> None:
    query.lists(3, "zip://x::file:///etc/passwd/y.json")
    (unreachable,) = query.look().files.unreachable
    assert "chains" in unreachable[1].message
