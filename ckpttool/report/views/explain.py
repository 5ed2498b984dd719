"""`ckpt explain`: what failed, the likeliest cause of it, and what to type; then all causes, and what else was told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.checkup.checks import LOOKS
from ckpttool.checkup.checkup import Checkup
from ckpttool.connectors.options import hide_secrets
from ckpttool.laws.recognise import Cause
from ckpttool.laws.runbooks import runbook_of
from ckpttool.literals import shell_path
from ckpttool.logs.driver_log import DriverLog
from ckpttool.logs.thrown import ThrownChain
from ckpttool.report.document import Document, Fields, Line, Section, Toned
from ckpttool.report.layout import prose
from ckpttool.report.views.first_screen import FirstScreen, first_lines, labelled, screen_of_checkup
from ckpttool.storage.urls import redact_url
from ckpttool.words import counted

_WRAPPED = re.compile(r"^\[STREAM_FAILED\] Query \[[^\]]{0,200}\] terminated with exception: ")
_LONGEST = 600  # of a message; Spark's tell how to go on, at length
_SHOWN = 6  # causes


class ExplainedFailure(Struct, frozen=True):
    """`failure`: the one that is explained. `causes`: the likeliest first. `checkup`: of the checkpoint at `place`,
    where one was looked at."""

    log: DriverLog
    failure: ThrownChain | None
    causes: tuple[Cause, ...]
    place: str | None = None
    checkup: Checkup | None = None

    @property
    def is_recognised(self) -> bool:
        return bool(self.causes) and not self.causes[0].is_vague

    @property
    def found(self) -> Cause | None:
        """The cause that the checkpoint has."""
        return next((one for one in self.causes if self.result_of(one) == "found"), None) if self.checkup else None

    @property
    def is_same_query(self) -> bool | None:
        """Whether the checkpoint is of the query that failed; None: one of them does not say."""
        metadata = self.checkup.diagnosis.checkpoint.metadata if self.checkup else None
        return metadata.id == self.log.query.id if metadata and self.log.query else None

    @property
    def runbook(self) -> str | None:
        """The page on the cause that the checkpoint has; else on the likeliest, where a text tells that much."""
        cause = self.found or (self.causes[0] if self.is_recognised else None)
        return runbook_of(cause.law.id) if cause else None

    def result_of(self, cause: Cause) -> str | None:
        """As the checkup has it, of the law itself. Where the law that stops a start now is none of the causes, also of
        what others are told as: several may be told as the same."""
        if self.checkup is None:
            return None
        results = {check.law.id: check.result for check in self.checkup.every_check}
        stops = self.checkup.diagnosis.prediction.law
        is_decided = stops is not None and any(stops.id == one.law.id for one in self.causes)
        told = () if is_decided else (results.get(id) for id in cause.law.tells)
        return "found" if "found" in told else results.get(cause.law.id)


def explain_document(explained: ExplainedFailure, again: Sequence[str], *, verbose: bool = False) -> Document:
    """`again`: the words after the path that have another command see the same."""
    place = explained.place and redact_url(explained.place)
    return Document(
        "explain",
        place,
        lambda: _fields(explained, again),
        lambda: _blocks(explained, again, verbose=verbose),
    )


def _fields(explained: ExplainedFailure, again: Sequence[str]) -> Fields:
    log, query, checkup = explained.log, explained.log.query, explained.checkup
    return {
        "form": log.form,
        "lines": log.lines,
        "not_read": log.cut,
        "spark_version": log.release,
        "query": query and {"id": query.id, "run_id": query.run_id, "name": query.name, "batch_id": query.batch},
        "checkpoint_named": log.checkpoint and redact_url(log.checkpoint),
        "errors": [_failure_fields(one) for one in log.failures],
        "causes": [_cause_fields(explained, one) for one in explained.causes],
        "cause": explained.found.law.id if explained.found else None,
        "recognised": explained.is_recognised,
        "do": _command(explained, again),
        "runbook": explained.runbook,
        "offsets": _offsets(log),
        "same_query": explained.is_same_query,
        "verdict": checkup and checkup.verdict,
        "why": list(checkup.why) if checkup else [],
    }


def _failure_fields(failure: ThrownChain) -> Fields:
    return {
        "class": failure.cause.class_name,
        "condition": next(iter(failure.conditions), None),
        "sql_state": failure.sql_state,
        "message": _message(failure),
        "chain": [one.class_name for one in failure.thrown],
        "query_id": failure.query_id,
        "ended_query": failure.ended,
        "times": failure.times,
    }


def _cause_fields(explained: ExplainedFailure, cause: Cause) -> Fields:
    return {
        "id": cause.law.id,
        "says": cause.law.says,
        "by": cause.by,
        "vague": cause.is_vague,
        "result": explained.result_of(cause),
        "runbook": runbook_of(cause.law.id),
    }


def _offsets(log: DriverLog) -> Fields | None:
    """Of the newest batch that ran: what `ckpt plan restore-offsets` makes its file of."""
    progress = log.query.progress if log.query else None
    if progress is None:
        return None
    ranges = zip(progress.starts, progress.ends, strict=True)
    return {
        "batch_id": progress.batch_id,
        "sources": [
            {"start": start and hide_secrets(start), "end": end and hide_secrets(end)} for start, end in ranges
        ],
    }


def _message(failure: ThrownChain) -> str:
    """What of it may be shown; of a wrapper alone what it wraps."""
    text = hide_secrets(_WRAPPED.sub("", failure.cause.message))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _command(explained: ExplainedFailure, again: Sequence[str]) -> str | None:
    """What tells the causes apart: one look that has all of them asked."""
    if not explained.causes:
        return None
    place = explained.place or explained.log.checkpoint
    looks = dict.fromkeys(LOOKS[cause.law.needs] for cause in explained.causes[:_SHOWN] if cause.law.needs in LOOKS)
    given = {word.partition(" ")[0] for word in again}
    more = [look for look in looks if look.partition(" ")[0] not in given]
    return " ".join(["ckpt doctor", shell_path(redact_url(place)) if place else "CHECKPOINT", *again, *more])


# -- for people --------------------------------------------------------------------------------------------------------


def _blocks(explained: ExplainedFailure, again: Sequence[str], *, verbose: bool) -> Iterator[Section]:
    if explained.checkup:
        yield [*first_lines(_what_failed(explained), ruled=False), *_what_it_is(explained)]
        yield first_lines(screen_of_checkup(explained.checkup, again))
    else:
        yield first_lines(_without_a_look(explained, again))
    yield _causes(explained, verbose=verbose)
    yield _told(explained)


def _what_failed(explained: ExplainedFailure) -> FirstScreen:
    failure = explained.failure
    if failure is None:
        return FirstScreen("NO ERROR" if explained.log.query else "TEXT", "notice", _of_a_text(explained))
    name = next(iter(failure.conditions), failure.cause.short_name)
    message = _message(failure).split("\n", 1)[0]
    return FirstScreen("FAILED", "error", message if name in message else f"{name}: {message}".rstrip(": "))


def _of_a_text(explained: ExplainedFailure) -> str:
    if explained.log.query:
        return "nothing in it says that a query failed"
    return "it holds no exception" if not explained.causes else "it holds no exception, but words of one"


def _what_it_is(explained: ExplainedFailure) -> Iterator[Line]:
    found = explained.found
    if explained.is_same_query is False:
        yield from labelled("Beware", "this checkpoint is of another query than the one that failed")
    if found:
        yield from labelled("It is", f"{found.law.says} ({found.law.id}): the checkpoint has it")
    elif explained.causes:
        yield from labelled("It is", "none of its usual causes any more, as far as was looked: see below")
    yield from labelled("Runbook", explained.runbook)


def _without_a_look(explained: ExplainedFailure, again: Sequence[str]) -> FirstScreen:
    tells = "which of them it is" if len(explained.causes) > 1 else "whether it is that"
    command = _command(explained, again)
    return replace(
        _what_failed(explained),
        cause=_likeliest(explained),
        command=command,
        cost=f"nothing: it only looks, and tells {tells}" if command else None,
        runbook=explained.runbook,
    )


def _likeliest(explained: ExplainedFailure) -> str | None:
    causes = explained.causes
    if not causes:
        return "not known: no law of ckpt ends in these words" if explained.failure or not explained.log.query else None
    if not explained.is_recognised:
        return f"cannot be told by this text alone: {counted(len(causes), 'law')} fit, below"
    told = f"{causes[0].law.says} ({causes[0].law.id})"
    return f"most likely {told}, of {counted(len(causes), 'cause')} below" if len(causes) > 1 else told


def _causes(explained: ExplainedFailure, *, verbose: bool) -> Iterator[Line]:
    causes = explained.causes if verbose else explained.causes[:_SHOWN]
    if causes:
        yield Toned("Usual causes, the likeliest first", "title")
    for number, cause in enumerate(causes, 1):
        result = {"found": "it is this", "passed": "it is not this", "not_looked": "not looked at"}.get(
            explained.result_of(cause) or "", ""
        )
        yield f"  {number}. {cause.law.id}{f'  ({result})' if result else ''}"
        yield from prose("     ", cause.law.says)
        if cause.law.tells and verbose:
            yield from prose("     ", f"told as: {', '.join(cause.law.tells)}")
    if left := len(explained.causes) - len(causes):
        yield f"  … {left} more: --verbose"
    if causes:
        yield "  What one of them means, and what to do: ", Toned(f"ckpt explain {causes[0].law.id}", "command")


def _told(explained: ExplainedFailure) -> Iterator[Line]:
    log, query = explained.log, explained.log.query
    yield Toned("What the text tells", "title")
    if query:
        name = f' "{query.name}"' if query.name else ""
        yield from prose("  ", f"query {query.id}{name}" + (f", run {query.run_id}" if query.run_id else ""))
    offsets = _offsets(log)
    at = [f"batch {query.batch}"] if query and query.batch is not None and offsets is None else []
    at += [f"Spark {log.release}"] if log.release else []
    at += [f"checkpoint {redact_url(log.checkpoint)}"] if log.checkpoint else []
    if at:
        yield from prose("  ", ", ".join(at))
    if offsets:
        yield f"  batch {offsets['batch_id']} was the newest that ran (ckpt plan restore-offsets takes this)"
        for number, source in enumerate(offsets["sources"]):
            yield f"    source {number} from {source['start'] or 'its beginning'}"
            yield f"             to   {source['end'] or '-'}"
    others = [one for one in log.failures if one is not explained.failure]
    if others:
        yield f"  {counted(len(others), 'other error')}:"
        yield from (f"    {one.times:,} × {one.cause.short_name}" for one in others[:_SHOWN])
    yield f"  {counted(log.lines, 'line')} read as {_FORMS[log.form]}" + (f"; {log.cut}" if log.cut else "")


_FORMS = {
    "log": "a driver's log",
    "json-log": "a log of JSON",
    "event-log": "Spark's event log",
    "progress": "progress of a query",
    "text": "plain text",
}
