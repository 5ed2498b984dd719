"""One verdict, and the exit status that goes with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.known import IgnoredFinding, KnownFindings
from ckpttool.model import Finding
from tests.builders import build
from tests.unit.checkup.checkups import checked, told

pytestmark = pytest.mark.usefixtures("in_a_place_that_lasts")

SOUND = "k0-10 c | k10-20 c | k20-30 c"
BROKEN = "k0-10 c | k10-20 c | lost c"


def with_finding(checkup: Checkup, finding: Finding) -> Checkup:
    return replace(checkup, diagnosis=replace(checkup.diagnosis, findings=(finding, *checkup.diagnosis.findings)))


def warned(root: Path) -> Checkup:
    return with_finding(checked(build(root, SOUND)), Finding("looks-alive", "warning", "offsets", "x"))


def test_a_sound_query_is_fit(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, SOUND))
    assert (checkup.verdict, checkup.exit_code) == ("fit", 0)


def test_a_restart_that_fails_is_unfit_and_says_why(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, BROKEN))
    assert (checkup.verdict, checkup.exit_code) == ("unfit", 1)
    assert checkup.why == checkup.diagnosis.prediction.why
    assert replace(checkup, fail_on="never").exit_code == 0


def test_a_warning_asks_for_attention_and_fails_only_where_that_is_wished(tmp_path: Path) -> None:
    checkup = warned(tmp_path)
    assert (checkup.verdict, checkup.exit_code, checkup.why) == ("attention", 0, ("looks-alive",))
    assert replace(checkup, fail_on="warning").exit_code == 1


def test_an_unknown_outcome_is_unknown_also_where_there_is_a_warning(tmp_path: Path) -> None:
    checkup = warned(tmp_path)
    prediction = replace(checkup.diagnosis.prediction, outcome="unknown", why=("nobody knows",))
    unknown = replace(checkup, diagnosis=replace(checkup.diagnosis, prediction=prediction))
    assert (unknown.verdict, unknown.exit_code) == ("unknown", 3)
    assert unknown.why == ("nobody knows",)
    assert replace(unknown, fail_on="never").exit_code == 0
    assert replace(unknown, fail_on="warning").exit_code == 1


def test_what_is_known_is_shown_and_does_not_count(tmp_path: Path) -> None:
    checkup = replace(warned(tmp_path), known=KnownFindings((), (IgnoredFinding("looks-alive"),)))
    assert (checkup.verdict, checkup.counts["warning"]) == ("fit", 0)
    assert "looks-alive" in told(checkup)
    assert replace(checkup, fail_on="warning").exit_code == 0


def test_an_error_that_somebody_named_counts_no_more_and_another_does(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, BROKEN))
    named = [IgnoredFinding(one.finding.id, one.finding.path) for one in checkup.findings]
    excused = replace(checkup, known=KnownFindings((), tuple(named)))
    assert (excused.verdict, excused.exit_code) == ("attention", 0), "it is not fit: it fails"
    more = with_finding(checkup, Finding("foreign-query", "error", "offsets/1", "x"))
    assert replace(more, known=KnownFindings((), tuple(named))).verdict == "unfit"


def test_a_law_that_could_not_answer_leaves_it_open_if_an_error_may_come_of_it(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, SOUND))
    assert replace(checkup, failed={"foreign-query": "a bug"}).verdict == "unknown"
    assert replace(checkup, failed={"looks-alive": "a bug"}).verdict == "fit"


def test_only_shows_these_alone_and_changes_no_prediction(tmp_path: Path) -> None:
    checkup = replace(checked(build(tmp_path, BROKEN)), only=frozenset({"foreign-query"}))
    assert [check.law.id for check in checkup.checks] == ["foreign-query"]
    assert checkup.findings == ()


def test_a_new_baseline_has_no_rows_in_it_and_keeps_what_was_said(tmp_path: Path) -> None:
    checkup = with_finding(warned(tmp_path), Finding("foreign-query", "error", "offsets/1", "rows"))
    (entry,) = checkup.to_know()
    assert entry.id == "looks-alive"
    kept = replace(entry, until="2099-01-01", why="we know")
    assert replace(checkup, known=KnownFindings((kept,))).to_know() == (kept,)
