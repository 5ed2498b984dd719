"""The predictions against what real Spark did with thousands of damaged checkpoints: all records without Spark, and a
part of the restarts again with it."""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.diagnosis import diagnose
from ckpttool.laws.assumed import ICEBERG_FILES, KAFKA_NOT_ASKED
from ckpttool.laws.restart import GOES_ON
from ckpttool.reading.inputs import load_inputs
from ckpttool.releases import spell_release
from ckpttool.storage.doors import Doors
from tests.differential.sweep.accuracy import (
    ICEBERG_WRONGLY_FINE,
    KNOWN_SILENT,
    KNOWN_WRONGLY_FINE,
    PAGE,
    changed_in,
    group_of,
    judged,
    judged_iceberg,
    judged_kafka,
    judged_places,
    judged_sinks,
    judged_tables,
    judged_twice,
    refreshed,
    up_to_the_broker,
)
from tests.differential.sweep.bases import Sparks, bases
from tests.differential.sweep.judge import Verdict, as_recorded, judge_case, judge_iceberg_case, lay_table, score
from tests.differential.sweep.judge_sinks import score_sinks
from tests.differential.sweep.load import checkpoint_of, materialise, read_cases, recorded_versions, tables_file
from tests.differential.sweep.restarts import Restarter
from tests.differential.sweep.run import Json, in_one_process, read, verdict
from tests.differential.sweep.surgery import Surgery
from tests.differential.sweep.twice import again_of
from tests.unit.laws.inputs.lake import write_manifests

REQUIRED_CASES = {"3.3.4": 100, "3.4.4": 100}
AGAIN = 150


@pytest.mark.parametrize("version", recorded_versions())
def test_undamaged_and_crashed_checkpoints_are_predicted_exactly(version: str) -> None:
    wrong = [one.case["id"] for one in judged(version) if group_of(one) == "undamaged" and not is_exact(one)]
    assert wrong == []


def is_exact(one: Verdict) -> bool:
    return one.right_batch and one.right_offsets and one.right_error and one.right_phase


@pytest.mark.parametrize("version", recorded_versions())
def test_damaged_checkpoints_are_predicted_or_said_to_be_unknown(version: str) -> None:
    assert len(judged(version)) >= REQUIRED_CASES.get(version, 500)
    damaged = [one for one in judged(version) if group_of(one) != "undamaged"]
    told = score([one for one in damaged if one.case["id"] not in KNOWN_WRONGLY_FINE])
    assert told.outcome >= 0.993 * told.cases
    assert told.error >= 0.98 * told.cases
    assert score(judged(version)).unknown <= 0.007 * len(judged(version))


@pytest.mark.parametrize("version", recorded_versions())
def test_no_failure_is_promised_to_be_fine_but_those_that_no_file_shows(version: str) -> None:
    wrong = {one.case["id"] for one in judged(version) if one.wrongly_fine}
    assert wrong <= KNOWN_WRONGLY_FINE.keys()


def test_every_known_miss_is_still_one() -> None:
    missed = {one.case["id"] for version in recorded_versions() for one in judged(version) if one.wrongly_fine}
    assert missed == KNOWN_WRONGLY_FINE.keys()


@pytest.mark.parametrize("version", recorded_versions("kafka"))
def test_restarts_of_kafka_sources_are_predicted_with_a_broker(version: str) -> None:
    told = score(judged_kafka(version, asked=True))
    assert told.cases >= 500
    assert (told.unknown, told.wrongly_fine) == (0, 0)
    assert told.outcome >= 0.985 * told.cases
    assert told.error >= 0.99 * told.cases


@pytest.mark.parametrize("version", recorded_versions("kafka"))
def test_without_a_broker_only_what_a_topic_has_is_missed_and_that_is_said(version: str) -> None:
    """The same files and options go on where the topics have all that is read: no file tells that they have not."""
    alone, apart = judged_kafka(version, asked=False), up_to_the_broker(version)
    told = score([one for one in alone if one.case["id"] not in apart])
    assert told.cases >= 500
    assert (told.unknown, told.wrongly_fine) == (0, 0)
    assert told.outcome >= 0.985 * told.cases
    assert told.error >= 0.96 * told.cases
    assert all(KAFKA_NOT_ASKED in one.said.assumes for one in alone if one.wrongly_fine)


@pytest.mark.parametrize("version", recorded_versions("iceberg"))
def test_restarts_of_iceberg_sources_are_predicted_by_their_tables(version: str) -> None:
    told = score(judged_iceberg(version))
    assert told.cases >= 600
    assert told.unknown <= 0.007 * told.cases
    assert told.outcome >= 0.98 * told.cases
    assert told.error >= 0.98 * told.cases
    assert told.phase == told.cases


@pytest.mark.parametrize("version", recorded_versions("iceberg"))
def test_of_iceberg_only_what_its_metadata_does_not_tell_is_promised_to_be_fine(version: str) -> None:
    """What is taken for granted is said: that the data is there."""
    wrong = [one for one in judged_iceberg(version) if one.wrongly_fine]
    assert {one.case["table"] for one in wrong} == set(ICEBERG_WRONGLY_FINE)
    assert all(ICEBERG_FILES in one.said.assumes for one in wrong)


@pytest.mark.parametrize("version", recorded_versions("iceberg"))
def test_metadata_of_iceberg_is_the_same_whether_the_data_is_there(version: str) -> None:
    """Why no file of these records tells: those of the sound table differ in ids and times alone, and it goes on."""
    tables = json.loads(tables_file(version).read_text())

    def shown(table: str) -> Json:
        told = json.dumps(tables[table]["files"]).replace(table.replace("-", "_"), "table")
        return json.loads(re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{10,}", "n", told))

    assert shown("data-lost") == shown("sound")
    ends = {(one.case["table"], one.case["told"].partition(" ")[2]): one for one in judged_iceberg(version)}
    lost = [told for (table, told), one in ends.items() if table == "data-lost" and one.wrongly_fine]
    assert {ends["sound", told].truth["outcome"] for told in lost} <= set(GOES_ON)
    assert len(lost) >= 9


@pytest.mark.parametrize("version", recorded_versions("iceberg"))
@pytest.mark.parametrize("table", ["sound", "data-lost"])
def test_with_manifests_beside_its_metadata_what_iceberg_finds_gone_is_told(
    version: str, table: str, tmp_path: Path
) -> None:
    """They are made by hand, and name data that is there or not as the table's was."""
    place = tmp_path / "tables" / table
    lay_table(kept := json.loads(tables_file(version).read_text())[table], place)
    (place / "data").mkdir()
    newest = json.loads(next(text for name, text in kept["files"].items() if name.endswith(".metadata.json")))
    for one in newest["snapshots"]:
        added = [place / "data" / f"{one['snapshot-id']}-{n}" for n in range(int(one["summary"]["added-data-files"]))]
        write_manifests(place, one, added)
        for file in added if table == "sound" else ():
            file.touch()
    cases = [one for one in read_cases(version, "iceberg") if (one["table"], one["group"]) == (table, "iceberg/tables")]
    judged_now = [judge_iceberg_case(version, one, place) for one in cases]
    assert [one.case["told"] for one in judged_now if not (one.right_outcome and one.right_error)] == []
    assert len(judged_now) >= 9
    assert all(ICEBERG_FILES not in one.said.assumes for one in judged_now)


@pytest.mark.parametrize("version", recorded_versions("sinks"))
def test_sinks_are_followed_over_ten_batches(version: str) -> None:
    told = score_sinks(judged_sinks(version))
    assert told.cases >= 100
    assert min(told.failure, told.error) >= 0.985 * told.cases
    assert told.readers >= 0.98 * told.cases
    assert told.missing >= 0.92 * told.cases
    assert told.unknown <= 0.07 * told.cases
    assert told.alarm == 0
    assert {one.case["id"] for one in judged_sinks(version) if one.silent} <= KNOWN_SILENT.keys()


def test_every_known_silence_is_still_one() -> None:
    silent = {one.case["id"] for version in recorded_versions("sinks") for one in judged_sinks(version) if one.silent}
    assert silent == KNOWN_SILENT.keys()


@pytest.mark.parametrize("version", recorded_versions("twice"))
def test_a_restart_on_what_the_one_before_has_left_is_predicted(version: str) -> None:
    told = score(judged_twice(version))
    assert told.cases >= 60
    assert told.wrongly_fine == 0
    assert min(told.outcome, told.batch, told.error) >= 0.985 * told.cases
    assert (told.offsets, told.phase) == (told.cases, told.cases)


@pytest.mark.parametrize("version", recorded_versions("twice"))
def test_the_first_restart_leaves_what_was_said_of_it(version: str) -> None:
    """A failure before any batch plans none; one in a batch plans that at most, and commits none."""
    said = {again_of(one.case["id"]): one for one in judged(version)}
    wrong = []
    for case in read_cases(version, "twice"):
        first, left = said[case["id"]], case["surgery"][-1]["files"]
        logged = {one for log in (r"offsets/\d+", r"commits/\d+", "metadata") for one in _written(left, log)}
        told, batch = first.outlook.afterwards, first.said.batch_id
        if told is not None:
            is_right = logged == {one for one in told.leaves if not one.startswith(("sources/", "state/"))}
        elif first.said.outcome == "error":
            is_right = logged <= {f"offsets/{batch}"}
        else:
            is_right = first.unknown or f"commits/{batch}" in logged
        if not is_right:
            wrong.append((case["id"], first.said.outcome, batch, told, logged))
    assert wrong == []


def _written(left: Json, name: str) -> Iterator[str]:
    """Files of the checkpoint that the restart wrote."""
    for path, what in left.items():
        if what is not False and (found := re.fullmatch(rf"\w+/({name})", path)):
            yield found[1]


@pytest.mark.parametrize("version", recorded_versions())
def test_a_failed_start_leaves_what_is_said_and_the_next_one_goes_as_is_said(version: str) -> None:
    """Each case was started twice, with nothing new to read the second time."""
    wrong, asked = [], 0
    for one in judged(version):
        truth, told = one.truth, one.outlook.afterwards
        if truth["error"] is None or not (one.right_error and one.right_phase):
            continue
        assert told is not None, one.case["id"]
        if "planned" in truth and not one.outlook.scene.is_replay:
            planned = f"offsets/{truth['batch_id']}" in told.leaves
            wrong += [one.case["id"]] if planned != bool(truth["planned"]) else []
        if (second := truth.get("second")) and second["outcome"] != "nothing":
            asked += 1
            wrong += [one.case["id"]] if _next_start(truth, second) != (told.next_start, told.batch_id) else []
    assert asked >= 5
    assert wrong == []


def _next_start(first: Json, second: Json) -> tuple[str, int | None]:
    same = second["outcome"] == "error" and second["error"]["class"] == first["error"]["class"]
    again = same and second["batch_id"] == first["batch_id"]
    return "fails_again" if again else "gets_past", second["batch_id"]


def case_of(version: str, key: str) -> Verdict:
    return next(one for one in judged(version) if one.case["id"] == key)


# A query that has lost all its state, and one that never had any, which goes on.
ALIKE = [
    ("4.0.4", "with-state-changelog-each/c084930bc5", "two-each-failed-after/79d88d04c9"),
    ("4.3.0", "count-hdfs-each/f51a9a567f", "file-each/4f53cda18c"),
]


@pytest.mark.parametrize(("version", "lost", "never"), ALIKE)
def test_without_its_state_a_query_looks_like_one_that_never_had_any(
    version: str, lost: str, never: str, tmp_path: Path
) -> None:
    """Why no file tells that it is lost: there are files of the same kinds, and the newest offsets pin the same."""

    def shown(key: str) -> tuple[set[str], Json]:
        case = case_of(version, key).case
        checkpoint = materialise(version, case["base"], case["surgery"], tmp_path / case["base"])
        names = {str(path.relative_to(checkpoint)) for path in checkpoint.rglob("*") if path.is_file()}
        newest = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        return {re.sub(r"\d+", "n", name) for name in names}, json.loads(newest.read_text().split("\n")[1])["conf"]

    assert shown(lost) == shown(never)
    assert case_of(version, never).truth["outcome"] in GOES_ON


@pytest.mark.parametrize(("place", "outcome"), [("file-one-batch", "error"), ("file-one-bat6h", "new_batch")])
def test_the_only_path_of_a_log_may_be_the_right_one(place: str, outcome: str) -> None:
    """Why no file tells that it is not: the same files are those of a query that reads there, which goes on."""
    one = with_options(
        case_of("3.3.4", "file-one-batch/75d1b2c135"), {"path": f"/tmp/ckpttool-sweep/3.3.4/{place}/input"}
    )
    assert one.said.outcome == outcome
    assert one.right_outcome == one.right_error == (outcome == "error")


@pytest.mark.parametrize("version", recorded_versions("places"))
def test_restarts_of_file_sources_at_other_places_are_predicted(version: str) -> None:
    told = score(judged_places(version))
    assert told.cases >= 90
    assert (told.outcome, told.error, told.phase) == (told.cases, told.cases, told.cases)


@pytest.mark.parametrize("version", recorded_versions("tables"))
def test_restarts_of_delta_sources_are_predicted(version: str) -> None:
    told = score(judged_tables(version))
    assert told.cases >= 100
    assert told.wrongly_fine == 0
    assert told.unknown <= 0.007 * told.cases
    assert told.outcome >= 0.985 * told.cases
    assert told.error >= 0.96 * told.cases


@pytest.mark.parametrize("version", recorded_versions("tables"))
def test_a_sound_table_is_no_alarm(version: str) -> None:
    untouched = [one for one in judged_tables(version) if changed_in(one) == "nothing"]
    sound = [one for one in untouched if not one.truth["error"] and not one.truth.get("later_error")]
    alarmed = {one.case["id"] for one in sound if any(said.severity == "error" for said in one.outlook.findings)}
    assert sound
    assert alarmed == set()


# -- what is not known -------------------------------------------------------------------------------------------------

# The option that decides, by the law that leaves it open: `{base}` is where the query ran.
OPTIONS = {
    "input-out-of-place": {"path": "{base}/input"},
    "previous-offset-missing": {"asyncProgressTrackingEnabled": "true"},
    "beginning-lost": {"rowsPerSecond": "1"},
}
# The part of a checkpoint, or of the table that it reads, that is damaged or not there.
PLACE = re.compile(r"\bstate/[\w/-]*|\b_delta_log/\w+\.json")
SUITES = (("cases", judged), ("twice", judged_twice), ("tables", judged_tables))


def unknown_restarts() -> list[tuple[str, str, Verdict]]:
    """With the release and the suite."""
    return [
        (version, suite, one)
        for suite, judged_of in SUITES
        for version in recorded_versions(suite)
        for one in judged_of(version)
        if one.unknown
    ]


def law_of(one: Verdict) -> str:
    return one.said.law.id if one.said.law else ""


def with_options(one: Verdict, given: dict[str, str]) -> Verdict:
    """The same restart with these options too, and what they name is there."""
    scene = one.outlook.scene
    base = f"/tmp/ckpttool-sweep/{spell_release(scene.release)}/{one.case['base']}"
    options = {key: value.replace("{base}", base) for key, value in given.items()}
    scene = replace(scene, start=replace(scene.start, options={**scene.start.options, **options}))
    there = {"restart": {"there": True}}
    inputs = tuple(as_recorded(there, found) for found in load_inputs(scene, Doors([scene.checkpoint.url])))
    return Verdict(one.case, diagnose(replace(scene, inputs=inputs)))


def with_the_file(version: str, suite: str, one: Verdict, folder: Path) -> Verdict:
    """The same restart with what is named as it was before it was damaged."""
    found = PLACE.search(" ".join(one.said.why))
    assert found, one.said.why
    path = materialise(version, one.case["base"], one.case["surgery"], folder / one.case["id"].replace("/", "-"))
    sound = checkpoint_of(version, one.case["base"])
    place = found[0] if found[0].startswith("state/") else f"../source/{found[0]}"
    if (sound / place).is_dir():
        shutil.rmtree(path / place, ignore_errors=True)
        shutil.copytree(sound / place, path / place)
    else:
        shutil.copy2(sound / place, path / place)
    return judge_case(version, suite, one.case, path)


def test_the_option_that_is_named_decides() -> None:
    open_ = [one for _, _, one in unknown_restarts() if law_of(one) in OPTIONS]
    unnamed = [
        one.case["id"]
        for one in open_
        if not all(f"--option {name}=" in why for name in OPTIONS[law_of(one)] for why in one.said.why)
    ]
    asked = [with_options(one, OPTIONS[law_of(one)]) for one in open_]
    assert len(asked) >= 7
    assert unnamed == []
    assert [one.case["id"] for one in asked if not (one.right_outcome and one.right_error)] == []


def test_elsewhere_the_file_that_is_named_decides(tmp_path: Path) -> None:
    open_ = [(version, suite, one) for version, suite, one in unknown_restarts() if law_of(one) not in OPTIONS]
    mended = [with_the_file(version, suite, one, tmp_path / version / suite) for version, suite, one in open_]
    assert len(mended) >= 4
    assert [one.case["id"] for one in mended if one.unknown] == []


@pytest.mark.parametrize("version", recorded_versions("kafka"))
def test_what_is_not_known_of_a_topic_the_broker_decides(version: str) -> None:
    open_ = {one.case["id"]: one for one in judged_kafka(version, asked=False) if one.unknown}
    assert open_.keys() <= up_to_the_broker(version)
    asked = [one for one in judged_kafka(version, asked=True) if one.case["id"] in open_]
    assert [one.case["id"] for one in asked if not (one.right_outcome and one.right_error)] == []


@pytest.mark.parametrize("version", recorded_versions("sinks"))
def test_what_is_not_known_of_a_sink_names_the_sink_and_says_why(version: str) -> None:
    unknown = [sink for one in judged_sinks(version) for sink in one.said.sinks if sink.verdict == "unknown"]
    assert unknown
    assert all(sink.path and sink.why for sink in unknown)


def test_the_page_has_the_figures_of_now() -> None:
    page = PAGE.read_text()
    assert page == refreshed(page), "run `make accuracy`"


# -- with Spark --------------------------------------------------------------------------------------------------------


def chosen_again(version: str) -> list[str]:
    return random.Random(version).sample(sorted(read(version)), AGAIN)


def otherwise(version: str, keys: Iterable[str]) -> dict[str, Json]:
    """Restarts these once more; those that come out otherwise than recorded, with what came out."""
    kept, made = read(version), {base.name: base for base in bases(version)}
    different = {}
    with (
        tempfile.TemporaryDirectory(prefix="ckpttool-sweep-") as folder,
        Restarter(version, Sparks(version, Path(folder))) as restarter,
    ):
        for key, case in in_one_process([(key, kept[key]) for key in keys], made):
            again = restarter.case(
                made[case["base"]], Surgery(tuple(case["surgery"]), *case["kind"]), case.get("change")
            )
            if verdict(again) != verdict(case):
                different[key] = verdict(again)
    return different


@pytest.mark.spark
@pytest.mark.parametrize("version", [pytest.param("3.5.7", marks=pytest.mark.at_length), "4.2.0"])
def test_spark_does_again_what_was_recorded(version: str) -> None:
    """What comes out otherwise is tried once more: tasks race, and a busy machine may do nothing in time."""
    first = otherwise(version, chosen_again(version))
    assert len(first) <= 0.05 * AGAIN, first
    assert not first or otherwise(version, first) == {}
