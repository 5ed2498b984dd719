"""One entry for each thing that Spark minds: told under its id, with its severity, by whoever looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import Scene, Start, diagnose, gather_evidence, inspect_checkpoint, open_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis, with_health
from ckpttool.laws import book, health
from ckpttool.laws.base import Law, behind
from ckpttool.laws.book import every, stopping
from ckpttool.model import Finding
from ckpttool.releases import NEWEST, NEWEST_PATCHES, OLDEST
from tests.builders import build
from tests.samples.place import about, sample_names
from tests.unit.laws.scenes import SOUND, findings

LAWS = {law.id: law for law in every()}


def diagnosed(root: Path) -> Diagnosis:
    return inspect_checkpoint(open_checkpoint(str(root)), store=open_store(str(root)))


def test_each_id_is_one_entry() -> None:
    assert [name for name, count in Counter(law.id for law in every()).items() if count > 1] == []


def test_what_stops_a_restart_says_where_that_stands_in_spark() -> None:
    releases = [(*minor, patch) for minor, patch in NEWEST_PATCHES.items()]
    stop = {law.id: law for release in releases for law in stopping(release)}
    assert stop.keys() <= LAWS.keys()
    assert all(law.source and law.check and OLDEST <= law.since <= NEWEST for law in stop.values())


def test_whose_findings_a_law_takes_for_its_own_are_in_the_book() -> None:
    assert {name for law in LAWS.values() for name in law.tells} <= LAWS.keys()


@pytest.mark.parametrize("name", sample_names())
def test_findings_are_answers_of_laws(sample: Callable[[str], Path], name: str) -> None:
    found = diagnosed(sample(name) / str(about(name)["checkpoint"]))
    told = [finding for answer in found.answers for finding in answer.findings]
    assert sorted(told, key=repr) == sorted(found.findings, key=repr)
    assert all(finding.severity in LAWS[finding.id].severities for finding in told)


@pytest.mark.parametrize("name", sample_names())
def test_what_stops_a_restart_is_told_with_what_it_raises(sample: Callable[[str], Path], name: str) -> None:
    found = diagnosed(sample(name) / str(about(name)["checkpoint"]))
    if error := found.prediction.error:
        assert error.spark in [finding.spark for finding in found.findings]


def test_a_law_that_nobody_tells_of_tells_itself(tmp_path: Path) -> None:
    newest = build(tmp_path, "k0-10 c | k10-20 c", spark="4.2.0") / "offsets" / "1"
    newest.write_text(newest.read_text().replace('partitions":"200"', 'partitions":"two"'))
    (own,) = diagnosed(tmp_path).findings
    assert (own.id, own.severity, own.path) == ("pinned-value", "error", "offsets/1")
    assert own.spark
    assert own.next_step


def test_every_law_answers_whether_it_holds_or_not(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | lost c")
    verdicts = {answer.law.id: answer.verdict for answer in diagnosed(tmp_path).answers}
    assert verdicts.keys() == LAWS.keys()
    assert verdicts["commit-ahead-of-offset"] == "broken"
    assert verdicts["metadata-corrupt"] == "sound"
    assert verdicts["txn-expired"] == "not_looked_at"


def test_what_the_query_has_nothing_of_does_not_apply(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    verdicts = {answer.law.id: answer.verdict for answer in diagnosed(tmp_path).answers}
    assert (verdicts["delta-log-expired"], verdicts["state-file-missing"]) == ("not_applicable", "not_applicable")
    assert verdicts["offset-aged-out"] == "not_looked_at"


def test_what_is_inside_state_is_not_passed_where_nobody_looked_inside(sample: Callable[[str], Path]) -> None:
    found = diagnosed(sample("4.2.0-windowed-agg-hdfs-sound") / "checkpoint")
    verdicts = {answer.law.id: answer.verdict for answer in found.answers}
    assert (verdicts["state-file-missing"], verdicts["state-file-corrupt"]) == ("sound", "not_looked_at")


def fails(_: Scene) -> Iterator[Finding]:
    told: dict[str, list[Finding]] = {}
    return iter(told["a bug"])


def test_what_no_restart_shows_is_told_where_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def old(scene: Scene) -> Iterator[Finding]:
        yield Finding("old", "info", "offsets", str(scene.planned))

    laws = (Law("old", "x", look=old), Law("long", "x", look=fails, profile="full"), Law("asked", "x", needs="brokers"))
    monkeypatch.setattr(health, "LAWS", laws)
    build(tmp_path, SOUND)
    without = {answer.law.id: answer.verdict for answer in diagnosed(tmp_path).answers}
    assert (without["old"], without["long"]) == ("not_looked_at", "not_looked_at")
    found = with_health(diagnosed(tmp_path), "quick")
    verdicts = {answer.law.id: answer.verdict for answer in found.answers}
    assert (verdicts["old"], verdicts["long"], verdicts["asked"]) == ("broken", "not_looked_at", "not_looked_at")
    assert [(one.id, one.message) for one in found.findings] == [("old", "3")]


def test_a_law_that_fails_is_known_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laws = (*book.TELLING, Law("bug", "x", look=fails))
    monkeypatch.setattr(book, "TELLING", laws)
    build(tmp_path, "k0-10 c | k10-20 c | lost c")
    scene = Scene(gather_evidence(open_checkpoint(str(tmp_path))), Start(NEWEST))
    with pytest.raises(KeyError) as caught:
        diagnose(scene)
    assert behind(caught.value, laws) == {"bug"}
    found = diagnose(replace(scene, unasked=behind(caught.value, laws)))
    assert "commit-ahead-of-offset" in {one.id for one in found.findings}
    assert {one.law.id: one.verdict for one in found.answers}["bug"] == "doubt"


def test_without_the_law_that_may_stop_it_the_restart_is_unknown(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    evidence = gather_evidence(open_checkpoint(str(tmp_path)))
    found = diagnose(Scene(evidence, Start(NEWEST), unasked=frozenset({"previous-offset-missing"})))
    assert (found.prediction.outcome, found.exit_code) == ("unknown", 3)


def test_only_what_stops_this_restart_names_an_exception(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | lost c")
    evidence = gather_evidence(open_checkpoint(str(tmp_path)))
    old, new = (diagnose(Scene(evidence, Start(release))) for release in ((3, 4, 4), (4, 2, 0)))
    raised = [{one.spark.class_name for one in found.findings if one.spark} for found in (old, new)]
    assert raised == [{"java.lang.AssertionError"}, {"org.apache.spark.SparkException"}]


def test_a_sound_checkpoint_has_no_findings(tmp_path: Path) -> None:
    assert findings(build(tmp_path, SOUND)) == {}


def test_a_crash_is_not_a_finding(tmp_path: Path) -> None:
    assert findings(build(tmp_path, "k0-10 c | k10-20")) == {}


@pytest.mark.parametrize(
    ("story", "expected", "severity", "path"),
    [
        ("k0-10 c | k10-20 c | lost c", "commit-ahead-of-offset", "error", "commits/2"),
        ("lost c | lost c", "offset-log-lost", "error", "offsets"),
        ("k0-10 c | k10-20 | k20-30 | k30-40", "offset-ahead-by-two-or-more", "error", "offsets/3"),
        ("k0-10 c | lost c | k20-30 c", "previous-offset-missing", "error", "offsets/1"),
        ("k0-10 c | lost c | k20-30 c | k30-40 c", "offset-log-hole", "warning", "offsets"),
        ("k0-10 c | k10-20 | k20-30 c | k30-40 c", "commit-log-hole", "warning", "commits"),
        ("k0-10 c | b50 k10-20", "stray-batch-file", "warning", "offsets/50"),
        ("k0-10 c | b50 k10-20 t1700000000000", "stray-batch-file", "error", "offsets/50"),
        ("k0-10 c | k10-20 - c", "source-count-changed", "error", "offsets/1"),
        ("k0-10 c | k10-20 - c | k20-30 - c", "source-count-changed", "warning", "offsets/1"),
        ("k0-10 c | k20-30 c | k30-25 c", "offset-regression", "warning", "offsets/2"),
        ("k0-10 c | r5 c", "source-kind-changed", "warning", "offsets/1"),
        ("k0-10 w9000 c | k10-20 w5000 c", "watermark-regression", "warning", "offsets/1"),
        ("b0 k0-10 c | b5 k10-60 c | b9 k60-90 c", "mode-async", "info", "offsets"),
    ],
)
def test_what_the_logs_show(tmp_path: Path, story: str, expected: str, severity: str, path: str) -> None:
    found = findings(build(tmp_path, story))
    assert expected in found
    assert (found[expected].severity, found[expected].path) == (severity, path)


def test_the_worst_comes_first(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | lost c | k20-30 c | k30-40 c | lost c")
    (tmp_path / "offsets" / "notes").write_text("x")
    ranks = [finding.severity for finding in inspect_checkpoint(open_checkpoint(str(tmp_path))).findings]
    assert ranks == sorted(ranks, key=["error", "warning", "info"].index)
    assert ranks[0] == "error"
