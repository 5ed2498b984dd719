"""What ways out promise, and what real Spark did after `ckpt apply` had carried them out: all records without Spark,
and some of them again with it."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from tests.differential.sweep.applied import SUITE, Applier, Json, recorded_in, task_of
from tests.differential.sweep.bases import Sparks, bases
from tests.differential.sweep.judge_applied import (
    Promised,
    judged_applied,
    started_otherwise,
)
from tests.differential.sweep.load import recorded_versions
from tests.differential.sweep.restarts import Restarter
from tests.differential.sweep.run import in_one_process, read, verdict

VERSIONS = recorded_versions(SUITE)
AGAIN = 10


def carried_out(version: str) -> list[Promised]:
    return [one for one in judged_applied(version) if one.was_carried_out]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_restart_is_the_promised_one(version: str) -> None:
    wrong = {one.case["id"]: list(one.broken()) for one in carried_out(version) if not one.kept}
    assert wrong == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_row_is_missing_and_none_is_there_twice_unless_that_was_said(version: str) -> None:
    wrong = {one.case["id"]: one.case["rows"] for one in carried_out(version) if one.has_rows and not one.rows_kept}
    assert wrong == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_taken_back_it_is_byte_for_byte_what_it_was_and_starts_so(version: str) -> None:
    otherwise = [one.case["id"] for one in carried_out(version) if one.twin and not one.twin["identical"]]
    assert otherwise == []
    assert started_otherwise(version) == []


def test_there_are_enough_of_them() -> None:
    assert sum(len(carried_out(version)) for version in VERSIONS) >= 600
    assert len({one.case["way"] for version in VERSIONS for one in carried_out(version)}) >= 18


def again(version: str, keys: list[str]) -> dict[str, tuple[Json, Json]]:
    """Those that come out otherwise than recorded."""
    kept, recorded, made = read(version, SUITE), recorded_in(version), {base.name: base for base in bases(version)}
    different = {}
    with (
        tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder,
        Restarter(version, Sparks(version, Path(folder))) as restarter,
    ):
        applier = Applier(version, restarter)
        for key, case in in_one_process([(key, kept[key]) for key in keys], made):
            found = applier.record(made[case["base"]], task_of(case, recorded[case["of"]]), with_twin=False)
            told = verdict(found) if "truth" in found else found
            if told != verdict(case):
                different[key] = told, verdict(case)
    return different


@pytest.mark.at_length
@pytest.mark.spark
def test_spark_does_so_again() -> None:
    """Of what needs nothing beside Spark, so that one process serves."""
    version = "3.5.7"
    made = {base.name: base for base in bases(version)}
    able = [one.case["id"] for one in carried_out(version) if not made[one.case["base"]].needs]
    chosen = sorted(random.Random(18).sample(sorted(able), AGAIN))
    first = again(version, chosen)
    assert not first or again(version, list(first)) == {}
