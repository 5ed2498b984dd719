"""What changed code left."""

from __future__ import annotations

from pathlib import Path
from shutil import copy2

import pytest
from msgspec.structs import replace

from ckpttool.api import Restarted
from ckpttool.checkup.look import check_up
from ckpttool.diagnosis import diagnose, with_health
from ckpttool.releases import Release
from ckpttool.scene.around import TwoShapes
from tests.builders import build
from tests.samples.place import REPOSITORY, place_sample
from tests.unit.causes.happenings import explained, ms, operator_from, told, written_at
from tests.unit.checkup.checkups import MUCH_LATER_MS, checked

DEPLOY = "failed-deploy"


@pytest.mark.parametrize("name", ["3.5.7-dedup-hdfs-sound", "4.2.0-dedup-rocksdb-sound"])
def test_an_operator_without_a_version_beside_others(tmp_path: Path, name: str) -> None:
    root = place_sample(name, tmp_path)
    operator_from(REPOSITORY / name / "checkpoint", root, 1)
    cause = told(root)[DEPLOY]
    assert (cause.sign.sure, explained(cause)) == ("certain", {"operator-never-committed"})


def test_its_way_out_is_never_to_start_over(tmp_path: Path) -> None:
    root = place_sample("4.2.0-dedup-rocksdb-sound", tmp_path)
    operator_from(REPOSITORY / "4.2.0-dedup-rocksdb-sound" / "checkpoint", root, 1)
    checkup = checked(root)
    fixes = {one.finding.id: one.fix for one in checkup.findings}
    fix = fixes["operator-never-committed"]
    assert fix
    assert fix.way
    assert fix.way.id == "set-aside-new-operator"
    assert "start-over" in checkup.diagnosis.causes[0].known.never


@pytest.mark.parametrize("name", ["3.5.7-join-hdfs-sound", "4.2.0-dedup-hdfs-sound"])
def test_operators_with_versions_are_the_query_s_own(tmp_path: Path, name: str) -> None:
    assert told(place_sample(name, tmp_path)) == {}


@pytest.mark.parametrize("name", ["3.5.7-windowed-agg-hdfs-sound", "3.5.7-dedup-rocksdb-sound"])
def test_batches_that_left_no_state(tmp_path: Path, name: str) -> None:
    root = place_sample(name, tmp_path)
    run_on(root, batches=3)
    cause = told(root)["stateless-run"]
    assert (cause.sign.sure, explained(cause)) == ("likely", {"state-file-missing"})
    assert f"--to-batch {newest_of(REPOSITORY / name / 'checkpoint' / 'commits')}" in cause.command


def newest_of(log: Path) -> int:
    return max(int(path.name) for path in log.glob("[0-9]*"))


def run_on(root: Path, batches: int) -> None:
    """The logs go on as a run without state leaves them: with the watermark that there was."""
    last = newest_of(root / "commits")
    for batch in range(last + 1, last + 1 + batches):
        for log in ("offsets", "commits"):
            copy2(root / log / str(last), root / log / str(batch))


@pytest.mark.parametrize("sample", ["3.5.7-windowed-agg-hdfs-sound"])
def test_one_partition_that_lacks_files_ran_with_the_others(tmp_path: Path, sample: str) -> None:
    root = place_sample(sample, tmp_path)
    max((root / "state" / "0" / "0").glob("[0-9]*"), key=lambda path: int(path.stem)).unlink()
    assert "stateless-run" not in told(root)


def subscribed(root: Path, topics: str) -> list[str]:
    given = Restarted(options={"subscribe": topics})
    return [one.id for one in check_up(str(root), given, now_ms=MUCH_LATER_MS).diagnosis.causes]


@pytest.mark.parametrize(("topics", "is_told"), [("other", True), ("t", False)])
def test_a_subscription_that_is_not_what_the_offsets_name(tmp_path: Path, topics: str, is_told: bool) -> None:
    root = build(tmp_path, "k0-10 c | k10-20 c | k20-30 c")
    assert ("subscription-changed" in subscribed(root, topics)) is is_told


@pytest.mark.parametrize(("release", "is_told"), [((3, 5, 7), True), ((4, 3, 0), False)])
@pytest.mark.parametrize("name", ["4.2.0-offset-log-v2-sound", "4.2.0-commit-log-v3-sound"])
def test_an_older_spark(tmp_path: Path, name: str, release: Release, is_told: bool) -> None:
    root = place_sample(name, tmp_path)
    found = check_up(str(root), Restarted(release=release), now_ms=MUCH_LATER_MS).diagnosis.causes
    assert [one.sign.sure for one in found if one.id == "older-spark"] == ["certain"] * is_told


def test_windows_of_two_lengths(tmp_path: Path) -> None:
    found = checked(place_sample("4.2.0-windowed-agg-hdfs-sound", tmp_path)).diagnosis
    assert found.scene.around
    shapes = TwoShapes(0, "state/0", (("a window of 5 minutes", 4), ("a window of 10 minutes", 2)), 3)
    scene = replace(found.scene, around=replace(found.scene.around, two_shapes=(shapes,)))
    told_now = with_health(diagnose(scene), "full").causes
    assert [(one.id, one.sign.sure) for one in told_now] == [("window-or-key-changed", "certain")]
    assert told_now[0].command.endswith("--to-batch 2")
    assert found.causes == ()


def test_a_schema_that_is_younger_than_the_last_commit(tmp_path: Path) -> None:
    root = place_sample("3.5.7-windowed-agg-hdfs-sound", tmp_path)
    schema = root / "state" / "0" / "0" / "_metadata" / "schema"
    written_at(schema, ms(root / "commits" / str(newest_of(root / "commits"))) + 60_000)
    cause = told(root)[DEPLOY]
    assert (cause.sign.sure, explained(cause)) == ("likely", {"state-schema-younger-than-commit"})


def test_directories_without_a_file_in_a_query_that_told_of_no_state(tmp_path: Path) -> None:
    """As the first operator of all leaves them, where its start failed early."""
    root = place_sample("3.5.7-file-to-parquet-sound", tmp_path)
    for partition in ("0", "1"):
        (root / "state" / "0" / partition).mkdir(parents=True)
    causes = told(root)
    assert causes[DEPLOY].sign.sure == "possible"
    assert "state-elsewhere" not in causes
