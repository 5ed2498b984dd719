"""How much is read: what is over a limit says how to read it all the same, and a limit is changed for one run only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckpttool.formats import limits
from ckpttool.formats.limits import OverLimit, Room, check, weigh_json, weigh_lines


def test_what_fits_exactly_is_read() -> None:
    with limits.changed({"offsets": 10}):
        check("offsets", 10)
        with pytest.raises(OverLimit):
            check("offsets", 11)


def test_who_is_over_is_told_what_would_read_it() -> None:
    with limits.changed({"offsets": 1_000}), pytest.raises(OverLimit) as told:
        check("offsets", 1_234)
    assert told.value.message == (
        "1,234 bytes of an offset log's file, and 1,000 are read at most: --read-limit offsets=1234 would read it"
    )
    assert (told.value.kind, told.value.exit_code) == ("offsets", 3)


def test_of_what_nobody_has_counted_no_number_is_promised() -> None:
    with limits.changed({"names": 5}):
        said = OverLimit("names").message
    assert said == "more than 5 names in a directory: --read-limit names=N would read it"


def test_a_limit_is_changed_for_one_run() -> None:
    usual = limits.most("values")
    with limits.changed({"values": 7}):
        assert limits.most("values") == 7
        with limits.changed({"values": 9, "total": 1}):
            assert (limits.most("values"), limits.most("total")) == (9, 1)
        assert limits.most("values") == 7
    with pytest.raises(ZeroDivisionError), limits.changed({"values": 7}):
        raise ZeroDivisionError
    assert limits.most("values") == usual


def test_no_file_that_may_be_read_is_larger_than_what_an_answer_may_be() -> None:
    files = [kind for kind, limit in limits.TABLE.items() if limit.of.startswith("bytes of a")]
    assert limits.largest_file() >= max(map(limits.most, files))
    with limits.changed({"iceberg": 2**40}):
        assert limits.largest_file() == 2**40
    with limits.changed({"total": 2**40}):
        assert limits.largest_file() < 2**40, "all files together are no file"
    with limits.changed(dict.fromkeys(limits.TABLE, 1)):
        assert limits.largest_file() == limits.PIECE_BYTES, "pieces are read whatever the limits"


def test_a_room_that_one_file_does_not_fit_into_still_takes_a_smaller_one() -> None:
    with limits.changed({"total": 10}):
        room = Room()
        room.take(b"123456")
        with pytest.raises(OverLimit, match="--read-limit total=N"):
            room.take(b"12345")
        room.take(b"1234")
        with pytest.raises(OverLimit):
            room.take(b"1")


def test_a_small_text_of_many_values_does_not_fit() -> None:
    with limits.changed({"values": 4}):
        room = Room()
        with pytest.raises(OverLimit, match="--read-limit values=N"):
            room.take(b"[1,2,3,4,5]")
        room.take(b"[1,2]\n{")
        with pytest.raises(OverLimit):
            room.take(b",")
        room.take(b"no values at all")


def test_lines_of_which_little_is_kept_weigh_the_same_whatever_stands_in_them() -> None:
    dense, plain = b"[[[[{,,,,\n", b"a\n"
    assert weigh_lines(dense) == weigh_lines(plain) > 0
    assert weigh_json(dense) > weigh_json(plain)
    with limits.changed({"values": 4}):
        Room().take(dense, weigh_lines)


@pytest.mark.parametrize("text", ["[1,2]", '{"a":1,"b":[2,{}]}', "[[[]]]", "[]", "7", '[{"a":[1]},{"b":[2,3]}]'])
def test_a_parser_makes_no_more_values_than_a_text_weighs(text: str) -> None:
    assert values_in(json.loads(text)) <= weigh_json(text.encode()) + 1
    assert values_in(json.loads(text)) * 2 <= weigh_json(f"{text}\n{text}".encode()) + 1


def values_in(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values_in, inside))
