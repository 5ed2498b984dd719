"""What was done to the files as a whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.samples.place import place_sample
from tests.unit.causes.happenings import DAY_MS, copied_anew, explained, ms, told
from tests.unit.checkup.checkups import checked


def newest(directory: Path) -> Path:
    return max((path for path in directory.glob("[0-9]*")), key=lambda path: int(path.name.split(".")[0]))


def removed(path: Path) -> None:
    path.unlink()
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


def emptied(path: Path) -> None:
    path.write_bytes(b"")
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_a_copy_that_was_made_while_the_query_ran(tmp_path: Path, spark: str) -> None:
    """Commits came after offsets, which had grown by then."""
    place = place_sample(f"{spark}-file-to-parquet-sound", tmp_path)
    removed(newest(place / "offsets"))
    assert "copy-in-flight" not in told(place)
    copied_anew(place, ms(place / "metadata") + DAY_MS)
    cause = told(place)["copy-in-flight"]
    assert (cause.sign.sure, "commit-ahead-of-offset" in explained(cause)) == ("likely", True)


def test_a_copy_that_is_whole_is_only_a_copy(tmp_path: Path) -> None:
    place = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    copied_anew(place, ms(place / "metadata") + DAY_MS)
    assert told(place) == {}


@pytest.mark.parametrize(("copied", "sure"), [(True, "likely"), (False, "possible")])
def test_an_old_backup_was_put_back(tmp_path: Path, copied: bool, sure: str) -> None:
    place = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    for log in ("offsets", "commits"):
        for _ in range(2):
            removed(newest(place / log))
    if copied:
        copied_anew(place, ms(place / "metadata") + DAY_MS)
    cause = told(place, [str(tmp_path / "output")])["old-backup-put-back"]
    assert cause.sign.sure == sure
    assert explained(cause) & {"file-sink-skips-by-number", "rewound-checkpoint-same-id"}


def test_a_sink_that_ends_where_the_checkpoint_does(tmp_path: Path) -> None:
    place = place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    assert told(place, [str(tmp_path / "output")]) == {}


@pytest.mark.parametrize("name", ["3.5.7-windowed-agg-hdfs-sound", "4.2.0-windowed-agg-rocksdb-sound"])
@pytest.mark.parametrize("partitions", [["0", "1"], ["1"]])
def test_state_that_executors_keep(tmp_path: Path, name: str, partitions: list[str]) -> None:
    """Of partitions whose executors ran on other machines, what describes them at most is here."""
    place = place_sample(name, tmp_path)
    for partition in partitions:
        for path in (place / "state" / "0" / partition).glob("[!_]*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (place / "state" / "0" / partition).glob(".[0-9]*"):
            path.unlink()
    cause = told(place)["state-elsewhere"]
    assert (cause.sign.sure, "state-file-missing" in explained(cause)) == ("likely", True)


def test_one_file_that_is_gone_was_not_written_elsewhere(tmp_path: Path) -> None:
    place = place_sample("3.5.7-windowed-agg-hdfs-sound", tmp_path)
    newest(place / "state" / "0" / "1").unlink()
    assert "state-elsewhere" not in told(place)


@pytest.mark.parametrize("spark", ["3.5.7", "4.2.0"])
def test_the_newest_files_have_no_byte(tmp_path: Path, spark: str) -> None:
    place = place_sample(f"{spark}-file-to-parquet-sound", tmp_path)
    emptied(newest(place / "commits"))
    assert told(place)["disk-full"].sign.sure == "possible"
    emptied(newest(place / "offsets"))
    cause = told(place)["disk-full"]
    assert (cause.sign.sure, cause.command[:6]) == ("likely", "df -h ")


def test_a_file_that_is_cut_is_not_of_a_full_disk(tmp_path: Path) -> None:
    place = place_sample("4.2.0-file-to-parquet-offset-file-cut", tmp_path)
    assert "disk-full" not in told(place)


@pytest.mark.parametrize("name", ["3.5.7-windowed-agg-hdfs-state-directory-missing"])
def test_what_is_only_possible_takes_no_way_out_away(tmp_path: Path, name: str) -> None:
    checkup = checked(place_sample(name, tmp_path))
    (cause,) = checkup.diagnosis.causes
    assert (cause.id, cause.sign.sure) == ("state-elsewhere", "possible")
    assert any(one.fix and one.fix.way and one.fix.way.id in cause.known.never for one in checkup.findings)
