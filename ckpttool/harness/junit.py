"""The report of crash tests as suites of JUnit: one for each scenario, with a case for each crash. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckpttool.harness.judge import Control, Judged, Judgement
from ckpttool.report.junit import JunitCase, JunitResult, JunitSuite


def suites_of(reports: Sequence[Judged]) -> Iterator[JunitSuite]:
    """Invalid fails, unknown and void are errors."""
    for judged in reports:
        cases = [*map(_case, judged.judgements), *map(_control, judged.controls)]
        seconds = sum(judgement.case.seconds or 0 for judgement in judged.judgements)
        yield JunitSuite(judged.run.scenario, cases, seconds)


def _case(judgement: Judgement) -> JunitCase:
    name, seconds = judgement.case.name, judgement.case.seconds or 0
    if judgement.verdict == "valid":
        return JunitCase(name, seconds=seconds)
    messages = [f"{anomaly.name}: {anomaly.message}" for anomaly in judgement.anomalies] + list(judgement.reasons)
    kind = judgement.anomalies[0].name if judgement.anomalies else "unknown"
    text = "\n".join([*messages, f"again: {judgement.case.again}"])
    result: JunitResult = "failure" if judgement.verdict == "invalid" else "error"
    return JunitCase(name, result, kind, messages[0], text, seconds)


def _control(control: Control) -> JunitCase:
    name = f"control {control.kind}"
    if not control.is_silent:
        return JunitCase(name)
    return JunitCase(name, "failure", "control-silent", f"shown {control.shown} of {control.due} times")
