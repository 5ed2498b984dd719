"""Snapshots of RocksDB: what their zips hold, and where they are damaged."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.formats.state.rocksdb import (
    ImmutableFile,
    NoMetadata,
    WrongVersion,
    check_sst,
    parse_snapshot_metadata,
    parse_snapshot_zip,
    read_zip_entries,
)
from tests import state_builders as made


def described(**fields: object) -> bytes:
    return b"v1\n" + json.dumps({"sstFiles": [], "numKeys": 0} | fields).encode()


def test_a_zip_names_its_files() -> None:
    snapshot = parse_snapshot_zip(made.snapshot_zip([("000008-a.sst", 1203)]))
    assert snapshot.files == (ImmutableFile("000008-a.sst", "SSTs/000008-a.sst", 1203),)
    assert snapshot.entries == ("CURRENT", "metadata")
    assert snapshot.keys == 1


def test_logs_and_column_families() -> None:
    log = {"localFileName": "000009.log", "dfsLogFileName": "000009-b.log", "sizeBytes": 7}
    snapshot = parse_snapshot_metadata(described(logFiles=[log], columnFamilyMapping={"default": 1}, numInternalKeys=2))
    assert snapshot.files[0].path == "logs/000009-b.log"
    assert snapshot.column_families == {"default": 1}
    assert snapshot.internal_keys == 2


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "", "a/b"])
def test_a_name_that_leads_elsewhere(name: str) -> None:
    with pytest.raises(MalformedFile, match="no file name"):
        parse_snapshot_metadata(described(sstFiles=[{"localFileName": "a", "dfsSstFileName": name, "sizeBytes": 1}]))


def test_a_table_named_twice_is_one_and_the_later_counts() -> None:
    snapshot = parse_snapshot_zip(made.snapshot_zip([("1.sst", 100), ("2.sst", 5), ("1.sst", 200)]))
    assert [(file.local_name, file.size_bytes) for file in snapshot.files] == [("1.sst", 200), ("2.sst", 5)]


def test_the_two_versions_that_spark_writes() -> None:
    assert parse_snapshot_metadata(described()).version == 1
    assert parse_snapshot_metadata(described().replace(b"v1", b"v2", 1)).version == 2


@pytest.mark.parametrize("version", ["v3", "v", "v02", " v1", ""])
def test_another_version(version: str) -> None:
    with pytest.raises(WrongVersion):
        parse_snapshot_metadata(f"{version}\n{{}}".encode())


def test_the_directory_at_the_end_is_not_needed() -> None:
    data = made.snapshot_zip()
    directory = data.index(b"PK\x01\x02")
    assert parse_snapshot_zip(data[:directory]).keys == 1
    assert parse_snapshot_zip(data + b"garbage").keys == 1


def test_a_zip_that_ends_between_entries_has_no_metadata() -> None:
    data = made.snapshot_zip()
    second = data.index(b"PK\x03\x04", 4)
    for cut in (b"", data[:20], data[:second], data[: second + 29]):
        with pytest.raises(NoMetadata):
            parse_snapshot_zip(cut)


@pytest.mark.parametrize("cut", [31, 45, 60])
def test_a_zip_that_ends_inside_an_entry(cut: int) -> None:
    with pytest.raises(MalformedFile) as fault:
        parse_snapshot_zip(made.snapshot_zip()[:cut])
    assert fault.value.spark is not None
    assert fault.value.spark.class_name == "java.io.EOFException"


def test_a_byte_of_an_entry_changed() -> None:
    data = bytearray(made.snapshot_zip())
    data[data.index(b"metadata") + 12] ^= 1
    with pytest.raises(MalformedFile) as fault:
        read_zip_entries(bytes(data))
    assert fault.value.spark is not None
    assert fault.value.spark.class_name == "java.util.zip.ZipException"


def test_tables_end_in_a_magic_number() -> None:
    check_sst(made.sst())
    for data in (b"", bytes(100), made.sst()[:-1]):
        with pytest.raises(MalformedFile):
            check_sst(data)


def test_entries_that_are_too_large_together_are_left() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(40):
            made.writestr(f"{number}.log", bytes(2**22))
    with pytest.raises(LeftUnread, match="too large"):
        read_zip_entries(out.getvalue())


def test_a_zip_of_too_many_entries_is_left() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(17_000):
            made.writestr(f"{number}", b"")
    with pytest.raises(LeftUnread, match="too many"):
        read_zip_entries(out.getvalue())
