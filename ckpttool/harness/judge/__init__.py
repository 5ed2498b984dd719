"""The judge: was everything exactly once? Works on recorded histories alone, without Spark. Pure.

Fourteen properties, each a small function from the facts of a case to an outcome: valid, invalid with witnesses, or
unknown with the reason; nothing where it does not apply. A case is void, never valid, if its crash cannot be proven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ckpttool.harness.history import Case, Histories, Run
from ckpttool.harness.judge.base import Anomaly, Facts, Invalid, Outcome, Unknown, Valid, Word
from ckpttool.harness.judge.controls import control_bites, due_duplicates
from ckpttool.harness.judge.known import Defect, known_defect
from ckpttool.harness.judge.ledger import ledger_has_each_batch_once
from ckpttool.harness.judge.logs import (
    identity_is_kept,
    logs_have_their_shape,
    ranges_tile,
    replay_is_the_same,
    watermark_is_right,
)
from ckpttool.harness.judge.prediction import Comparison, compare_prediction
from ckpttool.harness.judge.recovery import (
    crash_was_real,
    first_restart_succeeds,
    garbage_does_not_grow,
    sources_are_released_late,
)
from ckpttool.harness.judge.rows import nothing_is_seen_early, rows_are_there_once
from ckpttool.harness.judge.state import state_is_the_fold

__all__ = [
    "PROPERTIES",
    "Anomaly",
    "Control",
    "Invalid",
    "Judged",
    "Judgement",
    "Unknown",
    "Valid",
    "judge",
    "judge_case",
]

PROPERTIES: dict[str, Callable[[Facts], Outcome]] = {
    "P1": rows_are_there_once,
    "P2": ranges_tile,
    "P3": replay_is_the_same,
    "P4": logs_have_their_shape,
    "P5": ledger_has_each_batch_once,
    "P6": state_is_the_fold,
    "P7": watermark_is_right,
    "P8": identity_is_kept,
    "P9": nothing_is_seen_early,
    "P10": first_restart_succeeds,
    "P11": garbage_does_not_grow,
    "P12": sources_are_released_late,
    "P13": crash_was_real,
    "P14": control_bites,
}
REAL, CONTROL = "P13", "P14"


class Judgement(Struct, frozen=True):
    """The verdict on one case. `void`: the crash is not proven, so the rest tells nothing."""

    run: Run
    case: Case
    verdict: Word
    void: bool
    outcomes: Mapping[str, Outcome]
    prediction: Comparison
    defect: Defect | None

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        found = (outcome.anomalies for outcome in self.outcomes.values() if isinstance(outcome, Invalid))
        return tuple(anomaly for anomalies in found for anomaly in anomalies)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is unknown."""
        return tuple(outcome.why for outcome in self.outcomes.values() if isinstance(outcome, Unknown))


class Control(Struct, frozen=True):
    """What the judge had to see in a scenario. `due`: the cases in which something was to be seen, `shown`: in which
    it was. Silent: it was never due, or not seen where it was."""

    scenario: str
    kind: str
    due: int
    shown: int

    @property
    def is_silent(self) -> bool:
        return self.due == 0 or self.shown < self.due


class Judged(Struct, frozen=True):
    """A file of histories, judged. `torn`: its last line was cut, and nobody knows what it said."""

    run: Run
    judgements: tuple[Judgement, ...]
    controls: tuple[Control, ...]
    torn: bool = False

    def count(self, verdict: Word) -> int:
        return sum(judgement.verdict == verdict for judgement in self.judgements)

    @property
    def verdict(self) -> Word:
        """Of all together; a control that is silent makes every other verdict worthless."""
        if self.count("invalid") or any(control.is_silent for control in self.controls):
            return "invalid"
        return "unknown" if self.count("unknown") or self.torn or not self.judgements else "valid"


def judge(histories: Histories, is_whole: bool = True) -> Judged:
    """`is_whole`: all cases of a run. Of a few of them it is nobody's fault that no control is due in one."""
    judgements = tuple(judge_case(histories.run, case) for case in histories.cases)
    controls = (control for control in _controls(histories.run, judgements) if is_whole or control.due)
    return Judged(histories.run, judgements, tuple(controls), histories.torn)


def judge_case(run: Run, case: Case) -> Judgement:
    facts = Facts(run, case)
    asked = (REAL, CONTROL) if case.planted else tuple(PROPERTIES)
    outcomes = {name: PROPERTIES[name](facts) for name in asked}
    void = isinstance(outcomes[REAL], Invalid)
    return Judgement(
        run,
        case,
        verdict=_word(outcomes) if not void else "unknown",
        void=void,
        outcomes=outcomes if not void else {REAL: outcomes[REAL]},
        prediction=_compared(facts, outcomes, void),
        defect=None if void else known_defect(facts, outcomes),
    )


def _compared(facts: Facts, outcomes: Mapping[str, Outcome], void: bool) -> Comparison:
    """Where nothing crashed there is nothing to predict."""
    if void or facts.case.planted:
        return Comparison("not asked", "nothing", None)
    return compare_prediction(facts, outcomes["P1"])


def _word(outcomes: Mapping[str, Outcome]) -> Word:
    if any(isinstance(outcome, Invalid) for outcome in outcomes.values()):
        return "invalid"
    return "unknown" if any(isinstance(outcome, Unknown) for outcome in outcomes.values()) else "valid"


def _controls(run: Run, judgements: tuple[Judgement, ...]) -> list[Control]:
    """Void cases show nothing."""
    real = [judgement for judgement in judgements if not judgement.void]
    found = []
    if run.control == "duplicates":
        due = [judgement for judgement in real if not judgement.case.planted and due_duplicates(_facts(judgement))]
        found.append(Control(run.scenario, "duplicates", len(due), _shown(due)))
    planted = [judgement for judgement in real if judgement.case.planted]
    if run.control == "loss" or planted:
        found.append(Control(run.scenario, "loss", len(planted), _shown(planted)))
    return found


def _facts(judgement: Judgement) -> Facts:
    return Facts(judgement.run, judgement.case)


def _shown(due: list[Judgement]) -> int:
    return sum(isinstance(judgement.outcomes[CONTROL], Valid) for judgement in due)
