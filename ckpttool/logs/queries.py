"""What lines of a driver's log tell of queries: ids, names, checkpoints, batches, and the Spark that ran them."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

from ckpttool.errors import MalformedFile
from ckpttool.formats.progress import BatchProgress, parse_progress
from ckpttool.model import Json

_MOST_QUERIES = 200
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_IDS = re.compile(rf"\[id = (?P<id>{_UUID}), runId = (?P<run>{_UUID})\]")
_STARTING = re.compile(r"Starting (?P<name>[^\[]{1,200}) \[id = ")
_STORED = re.compile(r"Use (?P<path>\S{1,2000}) to store the query checkpoint")
_RESOLVED = re.compile(r"Checkpoint root \S{1,2000} resolved to (?P<path>\S{1,2000}?)\.?(?:\s|$)")
_GIVEN = re.compile(r"checkpointLocation[\"']?\s{0,3}[=:,]\s{0,3}[\"']?(?P<path>[^\s\"',)]{1,2000})")
_RELEASE = re.compile(
    r"(?:Running Spark version |/_/ +version |spark-(?:core|sql)_2\.1\d-)(?P<release>\d{1,2}\.\d{1,2}\.\d{1,3})"
)
_BATCH = re.compile(r"(?:Resuming at batch|[Oo]ffsets for batch|Starting new batch|batchId =?) ?(?P<batch>\d{1,18})\b")
_INSIDE = re.compile(
    r"(?<![\w/:.+-])(?P<path>(?:[a-z][\w+.-]{1,20}:/{1,3}|/)[^\s'\"<>\[\](){},;]{0,1000}?)"
    r"/(?:(?:offsets|commits|metadata)(?![\w-]|\.\w)|sources/\d|state/\d)"
)
_LOCATED = re.compile(r"[Cc]heckpoint location (?P<path>\S{1,2000}) is in an inconsistent state")


class LoggedQuery(Struct):
    """`progress`: of the newest batch that ran."""

    id: str
    run_id: str | None = None
    name: str | None = None
    checkpoint: str | None = None
    batch: int | None = None
    progress: BatchProgress | None = None


class QueryReader:
    """`named`: a path that no line gives to a query."""

    def __init__(self) -> None:
        self.known: OrderedDict[str, LoggedQuery] = OrderedDict()
        self.release: str | None = None
        self.named: str | None = None
        self._newest: LoggedQuery | None = None

    def feed(self, line: str) -> None:
        if ids := _IDS.search(line):
            self._newest = self._query(ids["id"], ids["run"])
            if starting := _STARTING.search(line):
                self._newest.name = starting["name"].strip() or None
        if path := _STORED.search(line) or _RESOLVED.search(line) or _GIVEN.search(line):
            self._at(path["path"], of_newest=bool(ids))
        if (batch := _BATCH.search(line)) and self._newest:
            self._newest.batch = int(batch["batch"])
        if release := _RELEASE.search(line):
            self.release = release["release"]

    def started(self, fields: Mapping[str, Json]) -> None:
        """A listener's event."""
        id, run, name = (fields.get(key) for key in ("id", "runId", "name"))
        if isinstance(id, str) and re.fullmatch(_UUID, id):
            self._newest = self._query(id, run if isinstance(run, str) else None)
            self._newest.name = name if isinstance(name, str) and name else self._newest.name

    def progressed(self, fields: Mapping[str, Json]) -> None:
        self.started(fields)
        batch = fields.get("batchId")
        if type(batch) is not int or not self._newest or self._newest.id != fields.get("id"):
            return
        self._newest.batch = batch
        try:
            self._newest.progress = parse_progress(json.dumps(dict(fields)).encode(), batch)
        except MalformedFile:  # of a trigger that ran no batch
            return

    def query_of(self, id: str | None) -> LoggedQuery | None:
        """The one that failed; where nothing names it, the only one that there is."""
        if id is not None and id in self.known:
            return self.known[id]
        return next(iter(self.known.values())) if len(self.known) == 1 and id is None else None

    def _query(self, id: str, run: str | None) -> LoggedQuery:
        query = self.known.pop(id, None) or LoggedQuery(id, checkpoint=self.named)
        self.named = None if query.checkpoint == self.named else self.named
        query.run_id = run or query.run_id
        self.known[id] = query
        if len(self.known) > _MOST_QUERIES:
            self.known.popitem(last=False)
        return query

    def _at(self, path: str, *, of_newest: bool) -> None:
        if of_newest and self._newest:
            self._newest.checkpoint = path
        else:  # Spark tells it before it gives the query an id
            self.named = path


def id_in(text: str) -> str | None:
    ids = _IDS.search(text)
    return ids["id"] if ids else None


def checkpoint_in(text: str) -> str | None:
    """What a message names a file of."""
    match = _INSIDE.search(text) or _LOCATED.search(text) or _GIVEN.search(text)
    return match["path"] if match else None
