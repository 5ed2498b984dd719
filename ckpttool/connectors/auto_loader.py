"""Databricks Auto Loader (`cloudFiles`): `{"seqNum":234,"sourceVersion":1,…}`; closed source, known from its output.

`seqNum` is the last file taken in the order of discovery. The other fields tell of backfills (`lastBackfill…TimeMs`)
and, since sourceVersion 3, `lastInputPath`. Which files were seen is kept in a RocksDB under `sources/<n>`, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ckpttool.connectors.base import CounterOffset, Options, is_long, longs_of
from ckpttool.model import Json
from ckpttool.words import shown

KIND = "auto-loader"
OPTIONS = Options(
    prefixes=("cloudFiles.",),
)
EXAMPLES: tuple[str, ...] = (
    '{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118,"lastBackfillFinishTimeMs":1667453456546}',
    '{"seqNum":240,"sourceVersion":3,"lastInputPath":"abfss://c@account.dfs.core.windows.net/in"}',
)


class AutoLoaderOffset(CounterOffset, frozen=True):
    kind: ClassVar[str] = KIND
    name: ClassVar[str] = "seqNum"
    unit: ClassVar[str] = "files"
    exact: ClassVar[bool] = False
    source_version: int
    others: Mapping[str, str]

    def summary(self) -> str:
        return f"file {self.position:,} in order of discovery"

    def details(self) -> list[tuple[str, str]]:
        others = [(shown(name), shown(value, 200)) for name, value in self.others.items()]
        return [*super().details(), ("sourceVersion", str(self.source_version)), *others]

    def problems(self) -> list[str]:
        return [f"seqNum {self.position} is negative"] if self.position < 0 else []


def parse_offset(value: Json, text: str, hint: str | None) -> AutoLoaderOffset | None:  # noqa: ARG001
    numbers = longs_of(value, "seqNum", "sourceVersion") if isinstance(value, dict) else None
    if numbers is None:
        return None
    others = {
        name: str(field)
        for name, field in value.items()
        if name not in ("seqNum", "sourceVersion") and (is_long(field) or isinstance(field, str))
    }
    sequence_number, source_version = numbers
    return AutoLoaderOffset("certain", sequence_number, source_version, others)
