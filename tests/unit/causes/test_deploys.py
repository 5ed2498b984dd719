"""What changed code left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.samples.place import REPOSITORY, place_sample
from tests.unit.causes.happenings import explained, operator_from, told
from tests.unit.checkup.checkups import checked

DEPLOY = "failed-deploy"


@pytest.mark.parametrize("name", ["3.5.7-dedup-hdfs-sound", "4.2.0-dedup-rocksdb-sound"])
def test_an_operator_without_a_version_beside_others(tmp_path: Path, name: str) -> None:
    root = place_sample(name, tmp_path)
    operator_from(REPOSITORY / name / "checkpoint", root, 1)
    cause = told(root)[DEPLOY]
    assert (cause.sign.sure, explained(cause)) == ("certain", {"operator-never-committed"})


def test_its_way_out_is_never_to_start_over(tmp_path: Path) -> None:
    root = place_sample("4.2.0-dedup-rocksdb-sound", tmp_path)
    operator_from(REPOSITORY / "4.2.0-dedup-rocksdb-sound" / "checkpoint", root, 1)
    checkup = checked(root)
    fixes = {one.finding.id: one.fix for one in checkup.findings}
    fix = fixes["operator-never-committed"]
    assert fix
    assert fix.way
    assert fix.way.id == "set-aside-new-operator"
    assert "start-over" in checkup.diagnosis.causes[0].known.never


@pytest.mark.parametrize("name", ["3.5.7-join-hdfs-sound", "4.2.0-dedup-hdfs-sound"])
def test_operators_with_versions_are_the_query_s_own(tmp_path: Path, name: str) -> None:
    assert told(place_sample(name, tmp_path)) == {}
