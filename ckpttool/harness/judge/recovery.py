"""P10, P11, P12 and P13: the restart, what it leaves lying about, and whether the crash was one. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.harness.history import Crash, ObservedFailure
from ckpttool.harness.judge.base import Anomaly, Facts, Outcome, Unknown, Valid, conclude, some
from ckpttool.words import counted


def first_restart_succeeds(facts: Facts) -> Outcome:
    """P10: the first restart goes on to the end of the input, without an exception and without a hand that helps."""
    case = facts.case
    if not case.restarts:
        goes_on = any(crash.mode == "executor" for crash in case.crashes) and case.drained
        return Valid("the query went on without a restart") if goes_on else Unknown("nobody started the query again")
    if any(restart.failure is None and restart.run_id is None for restart in case.restarts):
        return Unknown("a restart neither failed nor has a run id: nobody knows that it ran")
    failures = [restart.failure for restart in case.restarts if restart.failure]
    if not failures:
        return Valid() if case.drained else Unknown("the restart did not read all there was")
    if facts.is_damaged and not case.drained:
        return Valid(f"damaged by hand, it stops and says so: {spell_failure(failures[0])}")
    if case.way_out is not None and case.drained and not case.restarts[-1].failure:
        return Valid(f"goes on after {case.way_out}")
    times = "every restart fails" if not case.drained else f"{len(failures)} of {len(case.restarts)} restarts fail"
    message = f"{times}: {spell_failure(failures[0])}"
    return conclude([Anomaly("restart-failed", message, batch_id=failures[0].batch_id)])


def spell_failure(failure: ObservedFailure) -> str:
    named = failure.condition or failure.class_name
    where = "" if failure.batch_id is None else f" in batch {failure.batch_id}"
    return f"{named}{where}: {failure.message}" if failure.message else f"{named}{where}"


def garbage_does_not_grow(facts: Facts) -> Outcome:
    """P11: what a crash leaves lying about is no more after the recovery."""
    after = facts.case.after.garbage
    disks = [crash.disk.garbage for crash in facts.case.crashes]
    if after is None or not disks or any(paths is None for paths in disks) or facts.is_damaged:
        return None
    grown = sorted(set(after) - {path for paths in disks for path in paths or ()})
    if grown:
        return conclude(
            [Anomaly("garbage-grows", f"the recovery left {counted(len(grown), 'file')} more: {some(grown)}")]
        )
    return Valid(f"{counted(len(after), 'file')} that nobody needs" if after else "")


def sources_are_released_late(facts: Facts) -> Outcome:
    """P12: a source is told that a batch is done only when it is committed."""
    released = facts.case.released
    if released is None:
        return None
    if any(one.batch_id is None for one in released):
        return Unknown("a source was told that a batch is done, and nobody knows which")
    early = [
        Anomaly(
            "released-too-early",
            f"source {one.source} was told of batch {one.batch_id} when commits reached {one.committed}",
            batch_id=one.batch_id,
        )
        for one in released
        if one.committed is None or (one.batch_id or 0) > one.committed
    ]
    return conclude(early)


def crash_was_real(facts: Facts) -> Outcome:
    """P13: each crash was where it is said to be, by proofs that do not depend on each other."""
    return conclude(
        anomaly
        for number, crash in enumerate(facts.case.crashes, 1)
        for anomaly in _void(crash, f"crash {number}" if len(facts.case.crashes) > 1 else "the crash")
    )


def _void(crash: Crash, which: str) -> Iterator[Anomaly]:
    proof = crash.proof
    note = f" ({proof.note})" if proof.note else ""
    # A point in a thread of its own may be passed at any time: the disk then need not show where it was.
    needs_witness = crash.mode in ("image", "kill", "torn") and (crash.window is not None or proof.witness is not None)
    missing = {
        "never-armed": (proof.armed is True, f"{which}: no code was found for {crash.point}{note}"),
        "not-reached": (proof.hit is True, f"{which}: {crash.point} was not reached{note}"),
        "not-dead": (
            proof.dead is True or (crash.mode in ("image", "torn") and proof.dead is None),
            f"{which}: what was to be killed lives on{note}",
        ),
        "not-witnessed": (
            proof.witness is True or not needs_witness,
            f"{which}: the disk is not what it has to be at {crash.point}{note}",
        ),
    }
    for name, (holds, message) in missing.items():
        if not holds:
            yield Anomaly(name, message, batch_id=crash.batch_id)
            return
