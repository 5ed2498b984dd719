"""Files that were removed because they were old."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.causes.book import causes_of
from ckpttool.formats.bucket_rules import Expiry
from tests.samples.place import place_sample
from tests.unit.causes.happenings import DAY_MS, copied_anew, explained, ms, remove_older_than, told
from tests.unit.checkup.checkups import checked

AGE = "deleted-by-age"
SAMPLES = ("windowed-agg-hdfs", "windowed-agg-rocksdb", "dedup-rocksdb", "file-to-parquet", "join-hdfs")


def aged(name: str, root: Path) -> Path:
    """All that is older than the end of batch 0 is gone."""
    place = place_sample(name, root)
    remove_older_than(place, ms(place / "commits" / "0"))
    return place


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
@pytest.mark.parametrize("name", SAMPLES)
def test_everything_old_is_gone_and_only_that(tmp_path: Path, spark: str, name: str) -> None:
    cause = told(aged(f"{spark}-{name}-sound", tmp_path))[AGE]
    assert cause.sign.sure == "likely"
    assert cause.sign.would_tell
    assert {"metadata-missing", "source-log-hole"} <= explained(cause)
    assert "tmpwatch" in cause.command


def test_what_is_there_and_older_than_what_is_gone_speaks_against_it(tmp_path: Path) -> None:
    place = place_sample("3.5.7-windowed-agg-hdfs-sound", tmp_path)
    for path in (place / "metadata", place / "sources" / "0" / "2"):
        path.unlink()
    assert AGE not in told(place)


def test_one_file_that_is_gone_may_have_gone_for_anything(tmp_path: Path) -> None:
    place = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    (place / "metadata").unlink()
    assert AGE not in told(place)


def test_the_times_of_a_copy_tell_no_age(tmp_path: Path) -> None:
    place = aged("4.2.0-windowed-agg-hdfs-sound", tmp_path)
    copied_anew(place, ms(place / "offsets" / "1") + DAY_MS)
    assert AGE not in told(place)


def test_spark_removes_old_files_too(sample: Callable[[str], Path]) -> None:
    assert told(sample("3.5.7-file-purged-sound") / "checkpoint") == {}


def test_a_rule_of_the_bucket_makes_it_certain(tmp_path: Path) -> None:
    place = place_sample("4.2.0-kafka-to-delta-sound", tmp_path)
    (place / "metadata").unlink()
    found = checked(place).diagnosis
    scene = found.scene
    assert causes_of(scene, found.findings) == ()
    assert scene.around
    rule = Expiry("tmp-30d", "ckpt/", 30)
    (cause,) = causes_of(replace(scene, around=replace(scene.around, expiries=(rule,))), found.findings)
    assert (cause.id, cause.sign.sure) == (AGE, "certain")
    assert "tmp-30d" in cause.sign.told


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_the_clean_up_of_the_table_that_it_lies_in(tmp_path: Path, spark: str) -> None:
    table = tmp_path / "table"
    place = aged(f"{spark}-file-to-parquet-sound", table)
    (table / "_delta_log").mkdir()
    (table / "_delta_log" / f"{0:020}.json").write_text('{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n')
    causes = told(place)
    assert AGE not in causes
    assert causes["cleaned-up"].sign.sure == "likely"
    assert {"checkpoint-inside-table", "metadata-missing"} <= explained(causes["cleaned-up"])


def test_a_whole_checkpoint_in_a_table_was_not_reached(tmp_path: Path) -> None:
    place = place_sample("4.2.0-file-to-parquet-sound", tmp_path / "table")
    (tmp_path / "table" / "_delta_log").mkdir()
    (tmp_path / "table" / "_delta_log" / f"{0:020}.json").write_text("{}\n")
    assert "cleaned-up" not in told(place)
