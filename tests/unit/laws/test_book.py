"""One entry for each thing that Spark minds: told under its id, with its severity, by whoever looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool import Scene, Start, diagnose, gather_evidence, inspect_checkpoint, open_checkpoint, open_store
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.book import every, stopping
from ckpttool.releases import NEWEST, NEWEST_PATCHES, OLDEST
from tests.builders import build
from tests.samples.place import about, sample_names

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


def test_every_law_answers_whether_it_holds_or_not(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | lost c")
    verdicts = {answer.law.id: answer.verdict for answer in diagnosed(tmp_path).answers}
    assert verdicts.keys() == LAWS.keys()
    assert verdicts["commit-ahead-of-offset"] == "broken"
    assert verdicts["metadata-corrupt"] == "sound"
    assert verdicts["txn-expired"] == "not_looked_at"


def test_only_what_stops_this_restart_names_an_exception(tmp_path: Path) -> None:
    build(tmp_path, "k0-10 c | k10-20 c | lost c")
    evidence = gather_evidence(open_checkpoint(str(tmp_path)))
    old, new = (diagnose(Scene(evidence, Start(release))) for release in ((3, 4, 4), (4, 2, 0)))
    raised = [{one.spark.class_name for one in found.findings if one.spark} for found in (old, new)]
    assert raised == [{"java.lang.AssertionError"}, {"org.apache.spark.SparkException"}]
