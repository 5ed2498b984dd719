"""The sources that Spark itself brings, Kafka apart."""

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.base import OffsetStep, Order
from ckpttool.connectors.file import FileOffset
from ckpttool.connectors.python import parse_offset


def step(start: str | None, end: str, hint: str | None = None) -> OffsetStep:
    begin = None if start is None else recognise_offset(start, hint)
    return recognise_offset(end, hint).step_from(begin)


class TestFile:
    def test_log_offset(self) -> None:
        offset = recognise_offset('{"logOffset":345}')
        assert isinstance(offset, FileOffset)
        assert (offset.kind, offset.certainty, offset.position) == ("file", "certain", 345)
        assert offset.summary() == "log entry 345"

    def test_the_bare_number_of_old_releases_needs_the_hint(self) -> None:
        offset = recognise_offset("345", "file")
        assert isinstance(offset, FileOffset)
        assert (offset.kind, offset.position) == ("file", 345)
        assert recognise_offset("345").kind == "integer"

    def test_the_id_is_inclusive(self) -> None:
        between = step('{"logOffset":4}', '{"logOffset":9}')
        assert (between.amount, between.unit) == (5, "log entries")
        assert step(None, '{"logOffset":0}').amount == 1

    def test_old_and_new_text_are_the_same_offset(self) -> None:
        assert recognise_offset("345", "file").order(recognise_offset('{"logOffset":345}')) is Order.EQUAL

    def test_going_back(self) -> None:
        back = step('{"logOffset":9}', '{"logOffset":4}')
        assert (back.amount, back.backwards) == (0, ("logOffset",))

    def test_negative_id(self) -> None:
        assert recognise_offset('{"logOffset":-1}').problems()

    @pytest.mark.parametrize("text", ['{"logOffset":1,"x":2}', '{"logOffset":"1"}', '{"logOffset":true}', "3.0"])
    def test_other_shapes(self, text: str) -> None:
        assert recognise_offset(text, "file").kind != "file"


class TestRate:
    def test_whole_seconds(self) -> None:
        assert recognise_offset("7", "rate").summary() == "7 seconds after its creation"
        between = step("7", "12", "rate")
        assert (between.amount, between.unit) == (5, "seconds")
        assert step(None, "7", "rate").amount == 7

    def test_micro_batch_counts_rows(self) -> None:
        offset = recognise_offset('{"offset":6,"timestamp":2000}')
        assert (offset.kind, offset.certainty) == ("rate-micro-batch", "likely")
        assert offset.details() == [("offset", "6"), ("timestamp", "2000")]
        between = step('{"offset":6,"timestamp":2000}', '{"offset":10,"timestamp":3000}')
        assert (between.amount, between.unit, between.exact) == (4, "rows", True)

    def test_continuous_counts_one_partition(self) -> None:
        # The last value is 41 and counting began at 0: 42 rows.
        between = step(None, '{"0":{"value":41,"runTimeMs":1794984861034}}')
        assert (between.amount, between.exact) == (42, True)
        assert recognise_offset('{"0":{"value":41,"runTimeMs":1794984861034}}').kind == "rate-continuous"

    def test_continuous_partitions_count_in_turns(self) -> None:
        # Two partitions: 0 produced 0, 2, 4 and 1 produced 1, 3; then 6, 8 and 5.
        start = '{"0":{"value":4,"runTimeMs":1},"1":{"value":3,"runTimeMs":1}}'
        end = '{"0":{"value":8,"runTimeMs":2},"1":{"value":5,"runTimeMs":2}}'
        assert step(None, start).amount == 5
        assert step(start, end).parts == {"0": 2, "1": 1}
        assert step(start, end).amount == 3

    def test_continuous_partitions_may_not_change(self) -> None:
        one = '{"0":{"value":4,"runTimeMs":1}}'
        two = '{"0":{"value":4,"runTimeMs":1},"1":{"value":3,"runTimeMs":1}}'
        assert step(one, two).amount is None

    @pytest.mark.parametrize("text", ['{"0":{"value":1}}', '{"x":{"value":1,"runTimeMs":2}}', '{"0":{}}'])
    def test_other_shapes_are_not_continuous_rate(self, text: str) -> None:
        assert recognise_offset(text, "rate-continuous").kind != "rate-continuous"


class TestBareInteger:
    def test_says_that_it_does_not_tell(self) -> None:
        offset = recognise_offset("4")
        assert (offset.kind, offset.certainty) == ("integer", "ambiguous")
        assert all(name in offset.summary() for name in ("rate", "socket", "memory"))

    def test_differences(self) -> None:
        between = step("-1", "4")
        assert (between.amount, between.exact) == (5, False)
        assert between.note
        assert step(None, "4").amount is None

    @pytest.mark.parametrize("text", ["4.0", "true", "null", '"4"', "9223372036854775808", "-9223372036854775809"])
    def test_what_is_no_long(self, text: str) -> None:
        assert recognise_offset(text).kind == "unknown"


class TestSocketContinuous:
    def test_rows_per_partition(self) -> None:
        assert recognise_offset("[3,2]").kind == "socket-continuous"
        assert recognise_offset("[3,2]").summary() == "2 partitions, 5 rows"
        assert step("[3,2]", "[4,5]").parts == {"0": 1, "1": 3}
        assert step("[3,2]", "[4,5]").exact
        assert step(None, "[3,2]").amount == 5

    def test_an_added_partition_is_not_countable(self) -> None:
        between = step("[3]", "[3,2]")
        assert (between.amount, between.exact, between.added) == (None, False, ("1",))

    @pytest.mark.parametrize("text", ["[]", "[1.5]", "[true]", '["1"]', "[[1]]"])
    def test_other_arrays(self, text: str) -> None:
        assert recognise_offset(text).kind == "unknown"


class TestPython:
    def test_is_known_by_the_blanks_of_its_writer(self) -> None:
        offset = recognise_offset('{"cursor": "2024", "page": 3}')
        assert (offset.kind, offset.certainty) == ("python", "likely")
        assert recognise_offset('{"cursor":"2024","page":3}').kind == "unknown"
        assert recognise_offset('{"cursor":"2024","page":3}', "python").kind == "python"

    def test_ascii_escapes(self) -> None:
        assert recognise_offset('{"name": "caf\\u00e9"}').kind == "python"
        assert recognise_offset('{"name": "café"}').kind == "unknown"

    def test_nesting_that_cannot_be_written_again_is_nobodys(self) -> None:
        nested: dict[str, object] = {}
        for _ in range(100_000):
            nested = {"a": nested}
        assert parse_offset(nested, "", None) is None

    def test_equality_is_all_there_is(self) -> None:
        one, two = recognise_offset('{"p": 1}'), recognise_offset('{"p": 2}')
        assert one.order(two) is Order.UNKNOWN
        assert one.order(recognise_offset('{"p": 1}')) is Order.EQUAL
        assert two.step_from(one).amount is None
        assert two.step_from(two).amount == 0
