"""Which rows a batch read, by its offsets, kind of source by kind of source."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool.harness.history import Disk, QuerySource, Record, Run
from ckpttool.harness.reading import Reading, read_batches
from tests.history_builders import Shape, sound_history

METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
RUN = sound_history(Shape()).run
DELTA = {"sourceVersion": 1, "reservoirId": "7", "index": -1, "isStartingVersion": False}


def record(place: str, position: int, source: int = 0) -> Record:
    return Record(source=source, place=place, position=position, fields={"id": f"{place}:{position}"})


def disk(*ends: Any, **more: Any) -> Disk:
    """An end for each batch; a tuple has one for each source."""
    several = [end if isinstance(end, tuple) else (end,) for end in ends]
    lines = ["\n".join("-" if end is None else json.dumps(end) for end in each) for each in several]
    return Disk(offsets={batch: f"v1\n{METADATA}\n{line}" for batch, line in enumerate(lines)}, **more)


def read(kind: str, records: list[Record], found: Disk) -> Reading | str:
    run: Run = replace(RUN, sources=(QuerySource(index=0, kind=kind),), records=tuple(records))
    return read_batches(run, found)


def ids(reading: Reading | str) -> list[list[str]]:
    assert isinstance(reading, Reading)
    of_batches = [[one.fields["id"] for one in batch.records] for batch in reading.batches]
    return [*of_batches, [one.fields["id"] for one in reading.unread]]


def test_kafka_ends_are_exclusive_by_partition() -> None:
    records = [record("t/0", 0), record("t/0", 1), record("t/1", 0), record("t/2", 0)]
    found = disk({"t": {"0": 1, "1": 0}}, {"t": {"0": 2, "1": 1}})
    assert ids(read("kafka", records, found)) == [["t/0:0"], ["t/0:1", "t/1:0"], ["t/2:0"]]


def test_rate_counts_rows() -> None:
    records = [record("", number) for number in range(3)]
    found = disk({"offset": 2, "timestamp": 1}, {"offset": 2, "timestamp": 2})
    assert ids(read("rate-micro-batch", records, found)) == [[":0", ":1"], [], [":2"]]


def test_files_are_found_by_the_sources_log_also_when_it_is_compacted() -> None:
    def entry(name: str, number: int) -> str:
        return json.dumps({"path": f"file:///in/{name}", "timestamp": 1, "batchId": number})

    records = [record("a%b ü.json", 0), record("c.json", 0), record("d.json", 0)]
    log = {0: f"v1\n{entry('a%25b%20ü.json', 0)}", 1: f"v1\n{entry('a%25b%20ü.json', 0)}\n{entry('c.json', 1)}"}
    found = disk({"logOffset": 0}, {"logOffset": 1}, source_logs={"0": log})
    assert ids(read("file", records, found)) == [["a%b ü.json:0"], ["c.json:0"], ["d.json:0"]]


def test_a_delta_version_is_read_file_by_file() -> None:
    records = [record("0", 0), record("1", 0), record("1", 1), record("2", 0)]
    found = disk(
        DELTA | {"reservoirVersion": 1}, DELTA | {"reservoirVersion": 1, "index": 0}, DELTA | {"reservoirVersion": 2}
    )
    assert ids(read("delta", records, found)) == [["0:0"], ["1:0"], ["1:1"], ["2:0"]]


def test_the_initial_snapshot_of_a_delta_table_counts_all_its_files() -> None:
    records = [record("0", 0), record("1", 0), record("2", 0)]
    inside = DELTA | {"reservoirVersion": 1, "isStartingVersion": True}
    found = disk(inside | {"index": 0}, inside | {"index": 1}, DELTA | {"reservoirVersion": 3})
    assert ids(read("delta", records, found)) == [["0:0"], ["1:0"], ["2:0"], []]


def test_two_sources_are_read_side_by_side() -> None:
    records = [record("", 0), record("", 1), record("t/0", 0, source=1)]
    run = replace(
        RUN,
        sources=(QuerySource(index=0, kind="rate-micro-batch"), QuerySource(index=1, kind="kafka")),
        records=tuple(records),
    )
    found = disk(({"offset": 1, "timestamp": 1}, None), ({"offset": 2, "timestamp": 1}, {"t": {"0": 1}}))
    assert ids(read_batches(run, found)) == [[":0"], [":1", "t/0:0"], []]


def test_rows_of_batches_whose_logs_are_gone_are_joint() -> None:
    records = [record("t/0", number) for number in range(3)]
    found = disk({"t": {"0": 1}}, {"t": {"0": 2}}, {"t": {"0": 3}})
    reading = read("kafka", records, replace(found, offsets={1: found.offsets[1], 2: found.offsets[2]}))
    assert isinstance(reading, Reading)
    assert [(batch.batch_id, len(batch.records), batch.is_joint) for batch in reading.batches] == [
        (1, 2, True),
        (2, 1, False),
    ]
    behind_a_hole = read("kafka", records, replace(found, offsets={0: found.offsets[0], 2: found.offsets[2]}))
    assert isinstance(behind_a_hole, Reading)
    assert [(batch.batch_id, batch.is_joint) for batch in behind_a_hole.batches] == [(0, False), (2, True)]


@pytest.mark.parametrize(
    ("kind", "found", "told"),
    [
        ("kafka", Disk(offsets={0: ""}), "cannot be read"),
        ("kafka", Disk(offsets={0: f"v1\n{METADATA}\n{{"}), "is not one of source 0, kafka"),
        ("rate-micro-batch", disk({"logOffset": 3}), "is not one of source 0, rate-micro-batch"),
        ("kinesis", disk({"t": {"0": 1}}), "is not one of source 0, kinesis"),
        ("kafka", disk(({"t": {"0": 1}}, {"t": {"0": 1}})), "has a source 1"),
        ("file", disk({"logOffset": 0}, source_logs={"0": {0: "v1\n{"}}), "cannot be read"),
        ("delta", disk(DELTA | {"reservoirVersion": 1}), "no version of the table"),
    ],
)
def test_what_cannot_be_told_has_a_reason(kind: str, found: Disk, told: str) -> None:
    reading = read(kind, [record("t/0", 0)], found)
    assert isinstance(reading, str)
    assert told in reading
