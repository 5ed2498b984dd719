"""Findings that somebody knows of: by name, or from an earlier checkup. They are shown, and do not count. Pure.

What loses rows, or has them twice, is never known by a file that was written once: it has to be named with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Literal

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.laws.base import Law
from ckpttool.model import Finding

KnownBy = Literal["baseline", "ignore"]
SCHEMA = "ckpt.doctor-baseline/1"
_SCHEMAS = (SCHEMA, "ckpt.doctor/1")
_EXPECTED = "what ckpt doctor --write-baseline or --format json wrote"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]+")
_TOPS_WITH_NAMES = {"sources": 2, "state": 3}  # of whose parts so many are names, and no batches


class KnownFinding(Struct, frozen=True):
    """An entry of a baseline. `until`: the last day on which it is known."""

    id: str
    path: str
    fingerprint: str
    until: str | None = None
    why: str | None = None

    def is_over(self, now_ms: int) -> bool:
        if self.until is None:
            return False
        ends = datetime.strptime(self.until, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
        return now_ms >= ends.timestamp() * 1000


class IgnoredFinding(Struct, frozen=True):
    """`--ignore ID` or `--ignore ID@PATH`."""

    id: str
    path: str | None = None


class KnownFindings(Struct, frozen=True):
    baseline: tuple[KnownFinding, ...] = ()
    ignored: tuple[IgnoredFinding, ...] = ()

    def by(self, finding: Finding, law: Law | None, now_ms: int) -> KnownBy | None:
        """Who says that it is known."""
        if any(one.id == finding.id and one.path == finding.path for one in self.ignored):
            return "ignore"
        if costs_rows(finding, law):
            return None
        if any(one.id == finding.id and one.path is None for one in self.ignored):
            return "ignore"
        mark = fingerprint(finding)
        known = any(one.fingerprint == mark and not one.is_over(now_ms) for one in self.baseline)
        return "baseline" if known else None

    def gone(self, findings: Iterable[Finding]) -> tuple[KnownFinding, ...]:
        """Entries of the baseline that are not found any more."""
        marks = set(map(fingerprint, findings))
        return tuple(one for one in self.baseline if one.fingerprint not in marks)

    def ended(self, now_ms: int) -> tuple[KnownFinding, ...]:
        return tuple(one for one in self.baseline if one.is_over(now_ms))


def costs_rows(finding: Finding, law: Law | None) -> bool:
    """Whether rows are lost or come twice, as far as the finding tells. An error that no exception stands for is
    silent; one about a sink, a source or a broker is about rows even where Spark says so; and what brokers no longer
    have is lost where the query is told to go on."""
    about = law.needs if law else "logs"
    if finding.severity == "error":
        return finding.spark is None or about in ("sinks", "inputs", "brokers")
    return finding.severity == "warning" and about == "brokers" and law is not None and "error" in law.severities


def fingerprint(finding: Finding) -> str:
    """The same from day to day: without the numbers of batches."""
    text = "\n".join((finding.id, steady(finding.path), finding.subject))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def steady(path: str) -> str:
    """A path with its batches and versions as `*`; numbers of sources, operators and partitions stay."""
    parts = _UUID.sub("*", path).split("/")
    kept = _TOPS_WITH_NAMES.get(parts[0], 1)
    return "/".join([*parts[:kept], *(_NUMBER.sub("*", part) for part in parts[kept:])])


# -- baselines ---------------------------------------------------------------------------------------------------------


def parse_baseline(body: bytes, ids: Collection[str]) -> tuple[str | None, tuple[KnownFinding, ...]]:
    """The id of the query that it is about, and its entries. `ids`: those that there are."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedFile("it is no JSON: it was cut, or is something else", expected=_EXPECTED) from None
    if not isinstance(value, dict) or value.get("schema") not in _SCHEMAS:
        raise MalformedFile("it is no baseline", expected=_EXPECTED)
    entries = value.get("findings")
    if not isinstance(entries, list):
        raise MalformedFile("it has no findings", expected=_EXPECTED)
    known = tuple(_entry(one) for one in entries)
    if strange := sorted({one.id for one in known} - set(ids)):
        raise MalformedFile(f"no check has the id {strange[0]}", expected="ids that ckpt doctor --list-checks prints")
    query_id = value.get("query_id")
    return (query_id if isinstance(query_id, str) else None), known


def _entry(one: Any) -> KnownFinding:
    told = one if isinstance(one, dict) else {}
    if not all(isinstance(told.get(name), str) for name in ("id", "path", "fingerprint")):
        raise MalformedFile("an entry has no id, path and fingerprint", expected=_EXPECTED)
    until, why = told.get("until"), told.get("why")
    try:
        if until is not None:
            datetime.strptime(until, "%Y-%m-%d").replace(tzinfo=UTC)
    except (ValueError, TypeError):
        raise MalformedFile("`until` is no day", expected="a day such as 2027-01-31") from None
    reason = why if isinstance(why, str) else None
    return KnownFinding(told["id"], told["path"], told["fingerprint"], until, reason)


def encode_baseline(query_id: str | None, checkpoint: str, findings: Sequence[KnownFinding]) -> str:
    """What costs rows is not in it: it would not count."""
    fields = {"schema": SCHEMA, "checkpoint": checkpoint, "query_id": query_id}
    entries = [
        {"id": one.id, "path": one.path, "fingerprint": one.fingerprint, "until": one.until, "why": one.why}
        for one in findings
    ]
    return json.dumps({**fields, "findings": entries}, indent=2) + "\n"
