"""`ckpt plan-recovery` through the command line: exit status, releases, and secrets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import MalformedFile, Unavailable
from ckpttool.storage.store import LocalStore
from tests.builders import EPOCH_MS, MINUTE_MS, QUERY_ID, build, write
from tests.conftest import Outcome, run_ckpt
from tests.samples.place import about, sample_names
from tests.unit.cli.plans import assert_contract, file_sink, plan

SOUND = "k0-10 c | k10-20 c | k20-30 c"
PENDING = "k0-10 c | k10-20"
HOLE = "k0-10 c | k10-20 c lost | k20-30 c"  # Spark opens the offsets before the newest
NOWHERE = "http://127.0.0.1:9/table"

Sample = Callable[[str], Path]


# -- exit status -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [SOUND, PENDING], ids=["new-batch", "replay"])
def test_0_when_the_restart_goes_on(tmp_path: Path, story: str) -> None:
    outcome, fields = plan(build(tmp_path, story))
    assert outcome.code == 0
    assert fields["sinks"] == []


def test_0_for_an_empty_directory_where_a_query_may_begin(tmp_path: Path) -> None:
    outcome, fields = plan(tmp_path)
    assert outcome.code == 0
    assert (fields["restart"]["outcome"], fields["restart"]["batch_id"]) == ("fresh_start", 0)
    assert fields["spark_version"] == {"assumed": "4.3.0", "why": "default", "possible": []}


def test_1_when_a_failure_is_predicted(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path, HOLE))
    assert outcome.code == 1
    assert fields["restart"]["outcome"] == "error"
    assert fields["restart"]["error"]["phase"] == "init"
    assert fields["options"]


def test_1_when_a_sink_would_leave_rows_out(tmp_path: Path) -> None:
    root = build(tmp_path / "checkpoint", SOUND)
    outcome, fields = plan(root, "--sink", str(file_sink(tmp_path / "out", *range(6))))
    assert outcome.code == 1
    assert fields["restart"]["outcome"] == "new_batch"
    assert fields["sinks"][0]["verdict"] == "skipped_rows_lost"
    assert any(finding["severity"] == "error" for finding in fields["findings"])


def test_1_when_a_source_forgot_files_that_a_sink_has(tmp_path: Path) -> None:
    """The batch that read them runs again, reads nothing, and the sink skips it; the next one brings their rows."""
    root = build(tmp_path / "checkpoint", "f0 c | f1")
    (root / "sources" / "0" / "1").write_text("v1")
    assert plan(root)[0].code == 0
    assert plan(root, "--sink", str(file_sink(tmp_path / "before", 0)))[0].code == 0
    outcome, fields = plan(root, "--sink", str(file_sink(tmp_path / "after", 0, 1)))
    assert outcome.code == 1
    (told,) = [one for one in fields["findings"] if one["severity"] == "error"]
    assert (told["id"], "gets them twice" in told["message"]) == ("source-log-entry-empty", True)
    assert "exactly once" not in {option["guarantee"] for option in fields["options"]}


@pytest.mark.parametrize(("release", "code"), [("3.5.7", 0), ("4.0.4", 0), ("4.1.0", 1), ("4.2.0", 1)])
def test_what_is_left_of_the_first_offsets_stops_later_releases_only(tmp_path: Path, release: str, code: int) -> None:
    root = build(tmp_path, "")
    write(root / "offsets" / ".0.b6e1.tmp", b"v1", EPOCH_MS)
    assert plan(root, "--spark-version", release)[0].code == code


def test_1_for_a_finding_of_severity_error_alone(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND, spark="4.1.0")
    (root / "metadata").unlink()
    outcome, fields = plan(root, "--spark-version", "4.1")
    assert outcome.code == 1
    assert fields["restart"]["outcome"] == "new_batch"
    assert "metadata-missing" in [finding["id"] for finding in fields["findings"]]


@pytest.mark.parametrize(
    "options",
    [
        ["--conf", "spark.sql.shuffle.partitions"],
        ["--conf", "=2"],
        ["--option", "failOnDataLoss"],
        ["--conf", "spark.sql.shuffle.partition=2"],
        ["--option", "failOnDatalos=false"],
        ["--storage-option", "anon"],
        ["--to-time", "yesterday"],
        ["--to-batch", "-1"],
        ["--to-batch", "one"],
        ["--to-batch", "1", "--to-time", "2026-11-18"],
        ["--spark-version", "four"],
        ["--spark-version", "4"],
        ["--trigger", "sometimes"],
        ["--state", "some"],
        ["--format", "csv"],
    ],
    ids=" ".join,
)
def test_2_for_wrong_usage_even_where_nothing_is(tmp_path: Path, options: list[str]) -> None:
    outcome = run_ckpt("plan-recovery", str(tmp_path / "nowhere"), *options)
    assert outcome.code == 2
    assert not outcome.out


def test_a_slip_is_answered_with_the_name_that_was_meant(tmp_path: Path) -> None:
    outcome = run_ckpt("plan-recovery", str(tmp_path / "nowhere"), "--option", "failOnDatalos=hunter2")
    assert "did you mean failOnDataLoss?" in outcome.err
    assert "hunter2" not in outcome.err


def test_each_option_and_setting_is_answered(tmp_path: Path) -> None:
    given = [
        "--conf",
        "spark.sql.shuffle.partitions=400",
        "--option",
        "failOnDataLoss=false",
        "--option",
        "zzz=hunter2",
    ]
    root = build(tmp_path, SOUND)
    _, fields = plan(root, "--spark-version", "3.5.7", *given)
    unknown = "no source and no sink that is known here has such an option"
    assert [tuple(one.values()) for one in fields["given"]] == [
        ("conf", None, "spark.sql.shuffle.partitions", "400", "pinned", "200", "offsets/2", None),
        ("option", None, "failOnDataLoss", "false", "taken", None, "the kafka source", None),
        ("option", None, "zzz", "***", "unknown", None, unknown, None),
    ]
    text = run_ckpt("plan-recovery", str(root), "--spark-version", "3.5.7", *given).out
    assert "Given --option failOnDataLoss: taken (the kafka source)" in text
    assert f"Given --option zzz: unknown ({unknown})" in text


def test_3_for_a_release_that_is_newer_than_the_rules(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path, SOUND), "--spark-version", "9.9")
    assert outcome.code == 3
    assert fields["restart"]["outcome"] == "unknown"
    assert fields["restart"]["batch_id"] is None
    assert "9.9.0" in fields["restart"]["why"][0]


def test_3_for_a_sink_that_cannot_tell(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path, PENDING), "--sink", "kafka")
    assert outcome.code == 3
    assert fields["restart"]["outcome"] == "replay"
    assert [(sink["kind"], sink["verdict"]) for sink in fields["sinks"]] == [("kafka", "unknown")]


def test_3_for_a_damaged_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = file_sink(tmp_path / "out", 0)
    monkeypatch.setattr(LocalStore, "list", failing_at(sink, MalformedFile("torn", expected="a log")))
    outcome, fields = plan(build(tmp_path / "checkpoint", SOUND), "--sink", str(sink))
    assert outcome.code == 3
    assert fields["sinks"][0]["verdict"] == "unknown"


@pytest.mark.parametrize("story", [SOUND, HOLE], ids=["sound", "damaged"])
def test_4_for_a_batch_to_go_back_to_that_is_not_there(tmp_path: Path, story: str) -> None:
    outcome, fields = plan(build(tmp_path, story), "--to-batch", "77")
    assert outcome.code == 4
    assert fields["restart"]["outcome"] in ("new_batch", "error")
    assert [refusal["id"] for refusal in fields["refused"]] == ["rewind-to-batch"]


def test_4_for_a_time_before_the_first_batch(tmp_path: Path) -> None:
    assert plan(build(tmp_path, SOUND), "--to-time", "2001-01-01")[0].code == 4


def assert_nothing_is_known(outcome: Outcome, fields: Mapping[str, Any]) -> None:
    assert outcome.code == 4
    assert outcome.err.startswith("ckpt: ")
    assert fields["error"]["exit_code"] == 4
    assert fields["restart"]["outcome"] == "unknown"
    assert fields["restart"]["why"] == [fields["error"]["message"]]
    assert_contract(fields)


def test_4_for_what_does_not_exist(tmp_path: Path) -> None:
    assert_nothing_is_known(*plan(tmp_path / "nowhere"))


def test_4_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("v1")
    assert_nothing_is_known(*plan(tmp_path / "file"))


def test_4_for_a_parent_of_checkpoints_with_their_names(tmp_path: Path) -> None:
    roots = [str(build(tmp_path / name, SOUND)) for name in ("orders", "payments")]
    outcome, fields = plan(tmp_path)
    assert_nothing_is_known(outcome, fields)
    assert fields["checkpoints"] == roots
    assert roots[0] in outcome.err


@pytest.mark.parametrize("inside", ["offsets", "commits", "sources/0", "sources"])
def test_4_inside_a_checkpoint_with_its_name(tmp_path: Path, inside: str) -> None:
    root = build(tmp_path / "orders", SOUND)
    outcome, fields = plan(root / inside, "--spark-version", "3.5")
    assert_nothing_is_known(outcome, fields)
    assert fields["checkpoints"] == [str(root)]
    assert fields["spark_version"] == {"assumed": "3.5.8", "why": "given", "possible": []}


@pytest.mark.extras
def test_5_for_a_sink_out_of_reach_and_all_the_rest_is_told(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path, SOUND), "--sink", NOWHERE)
    assert outcome.code == 5
    assert (fields["restart"]["outcome"], fields["restart"]["batch_id"]) == ("new_batch", 3)
    assert fields["sinks"][0]["verdict"] == "unknown"
    assert "sink-unreachable" in [finding["id"] for finding in fields["findings"]]


@pytest.mark.extras
def test_5_for_a_checkpoint_out_of_reach() -> None:
    outcome, fields = plan(NOWHERE)
    assert outcome.code == 5
    assert fields["error"]["exit_code"] == 5
    assert_contract(fields)


def test_5_for_state_out_of_reach(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sample("4.2.0-dedup-hdfs-sound") / "checkpoint"
    monkeypatch.setattr(LocalStore, "list", failing_at(root / "state" / "0" / "1", Unavailable("no answer")))
    outcome, fields = plan(root)
    assert outcome.code == 5
    assert fields["restart"]["outcome"] == "unknown"
    assert "state/0/1 could not be listed" in fields["restart"]["why"][0]
    assert fields["options"] == []


def failing_at(place: Path, error: Exception) -> Callable[..., Any]:
    listing = LocalStore.list

    def list_or_fail(store: LocalStore, path: str = "") -> Any:
        if (Path(store.url) / path).resolve() == place.resolve():
            raise error
        return listing(store, path)

    return list_or_fail


def test_6_for_a_sink_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path, SOUND), "--sink", "viewfs://cluster/table")
    assert outcome.code == 6
    assert fields["restart"]["outcome"] == "new_batch"
    assert "viewfs" in fields["sinks"][0]["why"]


def test_6_for_a_checkpoint_that_cannot_be_read_at_all() -> None:
    outcome, fields = plan("viewfs://cluster/checkpoint")
    assert outcome.code == 6
    assert_contract(fields)


@pytest.mark.extras
@pytest.mark.parametrize(
    ("story", "options", "code"),
    [
        (HOLE, ["--sink", "viewfs://x/y", "--to-batch", "77", "--conf", "x"], 2),
        (HOLE, ["--sink", "viewfs://x/y", "--to-batch", "77"], 4),
        (HOLE, ["--sink", "viewfs://x/y", "--sink", NOWHERE], 6),
        (HOLE, ["--sink", NOWHERE], 1),
        (PENDING, ["--sink", NOWHERE, "--sink", "kafka"], 5),
        (SOUND, ["--sink", NOWHERE, "--spark-version", "9.9"], 3),  # without an outcome the sink is not judged
        (PENDING, ["--sink", "kafka"], 3),
        (SOUND, ["--sink", "noop"], 0),
    ],
    ids=str,
)
def test_the_first_status_that_applies(tmp_path: Path, story: str, options: list[str], code: int) -> None:
    assert run_ckpt("plan-recovery", str(build(tmp_path, story)), *options).code == code


def test_a_sink_that_was_not_given_does_not_count(tmp_path: Path) -> None:
    outcome = run_ckpt("plan-recovery", str(build(tmp_path, PENDING)))
    assert outcome.code == 0
    assert "its sink (--sink URL)" in outcome.out
    assert "its sink" not in run_ckpt("plan-recovery", str(tmp_path), "--sink", "noop").out


def test_a_sink_that_is_not_there_yet_is_an_empty_table(tmp_path: Path) -> None:
    outcome, fields = plan(build(tmp_path / "checkpoint", PENDING), "--sink", str(tmp_path / "table"))
    assert [(sink["kind"], sink["verdict"]) for sink in fields["sinks"]] == [("unknown", "written")]
    assert outcome.code in (0, 1)


# -- releases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "assumed"),
    [("3.5", "3.5.8"), ("3.5.1", "3.5.1"), ("4.2", "4.2.1"), ("4.0.0", "4.0.0"), ("2.4", "2.4.8"), ("9.9", "9.9.0")],
)
def test_a_minor_release_means_its_newest_patch(tmp_path: Path, given: str, assumed: str) -> None:
    _, fields = plan(build(tmp_path, SOUND), "--spark-version", given)
    assert fields["spark_version"]["assumed"] == assumed
    assert fields["spark_version"]["why"] == "given"


def test_without_a_release_the_newest_that_may_have_written_the_files(tmp_path: Path) -> None:
    _, fields = plan(build(tmp_path, SOUND, spark="3.5.0"))
    spark = fields["spark_version"]
    assert spark["why"] == "inferred"
    assert spark["assumed"].startswith(f"{spark['possible'][-1]}.")
    assert spark["possible"][-1] == "3.5"


def test_what_was_never_compared_says_so(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND)
    said = plan(root, "--spark-version", "2.4")[1]["restart"]["assumes"]
    assert any("not checked against a running Spark" in one for one in said)
    assert not any("not checked" in one for one in plan(root, "--spark-version", "3.5")[1]["restart"]["assumes"])


def test_another_outcome_under_another_release_is_a_finding(tmp_path: Path) -> None:
    root = build(tmp_path, PENDING)
    for file in root.glob("offsets/*"):  # without pinned settings every release may have written them
        head, metadata, *rest = file.read_text().split("\n")
        file.write_text("\n".join([head, json.dumps(json.loads(metadata) | {"conf": {}}), *rest]))
    (root / "metadata").unlink()
    _, fields = plan(root)
    found = {finding["id"]: finding for finding in fields["findings"]}
    assert len(fields["spark_version"]["possible"]) > 1
    assert fields["restart"]["outcome"] == "error"
    assert "3.5.8, 4.0.4 and 4.1.3: replay, batch 1" in found["outcome-depends-on-version"]["message"]
    named = plan(root, "--spark-version", "4.3")[1]["findings"]
    assert "outcome-depends-on-version" not in [finding["id"] for finding in named]


# -- what is assumed ---------------------------------------------------------------------------------------------------


def test_what_was_not_given_is_assumed(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND)
    nothing = " ".join(plan(root)[1]["restart"]["assumes"])
    for what in ("the same query", "session's configuration", "sources' options", "trigger"):
        assert what in nothing
    given = ["--conf", "a=b", "--option", "c=d", "--trigger", "once"]
    said = plan(root, *given)[1]["restart"]["assumes"]
    assert any(one.startswith("the rest of the session's configuration") for one in said)
    assert any("other options" in one for one in said)
    assert not any("trigger" in one for one in said)


@pytest.mark.parametrize("mode", ["quick", "full", None])
def test_state_that_was_not_read_is_said_at_once(sample: Sample, mode: str | None) -> None:
    root = str(sample("4.2.0-dedup-hdfs-sound") / "checkpoint")
    options = ["--state", mode] if mode else []
    assert ("state bodies not read" in plan(root, *options)[1]["restart"]["assumes"]) is (mode == "quick")
    head = run_ckpt("plan-recovery", root, *options).out.partition("\n\n")[0]
    assert ("(--state full)" in head) is (mode == "quick")


def test_quick_and_full_differ_where_a_body_is_damaged(sample: Sample, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(sample("4.2.0-dedup-hdfs-sound") / "checkpoint", root)
    victim = max((root / "state" / "0" / "0").glob("*.delta"), key=lambda file: int(file.stem))
    victim.write_bytes(bytes(victim.stat().st_size))
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)
    assert plan(root, "--state", "quick")[0].code == 0
    outcome, fields = plan(root)
    assert outcome.code == 1
    assert fields["restart"]["outcome"] == "error"


# -- going back --------------------------------------------------------------------------------------------------------


def targets(fields: Mapping[str, Any]) -> list[str]:
    return [option["title"] for option in fields["options"]]


@pytest.mark.parametrize(
    ("after_ms", "batch"), [(0, 0), (1, 0), (MINUTE_MS - 1, 0), (MINUTE_MS, 1), (MINUTE_MS + 1, 1), (10**9, 2)]
)
def test_a_time_counts_to_the_millisecond(tmp_path: Path, after_ms: int, batch: int) -> None:
    root = build(tmp_path, f"t{EPOCH_MS + 139} k0-10 c | k10-20 c | k20-30 c | k30-40 c")
    wanted = EPOCH_MS + 139 + min(after_ms, 3 * MINUTE_MS - 1)
    text = f"{datetime.fromtimestamp(wanted // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{wanted % 1000:03}"
    for zone in ("Z", "", "+00:00"):
        _, fields = plan(root, "--to-time", text + zone)
        assert targets(fields) == [f"Go back to the end of batch {batch}"]


def test_a_zone_is_obeyed(tmp_path: Path) -> None:
    root = build(tmp_path, SOUND)
    moment = datetime.fromtimestamp((EPOCH_MS + MINUTE_MS) / 1000, UTC)
    east = f"{moment:%Y-%m-%dT}{moment.hour + 1:02}:{moment:%M:%S}+01:00"
    assert targets(plan(root, "--to-time", east)[1]) == ["Go back to the end of batch 1"]


def test_one_may_go_back_further_than_is_usually_read(tmp_path: Path) -> None:
    story = " | ".join(f"k{number * 10}-{number * 10 + 10} c" for number in range(130))
    root = build(tmp_path, story)
    _, fields = plan(root, "--to-batch", "5")
    assert targets(fields) == ["Go back to the end of batch 5"]
    assert fields["reach"]["batch_id"] == 0
    assert "at least as far as" in run_ckpt("plan-recovery", str(build(tmp_path, f"{story} | k1300-1310"))).out


def test_nothing_is_changed(tmp_path: Path) -> None:
    root = build(tmp_path / "checkpoint", HOLE)
    sink = file_sink(tmp_path / "out", 0, 1, 2)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    run_ckpt("plan-recovery", str(root), "--sink", str(sink), "--to-batch", "0")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


# -- a sink that gets a batch again and again --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sink", "verdicts"),
    [("noop", {"written"}), ("kafka", {"duplicated"}), ("file", {"skipped_already_written"})],
)
def test_a_restart_that_fails_behind_its_sink(tmp_path: Path, sink: str, verdicts: set[str]) -> None:
    """`commits/` is ahead: the batch runs, and its commit is there already. What has a record skips it every time."""
    root = build(tmp_path / "checkpoint", "k0-10 c | k10-20 c | k20-30 c lost")
    given = str(file_sink(tmp_path / "out", 0, 1)) if sink == "file" else sink
    outcome, fields = plan(root, "--sink", given)
    assert outcome.code == 1
    assert fields["restart"]["error"]["sink_written_first"] is True
    assert fields["sinks"][0]["verdict"] in verdicts


# -- secrets -----------------------------------------------------------------------------------------------------------

SECRET = "hunter2"
LEAKY: tuple[tuple[str, ...], ...] = (
    ("--sink", f"http://user:{SECRET}@127.0.0.1:9/t?sig={SECRET}"),
    ("--sink", f"s3://key:{SECRET}@bucket/t"),
    ("--sink", f"viewfs://user:{SECRET}@cluster/t"),
    ("--option", f"path=http://user:{SECRET}@127.0.0.1:9/t?sig={SECRET}"),
    ("--option", f'kafka.sasl.jaas.config=x required password="{SECRET}";'),
    ("--option", SECRET),
    ("--conf", f"spark.hadoop.fs.s3a.secret.key={SECRET}"),
    ("--conf", SECRET),
    ("--storage-option", f"s3:secret={SECRET}", "--sink", "s3://bucket/t"),
    ("--storage-option", f"http:headers={{{SECRET}", "--sink", NOWHERE),
    ("--storage-option", f"token={SECRET}", "--sink", NOWHERE),
    ("--storage-option", SECRET),
)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("options", LEAKY, ids=lambda options: " ".join(options).replace(SECRET, "…"))
def test_no_secret_is_shown(sample: Sample, options: tuple[str, ...], form: str) -> None:
    root = sample("4.2.0-delta-to-delta-sound") / "checkpoint"
    outcome = run_ckpt("plan-recovery", str(root), *options, "--format", form)
    assert SECRET not in outcome.out + outcome.err
    assert outcome.code in (0, 1, 2, 3, 5, 6)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("scheme", ["http", "s3", "viewfs", "hdfs"])
def test_no_secret_of_the_path_is_shown(scheme: str, form: str) -> None:
    url = f"{scheme}://user:{SECRET}@127.0.0.1:9/checkpoint?sig={SECRET}"
    outcome = run_ckpt("plan-recovery", url, "--format", form)
    assert outcome.code in (4, 5, 6)
    assert SECRET not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "words", [("apply",), ("apply", "--resume"), ("undo",), ("undo", "--list"), ("query", "describe")]
)
def test_nor_by_commands_that_change_it(words: tuple[str, ...]) -> None:
    outcome = run_ckpt(*words, f"https://user:{SECRET}@127.0.0.1:9/checkpoint?sig={SECRET}")
    assert outcome.code in (2, 4, 5, 6)
    assert SECRET not in outcome.out + outcome.err


# -- what the samples tell of ------------------------------------------------------------------------------------------

# Whether `-1` stops a restart depends on what the topic holds then.
CANNOT_BE_TOLD = {"4.2.0-kafka-to-delta-sentinel-in-offsets"}


def told_of() -> list[str]:
    """The samples of releases that the rules cover, and that say what a restart does."""
    return [
        name
        for name in sample_names()
        if about(name)["spark"] >= "2.4"
        and about(name)["expect"]["next_batch"]["outcome"] != "unknown"
        and name not in CANNOT_BE_TOLD
    ]


@pytest.mark.parametrize("name", told_of())
def test_the_prediction_is_the_one_that_the_sample_tells_of(sample: Sample, name: str) -> None:
    facts = about(name)
    root = sample(name) / facts["checkpoint"]
    restart = plan(root, "--spark-version", facts["spark"])[1]["restart"]
    expected = facts["expect"]["next_batch"]
    assert (restart["outcome"], restart["batch_id"]) == (expected["outcome"], expected["batch_id"])


# -- the way through the world -----------------------------------------------------------------------------------------


def test_the_watermark_is_the_one_that_the_batch_runs_with(sample: Sample, tmp_path: Path) -> None:
    later = sample("4.2.0-dedup-hdfs-sound") / "checkpoint"
    told = json.loads((later / "commits" / "4").read_text().splitlines()[1])["nextBatchWatermarkMs"]
    assert told > 0
    assert plan(later)[1]["restart"]["watermark_ms"] == told
    again = sample("4.2.0-windowed-agg-to-parquet-crashed-after-offset-log") / "checkpoint"
    told = json.loads((again / "offsets" / "2").read_text().splitlines()[1])["batchWatermarkMs"]
    assert told > 0
    assert plan(again)[1]["restart"]["watermark_ms"] == told
    assert plan(build(tmp_path, SOUND))[1]["restart"]["watermark_ms"] in (0, None)


def test_ranges_and_rows_of_a_batch_that_runs_again(tmp_path: Path) -> None:
    source = plan(build(tmp_path, PENDING))[1]["restart"]["sources"][0]
    assert source["start"] == {"t": {"0": 10}}
    assert source["end"] == {"t": {"0": 20}}
    assert (source["index"], source["kind"], source["rows"]) == (0, "kafka", 10)


def test_ranges_of_a_new_batch_end_at_run_time(tmp_path: Path) -> None:
    source = plan(build(tmp_path, SOUND))[1]["restart"]["sources"][0]
    assert (source["start"], source["end"], source["rows"]) == ({"t": {"0": 30}}, None, None)


def test_a_first_batch_that_runs_again_has_no_start(tmp_path: Path) -> None:
    restart = plan(build(tmp_path, "k5-10"))[1]["restart"]
    assert (restart["outcome"], restart["batch_id"], restart["sources"][0]["start"]) == ("replay", 0, None)


def test_the_id_is_not_needed_to_be_shown(tmp_path: Path) -> None:
    """It is `inspect` that tells of the query; here a way out that touches it says so."""
    assert QUERY_ID not in run_ckpt("plan-recovery", str(build(tmp_path, SOUND))).out


def test_colour_only_where_it_is_wanted(tmp_path: Path) -> None:
    root = str(build(tmp_path, HOLE))
    assert "\x1b[" not in run_ckpt("plan-recovery", root).out
    assert "\x1b[" in run_ckpt("plan-recovery", root, "--color", "always").out


def test_control_characters_of_files_do_not_reach_the_terminal(tmp_path: Path) -> None:
    root = build(tmp_path / "a\x1b[31mb", PENDING)
    (root / "offsets" / "1").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}\n{"\x1b[2J":1}')
    for options in ([], ["--to-batch", "0"], ["--sink", str(file_sink(tmp_path / "c\x1b[31md", 0))]):
        assert "\x1b" not in run_ckpt("plan-recovery", str(root), *options).out
