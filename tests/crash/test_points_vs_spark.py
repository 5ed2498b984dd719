"""The table of points against the class files of each Spark and its Delta and Kafka: every point has code."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from ckpttool.harness.points import PLACES, Place
from tests.crash.class_files import classes_with_methods
from tests.parts import pins
from tests.parts.spark import ensure_jars, spark_home

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_every_point_has_code(spark: str) -> None:
    jars = [
        *spark_home(spark).glob("jars/*.jar"),
        *(jar for what in pins.JARS[spark] for jar in ensure_jars(spark, what)),
    ]
    wanted = {pattern.rpartition(".")[2] for place in PLACES for pattern in place.classes}
    found = list(classes_with_methods(jars, wanted))

    def has_code(place: Place) -> bool:
        return any(
            fnmatchcase(name, pattern) and place.method in methods
            for pattern in place.classes
            for name, methods in found
        )

    assert [place.name for place in PLACES if not has_code(place)] == []
