"""`ckpt files`: of each file whether a source has read it, and where that stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import to_builtins

from ckpttool.report.document import Document, Fields, Line, Records, Toned

if TYPE_CHECKING:
    from ckpttool.reading.seen_files import SeenFile


def files_document(checkpoint: str, seen: Sequence[SeenFile]) -> Document:
    records = Records("files", lambda: map(_fields, seen))
    return Document("files", checkpoint, dict, lambda: [_lines(seen)], records)


def _fields(one: SeenFile) -> Fields:
    fields: Fields = to_builtins(one)
    return fields


def _lines(seen: Sequence[SeenFile]) -> Iterator[Line]:
    if not seen:
        yield "No source of this query keeps the files that it has read."
    for one in seen:
        source = f"source {one.source} ({one.kind})"
        if one.seen is None:
            yield Toned("not known", "notice"), f"  {one.file}: {source}: {one.why}"
        elif not one.seen:
            yield "not read", f"   {one.file}: {source}"
        else:
            yield Toned("read", "good"), f"       {one.file}: {source}{_where(one)}"


def _where(one: SeenFile) -> str:
    if one.record is not None:
        return f", its record: {one.record}"
    batch = "a batch whose offsets are gone" if one.batch is None else f"batch {one.batch}"
    return f", entry {one.entry}, {batch}"
