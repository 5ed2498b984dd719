"""`ckpt rehearse` with real Spark: the next batch of queries that ran, by the code that ran and by others, on clones.
What the rows must be is told by hand; the production of each case ends after its third file, and the fourth is what the
batch reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_ckpt
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.parts.spark import ensure_jars, ensure_spark

pytestmark = pytest.mark.spark

JOB = Path(__file__).with_name("rehearsing.py")
SPARKS = ["3.5.7", "4.2.0"]
# Of each file: (id, k, v, second of ts).
BEFORE = [[(0, "a", 1, 0), (1, "b", 2, 1)], [(2, "a", 3, 6), (3, "b", 4, 12)], [(4, "a", 5, 14)]]
NEXT = [(5, "a", 6, 25), (6, "c", 7, 26)]
AFTER = [(7, "b", 8, 41)]
# What the sums are after NEXT: a: ids 0, 2, 4, 5.
NOW = [{"k": "a", "n": 4, "s": 15}, {"k": "c", "n": 1, "s": 7}]
ANYWAY = ("batches after 3",)


def write(folder: Path, number: int, rows: Sequence[tuple[int, str, int, int]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:03}.json"
    lines = ({"id": one, "k": k, "v": v, "ts": f"2024-01-01T00:00:{second:02}.000Z"} for one, k, v, second in rows)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (1_700_000_000 + number,) * 2)


def run(root: Path, spark: str, *pairs: str, **more: str) -> None:
    done = subprocess.run(
        [ensure_spark(spark), JOB, root, *pairs], capture_output=True, text=True, check=False, env=os.environ | more
    )
    assert done.returncode == 0, done.stderr[-2000:]


def produced(root: Path, spark: str, *cases: str) -> None:
    """Each case has run over the first files, and the next ones are there."""
    for case in cases:
        for number, rows in enumerate(BEFORE):
            write(root / case / "in", number, rows)
            write(root / case / "right", number, rows)
    run(root, spark, *(word for case in cases for word in (case, "same")))
    for case in cases:
        for folder in ("in", "right"):
            write(root / case / folder, 3, NEXT)
            write(root / case / folder, 4, AFTER)


def code(root: Path, case: str, variant: str) -> str:
    path = root / f"{case}-{variant}.py"
    argv = [str(JOB), str(root), case, variant]
    path.write_text(f"import runpy, sys\nsys.argv = {argv!r}\nrunpy.run_path({str(JOB)!r}, run_name='__main__')\n")
    return str(path)


def rehearsed(root: Path, spark: str, case: str, variant: str, *given: str, exits: int, was: str = "same") -> Any:
    """Held against a production that nobody touches."""
    before = tree(root / case)
    words = [
        "--job",
        code(root, case, variant),
        "--was-job",
        code(root, case, was),
        "--python",
        str(ensure_spark(spark)),
    ]
    outcome = run_ckpt("rehearse", str(root / case / "checkpoint"), *words, "--watch", str(root / case), *given,
                       "--format", "json")  # fmt: skip
    assert outcome.code == exits, (outcome.err, outcome.out)
    assert tree(root / case) == before
    told = json.loads(outcome.out)
    assert told["production_untouched"]
    assert {run["spark_version"] for run in told["runs"] if run["outcome"] != "not_reached"} == {spark}
    return told


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


def test_a_changed_sum_changes_the_rows_of_its_keys(tmp_path: Path) -> None:
    produced(tmp_path, "4.2.0", "sums")
    kept = ("--work", str(tmp_path / "work"), "--keep")
    told = rehearsed(tmp_path, "4.2.0", "sums", "changed", "--identity", "k", *kept, exits=1)
    assert told["verdict"] == "rows_differ"
    assert not (tmp_path / "work" / "local" / "new").exists()  # one Spark did for both
    # a had 9 of its own before, and gets 5 of the other kind: the id of its new row, not 6.
    samples = [
        {"identity": {"k": one["k"]}, "old": one, "new": one | {"s": s}} for one, s in zip(NOW, (14, 6), strict=True)
    ]
    assert told["rows"] == {"only_old": 0, "only_new": 0, "changed": 2, "same": 0, "samples": samples}
    assert told["batch_ids"] == [3]
    (source,) = told["range"]
    assert (source["kind"], source["start"], source["end"]) == ("file", {"logOffset": 2}, {"logOffset": 3})
    for run in told["runs"]:
        assert (run["outcome"], run["error"], run["rows_in"], run["rows_out"]) == ("done", None, 2, 2)
        assert run["state_rows"] == [{"operator": 0, "before": 2, "after": 3}]
    assert told["not_rehearsed"][1:] == list(ANYWAY)
    assert told["agrees_with_check_change"] is True
    assert told["not_rehearsed"][0].startswith("the body of foreachBatch: <lambda> (")


def test_the_same_code_gives_the_same_rows_batch_by_batch(tmp_path: Path) -> None:
    """In append mode rows come when the watermark has moved: the second batch has those of the windows that closed."""
    produced(tmp_path, "3.5.7", "windows")
    told = rehearsed(tmp_path, "3.5.7", "windows", "same", "--batches", "2", exits=0)
    assert told["verdict"] == "same"
    assert told["batch_ids"] == [4, 5]
    assert told["rows"]["same"] == told["runs"][0]["rows_out"] > 0


# -- at length ---------------------------------------------------------------------------------------------------------


@pytest.mark.at_length
def test_a_spark_that_the_old_code_has_changed_does_not_do_for_the_new_one(tmp_path: Path) -> None:
    produced(tmp_path, "4.2.0", "sums")
    kept = ("--work", str(tmp_path / "work"), "--keep")
    told = rehearsed(tmp_path, "4.2.0", "sums", "same", *kept, exits=0, was="configured")
    assert told["rows"]["same"] == 2
    assert (tmp_path / "work" / "local" / "new").exists()  # each Spark has its own


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_what_spark_refuses_is_told_in_its_words(tmp_path: Path, spark: str) -> None:
    produced(tmp_path, spark, "sums")
    told = rehearsed(tmp_path, spark, "sums", "typed", exits=1)
    assert (told["verdict"], told["rows"], told["agrees_with_check_change"]) == ("failed", None, True)
    old, new = told["runs"]
    assert (old["outcome"], new["outcome"], new["error"]["phase"], new["error"]["batch_id"]) == (
        "done",
        "failed",
        "batch",
        3,
    )
    if spark == "4.2.0":
        assert new["error"]["condition"] == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    else:
        kinds = ("StateSchemaNotCompatible", "InvalidUnsafeRowException")  # whichever comes first
        assert new["error"]["class"].endswith(kinds)


@pytest.mark.at_length
def test_a_commit_that_was_there_before_is_none_of_the_batch(tmp_path: Path) -> None:
    """Spark runs the batch before it once more, and fails where it would commit that."""
    produced(tmp_path, "4.2.0", "sums")
    commits = tmp_path / "sums" / "checkpoint" / "commits"
    (commits / "3").write_bytes((commits / "2").read_bytes())
    told = rehearsed(tmp_path, "4.2.0", "sums", "same", exits=3)
    assert [(run["outcome"], run["rows_in"]) for run in told["runs"]] == [("failed", 0), ("not_reached", 0)]
    assert told["runs"][0]["error"]["batch_id"] == 2


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_windows_that_the_old_code_has_closed_are_none_of_the_new_ones(tmp_path: Path, spark: str) -> None:
    """What `ckpt check-change` offers is done: else the windows of 10 seconds and of 20 would live side by side."""
    root, checkpoint, plan = tmp_path / "windows", str(tmp_path / "windows" / "checkpoint"), str(tmp_path / "plan.json")
    produced(tmp_path, spark, "windows")
    assert written_windows(root) == [(0, "a", 2), (0, "b", 1)]
    given = ("--python", str(ensure_spark(spark)), "--sink", str(root / "out"))
    both = ("--query", code(tmp_path, "windows", "longer"), "--was", code(tmp_path, "windows", "same"), *given)
    offered = run_ckpt("check-change", checkpoint, *both, "--take", "flush-first", "--out", plan)
    assert (offered.code, "flush-first" in offered.out) == (1, True), offered.err
    done = run_ckpt("apply", plan, "--settle", "0s", "--yes", "--accept", "rows-lost", "--accept", "query-stopped")
    assert done.code == 0, (done.out, done.err)
    run(tmp_path, spark, "windows", "same", ONCE="1")
    assert written_windows(root) == [(0, "a", 2), (0, "b", 1), (10, "a", 1), (10, "b", 1)]
    accepted = run_ckpt("check-change", checkpoint, *both)
    assert accepted.code == 0, accepted.out
    run(tmp_path, spark, "windows", "longer")
    assert written_windows(root) == [(0, "a", 2), (0, "b", 1), (10, "a", 1), (10, "b", 1), (20, "a", 1), (20, "c", 1)]


def written_windows(root: Path) -> list[tuple[int, str, int]]:
    """The second in which each begins, its key and its count, of all files that the sink's log has."""
    rows = [json.loads(line) for path in (root / "out").glob("part-*") for line in path.read_text().splitlines()]
    return sorted((int(row["window"]["start"][17:19]), row["k"], row["count"]) for row in rows)


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_each_kind_of_state_and_source(tmp_path: Path, spark: str) -> None:
    """The old code gives the same rows each time, and changed code other ones, of as many as were counted by hand."""
    produced(tmp_path, spark, "dedup", "join", "rate", "rocks")
    assert rehearsed(tmp_path, spark, "dedup", "same", exits=0)["rows"]["same"] == 1
    told = {
        case: rehearsed(tmp_path, spark, case, "changed", *given, exits=1)
        for case, given in {"join": (), "rate": (), "rocks": ("--identity", "k")}.items()
    }
    # Else it would not be known what is due to the code.
    assert {one["verdict"] for one in told.values()} == {"rows_differ"}
    rows = {case: one["rows"] for case, one in told.items()}
    assert rows["rocks"]["changed"] == 2
    # The new rows of each side meet all of the other: the v of a's new row and of its first one come to no more than 7.
    assert (rows["join"]["only_old"], rows["join"]["only_new"], rows["join"]["same"]) == (2, 0, 6)
    assert rows["rate"]["only_old"] == told["rate"]["runs"][0]["rows_out"] - rows["rate"]["same"]


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_records_of_kafka_are_read_by_consumers_of_our_own(tmp_path: Path, spark: str) -> None:
    """The job would write to the topic each time it runs, and reads with a group that others have: rehearsed, it does
    neither."""
    with Broker() as broker:
        topics = Topics(broker.address)
        topics.create("orders")
        jars = ",".join(map(str, ensure_jars(spark, "kafka")))
        own = {"BROKER": broker.address, "JARS": jars}
        given = [word for key, value in own.items() for word in ("--env", f"{key}={value}")]
        run(tmp_path, spark, "kafka", "feed", "kafka", "same", "kafka", "feed", **own)
        topics.commit("orders", "orders", 5)
        before = topics.everything()
        assert before == {"ends": {("orders", 0): (0, 12)}, "groups": {"orders": [("orders", 0, 5)]}}
        told = rehearsed(tmp_path, spark, "kafka", "same", *given, "--rows", "3", exits=0)
        assert (told["runs"][1]["rows_in"], told["rows"]["same"]) == (3, 3)
        assert told["range"][0]["end"] == {"orders": {"0": 11}}
        told = rehearsed(tmp_path, spark, "kafka", "changed", *given, "--identity", "offset", exits=1)
        assert (told["rows"]["changed"], told["range"][0]["end"]) == (4, {"orders": {"0": 12}})
        after = topics.everything()
        ours = {group for group in after["groups"] if group.startswith("ckpt-rehearse")}
        assert after | {"groups": {name: at for name, at in after["groups"].items() if name not in ours}} == before


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_a_table_is_read_and_none_is_written(tmp_path: Path, spark: str) -> None:
    own = {"JARS": ",".join(map(str, ensure_jars(spark, "delta")))}
    given = ("--env", f"JARS={own['JARS']}")
    run(tmp_path, spark, "delta", "feed", "delta", "same", "delta", "feed", **own)
    assert rehearsed(tmp_path, spark, "delta", "same", *given, exits=0)["rows"]["same"] == 2
    told = rehearsed(tmp_path, spark, "delta", "changed", *given, "--identity", "odd", exits=1)
    assert told["rows"]["changed"] == 2


@pytest.mark.at_length
@pytest.mark.parametrize("spark", SPARKS)
def test_a_function_that_is_run_writes_to_clones(tmp_path: Path, spark: str) -> None:
    own = {"JARS": ",".join(map(str, ensure_jars(spark, "delta")))}
    given = ("--env", f"JARS={own['JARS']}", "--sink", "run", "--yes")
    for number, rows in enumerate([*BEFORE, NEXT][:4]):
        if number == 3:
            run(tmp_path, spark, "upsert", "feed", "upsert", "same", **own)  # a: 9, b: 6
        write(tmp_path / "upsert" / "in", number, rows)
    told = rehearsed(tmp_path, spark, "upsert", "same", *given, exits=0)
    assert told["verdict"] == "same"
    written = {one["place"].rpartition("/")[2]: one for one in told["written"]}
    counts = {name: (one["added"]["same"], one["removed"]["same"]) for name, one in written.items()}
    assert counts == {"table": (2, 1), "out": (2, 0)}  # a becomes 15, c comes
    assert "a write to jdbc in its function" in told["not_rehearsed"]
    told = rehearsed(tmp_path, spark, "upsert", "changed", *given, "--identity", "k", exits=1)
    assert (told["verdict"], told["rows"]["same"], told["rows"]["changed"]) == ("rows_differ", 2, 0)
    [merged] = [one for one in told["written"] if one["place"].endswith("/table")]
    assert (merged["removed"]["same"], merged["added"]["changed"]) == (1, 2)
    assert [(one["old"]["total"], one["new"]["total"]) for one in merged["added"]["samples"]] == [(15, 21), (7, 14)]
