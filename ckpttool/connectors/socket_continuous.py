"""The socket source in continuous processing: `[3,2]`, for each partition the rows so far (exclusive end)."""

from __future__ import annotations

from typing import ClassVar

from ckpttool.connectors.base import VectorOffset, certainty_by, is_long
from ckpttool.model import Json
from ckpttool.words import counted

KIND = "socket-continuous"
EXAMPLES: tuple[str, ...] = ("[3,2]", "[3,4]", "[4,1]")


class SocketContinuousOffset(VectorOffset, frozen=True):
    kind: ClassVar[str] = KIND
    exact: ClassVar[bool] = True
    rows: tuple[int, ...]

    def positions(self) -> dict[str, int]:
        return {str(part): rows for part, rows in enumerate(self.rows)}

    def beginning(self) -> dict[str, int]:
        return dict.fromkeys(self.positions(), 0)

    def summary(self) -> str:
        return f"{counted(len(self.rows), 'partition')}, {counted(sum(self.rows), 'row')}"

    def problems(self) -> list[str]:
        return ["a number of rows is negative"] if min(self.rows) < 0 else []


def parse_offset(value: Json, text: str, hint: str | None) -> SocketContinuousOffset | None:  # noqa: ARG001
    if not isinstance(value, list) or not value or not all(is_long(rows) for rows in value):
        return None
    return SocketContinuousOffset(certainty_by(hint, KIND, "likely"), tuple(value))
