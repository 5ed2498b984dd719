"""What is open is written by the old code first, as values; that Spark does so is in
tests/differential/test_rehearse_vs_spark.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import Restarted, check_change
from ckpttool.deploy import Checked
from ckpttool.plan import Manual, WayOut
from ckpttool.plan.flush import FLUSH
from ckpttool.plan.steps import Write
from ckpttool.query.from_spark import query_of
from tests.differential.sweep.changes.load import base_of, read, unpack

SPARK = "4.2.0"


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    unpack(SPARK, folder)
    return folder


def checked(bases: Path, name: str) -> Checked:
    cases = read(SPARK)
    base = base_of(cases[name])
    new, was = (query_of(cases[one]["described"]) for one in (name, f"{base}/same"))
    given = Restarted(release=(4, 2, 0), state="full")
    return check_change(str(bases / base / "checkpoint"), new, was, restarted=given)


def flushed(found: Checked) -> list[WayOut]:
    assert found.plan
    return [one for one in found.plan.options if one.id == FLUSH]


def refusals(found: Checked) -> str:
    assert found.plan
    return "; ".join(one.why for one in found.plan.refused if one.id == FLUSH)


@pytest.mark.parametrize(
    ("name", "until_s"),
    [
        ("window/longer", 1_700_000_040),  # where windows of either length end
        ("window/shorter", 1_700_000_030),
        ("window/update", 1_700_000_030),
        ("window-update/append", 1_700_000_030),
        ("window-rocksdb/longer", 1_700_000_040),
        ("session/gap-shorter", 1_700_000_029),
    ],
)
def test_the_old_code_closes_its_windows_in_a_batch_of_its_own(name: str, until_s: int, bases: Path) -> None:
    found = checked(bases, name)
    assert found.verdict == "rows_differ"
    (way,) = flushed(found)
    (planned,) = (step for step in way.steps if isinstance(step, Write) and step.path.startswith("offsets/"))
    assert f'"batchWatermarkMs":{until_s * 1000}' in planned.content
    assert isinstance(way.steps[-1], Manual)
    assert (way.rows_lost, way.rows_duplicated) == (None, 0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("window/offset", "lack the rows that the old ones had"),
        ("session/gap-longer", "lack the rows that the old ones had"),
        ("window/complete", "what was removed from the state is missing"),
        ("window/to-stateless", "no operator in the query"),
    ],
)
def test_where_that_would_not_do_it_is_not_offered(name: str, why: str, bases: Path) -> None:
    found = checked(bases, name)
    assert flushed(found) == []
    assert why in refusals(found)


def test_what_has_nothing_to_do_with_windows_is_left_alone(bases: Path) -> None:
    found = checked(bases, "count/value-removed")
    assert (flushed(found), refusals(found)) == ([], "")
