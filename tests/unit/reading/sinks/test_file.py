"""File sinks: batches, files and times in `_spark_metadata`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ckpttool.formats import limits
from ckpttool.model import SinkFileEntry
from ckpttool.reading.sinks import load_sink
from ckpttool.scene.sinks import SinkEvidence
from tests.encoders import encode_sink_log

Q = "q"


def output(path: Path, logs: dict[str, list[int]], *, files: bool = True) -> SinkEvidence:
    """`logs`: name in the log → the data files of its entries, of which file n was written at n seconds."""
    (path / "_spark_metadata").mkdir(parents=True)
    for name, numbers in logs.items():
        entries = [SinkFileEntry(f"file://{path}/part%20{number}", 1, number * 1000 + 1) for number in numbers]
        (path / "_spark_metadata" / name).write_bytes(encode_sink_log(entries))
        os.utime(path / "_spark_metadata" / name, (500, 500))
        for number in numbers if files else ():
            (path / f"part {number}").write_bytes(b"x")
    return load_sink(str(path), query_id=Q)


def times(evidence: SinkEvidence) -> dict[int | None, int | None]:
    return {write.batch_id: write.timestamp_ms for write in evidence.writes}


def test_a_file_sink_counts_for_everybody(tmp_path: Path) -> None:
    evidence = output(tmp_path / "out", {"0": [0], "1": [1, 2]})
    assert (evidence.kind, evidence.key) == ("file", None)
    assert [entry.batch_id for entry in evidence.ledger] == [1]
    assert times(evidence) == {0: 1, 1: 2001}
    assert not any(write.rows_lost for write in evidence.writes)


def test_the_files_of_a_compacted_batch_are_those_that_are_new(tmp_path: Path) -> None:
    evidence = output(tmp_path / "out", {"0": [0], "1": [1], "2.compact": [0, 1], "3": [7], "5.compact": [0, 1, 7, 8]})
    assert times(evidence)[2] == 500_000, "nothing is new: the time of the log's own file"
    assert times(evidence)[5] == 500_000, "entry 4 is not there, so its files cannot be told from those of batch 5"
    whole = output(tmp_path / "whole", {"2.compact": [0, 1], "3": [7], "4": [8], "5.compact": [0, 1, 7, 8, 9]})
    assert times(whole)[5] == 9001
    assert times(whole)[2] == 500_000


def test_an_empty_batch_has_the_time_of_its_log_file(tmp_path: Path) -> None:
    evidence = output(tmp_path / "out", {"0": []})
    assert times(evidence) == {0: 500_000}
    assert evidence.writes[0].empty


def test_data_files_that_are_gone(tmp_path: Path) -> None:
    assert output(tmp_path / "out", {"0": [0]}, files=False).writes[0].rows_lost == "its file `part 0` is gone"
    (tmp_path / "out/part 0").touch()
    assert "size" in str(load_sink(str(tmp_path / "out"), query_id=Q).writes[0].rows_lost)


def test_an_output_that_was_moved_shows_nothing_of_what_was_written_before(tmp_path: Path) -> None:
    output(tmp_path / "out", {"0": [0]})
    moved = load_sink(str(shutil.copytree(tmp_path / "out", tmp_path / "elsewhere")), query_id=Q).writes[0]
    assert (moved.rows_lost, moved.unnoticed) == (
        f"its entry names files in file://{tmp_path}/out/, of which readers here see nothing",
        True,
    )
    entry = SinkFileEntry(f"file://{tmp_path}/out/name=ash/part-0", 1, 1)
    (tmp_path / "elsewhere/_spark_metadata/0").write_bytes(encode_sink_log([entry]))
    parted = load_sink(str(tmp_path / "elsewhere"), query_id=Q).writes[0]
    assert (parted.rows_lost, parted.elsewhere) == (None, f"file://{tmp_path}/out/name=ash")


@pytest.mark.parametrize("way", [".", "./", "../out", "../out/.", "../link"])
def test_whatever_the_way_to_an_output_is_it_lies_where_its_entries_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    output(tmp_path / "out", {"0": [0]})
    (tmp_path / "link").symlink_to(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    assert load_sink(way, query_id=Q).writes[0].rows_lost is None


def test_an_entry_without_a_file_was_never_written_but_in_partitions(tmp_path: Path) -> None:
    output(tmp_path / "out", {"0": [0], "1": []})
    part = f"part-00000-{'0' * 8}-0000-0000-0000-{'0' * 12}-c000.parquet"
    (tmp_path / "out" / part).touch()
    flat = load_sink(str(tmp_path / "out"), query_id=Q).writes[1]
    assert (flat.empty, flat.unnoticed, "names no file" in str(flat.rows_lost)) == (False, True, True)
    (tmp_path / "out" / "name=ash").mkdir()
    assert load_sink(str(tmp_path / "out"), query_id=Q).writes[1].empty


def test_any_name_that_spark_counts_counts(tmp_path: Path) -> None:
    evidence = output(tmp_path / "out", {"0": [0], "007": [1], ".9.crc": [], "x": []})
    assert evidence.ledger[0].batch_id == 7


def test_a_torn_entry_is_a_fault(tmp_path: Path) -> None:
    output(tmp_path / "out", {"0": [0], "1": [1]})
    (tmp_path / "out/_spark_metadata/1").write_text("v1\n{")
    evidence = load_sink(str(tmp_path / "out"), query_id=Q)
    assert [one.id for one in evidence.faults] == ["sink-log-unreadable"]
    assert evidence.ledger[0].batch_id == 1


def test_a_log_that_is_too_large_to_be_read_is_not_damaged(tmp_path: Path) -> None:
    with limits.changed({"sink-log": 100}):
        evidence = output(tmp_path / "out", {"0": [0], "1": [1, 2, 3]})
    assert [(fault.id, fault.path) for fault in evidence.faults] == [
        ("unreadable", "_spark_metadata/0"),
        ("unreadable", "_spark_metadata/1"),
    ]
    assert "--read-limit sink-log=" in evidence.faults[0].message
    assert "`retention`" in (evidence.faults[0].next_step or "")
    assert [entry.batch_id for entry in evidence.ledger] == [1], "its names tell how far it reaches"


PART = "part-00000-0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4{}-c000.snappy.parquet"


def with_ordinary_files(path: Path, *, mark: bool) -> SinkEvidence:
    """Of two files the log lists one; `mark`: that of a job of somebody else, who finished it."""
    (path / "_spark_metadata").mkdir(parents=True)
    entry = SinkFileEntry(f"file://{path}/{PART.format(0)}", 1, 1_000)
    (path / "_spark_metadata" / "0").write_bytes(encode_sink_log([entry]))
    for name in [PART.format(0), PART.format(1), *(["_SUCCESS"] if mark else [])]:
        (path / name).write_bytes(b"x")
        os.utime(path / name, (7, 7))
    return load_sink(str(path), query_id=Q)


def test_files_of_ordinary_writes_are_in_no_entry(tmp_path: Path) -> None:
    assert with_ordinary_files(tmp_path / "a", mark=True).unlisted == {PART.format(1): 7_000}
    assert with_ordinary_files(tmp_path / "b", mark=False).unlisted == {}, "as a batch that was cut short leaves it"


def test_how_large_the_log_is(tmp_path: Path) -> None:
    assert output(tmp_path / "a", {"0": [0]}).log_bytes is None
    found = output(tmp_path / "b", {"9.compact": [0], "10": [1]}).log_bytes
    assert found == (tmp_path / "b" / "_spark_metadata" / "9.compact").stat().st_size
