"""A Hudi source beside the timeline of its table. The tables are made by hand, from names that Hudi gives; what a table
of version 8 comes to is what Hudi 1.0.2 was seen to make of such ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.assumed import HUDI_FILES, HUDI_NOT_ASKED

INSTANTS = ["20240501120000000", "20240501130000000", "20240501140000000"]


class Table:
    """Three instants, of which the query has read two."""

    def __init__(self, root: Path, version: int, committed: int = 2) -> None:
        self.root, self.table, self.version = root / "checkpoint", root / "table", version
        self.timeline = self.table / ".hoodie" / ("timeline" if version >= 8 else "")
        self.archive = self.timeline / ("history" if version >= 8 else "archived")
        self.archive.mkdir(parents=True)
        (self.table / ".hoodie" / "hoodie.properties").write_text(f"hoodie.table.version={version}\n")
        for instant in INSTANTS:
            self.file(instant).touch()
        for name in ("offsets", "commits"):
            (self.root / name).mkdir(parents=True)
        (self.root / "metadata").write_text('{"id":"0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7"}')
        head = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
        for batch, instant in enumerate(INSTANTS[:2]):
            line = json.dumps({"offsetCommitTime" if version >= 8 else "commitTime": instant})
            (self.root / "offsets" / f"{batch}").write_text(f"v1\n{head}\n{line}")
        for batch in range(committed):
            (self.root / "commits" / f"{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')

    def file(self, instant: str) -> Path:
        requested = str(int(instant) - 5)
        return self.timeline / (f"{requested}_{instant}.commit" if self.version >= 8 else f"{instant}.commit")

    def archive_first(self, count: int) -> None:
        for instant in INSTANTS[:count]:
            self.file(instant).rename(self.archive / f"{instant}.parquet")

    def judge(self, **options: str) -> Diagnosis:
        given = {"path": str(self.table), **options}
        return plan_restart(str(self.root), Restarted(options=given), now_ms=1_800_000_000_000)[0]


def told(diagnosis: Diagnosis) -> tuple[str, list[str]]:
    return diagnosis.prediction.outcome, [one.id for one in diagnosis.findings if one.severity != "info"]


@pytest.mark.parametrize("version", [6, 8])
def test_a_timeline_that_reaches_back(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path, version)
    assert told(table.judge()) == ("new_batch", [])
    assert HUDI_FILES in table.judge().prediction.assumes
    table.archive_first(1)
    assert told(table.judge()) == ("new_batch", [])


def test_an_instant_that_was_archived_leaves_it_open(tmp_path: Path) -> None:
    table = Table(tmp_path, 6)
    table.archive_first(2)
    assert told(table.judge()) == ("unknown", ["hudi-instant-archived"])


FAILS = [("init", 2), ("batch", 1)]


@pytest.mark.parametrize(("phase", "committed"), FAILS)
def test_archived_instants_are_looked_for_where_they_are_not_any_more(
    tmp_path: Path, phase: str, committed: int
) -> None:
    table = Table(tmp_path, 8, committed)
    table.archive_first(2)
    found = table.judge()
    error = found.prediction.error
    assert error
    assert (error.phase, error.class_name) == (phase, "java.io.FileNotFoundException")
    assert told(found)[1] == ["hudi-instant-archived"]


def test_in_the_first_batch_the_first_instant_counts(tmp_path: Path) -> None:
    table = Table(tmp_path, 8)
    for name in ("offsets", "commits"):
        (table.root / name / "1").unlink()
    assert told(table.judge()) == ("new_batch", [])
    table.archive_first(1)
    assert told(table.judge())[0] == "error"


def test_an_archive_that_reaches_into_the_range_leaves_it_open(tmp_path: Path) -> None:
    table = Table(tmp_path, 8)
    (table.archive / f"{INSTANTS[0]}_{int(INSTANTS[0]) + 1}_0.parquet").touch()
    assert told(table.judge()) == ("unknown", ["hudi-instant-archived"])
    table.archive_first(1)
    assert told(table.judge()) == ("unknown", ["hudi-instant-archived"])


@pytest.mark.parametrize(("phase", "committed"), FAILS)
def test_a_table_that_was_made_anew_has_none_of_the_range(tmp_path: Path, phase: str, committed: int) -> None:
    table = Table(tmp_path, 8, committed)
    for instant in INSTANTS[:2]:
        table.file(instant).unlink()
    found = table.judge()
    error = found.prediction.error
    assert error
    assert (error.phase, error.class_name) == (phase, "java.util.NoSuchElementException")
    assert told(found)[1] == ["hudi-timeline-behind"]


def test_a_batch_that_runs_again_begins_earlier(tmp_path: Path) -> None:
    table = Table(tmp_path, 6, committed=1)
    assert told(table.judge())[0] == "replay"
    table.archive_first(1)
    assert told(table.judge()) == ("unknown", ["hudi-instant-archived"])


def test_a_table_that_was_set_back(tmp_path: Path) -> None:
    table = Table(tmp_path, 6)
    for instant in INSTANTS[1:]:
        table.file(instant).unlink()
    assert told(table.judge()) == ("unknown", ["hudi-timeline-behind"])


def test_a_place_without_a_table(tmp_path: Path) -> None:
    assert told(Table(tmp_path, 6).judge(path=str(tmp_path))) == ("unknown", ["hudi-source-table-gone"])


def test_without_the_table_that_is_said(tmp_path: Path) -> None:
    table = Table(tmp_path, 6)
    diagnosis = plan_restart(str(table.root), Restarted(), now_ms=1_800_000_000_000)[0]
    assert HUDI_NOT_ASKED in diagnosis.prediction.assumes
