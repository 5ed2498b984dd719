"""A log, or whatever part of one somebody pasted: what failed, which query that was, and what Spark ran it.

Forms: lines of log4j in any layout, also behind what containers and log services put before them; one JSON per line,
as Spark 4, Logstash and docker write it; an event log; progress as JSON; Java's and Python's traces with no log around.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from ckpttool.logs.lines import LONGEST, ReadSoFar, lines_of
from ckpttool.logs.queries import LoggedQuery, QueryReader, checkpoint_in, id_in
from ckpttool.logs.thrown import ThrownChain, ThrownReader
from ckpttool.model import Json

Form = Literal["log", "json-log", "event-log", "progress", "text"]

_MOST_FAILURES, _MOST_TEXT, _DEEPEST, _MOST_ITEMS = 40, 20_000, 8, 200
# The rest of a log is of no use, and is most of it.
_TELLING = re.compile(
    r"Exception|Error|Failure|Caused by|\[id = |checkpoint|Spark version|Resuming at batch|ffsets for batch|"
    r"batchId|/_/ +version|QueryStartedEvent|QueryTerminatedEvent|SparkListenerLogStart|progress: \{|"
    r"\[[A-Z_]{3,80}\.?[A-Z_]{0,80}\] "
)
_CONTAINER = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ")
_HEADER = re.compile(
    r"(?:\[?\d{2,4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d|(?:INFO|WARN|ERROR|DEBUG|FATAL)\b|\d\d:\d\d:\d\d[.,]\d{3} )"
)
_ENDED = re.compile(r"terminated with (?:error|exception)")
_FAILING = re.compile(r"Exception|Error|Failure")
_TEXTS = ("message", "msg", "log", "stack_trace", "stackTrace", "extendedStackTrace", "exception", "error.stack_trace",
          "Full Stack Trace", "Failure Reason", "textPayload", "formatted_message", "error")  # fmt: skip
_NAMES = ("class", "Class Name", "error.type", "type", "name", "exception_class")
_SAYS = ("msg", "message", "Description", "error.message", "exception_message")
_DOTTED = re.compile(r"(?:[a-z_$][\w$]*\.)+[A-Z][\w$]*")


class DriverLog(Struct, frozen=True):
    """`failures`: those that ended a query first, then the newest. `query`: the one that the first of them is of, or
    the only one. `checkpoint`: where it is, as the log has it. `text`: its beginning, where nothing was thrown."""

    form: Form
    lines: int
    failures: tuple[ThrownChain, ...]
    query: LoggedQuery | None
    checkpoint: str | None
    release: str | None
    text: str = ""
    cut: str | None = None


def read_log(*files: Iterable[bytes]) -> DriverLog:
    """In memory that does not grow with the log. `files`: the pieces of each, where it was rolled over."""
    so_far, reader = ReadSoFar(), _Reader()
    for pieces in files:
        for line in lines_of(pieces, so_far):
            reader.feed(line)
    return reader.end(so_far)


class _Reader:
    def __init__(self) -> None:
        self.form: Form = "text"
        self.queries, self.thrown = QueryReader(), ThrownReader()
        self.failures: OrderedDict[str, ThrownChain] = OrderedDict()
        self.text = ""
        self._ended, self._query_id = False, None  # type: bool, str | None
        self._pretty: list[str] | None = None  # a progress over several lines
        self._pretty_size = 0

    def feed(self, line: str) -> None:
        if len(self.text) < _MOST_TEXT:
            self.text += line[: _MOST_TEXT - len(self.text)] + "\n"
        if self._pretty is not None:
            self._add_pretty(line)
        elif self.thrown.chain or _TELLING.search(line) or line[:1] in "{[":
            self._read(_CONTAINER.sub("", line, count=1))

    def end(self, so_far: ReadSoFar) -> DriverLog:
        self._close()
        newest_first = list(reversed(self.failures.values()))
        failures = sorted(newest_first, key=lambda one: not one.ended)
        first = failures[0] if failures else None
        query = self.queries.query_of(first.query_id if first else None)
        text = "" if failures or query else self.text
        said = [one.message for one in first.thrown] if first else [text]
        inside = next(filter(None, map(checkpoint_in, said)), None)
        checkpoint = query.checkpoint if query and query.checkpoint else self.queries.named or inside
        return DriverLog(
            self.form, so_far.lines, tuple(failures), query, checkpoint, self.queries.release, text, so_far.cut
        )

    def _read(self, line: str) -> None:
        if line[:1] in ("{", "[") and line.rstrip()[-1:] in ("}", "]") and self._read_json(line):
            return
        if line.strip() == "{" or line.endswith("progress: {"):
            self._pretty, self._pretty_size = ["{"], 0
            return
        if _HEADER.match(line):
            self.form = "log" if self.form == "text" else self.form
            self._close()
        self._read_text(line)

    def _read_text(self, line: str) -> None:
        self.queries.feed(line)
        self._query_id = id_in(line) or self._query_id
        self._ended = self._ended or bool(_ENDED.search(line))
        self.thrown.feed(line)
        if self.thrown.is_over:
            self._close()

    def _close(self) -> None:
        """What comes is another record."""
        chain = self.thrown.chain
        if chain:
            chain.query_id, chain.ended = self._query_id, self._ended
            before = self.failures.pop(chain.likeness, None)
            chain.times += before.times if before else 0
            chain.ended = chain.ended or bool(before and before.ended)
            self.failures[chain.likeness] = chain
            if len(self.failures) > _MOST_FAILURES:
                self.failures.popitem(last=False)
            self.thrown = ThrownReader()
        self._ended, self._query_id = False, None

    # -- JSON ----------------------------------------------------------------------------------------------------------

    def _add_pretty(self, line: str) -> None:
        """As `ProgressReporter` logs it, and `StreamingQueryProgress.prettyJson` has it."""
        lines = self._pretty or []
        lines.append(line)
        self._pretty_size += len(line)
        if line.rstrip() == "}":
            self._pretty = None
            self._read_json("\n".join(lines))
        elif self._pretty_size > LONGEST:
            self._pretty = None

    def _read_json(self, text: str) -> bool:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return False
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                self._read_object(one)
        return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))

    def _read_object(self, fields: dict[str, Json]) -> None:
        event = fields.get("Event")
        if isinstance(event, str):
            self.form = "event-log"
            self._read_event(event.rpartition("$")[2], fields)
        elif isinstance(fields.get("sources"), list) and "batchId" in fields:
            self.form = "progress" if self.form == "text" else self.form
            self.queries.progressed(fields)
        else:
            self.form = "json-log" if self.form == "text" else self.form
            if not _goes_on(fields):
                self._close()
            for line in _lines_in(fields):
                self._read_text(line)

    def _read_event(self, event: str, fields: dict[str, Json]) -> None:
        progress = fields.get("progress")
        if event == "SparkListenerLogStart":
            self.queries.release = str(fields.get("Spark Version"))
        elif event == "QueryStartedEvent":
            self.queries.started(fields)
        elif isinstance(progress, dict):
            self.queries.progressed(progress)
        elif event == "QueryTerminatedEvent":
            id = fields.get("id")
            for line in str(fields.get("exception") or "").split("\n"):
                self._read_text(line)
            self._query_id, self._ended = id if isinstance(id, str) else None, True
            self._close()
        elif _FAILING.search(event) is None and event in ("SparkListenerTaskEnd", "SparkListenerJobEnd"):
            for line in _lines_in(fields):
                self._read_text(line)
            self._close()


def _goes_on(fields: dict[str, Json]) -> bool:
    """docker has an object for each line of a trace."""
    line = fields.get("log")
    return isinstance(line, str) and not _HEADER.match(line)


def _lines_in(value: Json, depth: int = 0, *, cause: bool = False) -> Iterator[str]:
    """What a record tells in its texts, and exceptions that are objects, as Java prints them."""
    if depth > _DEEPEST or not isinstance(value, dict):
        return
    name = next((text for key in _NAMES if isinstance(text := value.get(key), str) and _DOTTED.fullmatch(text)), None)
    says = next((text for key in _SAYS if isinstance(text := value.get(key), str)), "")
    if name and depth:
        yield from f"{'Caused by: ' if cause else ''}{name}: {says}".split("\n")
    for key, inner in value.items():
        if isinstance(inner, str) and key in _TEXTS and not (name and depth and key in _SAYS):
            yield from inner.split("\n")
        elif isinstance(inner, list):
            yield from (f"\tat {place}(" for place in map(_place, inner[:_MOST_ITEMS]) if place)
        elif isinstance(inner, dict):
            yield from _lines_in(inner, depth + 1, cause=key == "cause")


def _place(frame: Json) -> str | None:
    if not isinstance(frame, dict):
        return None
    where, method = (frame.get(one) for one in ("class", "method"))
    declared, called = (frame.get(one) for one in ("Declaring Class", "Method Name"))
    if isinstance(where, str) and isinstance(method, str):
        return f"{where}.{method}"
    return f"{declared}.{called}" if isinstance(declared, str) and isinstance(called, str) else None
