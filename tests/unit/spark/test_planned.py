"""The planner stands alone: what it plans is asked of real Spark in tests/differential/test_describe_vs_spark.py."""

from __future__ import annotations

from ckpttool.spark import planned


def test_a_stand_in_is_known_by_its_mark() -> None:
    assert planned.marked({"options": {"ckptStandsIn": "3"}}) == "3"
    assert planned.marked({"options": {"path": "/in"}}) == ""
