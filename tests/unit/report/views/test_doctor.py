"""What people read of a checkup at 80 columns, and what programs do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from ckpttool.checkup.checkup import Checkup
from ckpttool.checkup.known import IgnoredFinding, KnownFinding, KnownFindings
from ckpttool.model import Finding
from ckpttool.report.views.doctor import doctor_document
from tests.builders import build
from tests.documents import shown
from tests.samples.place import about, sample_names
from tests.unit.checkup.checkups import checked

pytestmark = pytest.mark.usefixtures("in_a_place_that_lasts")

SOUND = "k0-10 c | k10-20 c | k20-30 c"
BROKEN = "k0-10 c | k10-20 c | lost c"


def text(checkup: Checkup, again: Sequence[str] = (), *, verbose: bool = False) -> str:
    return shown(doctor_document(checkup, again, 7, verbose=verbose), "text")


def with_findings(checkup: Checkup, *findings: Finding) -> Checkup:
    return replace(checkup, diagnosis=replace(checkup.diagnosis, findings=findings))


def test_the_first_lines_are_verdict_cause_command_and_cost(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, BROKEN))
    lines = text(checkup, ["--sink /s"]).split("\n")
    assert lines[0].startswith("UNFIT  Spark ")
    assert any(line.startswith("  Cause     ") for line in lines[1:3])
    way = checkup.plan.options[0]
    assert f"  Do this   ckpt apply {tmp_path} --take {way.id} --sink /s" in lines
    assert "─" * 80 in lines
    assert any(line.startswith("  It costs  ") for line in lines)


def test_what_is_fit_says_what_was_not_looked_at(tmp_path: Path) -> None:
    said = text(checked(build(tmp_path, SOUND)))
    assert said.startswith("FIT  Spark ")
    assert "Not looked at\n" in said
    assert "--sink URL" in said
    assert "--bootstrap-server HOST:PORT" in said
    assert " do not apply, " in said


def test_what_cannot_be_told_says_what_would_tell_it(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, SOUND))
    prediction = replace(checkup.diagnosis.prediction, outcome="unknown", batch_id=None, why=("nobody knows",))
    unknown = replace(checkup, diagnosis=replace(checkup.diagnosis, prediction=prediction))
    said = text(unknown)
    assert said.startswith("UNKNOWN  It cannot be told what Spark ")
    assert "  Cause     nobody knows." in said
    assert f"  Do this   ckpt doctor {tmp_path} --bootstrap-server HOST:PORT --sink URL" in said


@pytest.mark.parametrize("name", sample_names())
def test_lines_of_prose_fit_80_columns(sample: Callable[[str], Path], name: str) -> None:
    """But for commands, which are typed whole, and words that are longer."""
    root = sample(name) / str(about(name)["checkpoint"])
    for line in text(checked(root, profile="quick")).split("\n"):
        longest = max(map(len, line.split()), default=0)
        assert len(line) <= 80 or longest > 40 or "ckpt " in line or line.endswith("could not be.")


def test_many_findings_are_counted_and_the_first_shown_and_all_are_in_the_json(tmp_path: Path) -> None:
    many = [Finding("leftover-temporary-file", "info", f"offsets/.{number}.tmp", "x") for number in range(10_000)]
    checkup = with_findings(checked(build(tmp_path, SOUND)), *many)
    said = text(checkup)
    assert said.count("leftover-temporary-file") == 100
    assert "9,900 more of 10,000 findings" in said
    assert text(checkup, verbose=True).count("info     leftover-temporary-file") == 10_000
    fields = json.loads(shown(doctor_document(checkup, (), 0), "json"))
    assert (len(fields["findings"]), fields["counts"]["info"]) == (10_000, 10_000)


def test_what_is_known_is_shown_as_known_and_its_fix_is_not(tmp_path: Path) -> None:
    checkup = with_findings(
        checked(build(tmp_path, SOUND)), Finding("looks-alive", "warning", "offsets", "x", None, "stop")
    )
    gone = KnownFinding("mode-async", "offsets", "f", "2020-01-01")
    known = KnownFindings((gone,), (IgnoredFinding("looks-alive"),))
    said = text(replace(checkup, known=known))
    assert "looks-alive  offsets  (known: ignore)" in said
    assert "fix: stop" not in said
    assert "In the baseline, and not found any more: mode-async" in said
    assert "Known until 2020-01-01, and counts again: mode-async" in said


def test_a_case_for_each_check(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, BROKEN))
    (suite,) = ElementTree.fromstring(shown(doctor_document(checkup, (), 0), "junit"))
    assert [case.attrib["name"] for case in suite] == [check.law.id for check in checkup.checks]
    results = {case.attrib["name"]: [one.tag for one in case] for case in suite}
    assert results["commit-ahead-of-offset"] == ["failure"]
    assert (results["metadata-corrupt"], results["txn-expired"]) == ([], ["skipped"])


def test_what_does_not_fail_is_no_failure(tmp_path: Path) -> None:
    warned = with_findings(checked(build(tmp_path, SOUND)), Finding("looks-alive", "warning", "offsets", "x"))
    for fail_on, failures in (("error", "0"), ("warning", "1"), ("never", "0")):
        every = tuple(
            replace(one, result="found") if one.law.id == "looks-alive" else one for one in warned.every_check
        )
        checkup = replace(warned, fail_on=fail_on, every_check=every)
        (suite,) = ElementTree.fromstring(shown(doctor_document(checkup, (), 0), "junit"))
        assert suite.attrib["failures"] == failures


def test_a_fix_is_a_command_or_work_by_hand_or_nothing_with_its_reason(tmp_path: Path) -> None:
    checkup = checked(build(tmp_path, BROKEN))
    fields = json.loads(shown(doctor_document(checkup, ["--spark-version 4.2.0"], 0), "json"))
    (fixed,) = [one for one in fields["findings"] if one["id"] == "commit-ahead-of-offset"]
    assert fixed["fix"]["command"].startswith(f"ckpt apply {tmp_path} --take ")
    assert fixed["fix"]["command"].endswith("--spark-version 4.2.0")
    assert {"guarantee", "rows_lost", "rows_duplicated", "reversible"} <= fixed["fix"].keys()
    by_hand = [one["fix"] for one in fields["findings"] if one["fix"] and "manual" in one["fix"]]
    assert all(list(fix) == ["manual"] for fix in by_hand)
