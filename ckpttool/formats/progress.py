"""A query's progress: of its listeners and `recentProgress`, of Spark's event log and of a driver's log.

Writers: `StreamingQueryProgress.json`, which has offsets as JSON, the event log, which has them as text, and
`ProgressReporter`, which prints the JSON over several lines behind a remark in the log. A trigger that found nothing
tells of the batch to come, with the offsets of the one before: what called the sink ran a batch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json, parse_json_object
from ckpttool.model import Json
from ckpttool.words import counted, shown

_EXPECTED = "the JSON of a StreamingQueryProgress, a list of them, an event log, one JSON per line, or a driver's log"
_RAN = "addBatch"
_REMARK = "Streaming query made progress: {"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BatchProgress(Struct, frozen=True):
    """Of one batch. `starts`, `ends`: a text for each source, as the offset log has it; None: no offset."""

    query_id: str
    batch_id: int
    timestamp_ms: int
    watermark_ms: int
    starts: tuple[str | None, ...]
    ends: tuple[str | None, ...]


def parse_progress(data: bytes, batch: int) -> BatchProgress:
    """Of this batch, which may have been told more than once, but always alike."""
    progress = every_progress(data)
    of_batch = [fields for fields in progress if fields.get("batchId") == batch and _has_run(fields)]
    found = {(one.query_id, one.starts, one.ends): one for one in map(_parse, of_batch)}
    if not found:
        raise MalformedFile(
            f"it tells of {counted(len(progress), 'trigger')}, and of none that ran batch {batch}", expected=_EXPECTED
        )
    if len(found) > 1:
        raise MalformedFile(
            f"it tells of batch {batch} in {len(found)} ways",
            expected="one query, and one range of the batch",
            next_step="give the file of this query's run alone",
        )
    return next(iter(found.values()))


def looks_logged(data: bytes) -> bool:
    """A driver's log, with remarks on progress in it."""
    return _REMARK.encode() in data


def every_progress(data: bytes) -> list[dict[str, Json]]:
    """In the order of the file, of whatever queries. Raises MalformedFile."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedFile(
            "the file is not text", expected=_EXPECTED, next_step="decompress an event log that is compressed"
        ) from None
    events = [_event(fields) for fields in _objects(text)]
    return [fields for fields in events if isinstance(fields.get("sources"), list)]


def _objects(text: str) -> Iterator[dict[str, Json]]:
    if text.lstrip().startswith("["):
        value = parse_json(text)
        yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()
        return
    if _REMARK in text and not text.lstrip().startswith("{"):
        yield from _logged(text)
        return
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and all(line.lstrip().startswith("{") for _, line in lines):
        for number, line in lines:
            if '"batchId"' in line:
                yield parse_json_object(line, number)
    else:
        yield parse_json_object(text)


def _logged(text: str) -> Iterator[dict[str, Json]]:
    """What is cut off at the end of a log is left out."""
    at = text.find(_REMARK)
    while at >= 0:
        begin = text.index("{", at)
        end = text.find("\n}", begin)
        if end < 0:
            return
        yield parse_json_object(text[begin : end + 2].replace("\r", ""))
        at = text.find(_REMARK, end)


def _event(fields: dict[str, Json]) -> dict[str, Json]:
    inner = fields.get("progress")
    return inner if isinstance(inner, dict) else fields


def _has_run(fields: Mapping[str, Json]) -> bool:
    durations = fields.get("durationMs")
    return isinstance(durations, dict) and _RAN in durations


def _parse(fields: Mapping[str, Json]) -> BatchProgress:
    query_id, batch_id, sources = fields.get("id"), fields.get("batchId"), fields.get("sources")
    is_query = isinstance(query_id, str) and _UUID.fullmatch(query_id.lower())
    if not is_query or type(batch_id) is not int or not isinstance(sources, list):
        raise MalformedFile("a progress without `id`, `batchId` or `sources`", expected=_EXPECTED)
    every = [source for source in sources if isinstance(source, dict)]
    times = fields.get("eventTime")
    watermark = times.get("watermark") if isinstance(times, dict) else None
    return BatchProgress(
        str(query_id).lower(),
        batch_id,
        _milliseconds(fields.get("timestamp"), "timestamp"),
        0 if watermark is None else _milliseconds(watermark, "eventTime.watermark"),
        tuple(_offset(source.get("startOffset")) for source in every),
        tuple(_offset(source.get("endOffset")) for source in every),
    )


def _offset(value: Json) -> str | None:
    """In the offset log's own spelling: of one line, without blanks."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if "\n" in text or "\r" in text:
        raise MalformedFile(f"an offset of several lines: `{shown(text)}`", expected="an offset in one line")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise MalformedFile("an offset with half a character", expected="text that can be written as UTF-8")
    return text


def _milliseconds(value: Json, name: str) -> int:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise MalformedFile(f"`{name}` is no time with a zone", expected="such as `2026-11-18T14:00:00.000Z`")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
