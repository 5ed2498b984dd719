"""P14: controls. A sink that cannot promise exactly once must show its duplicates, in exactly the expected window, and
a row that was taken out must be missed. Else the judge is blind, and no other verdict counts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ckpttool.harness.fold import Folded
from ckpttool.harness.history import Crash, Fields
from ckpttool.harness.judge.base import Anomaly, Facts, Invalid, Outcome, Unknown, conclude
from ckpttool.harness.judge.rows import Expected, expect, rows_are_there_once, surplus_after, surplus_at_crash
from ckpttool.words import counted


def control_bites(facts: Facts) -> Outcome:
    """P14: what was to be seen is seen, there and nowhere else."""
    if facts.case.planted:
        return _planted_loss_is_found(facts)
    if facts.run.control != "duplicates" or facts.crash is None:
        return None
    expected, extra = expect(facts, facts.committed), surplus_after(facts)
    due = due_duplicates(facts)
    if isinstance(expected, str) or extra is None or due is None:
        return Unknown("it is not known which rows have to be there twice")
    return conclude(_differences(facts.crash, expected, extra, due, facts.case.after.visible or ()))


def due_duplicates(facts: Facts) -> Counter[str] | None:
    """The rows that have to be there again after this crash, by the keys of `Expected`; None: not known."""
    crash = facts.crash
    if crash is None:
        return Counter()
    if len(facts.case.crashes) > 1 or crash.window in (None, "in-effect"):
        return surplus_at_crash(facts)
    if crash.window != "doubled":
        return Counter()
    expected = expect(facts, facts.committed)
    if isinstance(expected, str) or not isinstance(facts.folded, Folded):
        return surplus_at_crash(facts)
    return expected.count(facts.folded.rows.get(-1 if crash.batch_id is None else crash.batch_id, ()))


def _differences(
    crash: Crash, expected: Expected, extra: Counter[str], due: Counter[str], visible: Sequence[Fields]
) -> Iterator[Anomaly]:
    if due and not extra:
        message = f"twice in the sink have to be {counted(due.total(), 'row')} of batch {crash.batch_id}, and none is"
        yield Anomaly("control-silent", message, _rows(expected, expected.all(), due), crash.batch_id)
    elif extra != due:
        where = f" in the window {crash.window}" if crash.window else ""
        message = f"twice in the sink: {counted(extra.total(), 'row')}, and due{where}: {due.total()}"
        yield Anomaly("control-bites-elsewhere", message, _rows(expected, visible, extra - due), crash.batch_id)


def _rows(expected: Expected, rows: Sequence[Fields], wanted: Counter[str]) -> tuple[Fields, ...]:
    """One row of each key."""
    found = {key: row for row in rows if (key := expected.key(row)) in wanted}
    return tuple(found.values())


def _planted_loss_is_found(facts: Facts) -> Outcome:
    found = rows_are_there_once(facts)
    lost = found.anomalies if isinstance(found, Invalid) else ()
    names = {anomaly.name for anomaly in lost}
    missed = facts.named(row for anomaly in lost for row in anomaly.rows)
    if names == {"row-lost"} and missed == facts.named(facts.case.planted):
        return conclude(())
    message = f"taken out: {counted(len(facts.case.planted), 'row')}, missed: {missed.total()}"
    return conclude([Anomaly("planted-loss-not-found", message, facts.case.planted)])
