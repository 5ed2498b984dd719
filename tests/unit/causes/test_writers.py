"""Who else wrote there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import EPOCH_MS, build
from tests.samples.place import place_sample
from tests.unit.causes.happenings import explained, told, written_at

TWO = "two-drivers"
BUSY = " | ".join(f"k{one}-{one + 1} t{EPOCH_MS + one * 1_000} c" for one in range(5))
TEMPORARY = ".3.6554e108-5af6-4130-8cbb-ae8efd57b4{:02}.tmp"


def planned_late(root: Path) -> Path:
    """Batch 2 by another driver, six seconds after batch 3 was committed."""
    late = build(root, BUSY) / "offsets" / "2"
    late.write_text(late.read_text().replace(str(EPOCH_MS + 2_000), str(EPOCH_MS + 9_000)))
    written_at(late, EPOCH_MS + 9_000)
    return root


def test_a_batch_was_planned_after_the_one_behind_it_was_committed(tmp_path: Path) -> None:
    cause = told(planned_late(tmp_path))[TWO]
    assert (cause.sign.sure, cause.sign.told) == ("certain", "batch 2 was planned after batch 3 was committed")


def test_offsets_that_are_only_younger_may_have_been_put_back(tmp_path: Path) -> None:
    written_at(build(tmp_path, BUSY) / "offsets" / "2", EPOCH_MS + 9_000)
    cause = told(tmp_path)[TWO]
    assert cause.sign.sure == "possible"
    assert cause.sign.would_tell


@pytest.mark.parametrize(("count", "is_told"), [(2, True), (1, False)])
def test_writes_that_were_begun_twice_may_be_of_one_driver(tmp_path: Path, count: int, is_told: bool) -> None:
    build(tmp_path, BUSY)
    for one in range(count):
        (tmp_path / "offsets" / TEMPORARY.format(one)).touch()
    assert [cause.sign.sure for id, cause in told(tmp_path).items() if id == TWO] == ["possible"] * is_told


def test_one_driver_after_the_other_is_none(tmp_path: Path) -> None:
    assert TWO not in told(build(tmp_path, BUSY))


HAND, FOREIGN = "edited-by-hand", "another-query"


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_a_checksum_that_is_not_the_file_s(tmp_path: Path, spark: str) -> None:
    """As an editor leaves it: offsets that are set back, and the checksum of those before."""
    place = place_sample(f"{spark}-file-to-parquet-sound", tmp_path)
    path = place / "offsets" / "4"
    path.write_text(path.read_text().replace('"logOffset":4', '"logOffset":2'))
    cause = told(place)[HAND]
    assert (cause.sign.sure, explained(cause) >= {"hand-edited-log", "offset-regression"}) == ("certain", True)


def test_one_file_that_is_younger_than_its_batch_and_disagrees(tmp_path: Path) -> None:
    path = build(tmp_path, BUSY) / "offsets" / "3"
    path.write_text(path.read_text().replace('"0":4', '"0":1'))
    written_at(path, EPOCH_MS + 3_600_000)
    cause = told(tmp_path)[HAND]
    assert (cause.sign.sure, explained(cause)) == ("likely", {"offset-regression"})


def test_a_file_that_was_put_back_as_it_was_disagrees_with_nothing(tmp_path: Path) -> None:
    written_at(build(tmp_path, BUSY) / "offsets" / "3", EPOCH_MS + 3_600_000)
    assert HAND not in told(tmp_path)


def reading(root: Path, *topics: str) -> Path:
    build(root, " | ".join(f"k{n}-{n + 1} c" for n in range(len(topics))))
    for batch, topic in enumerate(topics):
        path = root / "offsets" / str(batch)
        written = path.stat().st_mtime_ns // 1_000_000
        path.write_text(path.read_text().replace('"t"', f'"{topic}"'))
        written_at(path, written)
    return root


def test_two_queries_took_turns(tmp_path: Path) -> None:
    cause = told(reading(tmp_path, "t", "u", "t", "u"))[FOREIGN]
    assert cause.sign.sure == "certain"
    assert "batches 0 and 2 read t" in cause.sign.told
    assert explained(cause) >= {"foreign-query", "partitions-gone"}


def test_other_topics_for_good_are_a_changed_subscription(tmp_path: Path) -> None:
    causes = told(reading(tmp_path, "t", "t", "u", "u"))
    assert FOREIGN not in causes
    assert causes["subscription-changed"].sign.sure == "likely"
