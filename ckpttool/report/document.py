"""What a command shows: a view makes it once, and any renderer tells it.

A view gives what programs read (`data`) and what people read (`blocks`) as two functions, and a renderer calls the one
that it is for: whoever asks for JSON lays out no tables. Texts stand here as they were found. What a terminal must not
be given raw is for the renderer to know, so that no view can forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

import ckpttool

if TYPE_CHECKING:
    from ckpttool.errors import CkptError
    from ckpttool.model import Finding

Fields = dict[str, Any]
# What a piece of text is, of which a renderer may make a colour or a font.
Tone = Literal["title", "good", "notice", "error", "faint", "command"]


class Toned(Struct, frozen=True):
    text: str
    tone: Tone


class Aside(str):
    """A line beside what is shown: it goes to standard error, since all other lines are rows."""

    __slots__ = ()


class Table(Struct, frozen=True):
    """`right`: the columns that are aligned there."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Iterable[int] = ()


class Findings(Struct, frozen=True):
    findings: Sequence[Finding]


# A line begins with as many blanks as it stands in.
Line = str | Toned | tuple[str | Toned, ...]
Block = Line | Table | Findings
# What belongs together: between sections there is room.
Section = Iterable[Block]


class Records(Struct, frozen=True):
    """Things of one kind that are shown one by one, however many they are. Each function is called at most once, and
    `after` when all have been seen.

    `each`: as fields, or as the JSON that they were decoded to; `cells`: as texts below `columns`, if they are rows;
    `after`: fields that are known only then; `asides`: what is told of those where nothing but rows is shown."""

    name: str
    each: Callable[[], Iterable[Fields | str]]
    columns: Sequence[str] = ()
    cells: Callable[[], Iterable[Sequence[str]]] = tuple
    after: Callable[[], Fields] = dict
    asides: Callable[[], Iterable[Aside]] = tuple


class Document(Struct, frozen=True):
    """`schema`: the name of its fields in docs/cli.md; `checkpoint`: where, without credentials.

    `own`: by form, what a form is made from that only this document can be shown in."""

    schema: str
    checkpoint: str | None
    data: Callable[[], Fields]
    blocks: Callable[[], Iterable[Section]]
    records: Records | None = None
    own: Mapping[str, Any] = {}

    def head(self) -> Fields:
        """All fields but those of the records."""
        common = {"schema": f"ckpt.{self.schema}/1", "ckpt_version": ckpttool.__version__}
        return {**common, "checkpoint": self.checkpoint, **self.data()}

    def sections(self) -> Iterator[list[Block]]:
        """What people read, without the sections that stayed empty."""
        return filter(None, map(list, self.blocks()))

    def fields(self) -> Fields:
        """All of it as one object, which must fit into memory."""
        records = self.records
        return self.head() | ({} if records is None else {records.name: list(_decoded(records)), **records.after()})


def _decoded(records: Records) -> Iterator[Fields]:
    import json

    for one in records.each():
        yield json.loads(one) if isinstance(one, str) else one


def refusal_document(schema: str, checkpoint: str | None, error: CkptError, known: Fields | None = None) -> Document:
    """What a command shows that could not look: why, the checkpoints seen nearby, and what is `known` nevertheless."""
    told = {
        "error": {"message": error.message, "next_step": error.next_step, "exit_code": error.exit_code},
        "checkpoints": list(getattr(error, "candidates", ())),
        "findings": [],
    }
    why: list[Block] = [Toned(error.message, "error"), *([error.next_step] if error.next_step else [])]
    return Document(schema, checkpoint, lambda: told | (known or {}), lambda: [why])
