"""Who takes an option: the sources, each of which says so beside its offsets, and here the sinks, and what every query
has. A name that nobody takes may be a slip of a known one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Literal, cast

from msgspec import Struct

from ckpttool.connectors.base import Options
from ckpttool.storage.urls import redact_url

Part = Literal["source", "sink", "query"]
When = Literal["each", "first"]

_SOURCES = (
    "kafka",
    "delta",
    "file",
    "rate",
    "rate_micro_batch",
    "iceberg",
    "kinesis",
    "paimon",
    "pulsar",
    "mongodb",
    "eventhubs",
    "auto_loader",
    "hudi",
)
_SOCKET = Options(each="host port includeTimestamp numPartitions")
_SINKS: Mapping[str, Options] = {
    "kafka": Options(each="topic includeHeaders", prefixes=("kafka.",)),
    "delta": Options(
        each="path mergeSchema overwriteSchema userMetadata optimizeWrite dataChange maxRecordsPerFile txnAppId "
        "txnVersion compression parquet.writer.version writePartitionColumns partitionOverwriteMode replaceWhere"
    ),
    "file": Options(
        each="path retention compression maxRecordsPerFile header sep delimiter quote escape nullValue emptyValue "
        "dateFormat timestampFormat timestampNTZFormat encoding lineSep avroSchema ignoreNullFields"
    ),
    "iceberg": Options(
        each="path table write-format target-file-size-bytes check-nullability fanout-enabled check-ordering "
        "distribution-mode merge-schema mergeSchema isolation-level compression-codec compression-level "
        "compression-strategy output-spec-id advisory-partition-size delete-granularity "
        "use-merge-append-for-streaming",
        prefixes=("snapshot-property.",),
    ),
    "paimon": Options(each="path write.merge-schema write.merge-schema.explicit-cast write.use-v2-write"),
    "hudi": Options(each="path", prefixes=("hoodie.",)),
    "pulsar": Options(each="topic service.url admin.url", prefixes=("pulsar.producer.", "pulsar.client.")),
    "kinesis": Options(prefixes=("kinesis.",)),
    "mongodb": Options(
        each="connection.uri database collection comment maxBatchSize ordered operationType idFieldList "
        "writeConcern.w writeConcern.journal writeConcern.wTimeoutMS upsertDocument convertJson ignoreNullValues "
        "ignoreDuplicatesOnInsert"
    ),
    "console": Options(each="numRows truncate"),
}
_QUERY = Options(
    each="checkpointLocation queryName asyncProgressTrackingEnabled asyncProgressTrackingCheckpointIntervalMs"
)
_SHORTEST = 6  # a shorter name is near to anything
_LONG = 10  # in a longer one two slips are still slips


class Taker(Struct, frozen=True):
    """Something that has the option. `kind`: of a source, as its offsets have it, or of a sink."""

    part: Part
    kind: str
    when: When


def takers(name: str) -> tuple[Taker, ...]:
    """Spark does not tell upper from lower case in the name of an option."""
    wanted = name.lower()
    found = list(_takers().get(wanted, ()))
    for part, kind, options in _tables():
        found.extend(Taker(part, kind, "each") for one in options.prefixes if wanted.startswith(one.lower()))
    return tuple(dict.fromkeys(found))


def nearest(name: str, known: Mapping[str, object]) -> str | None:
    """The known name that was most likely meant, if only a letter or two are wrong."""
    wanted = name.lower()
    if len(wanted) < _SHORTEST:
        return None
    slips = 1 if len(wanted) < _LONG else 2
    near = [(distance, one) for one in known if (distance := _slips(wanted, one.lower(), slips)) <= slips]
    return min(near)[1] if near else None


def is_named(name: str) -> bool:
    """Whether something has an option of just this name; what begins as options of a client do may be anything."""
    return name.lower() in _takers()


def option_meant(name: str) -> str | None:
    return None if takers(name) else nearest(name, _spellings())


@cache
def _tables() -> tuple[tuple[Part, str, Options], ...]:
    sources = [import_module(f"ckpttool.connectors.{module}") for module in _SOURCES]
    return (
        *(("source", cast(str, one.KIND), cast(Options, one.OPTIONS)) for one in sources),
        ("source", "socket", _SOCKET),
        *(("sink", kind, options) for kind, options in _SINKS.items()),
        ("query", "query", _QUERY),
    )


@cache
def _takers() -> Mapping[str, tuple[Taker, ...]]:
    found: dict[str, list[Taker]] = {}
    for part, kind, options in _tables():
        for when, names in _whens(options).items():
            for name in names.split():
                found.setdefault(name.lower(), []).append(Taker(part, kind, when))
    return {name: tuple(several) for name, several in found.items()}


@cache
def _spellings() -> Mapping[str, None]:
    return {name: None for _, _, options in _tables() for names in _whens(options).values() for name in names.split()}


def _whens(options: Options) -> Mapping[When, str]:
    return {"each": options.each, "first": options.first}


def _slips(one: str, other: str, most: int) -> int:
    """Letters that are wrong, missing, too many, or in the wrong order, as far as they matter."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, beside in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != beside))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == beside:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]


# -- what is shown -----------------------------------------------------------------------------------------------------

_SECRET = re.compile(
    r"secret|password|token|credential|(?:access|api|account|shared|sas).?key|\.key|jaas|auth|connection|uri$",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(^|[\s,;='\"(])([\w.%+-]+):[^\s/@]+@")  # where no URL begins
_OF_A_CLIENT = re.compile(
    r"kafka\.|kinesis\.|pulsar\.|eventhubs\.|spark\.mongodb\.|cloudfiles\.|hoodie\.", re.IGNORECASE
)


def shown_value(key: str, value: str) -> str:
    """What a client gets may be a secret under any name."""
    if _SECRET.search(key) or _OF_A_CLIENT.match(key):
        return "***"
    return _LOGIN.sub(r"\1\2:***@", redact_url(value))


_URL = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]{1,20}://?[^\s'\"<>()\[\]{}|]{1,2000}")
_PAIR = re.compile(
    r"(?P<key>[\w.\-/]{0,80}(?:secret|passw|pwd|token|credential|signature|sas|jaas|authorization|"
    r"(?:access|api|account|shared|private)[._-]?key)[\w.\-]{0,40})"
    r"(?P<is>[\"']?\s{0,3}(?:->|=>|[=:,])\s{0,3})"
    r"(?P<value>\\\"[^\"]{0,4000}\"?|\"(?:[^\"\\]|\\.){0,4000}\"?|'[^']{0,4000}'?"
    r"|\(?(?:Bearer |Basic )?[^\s,;&)\]}\"']{1,4000})",
    re.IGNORECASE,
)
_KNOWN_BY_SIGHT = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bdapi[0-9a-f]{32}\b|\beyJ[\w-]{8,4000}\.[\w-]{1,4000}(?:\.[\w-]{0,4000})?|"
    r"\bgh[opsu]_\w{20,80}|(?<=Bearer )[\w.~+/=-]{8,4000}|(?<=sig=)[\w%+/=-]{8,400}|"
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,10000}"
)


def hide_secrets(text: str) -> str:
    """Of a log, in which nobody knows what stands: URLs without what opens them, pairs without the values of such keys,
    and what is known for a secret by its looks."""
    text = _KNOWN_BY_SIGHT.sub("***", text)
    text = _PAIR.sub(lambda pair: f"{pair['key']}{pair['is']}***", text)
    return _LOGIN.sub(r"\1\2:***@", _URL.sub(lambda url: redact_url(url[0]), text))
