"""Names in a log's directory: which count as batches, which Spark cannot open, and what the others are."""

from __future__ import annotations

import pytest

from ckpttool.formats.names import holes, parse_log_names, parse_long, without_directories


def test_names_are_sorted_out() -> None:
    names = parse_log_names(
        ["10", "9", "2.compact", "+5", "007", ".9.crc", ".8.crc", ".3.0a1b.tmp", "9.crc", "_metadata"]
    )
    assert list(names.ids) == [9, 10]
    assert names.compact_ids == (2,)
    assert names.non_canonical == ("+5", "007")
    assert (names.orphan_crcs, names.temporary, names.checksums) == ((".8.crc",), (".3.0a1b.tmp",), ("9.crc",))
    assert names.foreign == ("_metadata",)


def test_files_that_lack_the_checksum_that_those_before_have() -> None:
    names = ["0", "1", "2", "3", "9.compact", "10", "19.compact"]
    assert parse_log_names([*names, ".1.crc", ".3.crc", ".19.compact.crc"]).without_crc == ("2", "10", "9.compact")
    assert parse_log_names([*names, *map(".{}.crc".format, names)]).without_crc == ()
    assert parse_log_names(names).without_crc == parse_log_names(["0", "1", ".1.crc"]).without_crc == ()
    assert parse_log_names(["0", "1", ".0.crc"]).without_crc == ("1",)


def test_a_log_without_holes_and_one_with_a_hole_are_told_alike() -> None:
    dense = [str(number) for number in range(8, 12)]
    assert list(parse_log_names(dense).ids) == [8, 9, 10, 11]
    assert list(parse_log_names([*dense, "13", "0"]).ids) == [0, 8, 9, 10, 11, 13]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("+5", 5),
        ("-5", -5),
        ("005", 5),
        ("\u0663", 3),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        (" 5", None),
        ("5.0", None),
        ("+", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_java_reads_them(text: str, number: int | None) -> None:
    assert parse_long(text) == number


def test_holes_are_the_runs_between() -> None:
    assert holes([3, 4, 7, 8, 10]) == [range(5, 7), range(9, 10)]
    assert holes([3, 4, 5]) == holes([]) == []


def test_directories_are_looked_for_from_the_newest_name_down() -> None:
    asked: list[str] = []

    def is_directory(path: str) -> bool:
        asked.append(path)
        return path in ("offsets/3", "offsets/1")

    names = without_directories(parse_log_names(["0", "1", "2", "3"]), "offsets", is_directory)
    assert (list(names.ids), names.directories) == ([0, 1, 2], ("3",))
    assert asked == ["offsets/3", "offsets/2"]


def test_what_no_long_holds_is_no_batch_and_not_forgotten() -> None:
    names = parse_log_names(["0", "1", "9223372036854775808", "007"])
    assert (list(names.ids), names.foreign, names.non_canonical) == ([0, 1], ("9223372036854775808",), ("007",))
    assert parse_log_names(["9223372036854775808"]).foreign == ("9223372036854775808",)
