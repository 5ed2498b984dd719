"""Changelogs of all versions: what each holds, and the ids that later ones go back to."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.state.changelog import parse_changelog
from tests import state_builders as made

PUT = [(0x01, b"key", b"value")]


def test_version_1_has_no_header() -> None:
    changelog = parse_changelog(made.lz4(made.plain([(b"key", b"value"), (b"key", None)])))
    assert (changelog.version, changelog.records.puts, changelog.records.deletes) == (1, 1, 1)
    assert changelog.lineage is None


def test_version_1_without_records() -> None:
    assert parse_changelog(made.lz4(made.plain([]))).records.total == 0


def test_version_1_whose_first_key_is_longer_than_two_bytes_can_say() -> None:
    assert parse_changelog(made.lz4(made.plain([(bytes(70_000), b"")]))).version == 1


def test_version_2_is_typed() -> None:
    changelog = parse_changelog(made.lz4(made.utf("v2") + made.typed(PUT)))
    assert (changelog.version, changelog.records.puts) == (2, 1)


def test_version_3_and_4_name_what_they_go_back_to() -> None:
    head = made.lineage((1, "a"), (2, "b"))
    third = parse_changelog(made.lz4(made.utf("v3") + head + made.plain([(b"key", b"value")])))
    fourth = parse_changelog(made.zstd(made.utf("v4") + head + made.typed(PUT)))
    assert third.lineage == fourth.lineage == ((1, "a"), (2, "b"))
    assert third.records == fourth.records


def test_a_long_lineage_lies_across_blocks() -> None:
    items = [(version, "0c4a658e-84d0-470e-82d4-45ce713d927e") for version in range(800)]
    data = made.lz4(made.utf("v3") + made.lineage(*items) + made.plain([]), block=1000)
    assert parse_changelog(data).lineage == tuple(items)


def test_a_version_from_the_future() -> None:
    with pytest.raises(MalformedFile, match="version 7"):
        parse_changelog(made.lz4(made.utf("v7") + made.plain([])))


@pytest.mark.parametrize("text", ["{}", "[1]", '[{"version":"1","checkpointUniqueId":"a"}]', "["])
def test_a_lineage_that_is_none(text: str) -> None:
    with pytest.raises(MalformedFile):
        parse_changelog(made.lz4(made.utf("v3") + made.utf(text) + made.plain([])))


def test_the_file_ends_inside_the_lineage() -> None:
    with pytest.raises(MalformedFile) as fault:
        parse_changelog(made.lz4(made.utf("v3") + made.lineage((1, "a"))[:-3]))
    assert fault.value.spark is not None
    assert fault.value.spark.class_name == "java.io.EOFException"


def test_damage_behind_the_end_is_not_met() -> None:
    data = bytearray(made.lz4(made.plain([(b"key", b"value")])))
    data[-10] ^= 1  # in the empty block at the end
    assert parse_changelog(bytes(data)).records.puts == 1
