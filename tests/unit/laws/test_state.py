"""State, as far as names and pinned configuration tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile, copytree, rmtree

import pytest

from ckpttool import check_change, gather_evidence, open_checkpoint
from ckpttool.api import Restarted, plan_restart
from ckpttool.query.from_checkpoint import query_of
from ckpttool.releases import Release
from tests.builders import build
from tests.samples.place import REPOSITORY, place_sample
from tests.unit.laws.scenes import SOUND, findings, next_batch

Sample = Callable[[str], Path]
NOW = 1_800_000_000_000


def test_commits_that_name_state_which_is_not_there(tmp_path: Path) -> None:
    build(tmp_path, SOUND, commits_version=2)
    assert findings(tmp_path)["state-directory-missing"].severity == "error"


def test_state_without_any_batch(tmp_path: Path) -> None:
    build(tmp_path, "")
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert "state-without-batches" in findings(tmp_path)


def test_a_missing_operator(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    (tmp_path / "state" / "1" / "0").mkdir(parents=True)
    assert findings(tmp_path)["operator-directory-missing"].path == "state/0"


def test_more_partitions_than_the_offsets_pin(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    for partition in range(201):
        (tmp_path / "state" / "0" / str(partition)).mkdir(parents=True)
    assert findings(tmp_path)["partition-count-mismatch"].severity == "error"


def test_a_moving_watermark_without_state_cannot_be_told(tmp_path: Path) -> None:
    assert next_batch(build(tmp_path, "k0-10 c5000 | k10-20 w5000 c5000")).outcome == "unknown"


@pytest.mark.parametrize(("spark", "outcome"), [("3.5.7", "replay"), ("4.2.0", "error")])
def test_an_uncommitted_change_of_partitions_is_refused_since_4_2(tmp_path: Path, spark: str, outcome: str) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | k20-30", spark=spark)
    newest = tmp_path / "offsets" / "2"
    newest.write_text(newest.read_text().replace('partitions":"200"', 'partitions":"300"'))
    assert next_batch(tmp_path).outcome == outcome


def test_state_without_the_metadata_of_its_operator_is_told(tmp_path: Path, sample: Sample) -> None:
    root = Path(copytree(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint", tmp_path / "checkpoint"))
    assert "operator-metadata-missing" not in findings(root)
    rmtree(root / "state" / "0" / "_metadata")
    told = findings(root)["operator-metadata-missing"]
    assert (told.severity, told.path) == ("warning", "state/0/_metadata")
    assert next_batch(root).outcome == "new_batch"


def test_before_4_0_no_operator_has_metadata(sample: Sample) -> None:
    assert "operator-metadata-missing" not in findings(sample("3.5.7-windowed-agg-hdfs-sound") / "checkpoint")


@pytest.mark.parametrize(
    ("name", "release", "condition"),
    [
        ("windowed-agg-rocksdb", (4, 2, 1), None),
        ("windowed-agg-rocksdb", (4, 3, 0), "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"),
        ("windowed-agg-hdfs", (4, 3, 0), "STATE_STORE_CHECKPOINT_IDS_NOT_SUPPORTED"),
    ],
)
def test_a_commit_of_version_2_that_names_no_state(
    tmp_path: Path, sample: Sample, name: str, release: Release, condition: str | None
) -> None:
    root = Path(copytree(sample(f"4.2.0-{name}-sound") / "checkpoint", tmp_path / "checkpoint"))
    newest = max((root / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    newest.write_text(newest.read_text().replace("v1", "v2", 1))
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    diagnosis, _ = plan_restart(str(root), Restarted(release), now_ms=0)
    error = diagnosis.prediction.error
    assert (error and error.condition) == condition
    assert diagnosis.prediction.outcome == ("error" if condition else "new_batch")


def leave_operator(root: Path) -> None:
    """What a failed start of changed code leaves: all that describes an operator, and no version of it."""
    for described in (root / "state" / "0").rglob("_metadata"):
        copytree(described, root / "state" / "1" / described.relative_to(root / "state" / "0"))


@pytest.mark.parametrize(
    ("name", "outcome", "severity"),
    [("3.5.7-dedup-hdfs-sound", "new_batch", "warning"), ("4.2.0-dedup-rocksdb-sound", "error", "error")],
)
def test_an_operator_that_never_committed(tmp_path: Path, name: str, outcome: str, severity: str) -> None:
    root = place_sample(name, tmp_path)
    leave_operator(root)
    said = plan_restart(str(root), Restarted(), now_ms=NOW)[0]
    assert said.prediction.outcome == outcome
    assert [(one.id, one.severity) for one in said.findings if one.severity != "info"] == [
        ("operator-never-committed", severity)
    ]


def leave_the_first_operator(root: Path, *, age_s: int) -> None:
    """The same in the checkpoint of a query without state: so much younger than its newest commit."""
    described = root / "state" / "0" / "0" / "_metadata" / "schema"
    described.parent.mkdir(parents=True)
    copyfile(REPOSITORY / "3.5.7-dedup-hdfs-sound/checkpoint/state/0/0/_metadata/schema", described)
    newest = max((root / "commits").glob("[0-9]*"), key=lambda path: int(path.name)).stat().st_mtime
    os.utime(described, (newest + age_s, newest + age_s))


def test_the_only_operator_may_be_of_a_changed_query(tmp_path: Path) -> None:
    root = place_sample("3.5.7-file-to-parquet-sound", tmp_path)
    leave_the_first_operator(root, age_s=60)
    said, plan = plan_restart(str(root), Restarted(), now_ms=NOW)
    assert said.prediction.outcome == "unknown"
    assert "all of its state" in said.prediction.why[0]
    way = plan.options[0]
    assert (way.id, way.rows_lost) == ("set-aside-new-operator", 0)
    assert {"old-code", "kept-no-state"} <= {one.id for one in way.conditions}


def test_from_4_0_on_it_stops_the_old_code_as_well(tmp_path: Path) -> None:
    root, state = (
        place_sample("4.2.0-file-to-parquet-sound", tmp_path),
        REPOSITORY / "4.2.0-dedup-hdfs-sound/checkpoint",
    )
    for described in (state / "state" / "0").rglob("_metadata"):
        copytree(described, root / described.relative_to(state))
    said, plan = plan_restart(str(root), Restarted(release=(4, 0, 4)), now_ms=NOW)
    assert said.prediction.error
    assert said.prediction.error.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    assert [(one.id, one.rows_lost) for one in plan.options] == [("set-aside-new-operator", 0)]


def test_the_only_operator_that_was_there_when_it_committed_lost_its_state(tmp_path: Path) -> None:
    root = place_sample("3.5.7-file-to-parquet-sound", tmp_path)
    leave_the_first_operator(root, age_s=-60)
    told = {one.id for one in plan_restart(str(root), Restarted(), now_ms=NOW)[0].findings}
    assert "state-file-missing" in told
    assert "operator-never-committed" not in told


@pytest.mark.parametrize(("which", "verdict"), [("old", "accepted"), ("new", "refused")])
def test_who_describes_the_query_knows(which: str, verdict: str, tmp_path: Path) -> None:
    """The old code kept no state, the new one has the operator."""
    root = place_sample("3.5.7-file-to-parquet-sound", tmp_path)
    old = query_of(gather_evidence(open_checkpoint(str(root))))
    leave_the_first_operator(root, age_s=60)
    new = query_of(gather_evidence(open_checkpoint(str(root))))
    checked = check_change(str(root), {"old": old, "new": new}[which], restarted=Restarted(release=(3, 5, 7)))
    assert checked.verdict == verdict


def test_an_operator_that_lost_its_versions_in_one_partition_did_commit(tmp_path: Path) -> None:
    root = place_sample("3.5.7-dedup-hdfs-sound", tmp_path)
    copytree(root / "state" / "0", root / "state" / "1")
    for path in (root / "state" / "1" / "0").iterdir():
        if path.is_file():
            path.unlink()
    told = {one.id for one in plan_restart(str(root), Restarted(), now_ms=NOW)[0].findings}
    assert "state-file-missing" in told
    assert "operator-never-committed" not in told
