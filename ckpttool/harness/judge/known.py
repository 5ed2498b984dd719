"""Defects of Spark and Delta that crash tests come across: what each looks like, and in which releases. A verdict
stays what it is; it only gets the defect's name. Values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ckpttool.errors import NotFound
from ckpttool.formats import layout
from ckpttool.harness.history import ObservedFailure
from ckpttool.harness.judge.base import Facts, Invalid, Outcome
from ckpttool.releases import OLDEST_CRASHED, Release, parse_release, since

Outcomes = Mapping[str, Outcome]


class Defect(Struct, frozen=True):
    """`since`: the first release that has it; `shows`: whether a case looks like it."""

    id: str
    title: str
    since: Release
    shows: Callable[[Facts, Outcomes], bool]


def known_defect(facts: Facts, outcomes: Outcomes) -> Defect | None:
    try:
        release = parse_release(facts.run.spark_version)
    except NotFound:
        return None
    return next((defect for defect in DEFECTS if release >= defect.since and defect.shows(facts, outcomes)), None)


def _first_failure(facts: Facts) -> ObservedFailure | None:
    return next((restart.failure for restart in facts.case.restarts if restart.failure), None)


def _fails_with(facts: Facts, condition: str) -> bool:
    failure = _first_failure(facts)
    return failure is not None and (failure.condition or "").startswith(condition)


def _validation_of_a_skipped_batch(facts: Facts, outcomes: Outcomes) -> bool:
    fails = _fails_with(facts, "STATE_STORE_COMMIT_VALIDATION_FAILED")
    return fails and _invalid(outcomes) == {"P10"} and facts.case.drained


def _first_plan_cut_short(facts: Facts, outcomes: Outcomes) -> bool:
    nothing_planned = facts.crash is not None and not facts.crash.disk.offsets and not facts.crash.disk.commits
    fails = _fails_with(facts, "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY")
    return fails and nothing_planned and "P10" in _invalid(outcomes)


def _no_ids_of_a_skipped_batch(facts: Facts, outcomes: Outcomes) -> bool:
    failure = _first_failure(facts)
    # Spark 4.0 spells it without its first `c`.
    named = failure is not None and "pointInfo length: 0" in failure.message
    return "P10" in _invalid(outcomes) and named and not facts.case.drained


def _no_watermark_of_a_skipped_batch(facts: Facts, outcomes: Outcomes) -> bool:
    crash = facts.crash
    skipped = facts.run.sink.kind == "delta" and crash is not None and crash.window == "doubled"
    return skipped and facts.case.drained and "P7" in _invalid(outcomes) <= {"P1", "P7"}


def _commit_without_offsets_repeats(facts: Facts, outcomes: Outcomes) -> bool:
    crash, fails = facts.crash, _fails_with(facts, "CONCURRENT_STREAM_LOG_UPDATE")
    ahead = crash is not None and max(crash.disk.commits, default=-1) > max(crash.disk.offsets, default=-1)
    return fails and ahead and "P1" in _invalid(outcomes)


def _another_plan_is_skipped(facts: Facts, outcomes: Outcomes) -> bool:
    logs = (f"checkpoint/{layout.OFFSETS}/", f"checkpoint/{layout.SOURCES}/")
    return facts.run.sink.ledger and any(_after(log, "gone", "P1")(facts, outcomes) for log in logs)


def _after(place: str, how: str, *properties: str) -> Callable[[Facts, Outcomes], bool]:
    """Something was edited, nothing failed, and one of these properties does not hold."""

    def shows(facts: Facts, outcomes: Outcomes) -> bool:
        edits = (crash.edit or "" for crash in facts.case.crashes)
        edited = any(edit.startswith(place) and how in edit for edit in edits)
        return edited and _first_failure(facts) is None and bool(_invalid(outcomes) & set(properties))

    return shows


def _invalid(outcomes: Outcomes) -> set[str]:
    return {name for name, outcome in outcomes.items() if isinstance(outcome, Invalid)}


DEFECTS = (
    Defect(
        "skipped-batch-fails-validation",
        "the first restart fails after a batch that foreachBatch skips: Spark asks for state commits that never were",
        since.COMMIT_VALIDATION,
        _validation_of_a_skipped_batch,
    ),
    Defect(
        "first-plan-cut-short-blocks-start",
        "a crash while the very first offsets are written leaves a temporary file, and no restart gets past it",
        since.EMPTY_LOCATION,
        _first_plan_cut_short,
    ),
    Defect(
        "skipped-batch-has-no-state-ids",
        "with state checkpoint format 2 no restart gets past a batch that the sink skips",
        since.UNIQUE_IDS,
        _no_ids_of_a_skipped_batch,
    ),
    Defect(
        "skipped-batch-moves-no-watermark",
        "the event times of a batch that the sink skips do not count: the next batch runs with the watermark before it",
        OLDEST_CRASHED,
        _no_watermark_of_a_skipped_batch,
    ),
    Defect(
        "commit-without-offsets-repeats-batch",
        "a batch whose successor's offsets are lost runs again, and writes again, before Spark sees that it must not",
        OLDEST_CRASHED,
        _commit_without_offsets_repeats,
    ),
    Defect(
        "foreign-state-is-taken",
        "a state file replaced by a sound one of another version is read without a word, and results are wrong",
        OLDEST_CRASHED,
        _after(f"checkpoint/{layout.STATE}/", "replaced", "P1", "P6"),
    ),
    Defect(
        "empty-source-log-entry-is-taken",
        "an entry of a file source's log cut to its version line counts as one without files, which are read again",
        OLDEST_CRASHED,
        _after(f"checkpoint/{layout.SOURCES}/", "cut-to-version", "P1", "P5", "P6"),
    ),
    Defect(
        "another-plan-is-skipped",
        "a batch whose offsets are lost is planned anew with other rows, and the sink that has its number skips them",
        OLDEST_CRASHED,
        _another_plan_is_skipped,
    ),
    Defect(
        "lost-record-is-not-missed",
        "the newest entry of the sink's own log is lost: readers do not see the batch, and no restart misses it",
        OLDEST_CRASHED,
        _after("sink/", "gone", "P1", "P5"),
    ),
    Defect(
        "new-id-writes-again",
        "a query whose metadata is lost gets a new id, and a sink that knows batches by it takes them for new ones",
        OLDEST_CRASHED,
        _after("checkpoint/metadata", "gone", "P1", "P5"),
    ),
)
