"""What all metadata logs share: lines as Java splits them, and a first line that is a version."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.envelope import parse_lines, parse_version


@pytest.mark.parametrize("data", [b"v1\n{}\nx", b"v1\r\n{}\r\nx", b"v1\r{}\rx", b"v1\n{}\r\nx\n"])
def test_every_end_of_line_of_java_ends_a_line_and_the_last_adds_none(data: bytes) -> None:
    assert parse_lines(data) == ["v1", "{}", "x"]


def test_what_only_python_takes_for_an_end_of_line_is_part_of_it() -> None:
    assert parse_lines("v1\na\u2028b\x0bc\x85d".encode()) == ["v1", "a\u2028b\x0bc\x85d"]


def test_bytes_that_are_no_utf8_are_placed() -> None:
    with pytest.raises(MalformedFile) as malformed:
        parse_lines(b"v1\n{}\n\xff")
    assert malformed.value.position
    assert (malformed.value.position.line, malformed.value.position.byte) == (3, 6)


@pytest.mark.parametrize(("line", "version"), [("v1", 1), ("v2", 2), ("v+2", 2), ("v02", 2)])
def test_versions(line: str, version: int) -> None:
    assert parse_version(line, 2) == version


@pytest.mark.parametrize("line", ["", "1", "v", "v0", "v-1", "V1", " v1", "v1 ", "v1.0", "v2147483648", "\ufeffv1"])
def test_what_is_no_version(line: str) -> None:
    with pytest.raises(MalformedFile):
        parse_version(line, 2)


def test_a_version_that_is_newer_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_version("v3", 2)
