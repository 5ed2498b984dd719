"""Paimon's snapshots: their names, and who committed them."""

from __future__ import annotations

import json

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.paimon import BATCH_WRITE, PaimonSnapshot, parse_snapshot, parse_snapshot_names

FIELDS = {
    "version": 3,
    "id": 2,
    "schemaId": 0,
    "commitUser": "u",
    "commitIdentifier": 9223372036854775807,
    "commitKind": "APPEND",
    "timeMillis": 1714561200000,
    "deltaRecordCount": 7,
}


def test_a_snapshot_of_spark_counts_nothing() -> None:
    found = parse_snapshot(json.dumps(FIELDS).encode())
    assert found == PaimonSnapshot(2, "u", BATCH_WRITE, "APPEND", 1714561200000, 7)


@pytest.mark.parametrize("lacking", ["id", "commitUser", "commitIdentifier", "commitKind", "timeMillis"])
def test_a_snapshot_that_lacks_what_each_has(lacking: str) -> None:
    with pytest.raises(MalformedFile):
        parse_snapshot(json.dumps({name: what for name, what in FIELDS.items() if name != lacking}).encode())


def test_names() -> None:
    assert parse_snapshot_names(["EARLIEST", "LATEST", "snapshot-10", "snapshot-9", "snapshot-x"]) == [9, 10]
