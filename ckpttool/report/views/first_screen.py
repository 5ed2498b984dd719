"""What is seen first, and often alone: the verdict in Spark's words, its cause, one thing to do, and what that costs.

Every command that predicts begins with the same lines; all else stands below their rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ckpttool.checkup.checks import LOOKS
from ckpttool.diagnosis import Diagnosis
from ckpttool.laws.restart import GOES_ON
from ckpttool.literals import shell_path
from ckpttool.model import Finding
from ckpttool.releases import spell_release
from ckpttool.report.document import Line, Tone, Toned
from ckpttool.report.layout import WIDTH, prose
from ckpttool.scene.scene import Failure, Part
from ckpttool.scene.sinks import HARMFUL
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.causes.base import ToldCause
    from ckpttool.checkup.checkup import Checkup, Health
    from ckpttool.plan import Plan, WayOut

SAME_QUERY = "the same query: its sources, operators and keys are unchanged"
_HEALTH: Mapping[Health, Tone] = {"fit": "good", "attention": "notice", "unknown": "notice", "unfit": "error"}
# Where a sentence ends, or a second thought begins.
_END = re.compile(r"[;.](?= )")


class FirstScreen(Struct, frozen=True):
    """`verdict`: in a word; `headline`: what Spark does, in its words. `by_hand`: what to do where no command does it,
    or before one that costs more; `command`: to type. `runbook`: the page about it. `assumed`: what decides, and nobody
    looked at; `unseen`: what was not looked at, and what would."""

    verdict: str
    tone: Tone
    headline: str
    cause: str | None = None
    by_hand: str | None = None
    command: str | None = None
    cost: str | None = None
    runbook: str | None = None
    assumed: str | None = None
    unseen: str | None = None


def first_lines(screen: FirstScreen, *, ruled: bool = True) -> Iterator[Line]:
    headline, *rest = prose(f"{screen.verdict}  ", screen.headline)
    yield Toned(screen.verdict, screen.tone), headline.removeprefix(screen.verdict)
    yield from rest
    yield from labelled("Cause", screen.cause)
    yield from labelled("Do this", screen.by_hand)
    if screen.command:
        label = "Or else" if screen.by_hand else "Do this"
        yield Toned(_label(label), "faint"), Toned(screen.command, "command")
    yield from labelled("It costs", screen.cost)
    yield from labelled("Runbook", screen.runbook)
    yield from labelled("Assumed", screen.assumed)
    yield from labelled("Not seen", screen.unseen)
    if ruled:
        yield Toned("─" * WIDTH, "faint")


def labelled(label: str, text: str | None) -> Iterator[Line]:
    if text:
        head = _label(label)
        first, *rest = prose(head, text)
        yield Toned(head, "faint"), first.removeprefix(head)
        yield from rest


def _label(label: str) -> str:
    return f"  {label:<10}"


# -- of each command ---------------------------------------------------------------------------------------------------


def screen_of_restart(diagnosis: Diagnosis, plan: Plan, again: Sequence[str]) -> FirstScreen:
    """`again`: the words after the path that have another command see the same."""
    verdict, tone = _restart_verdict(diagnosis)
    cause = _happened(diagnosis, _deciding(diagnosis, None)) if plan.repairs else None
    offered = (
        plan.options if plan.wish else [one for one in plan.repairs if not cause or one.id not in cause.known.never]
    )
    way = next(iter(offered), None)
    return FirstScreen(
        verdict,
        tone,
        what_spark_does(diagnosis),
        None if tone == "good" else cause_of(diagnosis),
        _by_hand(diagnosis, plan, way) if tone == "error" else None,
        take(way, diagnosis, again) if way else _look(diagnosis, again) if verdict == "UNKNOWN" else None,
        spell_cost(way) if way else None,
        assumed=_assumed(diagnosis),
        unseen=_unseen(diagnosis, {"rows": "--state full"}),
    )


def screen_of_inspection(diagnosis: Diagnosis) -> FirstScreen:
    """It plans nothing: what does is what to do."""
    verdict, tone = _restart_verdict(diagnosis)
    unseen = diagnosis.scene.not_looked_at if diagnosis.prediction.outcome in GOES_ON else ()
    return FirstScreen(
        verdict,
        tone,
        what_spark_does(diagnosis),
        None if tone == "good" else cause_of(diagnosis),
        command=f"ckpt doctor {shell_path(diagnosis.checkpoint.url)}" if tone != "good" or unseen else None,
        assumed=_assumed(diagnosis),
        unseen=", ".join(one.what for one in unseen),
    )


def screen_of_checkup(checkup: Checkup, again: Sequence[str]) -> FirstScreen:
    diagnosis, verdict = checkup.diagnosis, checkup.verdict
    told = [one.finding for one in checkup.counted]
    deciding = _deciding(diagnosis, told) if verdict not in ("fit", "unknown") else None
    fix = next((one.fix for one in checkup.counted if one.finding == deciding), None)
    way = fix.way if fix else None
    command = take(way, diagnosis, again, fix.wish) if fix and way else None
    return FirstScreen(
        verdict.upper(),
        _HEALTH[verdict],
        _headline_of(checkup, told),
        None if verdict == "fit" or checkup.is_excused else cause_of(diagnosis, told) or _first(checkup.why),
        _by_hand(diagnosis, checkup.plan, way, told) if deciding else None,
        _what_would_tell(checkup) if verdict == "unknown" else command,
        spell_cost(way) if way else None,
        assumed=_assumed(diagnosis),
        unseen=_unseen(diagnosis, {"rows": "--profile full"}),
    )


# -- the verdict -------------------------------------------------------------------------------------------------------


def _restart_verdict(diagnosis: Diagnosis) -> tuple[str, Tone]:
    restart, harm = diagnosis.prediction, _harm(diagnosis)
    if restart.error:
        return "FAILS", "error"
    if "skipped_rows_lost" in harm or _lost(diagnosis):
        return "LOSES ROWS", "error"
    if harm:
        return "DOUBLES ROWS", "error"
    if any(one.severity == "error" for one in diagnosis.findings):
        return "BEWARE", "error"
    if diagnosis.exit_code != 0:
        return "UNKNOWN", "notice"
    return ("STARTS OVER", "notice") if restart.outcome == "fresh_start" else ("GOES ON", "good")


def what_spark_does(diagnosis: Diagnosis, told: Sequence[Finding] | None = None) -> str:
    """With what goes wrong by it. `told`: the findings that count, if not all do."""
    goes_on, error = _course(diagnosis), diagnosis.prediction.error
    if error:
        where = {"start": "in start()", "init": "before any batch", "batch": f"in batch {error.batch_id}"}
        after = ", after the sink got the batch" if error.sink_written_first else ""
        return f"{_spark(diagnosis)} will fail {where[error.phase]} with {_thrown(error)}{after}"
    if harm := _harm(diagnosis):
        return f"{goes_on}, and {'leaves out rows' if 'skipped_rows_lost' in harm else 'writes rows twice'}"
    if lost := _lost(diagnosis):
        return f"{goes_on}, and {counted(lost, 'row')} {'is' if lost == 1 else 'are'} lost"
    worst = next((one for one in _counting(diagnosis, told) if one.severity == "error"), None)
    return f"{goes_on}, but {_says(worst)}" if worst else goes_on


def _says(finding: Finding) -> str:
    """As its law has it. The whole book is loaded for it, so not unless it is needed."""
    from ckpttool.laws.book import every

    return next((law.says for law in every() if law.id == finding.id), finding.message)


def _thrown(error: Failure) -> str:
    """As the log has it; without a condition the message says more than the class, where it is Spark's."""
    if error.condition:
        return error.condition
    name = error.class_name.rpartition(".")[2]
    return name if not error.message or error.message in error.why else f"{name}: {error.message}"


def _spark(diagnosis: Diagnosis) -> str:
    """The release, where the answer is that of one."""
    return "Spark" if diagnosis.chosen == "any" else f"Spark {spell_release(diagnosis.scene.release)}"


def _course(diagnosis: Diagnosis) -> str:
    spark, restart = _spark(diagnosis), diagnosis.prediction
    return {
        "replay": f"{spark} will replay batch {restart.batch_id} with the offsets that are logged",
        "new_batch": f"{spark} will start batch {restart.batch_id} with new data",
        "fresh_start": f"{spark} will start from nothing, at batch 0",
    }.get(restart.outcome, f"It cannot be told what {spark} will do")


def _harm(diagnosis: Diagnosis) -> set[str]:
    return {sink.verdict for sink in diagnosis.sinks if sink.verdict in HARMFUL}


def _lost(diagnosis: Diagnosis) -> int:
    return sum(view.total_lost for view in diagnosis.views)


def _counting(diagnosis: Diagnosis, told: Sequence[Finding] | None) -> Sequence[Finding]:
    return diagnosis.findings if told is None else told


def _headline_of(checkup: Checkup, told: Sequence[Finding]) -> str:
    does = what_spark_does(checkup.diagnosis, told)
    if checkup.is_excused:
        return f"{what_spark_does(checkup.diagnosis)}: all of it is known"
    warned = checkup.counts["warning"]
    if checkup.verdict == "attention" and warned:
        return f"{does}, with {counted(warned, 'warning')}"
    if checkup.verdict == "unknown" and checkup.diagnosis.prediction.outcome in GOES_ON:
        return f"{does}, and what becomes of its rows cannot be told"
    return does


# -- the cause ---------------------------------------------------------------------------------------------------------


def cause_of(diagnosis: Diagnosis, told: Sequence[Finding] | None = None) -> str | None:
    """What decides the verdict, in a sentence: why the restart stops, or rows go wrong, or the first finding that asks
    for something."""
    restart = diagnosis.prediction
    if cause := _happened(diagnosis, _deciding(diagnosis, told)):
        return f"{cause.known.title} ({cause.sign.sure})."
    if restart.error or restart.outcome == "unknown":
        return _sentence(restart.why[0]) if restart.why else None
    if harmful := [sink for sink in diagnosis.sinks if sink.verdict in HARMFUL]:
        return _sentence(f"{harmful[0].kind} {harmful[0].path}: {harmful[0].why}")
    if first := _deciding(diagnosis, told):
        place = "" if first.path in ("", ".") or first.path in first.message else f"{first.path}: "
        return _sentence(place + first.message)
    open_at = [sink.why for sink in diagnosis.sinks if sink.verdict == "unknown"]
    return _sentence(open_at[0]) if open_at else None


def _happened(diagnosis: Diagnosis, deciding: Finding | None) -> ToldCause | None:
    """What the finding comes of, where that is more than possible."""
    causes = diagnosis.causes if deciding else ()
    return next((one for one in causes if one.sign.sure != "possible" and deciding in one.findings), None)


def _sentence(text: str) -> str:
    return f"{_END.split(text, maxsplit=1)[0].rstrip('.')}."


def _first(told: Sequence[str]) -> str | None:
    return _sentence(told[0]) if told else None


# -- what to do, and what it costs -------------------------------------------------------------------------------------


def take(way: WayOut, diagnosis: Diagnosis, again: Sequence[str], wish: str | None = None) -> str:
    """The command that carries it out; `wish`: the command of `ckpt plan` that plans it."""
    path = shell_path(diagnosis.checkpoint.url)
    if wish:
        return f"{' '.join(['ckpt plan', wish, path, *again, f'--out {wish}.json'])} && ckpt apply {wish}.json"
    if way.after is diagnosis.scene:  # a plan that was begun: it is taken by its own command
        return way.steps[0].shell
    return " ".join(["ckpt apply", path, f"--take {way.id}", *again])


def spell_cost(way: WayOut) -> str:
    """What is not known is said once, with what would tell it."""
    rows = (("lost", way.rows_lost), ("doubled", way.rows_duplicated))
    if way.rows_lost is None and way.rows_duplicated is None and not way.guarantee.startswith("unknown"):
        return f"{way.guarantee}."
    unknown = " and ".join(what for what, count in rows if count is None)
    tells = "cannot be counted" if way.after.sinks else "--sink URL tells"
    told = [_rows(count, what) for what, count in rows if count is not None]
    told[1:] = [one.replace("no rows", "none") for one in told[1:]]
    told += [f"{'' if told else 'rows '}{unknown}: {tells}"] if unknown else []
    told += [f"{way.rows_replayed:,} read again"] if way.rows_replayed else []
    level = "" if unknown else f"{way.guarantee.partition(':')[0]}: "
    back = "ckpt undo takes it back" if way.is_reversible else "ckpt undo takes back only a part"
    return f"{level}{', '.join(told)}. {back}."


def _rows(count: int, what: str) -> str:
    return f"no rows {what}" if count == 0 else f"{counted(count, 'row')} {what}"


def _by_hand(diagnosis: Diagnosis, plan: Plan, way: WayOut | None, told: Sequence[Finding] | None = None) -> str | None:
    """Where no way out is offered, and where all that is offered begins anew: what its cause advises, or the deciding
    finding says, or why there is nothing."""
    if way and not _begins_anew(way):
        return None
    deciding = _deciding(diagnosis, told)
    if cause := _happened(diagnosis, deciding):
        return _sentence(cause.known.advice)
    if deciding and deciding.next_step:
        return _sentence(deciding.next_step)
    return None if way else f"nothing mends it: {plan.refused[0].why if plan.refused else 'no repair is known'}"


def _begins_anew(way: WayOut) -> bool:
    from ckpttool.plan.log_repairs import START_OVER

    return way.id == START_OVER


def _deciding(diagnosis: Diagnosis, told: Sequence[Finding] | None) -> Finding | None:
    """What the restart fails with, else the first that asks for something."""
    asking = [one for one in _counting(diagnosis, told) if one.severity != "info"]
    raised = (one for one in asking if diagnosis.prediction.error and one.spark == diagnosis.prediction.error.spark)
    return next(raised, None) or next((one for one in asking if one.next_step), None) or next(iter(asking), None)


def _look(diagnosis: Diagnosis, again: Sequence[str]) -> str | None:
    """With what was not looked at; None if that is nothing."""
    parts = dict.fromkeys(one.part for one in diagnosis.scene.not_looked_at)
    looks = [LOOKS[part] for part in parts if part in LOOKS]
    path = shell_path(diagnosis.checkpoint.url)
    return " ".join([f"ckpt plan-recovery {path}", *again, *looks]) if looks else None


def _what_would_tell(checkup: Checkup) -> str | None:
    path = shell_path(checkup.diagnosis.checkpoint.url)
    looks = {check.look for check in checkup.checks if check.look and check.look.startswith("--")}
    return f"ckpt doctor {path} {' '.join(sorted(looks))}" if looks else None


# -- what was not looked at --------------------------------------------------------------------------------------------


def _assumed(diagnosis: Diagnosis) -> str | None:
    """It decides wherever a batch would run."""
    return SAME_QUERY if diagnosis.scene.query is None and diagnosis.prediction.outcome != "unknown" else None


def _unseen(diagnosis: Diagnosis, looks: Mapping[Part, str]) -> str | None:
    """Only where a batch runs: else there is no answer that it would change."""
    if diagnosis.prediction.outcome not in GOES_ON:
        return None
    how = {**LOOKS, **looks}
    if diagnosis.scene.inputs:  # then it is a folder that nobody pointed at
        how["inputs"] = "--look-at it"
    told = (f"{one.what} ({how[one.part]})" if one.part in how else one.what for one in diagnosis.scene.not_looked_at)
    return ", ".join(told) or None
