"""A moment, written and read."""

from __future__ import annotations

import pytest

from ckpttool.formats.times import encode_time, parse_time


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:00.001Z", 1),
        ("2026-11-18T14:00:00.000Z", 1795010400000),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_both_ways(text: str, time_ms: int) -> None:
    assert (parse_time(text), encode_time(time_ms)) == (time_ms, text)


def test_without_a_zone_it_is_utc() -> None:
    assert parse_time("2026-11-18 14:00") == parse_time("2026-11-18T16:00+02:00") == 1795010400000


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid isoformat|month must be"):
        parse_time(text)
