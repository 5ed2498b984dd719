"""The version of a Delta table that the next batch begins with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.plan import Plan, Write
from ckpttool.plan.wishes import SetOffsets
from ckpttool.plan.wishes.versions import VersionMove, parse_version_move
from tests.builders import EPOCH_MS
from tests.samples.place import place_sample

SAMPLE = "4.2.0-delta-to-delta-sound"  # which stands before version 4


def planned(root: Path, *moves: str, options: dict[str, str] | None = None) -> Plan:
    given = {"path": str(root / "source")} if options is None else options
    restarted = Restarted(wish=SetOffsets(moves), sinks=[str(root / "table")], options=given, release=(4, 2, 0))
    return plan_restart(str(root / "checkpoint"), restarted, now_ms=EPOCH_MS * 2)[1]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place_sample(SAMPLE, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("0=version:41", VersionMove(0, 41)),
        ("12=version:0@s3://b/a=b", VersionMove(12, 0, "s3://b/a=b")),
        ("t=version:41", None),
        ("0=version:-1", None),
        ("0=41", None),
    ],
)
def test_what_is_said(text: str, move: VersionMove | None) -> None:
    assert parse_version_move(text) == move


def test_nothing_of_it_was_taken_yet_in_both_offsets(root: Path) -> None:
    plan = planned(root, "0=version:2")
    assert plan.options, plan.refused
    option = plan.options[0]
    written = {step.path: step.content for step in option.steps if isinstance(step, Write) and "offsets" in step.path}
    assert list(written) == ["offsets/2", "offsets/3"]
    for content in written.values():
        line = json.loads(content.split("\n")[2])
        assert (line["reservoirVersion"], line["index"], line["isStartingVersion"]) == (2, -1, False)
    assert [one.id for one in option.conditions] == ["rows-twice"]
    assert (option.rows_lost, option.rows_duplicated) == (0, None)
    (table,) = option.after.inputs
    assert [commit.version for commit in getattr(table, "commits", ())] == [2, 3]


def test_past_what_was_not_read_rows_are_lost(root: Path) -> None:
    entry = root / "checkpoint" / "offsets" / "3"
    entry.write_text(entry.read_text().replace('"reservoirVersion":4', '"reservoirVersion":3'))
    option = planned(root, "0=version:4").options[0]
    assert [one.id for one in option.conditions] == ["rows-lost"]


def test_where_it_stands_already_there_is_nothing_to_do(root: Path) -> None:
    entries = root / "checkpoint" / "offsets"
    lines = (entries / "2").read_text().split("\n")
    (entries / "2").write_text("\n".join([*lines[:2], (entries / "3").read_text().split("\n")[2]]))
    assert "stands there already" in planned(root, "0=version:4").refused[0].why


@pytest.mark.parametrize(
    ("moves", "why"),
    [
        (("0=version:5",), "is not there yet"),
        (("1=version:2",), "there is no source 1"),
        (("0=version:2", "t:0=5"), "one after the other"),
    ],
)
def test_what_cannot_be(moves: tuple[str, ...], why: str, root: Path) -> None:
    plan = planned(root, *moves)
    assert not plan.options
    assert why in plan.refused[0].why


def test_a_version_that_is_gone(root: Path) -> None:
    (root / "source" / "_delta_log" / "00000000000000000001.json").unlink()
    assert "has version 1 no more" in planned(root, "0=version:0").refused[0].why


def test_data_that_is_gone_is_seen_before_anything_is_changed(root: Path) -> None:
    for file in (root / "source").glob("*.parquet"):
        file.unlink()
    plan = planned(root, "0=version:1")
    assert not plan.options
    assert "would not go on" in plan.refused[-1].why


def test_the_table_has_to_be_looked_at_and_has_to_be_the_one(root: Path) -> None:
    assert "give the source's own --option path" in planned(root, "0=version:2", options={}).refused[0].why
    shutil.rmtree(root / "source")
    shutil.copytree(root / "table", root / "source")
    assert "is another table" in planned(root, "0=version:2").refused[0].why
    option = planned(root, f"0=version:2@{root / 'source'}").options[0]
    text = next(step.content for step in option.steps if isinstance(step, Write) and step.path == "offsets/3")
    log = (root / "table" / "_delta_log" / "00000000000000000000.json").read_text()
    assert f'"id":"{json.loads(text.splitlines()[2])["reservoirId"]}"' in log


def test_another_table_may_have_the_rows_of_the_one_before(root: Path) -> None:
    shutil.rmtree(root / "source")
    shutil.copytree(root / "table", root / "source")
    option = planned(root, f"0=version:2@{root / 'source'}").options[0]
    assert {one.id for one in option.conditions} == {"rows-lost", "rows-twice"}


def test_the_table_that_was_read_is_no_other_one_for_being_named(root: Path) -> None:
    named, unnamed = (planned(root, f"0=version:2{at}").options[0] for at in (f"@{root / 'source'}", ""))
    assert [one.id for one in named.conditions] == [one.id for one in unnamed.conditions] == ["rows-twice"]
    assert (named.rows_lost, named.rows_duplicated) == (unnamed.rows_lost, unnamed.rows_duplicated) == (0, None)


def test_schemas_would_have_to_go_back_too(root: Path) -> None:
    options = {"path": str(root / "source"), "schemaTrackingLocation": str(root / "checkpoint")}
    assert "a log of schemas" in planned(root, "0=version:2", options=options).refused[0].why
