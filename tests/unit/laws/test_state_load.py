from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.formats.state.digests import crc32c
from ckpttool.laws.state_load import (
    CHANGELOG_CONF,
    REPAIR_CONF,
    REPLAY_CONF,
    check_state_files,
    obstacle_of,
    obstacles,
)
from ckpttool.releases import Release, parse_release
from ckpttool.scene.scene import Doubt, Failure, Start
from ckpttool.scene.state_chain import StateFiles
from tests import state_builders as made
from tests.encoders import encode_hadoop_crc
from tests.unit.reading.loaded_state import load, sidecar, with_ids

RELEASES = [parse_release(text) for text in ("3.3.4", "3.5.7", "4.0.4", "4.1.3", "4.2.0", "4.3.0")]
LOAD = "CANNOT_LOAD_STATE_STORE."


def obstacle(root: Path, release: str | Release, conf: dict[str, str] | None = None) -> Failure | Doubt | None:
    release = parse_release(release) if isinstance(release, str) else release
    return obstacle_of(load(root), Start(release, conf=conf or {}))


def error(root: Path, release: str, conf: dict[str, str] | None = None) -> tuple[str, str | None] | None:
    failure = obstacle(root, release, conf)
    assert not isinstance(failure, Doubt)
    return (failure.class_name.rpartition(".")[2], failure.condition) if failure else None


def broken(root: Path, release: str) -> tuple[str, str]:
    """The law, and where."""
    failure = obstacle(root, release)
    assert isinstance(failure, Failure)
    return failure.law, failure.path


@pytest.mark.parametrize("release", RELEASES)
def test_sound_deltas_load(tmp_path: Path, release: Release) -> None:
    assert obstacle(made.checkpoint(tmp_path, made.deltas(1, 2, 3)), release) is None


def test_a_missing_delta(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 3))
    assert error(root, "3.5.7") == ("FileNotFoundException", None)
    assert error(root, "4.0.0") == ("FileNotFoundException", f"{LOAD}CANNOT_READ_DELTA_FILE_NOT_EXISTS")
    assert broken(root, "4.2.0") == ("state-file-missing", "state/0/0/2.delta")


def test_the_first_bad_file_is_the_one(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1) | {"0/0/2.delta": b"bad"})
    assert error(root, "4.2.0") == ("EOFException", f"{LOAD}UNCATEGORIZED")


def test_a_missing_partition(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3), partitions=2)
    failures = obstacles(load(root, partitions=2), Start((4, 2, 0)))
    assert [one.path for one in failures if isinstance(one, Failure)] == ["state/0/1/1.delta"]


def test_a_bad_snapshot_is_passed_over_since_4_2(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {"0/0/2.snapshot": b"bad"})
    assert error(root, "4.1.3") == ("EOFException", f"{LOAD}UNCATEGORIZED")
    assert error(root, "4.2.0") is None
    assert error(root, "4.2.0", {REPAIR_CONF: "false"}) == ("EOFException", f"{LOAD}UNCATEGORIZED")
    assert error(root, "4.2.0", {REPLAY_CONF: "2"}) == ("EOFException", f"{LOAD}AUTO_SNAPSHOT_REPAIR_FAILED")


def test_a_bad_delta_is_not_passed_over(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2) | {"0/0/2.snapshot": made.DELTA, "0/0/3.delta": b"bad"})
    assert error(root, "4.2.0") == ("EOFException", f"{LOAD}UNCATEGORIZED")


@pytest.mark.parametrize("name", ["old.snapshot", ".3.snapshot", "2_a.snapshot", "9" * 20 + ".snapshot"])
def test_names_that_are_no_numbers(tmp_path: Path, name: str) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {f"0/0/{name}": made.DELTA})
    assert error(root, "4.1.3") is None
    assert error(root, "4.2.0") == ("NumberFormatException", f"{LOAD}UNCATEGORIZED")
    assert broken(root, "4.2.0") == ("state-file-misnamed", f"state/0/0/{name}")


def test_names_that_are_numbers_spelled_otherwise(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {"0/0/+2.snapshot": made.DELTA})
    assert error(root, "4.2.0") == ("NoSuchElementException", f"{LOAD}UNCATEGORIZED")
    beyond = made.checkpoint(tmp_path / "beyond", made.deltas(1, 2, 3) | {"0/0/007.snapshot": made.DELTA})
    assert error(beyond, "4.2.0") is None


def test_rocksdb_without_changelogs_needs_the_very_zip(tmp_path: Path) -> None:
    state = made.rocksdb_snapshot(2) | made.changelogs(3)
    root = made.checkpoint(tmp_path, state, provider=made.ROCKSDB)
    assert error(root, "3.4.4") == ("FileNotFoundException", None)
    assert error(root, "3.5.7") is None


def test_a_bad_zip_is_passed_over_if_changelogs_are_written(tmp_path: Path) -> None:
    state = made.rocksdb_snapshot(2) | made.changelogs(1, 2, 3) | {"0/0/2.zip": b""}
    root = made.checkpoint(tmp_path, state, provider=made.ROCKSDB)
    assert error(root, "4.1.3") == ("NoSuchFileException", f"{LOAD}UNCATEGORIZED")
    assert error(root, "4.2.0") is None
    assert error(root, "4.2.0", {CHANGELOG_CONF: "false"}) == ("NoSuchFileException", f"{LOAD}UNCATEGORIZED")


def test_column_families_need_a_snapshot(tmp_path: Path) -> None:
    typed = made.lz4(made.utf("v2") + made.typed([(1, b"k", b"v")]))
    state = {f"0/0/{version}.changelog": typed for version in (1, 2, 3)} | {"0/0/1.zip": b""}
    root = made.checkpoint(tmp_path, state, provider=made.ROCKSDB)
    assert error(root, "4.2.0") == ("NullPointerException", f"{LOAD}UNCATEGORIZED")


@pytest.mark.parametrize(
    ("table", "before", "now"),
    [
        (made.sst(50), ("IllegalStateException", None), ("SparkException", f"{LOAD}UNEXPECTED_FILE_SIZE")),
        (bytes(100), ("SparkException", None), ("RocksDBException", f"{LOAD}UNCATEGORIZED")),
    ],
    ids=["shorter", "zeros"],
)
def test_a_bad_table(tmp_path: Path, table: bytes, before: tuple[str, None], now: tuple[str, str]) -> None:
    root = made.checkpoint(tmp_path, made.rocksdb_snapshot(3, table), provider=made.ROCKSDB)
    assert error(root, "3.5.7") == before
    assert error(root, "4.0.4") == now


def test_sidecars_count_in_4_1_and_with_ids(tmp_path: Path) -> None:
    state = made.deltas(1, 2, 3) | {"0/0/3.delta.crc": sidecar(made.DELTA, crc32c(b"x"))}
    root = made.checkpoint(tmp_path, state)
    assert [error(root, release) for release in ("4.0.4", "4.2.0")] == [None, None]
    assert error(root, "4.1.3") == ("SparkException", "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED")
    changelogs = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((1, "a"), (2, "b"))))
    beside = {"0/0/2_b.changelog.crc": sidecar(b"another")}
    root = made.checkpoint(tmp_path / "ids", changelogs | beside, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.2.0") == ("SparkException", "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED")


def test_ids_without_a_base(tmp_path: Path) -> None:
    changelogs = with_ids((2, "b", ((1, "a"),)), (3, "c", ((2, "b"),)))
    root = made.checkpoint(tmp_path, changelogs, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.1.3") == ("SparkException", f"{LOAD}CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT")
    assert error(root, "4.2.0") == ("IllegalStateException", f"{LOAD}AUTO_SNAPSHOT_REPAIR_FAILED")


LINEAGE = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((2, "b"),)))


def test_the_empty_state_is_tried_once_and_with_the_short_lineage(tmp_path: Path) -> None:
    """Every changelog is there, and Spark has left them all behind when it learns of them."""
    root = made.checkpoint(tmp_path, LINEAGE, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.2.0") == ("IllegalStateException", f"{LOAD}AUTO_SNAPSHOT_REPAIR_FAILED")
    assert error(root, "4.2.0", {REPAIR_CONF: "false"}) == ("IllegalStateException", f"{LOAD}UNCATEGORIZED")


def test_the_empty_state_is_of_use_once_another_base_has_failed(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, LINEAGE | {"0/0/2_b.zip": b""}, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.2.0") is None


def test_a_lineage_that_begins_at_the_first_version_needs_no_base(tmp_path: Path) -> None:
    whole = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((1, "a"), (2, "b"))))
    root = made.checkpoint(tmp_path, whole, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.2.0") is None


def test_an_older_base_is_found_by_a_lineage_that_is_known_to_its_beginning(tmp_path: Path) -> None:
    back = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((2, "b"),)), (4, "d", ((3, "c"),)))
    bases = {"0/0/3_c.zip": b""} | {"0/0/2_b.zip": made.snapshot_zip(metadata=b'v1\n{"sstFiles":[],"numKeys":0}')}
    root = made.checkpoint(tmp_path, back | bases, provider=made.ROCKSDB, unique_ids=["d"], batch=3)
    assert error(root, "4.2.0") is None
    (root / "state/0/0/2_b.changelog").unlink()
    assert error(root, "4.2.0") == ("IllegalStateException", f"{LOAD}AUTO_SNAPSHOT_REPAIR_FAILED")
    assert error(root, "4.2.0", {REPLAY_CONF: "2"}) is None


@pytest.mark.parametrize("left", [0, 10])
def test_a_changelog_without_its_version_leads_nowhere(tmp_path: Path, left: int) -> None:
    """4.0 takes it for one of version 1, which has no lineage; of an older one it asks for none."""
    changelogs = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((1, "a"), (2, "b"))))
    root = made.checkpoint(tmp_path, changelogs, provider=made.ROCKSDB, unique_ids=["c"])
    newest, older = (root / f"state/0/0/{name}.changelog" for name in ("3_c", "2_b"))
    kept = newest.read_bytes()
    newest.write_bytes(kept[:left])
    assert error(root, "4.0.4") == ("AssertionError", f"{LOAD}UNCATEGORIZED")
    assert error(root, "4.2.0") == ("EOFException", f"{LOAD}UNCATEGORIZED")
    newest.write_bytes(kept)
    older.write_bytes(b"")
    assert error(root, "4.0.4") == ("EOFException", f"{LOAD}UNCATEGORIZED")


def test_a_zip_with_an_id_was_read_by_the_class_that_checks(tmp_path: Path) -> None:
    whole = {"0/0/3_c.zip": made.snapshot_zip(metadata=b'v1\n{"sstFiles":[],"numKeys":0}')}
    stale = {"0/0/.3_c.zip.crc": encode_hadoop_crc(b"something else")}
    root = made.checkpoint(tmp_path, whole | stale, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.1.3") == ("ChecksumException", f"{LOAD}UNCATEGORIZED")
    assert error(root, "4.2.0") is None


def test_no_state_directory(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3))
    (root / "state").rename(root / "elsewhere")
    (root / "state").mkdir()
    assert broken(root, "4.2.0") == ("state-directory-missing", "state")
    assert error(root, "4.2.0") == ("SparkRuntimeException", "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY")
    assert error(root, "4.1.3") == ("FileNotFoundException", f"{LOAD}CANNOT_READ_DELTA_FILE_NOT_EXISTS")


@pytest.mark.parametrize(
    ("schema", "before", "now"),
    [
        (b"", ("EOFException", None), ("EOFException", None)),
        (bytes(50), ("IllegalStateException", None), ("SparkIllegalStateException", "MALFORMED_LOG_FILE")),
        (
            made.utf("v2") + (b"\0\0\0\1" + made.utf("{}")) * 2,
            ("SparkIllegalArgumentException", "UNSUPPORTED_DATATYPE"),
            ("SparkIllegalArgumentException", "UNSUPPORTED_DATATYPE"),
        ),
    ],
    ids=["empty", "zeros", "no type"],
)
def test_a_bad_schema(tmp_path: Path, schema: bytes, before: tuple[str, str], now: tuple[str, str]) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {"0/0/_metadata/schema": schema})
    assert error(root, "3.5.7") == before
    assert error(root, "4.2.0") == now


def test_metadata_of_an_operator_has_the_version_of_its_place(tmp_path: Path) -> None:
    body = b'{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},"stateStoreInfo":[]}'
    beside = {"0/_stateSchema/default/0_a": b"", "0/_metadata/v2/0": b"v1\n" + body}
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | beside)
    assert error(root, "4.2.0") == ("IllegalArgumentException", None)
    assert broken(root, "4.2.0") == ("state-file-corrupt", "state/0/_metadata/v2/0")


def test_a_checksum_without_its_schema(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3) | {"0/0/_metadata/.schema.crc": b"crc\0"})
    assert error(root, "4.2.0") == ("FileAlreadyExistsException", None)
    assert broken(root, "4.2.0") == ("state-write", "state/0/0/_metadata/.schema.crc")


def test_a_directory_in_the_way_of_the_next_delta(tmp_path: Path) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2, 3))
    (root / "state/0/0/4.delta").mkdir()
    assert broken(root, "3.5.7") == ("state-write", "state/0/0/4.delta")
    assert [finding.id for finding in check_state_files(load(root))] == ["state-write"]
    assert error(root, "3.5.7") == ("IOException", None)
    assert error(root, "4.2.0") == ("IOException", "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT")


def test_what_was_not_read_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = made.checkpoint(tmp_path, made.deltas(1, 2) | {"0/0/3.delta": made.lz4(b"\x00\x10\x00\x00" + bytes(100))})
    monkeypatch.setattr("ckpttool.formats.state.records.LARGEST_RECORD_BYTES", 2**19)
    said = obstacle(root, "4.2.0")
    assert isinstance(said, Doubt)
    assert "state/0/0/3.delta" in said.why


def test_batch_0_needs_nothing() -> None:
    assert obstacles(StateFiles(version=0, mode="quick"), Start((4, 2, 0))) == ()


def test_findings(tmp_path: Path) -> None:
    state = made.deltas(1, 3, 5, 6) | {"0/0/6.snapshot": made.DELTA}
    found = list(check_state_files(load(made.checkpoint(tmp_path, state))))
    assert [(one.id, one.path) for one in found] == [
        ("state-file-missing", "state/0/0/2.delta"),
        ("stale-state-after-rewind", "state/0/0/5.delta"),
    ]
    corrupt = made.checkpoint(tmp_path / "corrupt", made.deltas(1, 2) | {"0/0/3.delta": b"bad"})
    found = list(check_state_files(load(corrupt)))
    assert [(one.id, one.path, one.severity) for one in found] == [("state-file-corrupt", "state/0/0/3.delta", "error")]
    assert found[0].spark is not None


def test_the_files_of_the_batch_that_runs_again_are_not_stale(tmp_path: Path) -> None:
    assert not list(check_state_files(load(made.checkpoint(tmp_path, made.deltas(1, 2, 3, 4)))))


def test_a_snapshot_that_names_the_format_is_for_4_0_alone(tmp_path: Path) -> None:
    """As real 4.0 writes it where names have ids; 4.2 and later have the changelogs to go back to."""
    second = made.snapshot_zip(metadata=b'v2\n{"sstFiles":[],"numKeys":0}')
    state = with_ids((1, "a", ()), (2, "b", ((1, "a"),)), (3, "c", ((2, "b"),))) | {"0/0/3_c.zip": second}
    root = made.checkpoint(tmp_path / "both", state, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(root, "4.0.4") is None
    assert error(root, "4.1.3") == ("SparkException", f"{LOAD}CANNOT_READ_CHECKPOINT")
    assert error(root, "4.2.0") is None
    assert load(root).stores[0].opened == {"3_c.zip", "3_c.changelog", "2_b.changelog", "1_a.changelog"}
    alone = made.checkpoint(tmp_path / "alone", {"0/0/3_c.zip": second}, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(alone, "4.0.4") is None
    assert error(alone, "4.3.0") == ("SparkException", f"{LOAD}CANNOT_READ_CHECKPOINT")
    first = {"0/0/3_c.zip": made.snapshot_zip(metadata=b'v1\n{"sstFiles":[],"numKeys":0}')}
    newer = made.checkpoint(tmp_path / "newer", first, provider=made.ROCKSDB, unique_ids=["c"])
    assert error(newer, "4.0.4") == ("SparkException", f"{LOAD}CANNOT_READ_CHECKPOINT")
    assert error(newer, "4.3.0") is None
