"""The rate source of continuous processing: partitions count in turns."""

from __future__ import annotations

import pytest

from ckpttool.connectors import recognise_offset
from tests.unit.connectors.steps import step


def test_continuous_counts_one_partition() -> None:
    # The last value is 41 and counting began at 0: 42 rows.
    between = step(None, '{"0":{"value":41,"runTimeMs":1794984861034}}')
    assert (between.amount, between.exact) == (42, True)
    assert recognise_offset('{"0":{"value":41,"runTimeMs":1794984861034}}').kind == "rate-continuous"


def test_continuous_partitions_count_in_turns() -> None:
    # Two partitions: 0 produced 0, 2, 4 and 1 produced 1, 3; then 6, 8 and 5.
    start = '{"0":{"value":4,"runTimeMs":1},"1":{"value":3,"runTimeMs":1}}'
    end = '{"0":{"value":8,"runTimeMs":2},"1":{"value":5,"runTimeMs":2}}'
    assert step(None, start).amount == 5
    assert step(start, end).parts == {"0": 2, "1": 1}
    assert step(start, end).amount == 3


def test_continuous_partitions_may_not_change() -> None:
    one = '{"0":{"value":4,"runTimeMs":1}}'
    two = '{"0":{"value":4,"runTimeMs":1},"1":{"value":3,"runTimeMs":1}}'
    assert step(one, two).amount is None


@pytest.mark.parametrize("text", ['{"0":{"value":1}}', '{"x":{"value":1,"runTimeMs":2}}', '{"0":{}}'])
def test_other_shapes_are_not_continuous_rate(text: str) -> None:
    assert recognise_offset(text, "rate-continuous").kind != "rate-continuous"
