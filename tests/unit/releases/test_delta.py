"""Which Delta a Spark takes: the package that the way out names, as a user of that Spark would look it up."""

from __future__ import annotations

import re

import pytest

from ckpttool.releases import Release, since, spell_release
from ckpttool.releases.delta import DELTA


def scala_of(package: str) -> str:
    return re.findall(r"_(2\.\d+):", package)[0]


def test_each_is_newer_than_that_of_the_spark_before() -> None:
    releases = list(DELTA)
    assert releases == sorted(releases)
    versions = [tuple(map(int, package.partition(":")[2].split("."))) for package in DELTA.values()]
    assert versions == sorted(versions)


@pytest.mark.parametrize("release", DELTA, ids=spell_release)
def test_it_is_built_for_the_scala_and_the_spark_that_it_goes_with(release: Release) -> None:
    assert scala_of(DELTA[release]) == ("2.13" if release >= (4, 0, 0) else "2.12")
    for spark in re.findall(r"spark_(\d\.\d)_", DELTA[release]):
        assert spark == f"{release[0]}.{release[1]}"


def test_the_changes_of_delta_come_with_a_delta_that_has_them() -> None:
    assert DELTA[since.DELTA_4_4_BESIDE_OLDER].endswith(":4.4.0")
    assert not DELTA[since.DELTA_NON_ADDITIVE].endswith(":4.4.0")
    assert all(package.endswith(":4.4.0") for release, package in DELTA.items() if release >= since.DELTA_4_4)
