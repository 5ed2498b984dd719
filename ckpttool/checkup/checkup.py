"""The checkup: a diagnosis with the plan of its recovery, told check by check, with one verdict. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ckpttool.checkup.checks import CheckOfLaw
from ckpttool.checkup.fixes import Fix
from ckpttool.checkup.known import KnownBy, KnownFinding, KnownFindings, costs_rows, fingerprint
from ckpttool.diagnosis import Diagnosis
from ckpttool.errors import exit_code
from ckpttool.laws.base import Law, Profile
from ckpttool.model import Finding
from ckpttool.plan import Plan
from ckpttool.scene.sinks import HARMFUL

Health = Literal["fit", "attention", "unfit", "unknown"]
FailOn = Literal["error", "warning", "never"]
SEVERITIES = ("error", "warning", "info")
RESULTS = ("passed", "found", "not_applicable", "not_looked", "could_not")


class CheckedFinding(Struct, frozen=True):
    """`known`: who says that it is, and it does not count. `since_ms`: when the file changed that it is about."""

    finding: Finding
    fix: Fix | None
    fingerprint: str
    known: KnownBy | None = None
    since_ms: int | None = None


class Checkup(Struct, frozen=True, dict=True):
    """`every_check`: also those that nobody asked for. `fixes`: of the findings that ask for something. `failed`: laws
    that could not answer, and why: bugs of ours.
    `only`: the ids that somebody asked for; None: all."""

    diagnosis: Diagnosis
    plan: Plan
    profile: Profile
    now_ms: int
    every_check: tuple[CheckOfLaw, ...]
    fixes: Mapping[Finding, Fix] = {}
    failed: Mapping[str, str] = {}
    known: KnownFindings = KnownFindings()
    fail_on: FailOn = "error"
    only: frozenset[str] | None = None

    @cached_property
    def checks(self) -> tuple[CheckOfLaw, ...]:
        return tuple(one for one in self.every_check if self.only is None or one.law.id in self.only)

    @cached_property
    def laws(self) -> Mapping[str, Law]:
        return {check.law.id: check.law for check in self.every_check}

    @cached_property
    def findings(self) -> tuple[CheckedFinding, ...]:
        """The worst first."""
        times = self.diagnosis.checkpoint.modified_ms
        return tuple(
            CheckedFinding(
                one,
                self.fixes.get(one),
                fingerprint(one),
                self.known.by(one, self.laws.get(one.id), self.now_ms),
                times.get(one.path),
            )
            for one in self.diagnosis.findings
            if self.only is None or one.id in self.only
        )

    @property
    def counted(self) -> Iterator[CheckedFinding]:
        """Those that nobody knows of."""
        return (one for one in self.findings if one.known is None)

    @cached_property
    def counts(self) -> dict[str, int]:
        told: Counter[str] = Counter(one.finding.severity for one in self.counted)
        told.update(check.result for check in self.checks)
        return {name: told[name] for name in (*SEVERITIES, *RESULTS)}

    @cached_property
    def verdict(self) -> Health:
        if self._is_wrong():
            return "unfit"
        if self.diagnosis.exit_code not in (0, 1) or self._is_left_open():
            return "unknown"
        return "attention" if self.counts["warning"] or self.is_excused else "fit"

    @property
    def gone(self) -> tuple[KnownFinding, ...]:
        """What the baseline knows of, and is not found any more."""
        return self.known.gone(self.diagnosis.findings)

    def to_know(self) -> tuple[KnownFinding, ...]:
        """What a baseline of this would have: what asks for something, and costs no rows. Entries of the one before
        stay as they are."""
        before = {one.fingerprint: one for one in self.known.baseline}
        marks = {
            one.fingerprint: KnownFinding(one.finding.id, one.finding.path, one.fingerprint)
            for one in self.findings
            if one.finding.severity != "info" and not costs_rows(one.finding, self.laws.get(one.finding.id))
        }
        return tuple(before.get(mark, entry) for mark, entry in marks.items())

    @property
    def why(self) -> tuple[str, ...]:
        """What the verdict is for."""
        restart = self.diagnosis.prediction
        harmful = [f"{sink.kind} {sink.path}: {sink.why}" for sink in self.diagnosis.sinks if sink.verdict in HARMFUL]
        if self.verdict == "unfit":
            of_restart = list(restart.why) if restart.error else []
            told = [one.finding.message for one in self.counted if one.finding.severity == "error"]
            return tuple(dict.fromkeys(of_restart + harmful)) or tuple(told) or restart.why
        if self.verdict == "unknown":
            open_at = [sink.why for sink in self.diagnosis.sinks if sink.verdict == "unknown"]
            bugs = [f"{id} could not be asked: {why}" for id, why in self.failed.items()]
            of_restart = list(restart.why) if restart.outcome == "unknown" else []
            return tuple(dict.fromkeys(of_restart + open_at + bugs)) or restart.why
        told = [one.finding.id for one in self.counted if one.finding.severity == "warning"]
        return (tuple(dict.fromkeys(told)) or restart.why) if self.verdict == "attention" else restart.why

    @property
    def exit_code(self) -> int:
        code = self.diagnosis.exit_code
        warned = self.fail_on == "warning" and self.counts["warning"] > 0
        return exit_code(
            misused=code == 2,
            refused=code == 6,
            wrong=self.fail_on != "never" and (self.verdict == "unfit" or warned),
            unreachable=self.diagnosis.is_unreachable and self.verdict != "fit",
            unknown=self.fail_on != "never" and self.verdict == "unknown",
        )

    @property
    def is_excused(self) -> bool:
        """Whether something goes wrong, and somebody has named all of it: it does not count, and nothing is fit."""
        return self.diagnosis.exit_code == 1 and not self._is_wrong()

    def _is_wrong(self) -> bool:
        """As `plan-recovery` says, but for what somebody knows of and has named."""
        if self.diagnosis.exit_code != 1:
            return False
        excused = [one for one in self.findings if one.known and self._weighs(one.finding)]
        return not excused or any(self._weighs(one.finding) for one in self.counted)

    def _weighs(self, finding: Finding) -> bool:
        return finding.severity == "error" or costs_rows(finding, self.laws.get(finding.id))

    def _is_left_open(self) -> bool:
        """Whether a law could not answer of which an error may come; a cause only says what others come of."""
        return any("error" in self.laws[id].severities for id in self.failed if id in self.laws)
