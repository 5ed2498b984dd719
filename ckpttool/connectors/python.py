"""A Python data source (Spark 4.0 and later): whatever dict its author returned, written by `json.dumps`.

The offset means what the author wants it to mean. What gives the writer away are Python's separators, `", "` and
`": "`: hardly any JVM source writes blanks. A Python source may also write what looks like another source's offset;
then that source is named.
"""

from __future__ import annotations

import json
from typing import ClassVar

from ckpttool.connectors.base import OpaqueOffset
from ckpttool.model import Json
from ckpttool.words import shown

KIND = "python"
EXAMPLES: tuple[str, ...] = ('{"cursor": "2024-05-01", "page": 3}', '{"position": 17}')


class PythonOffset(OpaqueOffset, frozen=True):
    kind: ClassVar[str] = KIND

    def summary(self) -> str:
        return shown(self.text)


def parse_offset(value: Json, text: str, hint: str | None) -> PythonOffset | None:
    if not isinstance(value, dict):
        return None
    if hint == KIND:
        return PythonOffset("certain", text)
    return PythonOffset("likely", text) if value and _is_dumped_by_python(value, text) else None


def _is_dumped_by_python(value: Json, text: str) -> bool:
    try:
        return json.dumps(value) == text
    except (RecursionError, ValueError):  # nested more deeply than it can be written
        return False
