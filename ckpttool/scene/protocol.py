"""Which steps of the micro-batch protocol a batch has provably been through, by what its files show. Pure.

Spark asks the sources, logs the offsets, runs the batch (state, then sink), and logs the commit. A commit proves all
the steps before it; without one, each step has only its own witness.
"""

from __future__ import annotations

from msgspec import Struct

from ckpttool.model import Operator, SinkLedger
from ckpttool.scene.batches import Batch, file_log_position
from ckpttool.scene.evidence import Evidence


class ProtocolStep(Struct, frozen=True):
    """`proven` None: the files seen here cannot tell."""

    name: str
    proven: bool | None
    evidence: str


def protocol_steps(evidence: Evidence, batch: Batch) -> tuple[ProtocolStep, ...]:
    number = batch.id
    logged = number in evidence.checkpoint.offset_names.ids
    committed = number in evidence.checkpoint.commit_names.ids
    return (
        _sources_asked(evidence, number, logged),
        ProtocolStep("offsets logged", logged, f"offsets/{number} {'is there' if logged else 'is not there'}"),
        _state_committed(evidence, number, committed),
        _sink_committed(evidence, number, committed),
        ProtocolStep("batch committed", committed, f"commits/{number} {'is there' if committed else 'is not there'}"),
    )


def _sources_asked(evidence: Evidence, number: int, logged: bool) -> ProtocolStep:
    name = "sources asked"
    if logged:
        return ProtocolStep(name, True, "their answers are in the offset log")
    ahead = [log.name for log in evidence.checkpoint.source_logs if _is_ahead(evidence, log.name)]
    if ahead and number == (evidence.checkpoint.last_offset_batch or -1) + 1:
        return ProtocolStep(name, True, f"sources/{ahead[0]} has an entry that no batch refers to")
    return ProtocolStep(name, None, "no offsets, and the sources left no trace")


def _is_ahead(evidence: Evidence, log_name: str) -> bool:
    """Whether a file source's log reaches beyond the newest batch's offset."""
    log = next(log for log in evidence.checkpoint.source_logs if log.name == log_name)
    last = max([*log.names.ids[-1:], *log.names.compact_ids[-1:]], default=None)
    if log.kind != "file" or last is None:
        return False
    sources = evidence.newest.sources if evidence.newest else ()
    reached = [file_log_position(source) for source in sources if source.key == log_name]
    return all(offset is None or last > offset for offset in reached)


def _state_committed(evidence: Evidence, number: int, committed: bool) -> ProtocolStep:
    name = "state committed"
    operators = evidence.checkpoint.operators
    if not operators:
        return ProtocolStep(name, None, "no state: the query is stateless, or its state is lost")
    written = [operator for operator in operators if number + 1 in operator.versions]
    if len(written) == len(operators):
        return ProtocolStep(name, True, f"partition 0 of every operator has version {number + 1}")
    if committed:
        return ProtocolStep(name, True, f"the batch is committed (version {number + 1} {_gone(operators, number)})")
    return ProtocolStep(
        name,
        False,
        f"version {number + 1} is missing in partition 0 of operator "
        f"{next(operator.id for operator in operators if operator not in written)}",
    )


def _gone(operators: tuple[Operator, ...], number: int) -> str:
    oldest = min((operator.versions[0] for operator in operators if operator.versions), default=None)
    return "has been cleaned up" if oldest is not None and oldest > number + 1 else "is not in partition 0"


def _sink_committed(evidence: Evidence, number: int, committed: bool) -> ProtocolStep:
    name = "sink committed"
    ledger = next((ledger for ledger in evidence.checkpoint.ledgers if ledger.last_batch is not None), None)
    if ledger is None:
        return ProtocolStep(
            name,
            True if committed else None,
            "the batch is committed" if committed else "no sink's ledger was seen here",
        )
    return ProtocolStep(
        name, _has(ledger, number), f"the {ledger.kind} ledger in {ledger.path} reaches batch {ledger.last_batch}"
    )


def _has(ledger: SinkLedger, number: int) -> bool:
    return ledger.last_batch is not None and ledger.last_batch >= number
