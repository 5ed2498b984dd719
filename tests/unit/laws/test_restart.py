"""The common rule of restarts, case by case, as Spark's recovery decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool import inspect_checkpoint, open_checkpoint
from ckpttool.laws.restart import Restart
from tests.builders import build


def next_batch(root: Path) -> Restart:
    return inspect_checkpoint(open_checkpoint(str(root))).prediction


@pytest.mark.parametrize(
    ("story", "outcome", "batch"),
    [
        ("", "fresh_start", 0),
        ("k0-10", "replay", 0),
        ("k0-10 c", "new_batch", 1),
        ("k0-10 c | k10-20", "replay", 1),
        ("k0-10 c | k10-20 c", "new_batch", 2),
        ("k0-10 c | k10-20 | k20-30", "replay", 2),  # only the newest runs again
        ("k0-10 | k10-20", "replay", 1),  # no commit at all
        ("b7 k0-10 c | k10-20 c", "new_batch", 9),  # older files were purged
        ("k0-10 c | lost c | k20-30 c", "error", None),  # the batch before the newest is needed
        ("k0-10 c | k10-20 c | lost c", "error", 1),  # runs batch 1 again and cannot commit it
        ("lost c | lost c", "error", None),
        ("b1 k0-10 c", "error", None),
        ("k0-10 c | k10-20 - c", "error", None),  # not the same number of sources
    ],
)
def test_next_batch_follows_from_the_two_logs(tmp_path: Path, story: str, outcome: str, batch: int | None) -> None:
    predicted = next_batch(build(tmp_path, story))
    assert (predicted.outcome, predicted.batch_id) == (outcome, batch)
    assert predicted.why


def test_asynchronous_progress_goes_on_across_its_gaps(tmp_path: Path) -> None:
    predicted = next_batch(build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c"))
    assert (predicted.outcome, predicted.batch_id) == ("new_batch", 10)


def test_asynchronous_replay_covers_the_gap(tmp_path: Path) -> None:
    predicted = next_batch(build(tmp_path, "b0 k0-10 c | b5 k10-60 c | b9 k60-90"))
    assert (predicted.outcome, predicted.batch_id) == ("replay", 9)


@pytest.mark.parametrize(("spark", "outcome"), [("3.5.7", "new_batch"), ("4.1.0", "new_batch"), ("4.2.0", "error")])
def test_lost_metadata_stops_spark_since_4_2(tmp_path: Path, spark: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c", spark=spark)
    (tmp_path / "metadata").unlink()
    assert next_batch(tmp_path).outcome == outcome


def test_corrupt_metadata_stops_every_spark(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c", spark="3.5.7")
    (tmp_path / "metadata").write_text('{"id":"nope"}')
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize("file", ["offsets/2", "offsets/1", "commits/2"])
@pytest.mark.parametrize("content", [b"", b"v9\n{}", b'\xef\xbb\xbfv1\n{}\n{"t":{"0":1}}', b"v1\n{"])
def test_spark_never_falls_back_to_an_older_file(tmp_path: Path, file: str, content: bytes) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(content)
    assert next_batch(tmp_path).outcome == "error"


@pytest.mark.parametrize("file", ["offsets/0", "commits/1", "commits/0"])
def test_files_that_spark_does_not_open_change_nothing(tmp_path: Path, file: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / file).write_bytes(b"")
    assert next_batch(tmp_path) == next_batch(build(tmp_path / "sound", "k0-10 c | k10-20 c | k20-30 c"))


STRAY = [
    ("+3", "error"),
    ("003", "error"),
    ("002", "new_batch"),
    ("-1", "new_batch"),
    ("3.bak", "new_batch"),
    (".3.0f.tmp", "new_batch"),
]


@pytest.mark.parametrize(("name", "outcome"), STRAY)
def test_a_stray_name_matters_if_it_counts_as_the_highest_batch(tmp_path: Path, name: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    (tmp_path / "offsets" / name).write_text("x")
    assert next_batch(tmp_path).outcome == outcome


def test_a_directory_is_no_batch(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c")
    (tmp_path / "offsets" / "2").mkdir()
    assert next_batch(tmp_path).batch_id == 2


def test_a_stale_checksum_stops_the_batch_that_takes_its_place(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c")
    (tmp_path / "offsets" / ".2.crc").write_bytes(b"crc\0")
    assert (next_batch(tmp_path).outcome, next_batch(tmp_path).batch_id) == ("error", 2)


def test_a_hole_in_the_live_log_of_a_file_source_stops_its_start(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c | f2 c")
    (tmp_path / "sources" / "0" / "1").unlink()
    assert next_batch(tmp_path).outcome == "error"


def test_a_moving_watermark_without_state_cannot_be_told(tmp_path: Path) -> None:
    assert next_batch(build(tmp_path, "k0-10 c5000 | k10-20 w5000 c5000")).outcome == "unknown"


@pytest.mark.parametrize(("spark", "outcome"), [("3.5.7", "replay"), ("4.2.0", "error")])
def test_an_uncommitted_change_of_partitions_is_refused_since_4_2(tmp_path: Path, spark: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30", spark=spark)
    newest = tmp_path / "offsets" / "2"
    newest.write_text(newest.read_text().replace('partitions":"200"', 'partitions":"300"'))
    assert next_batch(tmp_path).outcome == outcome


@pytest.mark.parametrize("content", [b"", b"v1\nxx", b"v1"])
def test_the_rate_source_cannot_start_without_its_beginning(tmp_path: Path, content: bytes) -> None:
    build(tmp_path, "r5 c | r9 c")
    (tmp_path / "sources" / "0" / "0").write_bytes(content)
    assert next_batch(tmp_path).outcome == "error"


def test_where_kafka_began_matters_until_the_first_commit(tmp_path: Path) -> None:
    (build(tmp_path / "a", "k0-5 c | k5-9 c") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    assert next_batch(tmp_path / "a").outcome == "new_batch"
    (build(tmp_path / "b", "k0-5") / "sources" / "0" / "0").write_bytes(b"\0v1\nxx")
    assert next_batch(tmp_path / "b").outcome == "unknown"


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("file:///lake/orders/c.json", "new_batch"),
        ("file:///lake/orders/late/c.json", "new_batch"),
        ("file:///lake/orders/day=2/c.json", "new_batch"),
        ("file:///lake/returns/c.json", "new_batch"),  # the next in a row of directories, as `path` may be a pattern
        ("file:///pond/orders/c.json", "unknown"),
        ("s3a://bucket/orders/c.json", "unknown"),
    ],
)
def test_an_input_file_that_lies_apart_is_doubted(tmp_path: Path, path: str, outcome: str) -> None:
    """Spark refuses a file outside the source's directory, and no file says where that is."""
    root = build(tmp_path, "f0 c | f1 c | f2 c")
    for number, listed in enumerate(("file:///lake/orders/a.json", "file:///lake/orders/b.json", path)):
        entry = f'{{"path":"{listed}","timestamp":1700000000000,"batchId":{number}}}'
        (root / "sources" / "0" / str(number)).write_text(f"v1\n{entry}")
    assert next_batch(root).outcome == outcome


def test_the_months_of_a_year_are_one_place(tmp_path: Path) -> None:
    root = build(tmp_path, "f0 c | f1 c")
    for number, day in enumerate(("2026/11/30", "2026/12/01")):
        entry = f'{{"path":"s3a://lake/orders/{day}/a.json","timestamp":1700000000000,"batchId":{number}}}'
        (root / "sources" / "0" / str(number)).write_text(f"v1\n{entry}")
    assert next_batch(root).outcome == "new_batch"


@pytest.mark.parametrize(("text", "outcome"), [("7", "new_batch"), ("g", "error"), ("", "error")])
def test_the_rate_source_reads_a_number(tmp_path: Path, text: str, outcome: str) -> None:
    root = build(tmp_path, "r3 c | r5 c")
    head, _, _ = (root / "offsets" / "1").read_text().rpartition("\n")
    (root / "offsets" / "1").write_text(f"{head}\n{text}")
    assert next_batch(root).outcome == outcome
