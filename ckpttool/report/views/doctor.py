"""`ckpt doctor`: the verdict, its cause, what to do and what that costs; then the findings, and what was not looked
at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ckpttool.causes.base import ToldCause
from ckpttool.checkup.checks import CheckOfLaw
from ckpttool.checkup.checkup import CheckedFinding, Checkup, FailOn
from ckpttool.checkup.fixes import Fix
from ckpttool.laws.base import Law
from ckpttool.laws.runbooks import runbook_of
from ckpttool.report.document import Document, Fields, Line, Section, Table, Tone, Toned
from ckpttool.report.junit import JunitCase, JunitSuite
from ckpttool.report.layout import prose
from ckpttool.report.views.causes import causes_fields
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.first_screen import first_lines, screen_of_checkup, spell_cost, take
from ckpttool.report.views.plan_recovery import restart_fields, sink_fields, spark_fields
from ckpttool.words import counted

_SHOWN = 100  # findings
_SEVERITIES: dict[str, Tone] = {"error": "error", "warning": "notice", "info": "faint"}
_COUNTS = {
    "passed": "passed",
    "found": "found",
    "not_applicable": "do not apply",
    "not_looked": "not looked at",
    "could_not": "could not be",
}


def doctor_document(checkup: Checkup, again: Sequence[str], elapsed_ms: int, *, verbose: bool = False) -> Document:
    """`again`: the words after the path that have another command see the same."""
    return Document(
        "doctor",
        checkup.diagnosis.checkpoint.url,
        lambda: _fields(checkup, again, elapsed_ms),
        lambda: _blocks(checkup, again, verbose=verbose),
        own={"junit": (_suite(checkup, again),), "prometheus": lambda: _metrics(checkup)},
    )


def _metrics(checkup: Checkup) -> str:
    from ckpttool.report.prometheus import HealthOf, render_health

    return render_health([HealthOf(checkup.diagnosis.checkpoint.url, checkup.verdict, checkup.counts)])


def unknown_checkup() -> Fields:
    """What could not be looked at has no verdict that anybody could go by."""
    return {"verdict": "unknown", "checks": [], "suppressed": [], "counts": {}}


def _fields(checkup: Checkup, again: Sequence[str], elapsed_ms: int) -> Fields:
    diagnosis = checkup.diagnosis
    metadata, reach = diagnosis.checkpoint.metadata, checkup.plan.reach
    return {
        "query_id": metadata.id if metadata else None,
        "profile": checkup.profile,
        "verdict": checkup.verdict,
        "why": list(checkup.why),
        "spark_version": spark_fields(diagnosis),
        "restart": restart_fields(diagnosis.prediction),
        "sinks": [sink_fields(sink) for sink in diagnosis.sinks],
        "checks": [_check_fields(check) for check in checkup.checks],
        "causes": causes_fields(diagnosis.causes),
        "findings": [_finding_fields(one, checkup, again) for one in checkup.findings],
        "suppressed": [
            {"id": one.finding.id, "path": one.finding.path, "by": one.known} for one in checkup.findings if one.known
        ],
        "not_found": [{"id": one.id, "path": one.path} for one in checkup.gone],
        "counts": checkup.counts,
        "looked_at": {"requests": None, "bytes": None, "ms": elapsed_ms},
        "horizon": {
            "oldest_batch": reach.batch_id if reach else None,
            "oldest_ms": reach.planned_ms if reach else None,
        },
    }


def _check_fields(check: CheckOfLaw) -> Fields:
    """Laws answer together, so that none has a time of its own."""
    return {
        "id": check.law.id,
        "result": check.result,
        "why": check.why,
        "look": check.look,
        "findings": len(check.findings),
        "ms": None,
    }


def _finding_fields(one: CheckedFinding, checkup: Checkup, again: Sequence[str]) -> Fields:
    (fields,) = findings_fields([one.finding])
    return {
        **fields,
        "fix": one.fix and _fix_fields(one.fix, checkup, again),
        "no_fix": one.fix.why if one.fix else None,
        "fingerprint": one.fingerprint,
        "known": one.known is not None,
        "since_ms": one.since_ms,
    }


def _fix_fields(fix: Fix, checkup: Checkup, again: Sequence[str]) -> Fields | None:
    if fix.way is None:
        return {"manual": fix.manual} if fix.manual else None
    return {
        "command": take(fix.way, checkup.diagnosis, again, fix.wish),
        "option": fix.way.id,
        "guarantee": fix.way.guarantee,
        "rows_lost": fix.way.rows_lost,
        "rows_duplicated": fix.way.rows_duplicated,
        "reversible": fix.is_reversible,
    }


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(checkup: Checkup, again: Sequence[str], *, verbose: bool) -> Iterator[Section]:
    yield first_lines(screen_of_checkup(checkup, again))
    yield from _findings(checkup, verbose=verbose)
    yield _not_looked_at(checkup)
    yield _about_the_baseline(checkup)
    if verbose:
        yield [Table(("Check", "Result", "Why"), [(one.law.id, one.result, one.why or "") for one in checkup.checks])]
        yield list(prose("Assumed: ", "; ".join(checkup.diagnosis.prediction.assumes)))
    yield prose("", _tally(checkup))


def _findings(checkup: Checkup, *, verbose: bool) -> Iterator[Section]:
    shown = checkup.findings if verbose else checkup.findings[:_SHOWN]
    if not shown:
        yield [Toned("No findings.", "good")]
    told: set[str] = set()  # ways out whose cost stands above
    causes = checkup.diagnosis.causes
    explained = {finding for cause in causes for finding in cause.findings}
    for cause in causes:
        below = [one for one in shown if one.finding in cause.findings]
        if below:
            yield [*_cause(cause), *(line for one in below for line in _finding(one, told, "  "))]
    for one in shown:
        if one.finding not in explained:
            yield list(_finding(one, told))
    if left := len(checkup.findings) - len(shown):
        yield [f"… {left:,} more of {counted(len(checkup.findings), 'finding')}: --verbose, or --format json"]


def _cause(cause: ToldCause) -> Iterator[Line]:
    yield Toned("cause   ", "title"), f" {cause.id}  ({cause.sign.sure})"
    yield from prose("         ", cause.known.title)
    yield from prose("         shown by: ", cause.sign.told)
    if cause.sign.would_tell:
        yield from prose("         would tell: ", cause.sign.would_tell)
    yield "         look at: ", Toned(cause.command, "command")


def _finding(one: CheckedFinding, told: set[str], margin: str = "") -> Iterator[Line]:
    """`margin`: below its cause it stands deeper."""
    finding = one.finding
    known = f"  (known: {one.known})" if one.known else ""
    severity = Toned(f"{finding.severity:<8}", "faint" if one.known else _SEVERITIES[finding.severity])
    yield margin, severity, f" {finding.id}  {finding.path}{known}"
    yield from prose(f"{margin}         ", finding.message)
    if one.fix and not one.known:
        if one.fix.way:
            short = f"ckpt plan {one.fix.wish} …" if one.fix.wish else f"ckpt apply … --take {one.fix.way.id}"
            yield f"{margin}         fix: ", Toned(short, "command")
            if one.fix.way.id not in told:
                yield from prose(f"{margin}              ", spell_cost(one.fix.way))
            told.add(one.fix.way.id)
        else:
            yield from prose(f"{margin}         fix: ", one.fix.manual or f"none: {one.fix.why}")


def _not_looked_at(checkup: Checkup) -> Iterator[Line]:
    left = [check for check in checkup.checks if check.result == "not_looked"]
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for check in left:
        groups[check.why or "", check.look or ""].append(check.law.id)
    if groups:
        yield Toned("Not looked at", "title")
    for (why, look), ids in groups.items():
        yield f"  {why} ({counted(len(ids), 'check')}): ", Toned(look, "command")
    unanswered: dict[str, list[str]] = defaultdict(list)
    for check in checkup.checks:
        if check.result == "could_not":
            unanswered[check.why or ""].append(check.law.id)
    if unanswered:
        yield Toned("Could not be looked at", "title")
    for why, ids in unanswered.items():
        named = ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"
        yield from prose("  ", f"{named}: {why}")


def _about_the_baseline(checkup: Checkup) -> Iterator[Line]:
    for one in checkup.known.ended(checkup.now_ms):
        yield f"Known until {one.until}, and counts again: {one.id}  {one.path}"
    for one in checkup.gone:
        yield f"In the baseline, and not found any more: {one.id}  {one.path}"


def _tally(checkup: Checkup) -> str:
    results = (one for one in _COUNTS if one != "could_not" or checkup.counts[one])
    told = ", ".join(f"{checkup.counts[result]} {_COUNTS[result]}" for result in results)
    return f"{counted(len(checkup.checks), 'check')}: {told}."


# -- for build servers, and for readers of the book --------------------------------------------------------------------


def _suite(checkup: Checkup, again: Sequence[str]) -> JunitSuite:
    cases = [_case(check, checkup, again) for check in checkup.checks]
    return JunitSuite(f"ckpt doctor {checkup.diagnosis.checkpoint.url}", cases)


def _case(check: CheckOfLaw, checkup: Checkup, again: Sequence[str]) -> JunitCase:
    name = check.law.id
    if check.result in ("passed", "not_applicable"):
        return JunitCase(name)
    if check.result == "not_looked":
        return JunitCase(name, "skipped", message=f"{check.why}: {check.look}")
    if check.result == "could_not":
        return JunitCase(name, "error", "could_not", check.why or "")
    told = [one for one in checkup.counted if one.finding.id == name and _fails(one, checkup.fail_on)]
    if not told:
        return JunitCase(name)
    text = "\n".join(line for one in told[:_SHOWN] for line in _lines_of(one, checkup, again))
    return JunitCase(name, "failure", told[0].finding.severity, told[0].finding.message, text)


def _fails(one: CheckedFinding, fail_on: FailOn) -> bool:
    severities = {"error": ("error",), "warning": ("error", "warning"), "never": ()}
    return one.finding.severity in severities[fail_on]


def _lines_of(one: CheckedFinding, checkup: Checkup, again: Sequence[str]) -> Iterator[str]:
    yield f"{one.finding.path}: {one.finding.message}"
    if one.fix:
        mends = take(one.fix.way, checkup.diagnosis, again, one.fix.wish) if one.fix.way else one.fix.manual
        yield f"fix: {mends or one.fix.why}"


def laws_document(laws: Sequence[Law]) -> Document:
    """What there is to check."""
    names = ("id", "severities", "profile", "needs", "title")
    fields = [
        dict(zip(names, (law.id, list(law.severities), law.least, law.needs, law.says), strict=True)) for law in laws
    ]
    rows = [(law.id, ", ".join(law.severities) or "-", law.least, law.needs, law.says) for law in laws]
    head = ("Check", "Severity", "Profile", "Needs", "In one line")
    return Document("doctor-checks", None, lambda: {"checks": fields}, lambda: [[Table(head, rows)]])


def entry_document(id: str, lines: Sequence[str]) -> Document:
    """What docs/findings.md has of an id, and the page that tells what to do."""
    runbook = runbook_of(id)
    page = ["", f"Runbook: {runbook}"] if runbook else []
    fields = {"id": id, "text": "\n".join(lines), "runbook": runbook}
    return Document("doctor-entry", None, lambda: fields, lambda: [[*lines, *page]])
