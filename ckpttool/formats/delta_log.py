"""`_delta_log/`: the commits of a Delta table, their checksums and checkpoints, as far as streams write or read them.

A commit is one JSON action per line. A `txn` action says which batch of which application the commit holds; the last
one in log order counts, never the highest. `<version>.crc` and checkpoints repeat the transactions that are in force.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import unquote

from msgspec import Struct

from ckpttool.connectors.base import is_long
from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import parse_json, parse_json_object
from ckpttool.model import Json

LOG_RETENTION = "delta.logRetentionDuration"
RETENTION = "delta.setTransactionRetentionDuration"

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKSUM = re.compile(r"([0-9]{20})\.crc")
_STAGED = re.compile(r"([0-9]{20})\.[0-9a-f-]{36}\.json")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint(?:\.([0-9]{10})\.([0-9]{10})|\.[0-9a-f-]{36})?\.(parquet|json)")
_ROWS = re.compile(r'\s*\{\s*"numRecords"\s*:\s*([0-9]{1,18})\b')
_NO_FILES = ("commitInfo", "metaData", "protocol", "txn")
CAN_TELL = ("txn", "metaData", "protocol")  # the actions that matter here
_CAN_TELL = tuple(f'"{one}"'.encode() for one in CAN_TELL)
_OF_WRITER_6 = "identityColumns"
_Action = tuple[str, dict[str, Json]]  # its kind, and what it says


class DeltaTransaction(Struct, frozen=True):
    """`txn`: the application `app_id` has written up to `version`, for a streaming query its batch."""

    app_id: str
    version: int
    last_updated_ms: int | None = None


class DeltaMetadata(Struct, frozen=True):
    """`metaData`: what the table is from a version on; `table_id` None: it does not say. `schema`: Spark's JSON of it,
    verbatim. `configuration`: the table's properties."""

    table_id: str | None
    schema: str | None = None
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = {}


class DeltaFile(Struct, frozen=True):
    """A file by its plain name. `rows`: without those that its deletion vector takes out; None: nobody counted them."""

    path: str
    rows: int | None = None


class DeltaCommit(Struct, frozen=True):
    """One version. `rewrites`: its files hold the rows of those it removes (`dataChange` is false everywhere).

    `new_data`: the files that a stream reads, in their order; `taken_data`: those whose rows went, which a stream may
    have passed on; `change_data`: what the change feed has instead."""

    version: int
    timestamp_ms: int | None = None
    operation: str | None = None
    parameters: Mapping[str, Json] = {}
    metrics: Mapping[str, Json] = {}
    transactions: tuple[DeltaTransaction, ...] = ()
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    rewrites: bool = False
    metadata: DeltaMetadata | None = None
    features: frozenset[str] | None = None
    new_data: tuple[DeltaFile, ...] = ()
    taken_data: tuple[DeltaFile, ...] = ()
    change_data: tuple[DeltaFile, ...] = ()

    @property
    def takes_data(self) -> bool:
        return bool(self.taken_data)

    def metric(self, name: str) -> int | None:
        """Metrics are numbers written as strings."""
        text = str(self.metrics.get(name, ""))
        return int(text) if text.isdecimal() and len(text) < 20 else None


class DeltaState(Struct, frozen=True):
    """What a checksum or a checkpoint says is in force at its version. None: it does not tell. `features`: what readers
    and writers have to know."""

    transactions: tuple[DeltaTransaction, ...] | None = None
    metadata: DeltaMetadata | None = None
    features: frozenset[str] | None = None


class TrackedSchema(Struct, frozen=True):
    """An entry of the log of schemas: `version`: of the table, from which on it is read with this one. `source_path`:
    the source's place in its checkpoint, to which the log belongs."""

    table_id: str
    version: int
    schema: str
    source_path: str


class DeltaLogNames(Struct, frozen=True):
    """The names in `_delta_log/`. `checkpoints`: version → the files to read, of those that are all there."""

    commits: tuple[int, ...] = ()
    checksums: frozenset[int] = frozenset()
    checkpoints: Mapping[int, tuple[str, ...]] = {}

    def up_to(self, version: int) -> DeltaLogNames:
        """The log as it was when this version was the newest, as far as its files are still there."""
        return DeltaLogNames(
            tuple(one for one in self.commits if one <= version),
            frozenset(one for one in self.checksums if one <= version),
            {one: files for one, files in self.checkpoints.items() if one <= version},
        )


def parse_delta_log_names(names: Iterable[str]) -> DeltaLogNames:
    commits, checksums = [], set()
    parts: dict[int, dict[int, list[str]]] = {}
    for name in names:
        if found := _COMMIT.fullmatch(name):
            commits.append(int(found[1]))
        elif found := _CHECKSUM.fullmatch(name):
            checksums.add(int(found[1]))
        elif found := _CHECKPOINT.fullmatch(name):
            parts.setdefault(int(found[1]), {}).setdefault(int(found[3] or 1), []).append(name)
    whole = {
        version: tuple(sorted(files))
        for version, by_count in sorted(parts.items())
        for count, files in by_count.items()
        if len(files) >= count
    }
    return DeltaLogNames(tuple(sorted(commits)), frozenset(checksums), whole)


def staged_versions(names: Iterable[str]) -> list[int]:
    """The versions that a catalog may have accepted while they are not in the log yet (`_staged_commits/`)."""
    return sorted(int(found[1]) for name in names if (found := _STAGED.fullmatch(name)))


def parse_transaction(data: bytes, app_id: str) -> int | None:
    """The version that this commit's `txn` records for `app_id`, whatever else is wrong in the file."""
    found = None
    for line in _lines_with(b'"txn"', data):
        try:
            action = parse_json(line.decode("utf-8", "replace"))
        except MalformedFile:
            continue
        for txn in _transactions(_pairs([action])):
            if txn.app_id == app_id:
                found = txn.version
    return found


def _lines_with(word: bytes, data: bytes) -> Iterator[bytes]:
    """The lines with files can be large and many: only those that can be a transaction are looked at."""
    end, at = 0, data.find(word)
    while at >= 0:
        begin = max(data.rfind(b"\n", end, at) + 1, end)
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[begin:end]
        at = data.find(word, end)


def parse_commit(data: bytes, version: int) -> DeltaCommit:
    """A commit may name very many files: of each only its path is kept."""
    others: list[tuple[str, dict[str, Json]]] = []
    paths: dict[str, set[str]] = {"add": set(), "remove": set()}
    data_of: dict[str, list[DeltaFile]] = {"add": [], "remove": [], "cdc": []}
    for kind, value in _actions(data):
        if kind in _NO_FILES:
            others.append((kind, value))
        if kind not in data_of:
            continue
        path = str(value.get("path"))
        if kind in paths:
            paths[kind].add(path)
        if kind == "cdc" or _changes_data(value):
            data_of[kind].append(DeltaFile(unquote(path), _rows_of(value)))
    info = next((value for kind, value in others if kind == "commitInfo"), {})
    timestamp = info.get("inCommitTimestamp", info.get("timestamp"))
    operation = info.get("operation")
    return DeltaCommit(
        version=version,
        timestamp_ms=timestamp if is_long(timestamp) else None,
        operation=operation if isinstance(operation, str) else None,
        parameters=_object(info.get("operationParameters")),
        metrics=_object(info.get("operationMetrics")),
        transactions=_transactions(others),
        added=frozenset(paths["add"]),
        removed=frozenset(paths["remove"]),
        rewrites=any(paths.values()) and not data_of["add"] and not data_of["remove"],
        metadata=_metadata(others),
        features=_features(others),
        new_data=tuple(data_of["add"]),
        taken_data=tuple(data_of["remove"]),
        change_data=tuple(data_of["cdc"]),
    )


def apply_commit(data: bytes, files: dict[str, tuple[int, DeltaFile]]) -> None:
    """What the commit takes from the table's files, and adds to them: path → when it was written, and the file. One
    that gets another deletion vector goes and comes in one commit."""
    added: dict[str, tuple[int, DeltaFile]] = {}
    for kind, value in _actions(data, only=(b'"add"', b'"remove"')):
        path = unquote(str(value.get("path")))
        if kind == "add":
            at = value.get("modificationTime")
            added[path] = (at if is_long(at) else 0, DeltaFile(path, _rows_of(value)))
        elif kind == "remove":
            files.pop(path, None)
    files.update(added)


def parse_checksum(data: bytes) -> DeltaState:
    """`<version>.crc`. Its transactions are left out when there are too many, or when they may expire."""
    fields = parse_json_object(data.decode("utf-8", "replace"))
    known, metadata = fields.get("setTransactions"), fields.get("metadata")
    return DeltaState(
        transactions=_transactions(_pairs({"txn": one} for one in known)) if isinstance(known, list) else None,
        metadata=_metadata(_pairs([{"metaData": metadata}])),
        features=_features(_pairs([{"protocol": fields.get("protocol")}])),
    )


def parse_last_checkpoint(data: bytes) -> tuple[int, DeltaState] | None:
    """`_last_checkpoint`: the version, and for one of format v2 all that is not a file."""
    fields = parse_json_object(data.decode("utf-8", "replace"))
    version, inner = fields.get("version"), _object(fields.get("v2Checkpoint"))
    actions = inner.get("nonFileActions")
    if not is_long(version) or not isinstance(actions, list):
        return None
    return version, _state(_pairs(actions))


def parse_checkpoint(data: bytes) -> DeltaState:
    """A checkpoint file, or a part of one, as JSON lines. Sidecars hold files only, and are not asked."""
    return _state(_actions(data, only=_CAN_TELL))


# -- intervals ---------------------------------------------------------------------------------------------------------

_UNIT_MS = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
    "microsecond": 0.001,
}


def retention_ms(configuration: Mapping[str, str], key: str = RETENTION) -> int | None:
    """How long transactions are remembered, or what another key says: None where it is not set. Spark's calendar
    intervals, of which months are refused."""
    text = configuration.get(key)
    if text is None:
        return None
    words = text.strip().lower().removeprefix("interval").split()
    total = 0.0
    for number, unit in zip(words[::2], words[1::2], strict=False):
        size = _UNIT_MS.get(unit.removesuffix("s"))
        if size is None or not re.fullmatch(r"[+-]?[0-9]{1,15}(\.[0-9]+)?", number):
            break
        total += float(number) * size
    else:
        if words and len(words) % 2 == 0:
            return int(total)
    raise MalformedFile(f"`{key}` is no interval", expected="an interval such as `interval 30 days`")


# -- actions -----------------------------------------------------------------------------------------------------------


def _lines(data: bytes) -> Iterator[bytes]:
    """One at a time: a commit may have very many."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        yield data[begin:end]
        begin = end


def _actions(data: bytes, only: Collection[bytes] = ()) -> Iterator[_Action]:
    for number, line in enumerate(_lines(data), start=1):
        if line.strip() and (not only or any(word in line for word in only)):
            yield from _pairs([parse_json_object(line.decode("utf-8", "replace"), number)])


def _pairs(actions: Iterable[Json]) -> Iterator[_Action]:
    for action in actions:
        if isinstance(action, dict):
            yield from ((kind, value) for kind, value in action.items() if isinstance(value, dict))


def _state(actions: Iterable[_Action]) -> DeltaState:
    known = list(actions)
    return DeltaState(_transactions(known), _metadata(known), _features(known))


def _features(actions: Iterable[_Action]) -> frozenset[str] | None:
    """Of the older protocols, which name none, only the last asks for what those before do not."""
    told = [value for kind, value in actions if kind == "protocol"]
    if not told:
        return None
    lists = [told[-1].get(key) for key in ("readerFeatures", "writerFeatures")]
    named = frozenset(str(one) for several in lists if isinstance(several, list) for one in several)
    return named | {_OF_WRITER_6} if told[-1].get("minWriterVersion") == 6 else named


def _transactions(actions: Iterable[_Action]) -> tuple[DeltaTransaction, ...]:
    return tuple(
        DeltaTransaction(txn["appId"], txn["version"], updated if is_long(updated := txn.get("lastUpdated")) else None)
        for kind, txn in actions
        if kind == "txn" and isinstance(txn.get("appId"), str) and is_long(txn.get("version"))
    )


def _metadata(actions: Iterable[_Action]) -> DeltaMetadata | None:
    told = [value for kind, value in actions if kind == "metaData"]
    if not told:
        return None
    table_id, schema, columns = (told[-1].get(key) for key in ("id", "schemaString", "partitionColumns"))
    return DeltaMetadata(
        table_id=table_id if isinstance(table_id, str) else None,
        schema=schema if isinstance(schema, str) else None,
        partition_columns=tuple(map(str, columns)) if isinstance(columns, list) else (),
        configuration={key: str(text) for key, text in _object(told[-1].get("configuration")).items()},
    )


def _rows_of(file: Mapping[str, Json]) -> int | None:
    """`stats` is JSON in a text, of which this is the first field."""
    stats, taken = file.get("stats"), _object(file.get("deletionVector")).get("cardinality", 0)
    counted = _ROWS.match(stats) if isinstance(stats, str) else None
    return int(counted[1]) - taken if counted and is_long(taken) else None


def _changes_data(file: Mapping[str, Json]) -> bool:
    return bool(file.get("dataChange", True))


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
