"""What leads out of a change, tried before it is told; that it does was seen on checkpoints that Spark refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Restarted, check_change
from ckpttool.deploy import Checked
from ckpttool.plan import Write
from ckpttool.query.from_spark import query_of
from tests.differential.sweep.changes.load import base_of, read, unpack

SPARK = "3.5.7"


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    unpack(SPARK, folder)
    return folder


def checked(bases: Path, name: str) -> Checked:
    case = read(SPARK)[name]
    place = str(bases / base_of(case) / "checkpoint")
    return check_change(place, query_of(case["described"]), restarted=Restarted(release=(3, 5, 7)))


@pytest.mark.parametrize(
    ("name", "way", "lines"),
    [("union/first-removed", "drop-source-line", 1), ("stateless/source-twice", "add-source-line", 2)],
)
def test_the_offsets_get_a_line_more_or_less(name: str, way: str, lines: int, bases: Path) -> None:
    plan = checked(bases, name).plan
    assert plan
    edit, old_code = plan.options
    assert (edit.id, old_code.id) == (way, "old-code-first")
    bodies = [step.content for step in edit.steps if isinstance(step, Write) and step.path.startswith("offsets/")]
    assert {len(body.split("\n")) - 2 for body in bodies} == {lines}
    assert edit.after.query is not None


def test_the_old_code_goes_on_where_the_files_are_sound(bases: Path) -> None:
    plan = checked(bases, "count/key-added").plan
    assert plan
    (way,) = plan.options
    assert (way.id, way.rows_lost, way.rows_duplicated) == ("old-code-first", 0, 0)


def test_what_is_accepted_needs_no_way_out(bases: Path) -> None:
    plan = checked(bases, "count/same").plan
    assert plan
    assert plan.options == ()
