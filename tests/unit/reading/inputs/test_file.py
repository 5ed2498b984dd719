"""The input files of a batch that runs again: which are looked for, how, and what is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ckpttool import load_checkpoint, open_store
from ckpttool.errors import Unavailable
from ckpttool.formats.file_log import encode_source_log
from ckpttool.laws.inputs.judge import judge_inputs
from ckpttool.model import FileLogEntry, Finding
from ckpttool.reading.inputs import file as loading
from ckpttool.reading.inputs import load_inputs
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.inputs import FileInput
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.store import LocalStore
from tests.builders import build

DELETED = "source-file-deleted-before-replay"


class Query:
    """Four batches of which the last runs again; batch N reads entry N of the source's log."""

    def __init__(self, root: Path, story: str = "f0 c | f1 c | f2 c | f3") -> None:
        self.root = build(root / "checkpoint", story)
        self.input = root / "input"
        self.input.mkdir()
        for number in range(4):
            self.reads(number, f"{number}.json")

    def reads(self, entry: int, *names: str, at: int | None = None, suffix: str = "") -> None:
        """Entry `entry` lists these files, which are made."""
        for name in names:
            (self.input / name).parent.mkdir(exist_ok=True)
            (self.input / name).touch()
        self.lists(entry, *((self.input / name).as_uri() for name in names), at=at, suffix=suffix)

    def lists(self, entry: int, *urls: str, at: int | None = None, suffix: str = "") -> None:
        entries = [FileLogEntry(url, 1, entry if at is None else at) for url in urls]
        (self.root / "sources" / "0" / f"{entry}{suffix}").write_bytes(encode_source_log(entries))

    def scene(self) -> Scene:
        return Scene(gather_evidence(load_checkpoint(open_store(str(self.root)))), Start((4, 2, 0)))

    def look(self, **storage_options: str) -> FileInput:
        (found,) = load_inputs(self.scene(), storage_options)
        assert isinstance(found, FileInput)
        return found

    def findings(self) -> list[Finding]:
        obstacle, findings = judge_inputs(load_inputs(self.scene()), self.scene())
        assert obstacle is None, "the file source never refuses to go on"
        return list(findings)


@pytest.fixture
def query(tmp_path: Path) -> Query:
    return Query(tmp_path)


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


def test_a_path_of_another_machine_is_not_a_loss(query: Query) -> None:
    query.lists(3, "file:///nowhere/at/all/x.json")
    (finding,) = query.findings()
    assert (finding.id, finding.severity) == ("source-not-looked-at", "info")


@pytest.mark.parametrize(("files", "requests"), [(1, ["stat 0.json"]), (50, ["list"])])
def test_one_listing_tells_of_a_folder(
    query: Query, monkeypatch: pytest.MonkeyPatch, files: int, requests: list[str]
) -> None:
    query.reads(3, *(f"{number}.json" for number in range(files)))
    scene, asked = query.scene(), []
    for method in ("list", "stat"):
        real = getattr(LocalStore, method)

        def spy(self: LocalStore, path: str = "", method: str = method, real: Any = real) -> Any:
            if path or method == "list":
                asked.append(f"{method} {path}".strip())
            return real(self, path)

        monkeypatch.setattr(LocalStore, method, spy)
    (found,) = load_inputs(scene)
    assert isinstance(found, FileInput)
    assert (found.files.looked_at, asked) == (files, requests)


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

    monkeypatch.setattr(loading, "open_store", refuse)
    (finding,) = query.findings()
    assert (finding.id, finding.severity) == ("source-unreachable", "warning")


def test_other_stores_are_asked_only_where_the_options_lead(query: Query) -> None:
    query.lists(3, "memory://bucket/gone.json")
    (unreachable,) = query.look().files.unreachable
    assert "no --storage-option leads there" in unreachable[1].message
    assert [(finding.id, finding.severity) for finding in query.findings()] == [("source-not-looked-at", "info")]
    found = query.look(**{"memory:anything": "x"}).files
    assert found.unreachable or found.gone == {"memory://bucket/gone.json"}


def test_a_chain_of_file_systems_is_not_opened(query: Query) -> None:
    query.lists(3, "zip://x::file:///etc/passwd/y.json")
    (unreachable,) = query.look().files.unreachable
    assert "chains" in unreachable[1].message
