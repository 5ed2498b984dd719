"""The laws that hold for every checkpoint. Each yields how it is broken; nothing, if it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tests.coherence.told import GOES_ON, HARMFUL, OWN_BUG, Told, predicted

Law = Callable[[Told], Iterator[str]]

# Findings about what happens once the batch that is predicted has been committed.
AFTER_THE_BATCH = {"commit-ahead-of-offset", "skipped-batch-fails-once"}
# What is offered, or refused, to somebody whose restart goes on.
CHOICES = {"skip-batch", "drop-planned-batch"}
NOT_OPENED = re.compile("does not open|never reads|ignored by|nothing (to do )?for a restart")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
LOOKED_AT_LESS = re.compile(r"[Nn]ot (read|looked at|asked|checked)|by names? and sizes?|[Aa]ssum")


def every_command_answers(told: Told) -> Iterator[str]:
    """Neither a bug of its own nor work without end. Of what does not answer, the other laws have nothing to judge."""
    for command, said in told.all.items():
        if said.code == OWN_BUG:
            yield f"{command} does not answer"


def exit_status_0_predicts_no_failure(told: Told) -> Iterator[str]:
    """Of a whole command, and of each line of a scan."""
    for command, said in told.all.items():
        if said.code == 0 and "error" in predicted(said.json):
            yield f"{command} predicts a failure and exits 0"
    if told.sighting and told.sighting["exit_code"] == 0 and told.sighting["next_batch"]["outcome"] == "error":
        yield "the line of the scan predicts a failure, with exit status 0"


def exit_status_0_predicts_no_harm(told: Told) -> Iterator[str]:
    if told.plan.code == 0 and set(told.verdicts) & set(HARMFUL):
        yield f"the sink's rows are {told.verdicts}, and plan-recovery exits 0"


def findings_name_the_exception_that_spark_raises(told: Told) -> Iterator[str]:
    """Where the prediction is right, and any finding of an error names one: a second failure may be named besides."""
    if raised := _rightly_predicted(told, "class"):
        named = {one["spark"]["class"] for one in told.plan.accusations}
        if named and raised["class"] not in named:
            yield f"Spark raises {raised['class']}, findings name {sorted(named)}"


def findings_name_the_condition_that_spark_gives(told: Told) -> Iterator[str]:
    if raised := _rightly_predicted(told, "class", "condition"):
        named = {(one["spark"]["class"], one["spark"]["condition"]) for one in told.plan.accusations}
        if named and (raised["class"], raised["condition"]) not in named:
            yield f"Spark raises {raised['class']} {raised['condition']}, findings name {named}"


def _rightly_predicted(told: Told, *fields: str) -> dict[str, str | None] | None:
    raised, said = (told.truth or {}).get("error"), told.restart["error"]
    return raised if raised and said and all(raised[field] == said[field] for field in fields) else None


def findings_name_no_exception_where_spark_goes_on(told: Told) -> Iterator[str]:
    """But the one that comes after the batch is done, where that is recorded. What is predicted wrongly is no matter of
    the findings beside it."""
    if told.truth and told.truth["outcome"] in GOES_ON and told.restart["outcome"] != "error":
        later = told.truth.get("later_error", {}).get("class")
        for one in told.plan.accusations:
            if one["spark"]["class"] != later:
                yield f"Spark goes on, {one['id']} names {one['spark']['class']}"


def a_predicted_failure_is_a_finding_of_severity_error(told: Told) -> Iterator[str]:
    for command in ("inspect", "plan-recovery"):
        said = told.all[command]
        if "error" in predicted(said.json) and not any(one["severity"] == "error" for one in said.findings):
            yield f"{command} predicts a failure, and has no error among its findings"


def no_finding_names_an_exception_beside_a_restart_that_goes_on(told: Told) -> Iterator[str]:
    """But of what comes after the batch is done; and a batch that the sink skips is done without its state."""
    skipped = any(verdict.startswith("skipped") for verdict in told.verdicts)
    for command in ("inspect", "plan-recovery"):
        said = told.all[command]
        if not any(outcome in GOES_ON for outcome in predicted(said.json)):
            continue
        for one in said.accusations:
            if one["id"] not in AFTER_THE_BATCH and not (skipped and one["path"].startswith("state/")):
                yield f"{command} lets the restart go on, {one['id']} names {one['spark']['class']}"


def what_is_not_opened_is_not_what_fails(told: Told) -> Iterator[str]:
    failing = " ".join(told.restart["why"]).split() if told.restart["outcome"] == "error" else []
    broken = {one["path"] for one in told.plan.findings if one["severity"] == "error"}
    for one in told.plan.findings:
        if NOT_OPENED.search(f"{one['message']} {one['next_step']}") and one["path"] in {*failing, *broken}:
            yield f"{one['id']} says that no restart opens {one['path']}, which fails"


def harm_has_a_way_out_or_a_refusal_that_is_about_it(told: Told) -> Iterator[str]:
    """Refusing what one may choose to do to a sound query is no answer to harm."""
    harm = [verdict for verdict in told.verdicts if verdict in HARMFUL]
    harm += ["a failure"] if told.restart["outcome"] == "error" else []
    refused = {one["id"] for one in told.plan.json["refused"]}
    refused -= CHOICES if told.restart["outcome"] in GOES_ON else set()
    if harm and not told.plan.json["options"] and not refused:
        yield f"{harm}, and neither a way out nor a reason why there is none"


def the_verdict_is_skipped_where_spark_skipped(told: Told) -> Iterator[str]:
    """It did where more batches ran than came into the record that the sink keeps of them."""
    truth = told.truth or {"outcome": None}
    if truth["outcome"] not in GOES_ON or "later_error" in truth:
        return
    for sink in told.plan.json["sinks"]:
        before, after = (truth["sink"][f"ledger_{when}"] or [] for when in ("before", "after"))
        skipped, verdict = len(after) - len(before) < len(truth["ran"]), sink["verdict"]
        if sink["kind"] in ("delta", "file") and verdict != "unknown" and skipped != verdict.startswith("skipped"):
            yield f"of batches {truth['ran']} came {len(after) - len(before)}, the verdict is {verdict}"


def who_looked_at_less_says_so(told: Told) -> Iterator[str]:
    """Beside each promise that `plan-recovery`, which looks at all, does not make: in JSON and in text."""
    if told.restart["outcome"] != "error":
        return
    promises = [("inspect", told.inspect.json.get("next_batch"), "")]
    promises += [("scan", (told.sighting or {}).get("next_batch"), "")]
    promises += [("plan-recovery", told.quick_plan.json["restart"], "--state quick")]
    for command, promise, options in promises:
        if promise and promise["outcome"] in GOES_ON:
            if not (promise.get("not_looked_at") or promise.get("assumes")):
                yield f"{command} {options} promises a batch, and its JSON assumes nothing"
            given = (*told.options, *options.split()) if options else ()
            first = told.text(command, *given).split("\n\n")[0]
            if not LOOKED_AT_LESS.search(first):
                yield f"{command} {options} promises a batch, and the lines beside that leave nothing open"


def advice_names_no_option_that_was_given(told: Told) -> Iterator[str]:
    release = told.plan.json["spark_version"]["assumed"]
    yield from given_again(
        told, "plan-recovery", *told.options, "--spark-version", release, "--state", "full", "--listing", "full"
    )
    yield from given_again(told, "inspect", "--listing", "full", "--batches", "all")


def given_again(told: Told, command: str, *given: str) -> Iterator[str]:
    """The lines that tell to give what was given. What a step of a way out is done with is no option of ours, of each
    option there is a line that says what becomes of it, and a command to type is whole."""
    for line in told.text(command, *given).splitlines():
        again = set(OPTION.findall(line)) & set(given)
        if again and not line.startswith(("   - ", "Given ", "  Do this   ckpt ", "  Or else   ckpt ")):
            yield f"{command} was given {sorted(again)}, and says: {line.strip()}"


def the_doctor_predicts_nothing_of_its_own(told: Told) -> Iterator[str]:
    """Unfit is what plan-recovery exits with 1 for; and what an error is, both know, with what Spark raises."""
    unfit = told.doctor.json.get("verdict") == "unfit"
    if unfit is not (told.plan.code == 1):
        yield f"the doctor says {told.doctor.json.get('verdict')}, plan-recovery exits with {told.plan.code}"
    errors = [
        {(one["id"], one["path"], str(one["spark"])) for one in said.findings if one["severity"] == "error"}
        for said in (told.doctor, told.plan)
    ]
    if errors[0] != errors[1]:
        yield f"errors of one of both: {sorted(errors[0] ^ errors[1])}"


def a_fix_is_a_way_out_that_plan_recovery_offers(told: Told) -> Iterator[str]:
    offered = {one["id"] for one in told.plan.json["options"]}
    for one in told.doctor.findings:
        taken = (one["fix"] or {}).get("option")
        if taken and taken not in offered:
            yield f"{one['id']} is mended by {taken}, of {sorted(offered)}"


def scan_finds_what_inspect_opens(told: Told) -> Iterator[str]:
    if told.is_opened and not told.sighting:
        yield "inspect opens it, the scan of the directory above does not find it"


def inspect_opens_what_scan_finds(told: Told) -> Iterator[str]:
    if told.sighting and not told.is_opened:
        yield f"the scan finds it, inspect refuses it with {told.inspect.code}"


LAWS: tuple[Law, ...] = (
    every_command_answers,
    exit_status_0_predicts_no_failure,
    exit_status_0_predicts_no_harm,
    findings_name_the_exception_that_spark_raises,
    findings_name_the_condition_that_spark_gives,
    findings_name_no_exception_where_spark_goes_on,
    a_predicted_failure_is_a_finding_of_severity_error,
    no_finding_names_an_exception_beside_a_restart_that_goes_on,
    what_is_not_opened_is_not_what_fails,
    harm_has_a_way_out_or_a_refusal_that_is_about_it,
    the_verdict_is_skipped_where_spark_skipped,
    who_looked_at_less_says_so,
    advice_names_no_option_that_was_given,
    the_doctor_predicts_nothing_of_its_own,
    a_fix_is_a_way_out_that_plan_recovery_offers,
    scan_finds_what_inspect_opens,
    inspect_opens_what_scan_finds,
)
