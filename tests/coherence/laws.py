"""The laws that hold for every checkpoint. Each yields how it is broken; nothing, if it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.coherence.told import GOES_ON, HARMFUL, OWN_BUG, Told, predicted

Law = Callable[[Told], Iterator[str]]


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
    if told.truth and told.truth["outcome"] in GOES_ON:
        for one in told.plan.accusations:
            yield f"Spark goes on, {one['id']} names {one['spark']['class']}"


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
    scan_finds_what_inspect_opens,
    inspect_opens_what_scan_finds,
)
