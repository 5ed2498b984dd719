"""A Paimon table's `snapshot/`: a file of JSON for each snapshot, which says who committed it, and when.

Paimon's Spark sink records no batch: each write commits under a user of its own, with the highest number there is as
its identifier. Writers that count their commits, such as Flink's, have an identifier each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ckpttool.formats.envelope import LONG_MAX, parse_json_object
from ckpttool.formats.values import Fields, decode_utf8

SNAPSHOTS = "snapshot"
BATCH_WRITE = LONG_MAX  # the identifier of a commit that counts nothing

_NAME = re.compile(r"snapshot-([0-9]{1,18})")


class PaimonSnapshot(Struct, frozen=True):
    """`rows`: that it added, less those that it took out."""

    id: int
    user: str
    identifier: int
    kind: str
    timestamp_ms: int
    rows: int | None = None


def parse_snapshot_names(names: Iterable[str]) -> list[int]:
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def snapshot_name(number: int) -> str:
    return f"snapshot-{number}"


def parse_snapshot(data: bytes) -> PaimonSnapshot:
    values = parse_json_object(decode_utf8(data))
    fields = Fields(values)
    rows = values.get("deltaRecordCount")
    return PaimonSnapshot(
        id=fields.long("id"),
        user=fields.text("commitUser"),
        identifier=fields.long("commitIdentifier"),
        kind=fields.text("commitKind"),
        timestamp_ms=fields.long("timeMillis"),
        rows=rows if isinstance(rows, int) else None,
    )
