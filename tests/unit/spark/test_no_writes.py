"""Which statements are let through, by the classes that Spark's parser makes of them. That the others are not carried
out is tried with real Spark in tests/differential/test_jobs_vs_spark.py."""

from __future__ import annotations

import pytest

from ckpttool.spark.no_writes import is_harmless


@pytest.mark.parametrize("command", ["CreateViewCommand", "SetCommand", "ShowTables", "DescribeRelation"])
def test_what_changes_only_the_sessionis_harmless(command: str) -> None:
    assert is_harmless(command)


@pytest.mark.parametrize(
    "command", ["CreateView", "InsertIntoStatement", "SetTableProperties", "MergeIntoTable", "DropTable", "VACUUM"]
)
def test_what_changes_more_is_not(command: str) -> None:
    assert not is_harmless(command)
