"""`ckpt diff`: what two batches differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckpttool.report.document import Document, Fields, Section, Table, Toned
from ckpttool.report.views.batches import spell_step, step_fields

if TYPE_CHECKING:
    from ckpttool.fleet.comparison import Difference

# The checkpoint's URL, and which of its batches.
Side = tuple[str, int]


def comparison_document(a: Side, b: Side, differences: Sequence[Difference]) -> Document:
    return Document("diff", a[0], lambda: _fields(a, b, differences), lambda: _blocks(a, b, differences))


def _fields(a: Side, b: Side, differences: Sequence[Difference]) -> Fields:
    return {
        "a": {"checkpoint": a[0], "batch_id": a[1]},
        "b": {"checkpoint": b[0], "batch_id": b[1]},
        "equal": not differences,
        "differences": [
            {"what": item.what, "a": item.a, "b": item.b, "step": step_fields(item.step) if item.step else None}
            for item in differences
        ],
    }


def _blocks(a: Side, b: Side, differences: Sequence[Difference]) -> Iterator[Section]:
    yield [Toned(f"{name}: {url} batch {batch}", "title") for name, (url, batch) in (("A", a), ("B", b))]
    rows = [[item.what, item.a or "-", item.b or "-", spell_step(item.step)] for item in differences]
    yield [Table(["What", "A", "B", "From A to B"], rows, {3}) if rows else Toned("No differences.", "good")]
