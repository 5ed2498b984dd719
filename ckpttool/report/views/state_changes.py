"""`ckpt state diff` and `export`: from one batch to another, and out of the checkpoint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ckpttool.report.document import Document, Fields, Findings, Records, Section, Table
from ckpttool.report.state_rows import line_renderer
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.state_rows import asides_of
from ckpttool.state.difference import RowChange
from ckpttool.state.export import Exported
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import Table as StateTable

_SHOWN = 50

# A reader of the state at a batch, and the table that is compared.
Side = tuple[StateReader, StateTable]


def changes_document(earlier: Side, later: Side, changes: Iterable[RowChange]) -> Document:
    """Changes are found while they are shown; how many there were is known in the end."""
    (reader_before, before), (reader, after) = earlier, later
    line, counts = _line_renderer(before, after), Counter[str]()

    def counted() -> Iterator[RowChange]:
        for change in changes:
            counts[change.change] += 1
            yield change

    def summary() -> dict[str, int]:
        return {kind: counts[kind] for kind in ("added", "changed", "removed")}

    def data() -> Fields:
        return {"batches": [reader_before.batch, reader.batch], "operator": after.operator, "store": after.name}

    def blocks() -> Iterator[Section]:
        found = counted()
        rows = [_row(change, line(change), after) for change in islice(found, _SHOWN)]
        more = sum(1 for _ in found)
        said = ", ".join(f"{count:,} {kind}" for kind, count in summary().items())
        yield [f"{after.name} from batch {reader_before.batch} to {reader.batch}: {said}"]
        if rows:
            table = Table(("Change", "Partition", "Key", "Before", "After"), rows, {1})
            yield [table, *([f"  … {more:,} more; all with --format jsonl"] if more else [])]
        if findings := (*reader_before.findings, *reader.findings):
            yield [Findings(findings)]

    records = Records(
        "changes",
        each=lambda: map(line, counted()),
        after=lambda: {
            "summary": summary(),
            "findings": findings_fields((*reader_before.findings, *reader.findings)),
        },
        asides=lambda: asides_of((*reader_before.findings, *reader.findings)),
    )
    return Document("state-diff", reader.store.url, data, blocks, records)


def _line_renderer(before: StateTable, after: StateTable) -> Callable[[RowChange], str]:
    """A change as one object of JSON: the row before and after, null where it was not there."""
    old, new = line_renderer(before), line_renderer(after)

    def render(change: RowChange) -> str:
        was = "null" if change.before is None else old(Row(change.partition, change.before))
        now = "null" if change.after is None else new(Row(change.partition, change.after))
        return f'{{"change":"{change.change}","partition":{change.partition},"before":{was},"after":{now}}}'

    return render


def _row(change: RowChange, line: str, of: StateTable) -> tuple[str, ...]:
    """Its cells are those of the JSON, so that both say the same."""
    fields = json.loads(line)
    shown = fields["after"] or fields["before"]
    key, value = (json.dumps(shown[column.name], ensure_ascii=False) for column in of.columns[:2])
    was = json.dumps(fields["before"][of.columns[1].name], ensure_ascii=False) if change.change == "changed" else ""
    return change.change, str(change.partition), key, was, value if change.after is not None else ""


def export_document(
    reader: StateReader, of: StateTable, directory: str, exported: Sequence[Exported] | None
) -> Document:
    """`exported` None: Spark has written it, and does not say what."""

    def data() -> Fields:
        files = [{"partition": one.partition, "path": one.path, "rows": one.rows} for one in exported or ()]
        return {
            "batch": reader.batch,
            "operator": of.operator,
            "store": of.name,
            "directory": directory,
            "rows": None if exported is None else sum(one.rows for one in exported),
            "files": None if exported is None else files,
            "findings": findings_fields(reader.findings),
        }

    def said() -> str:
        if exported is None:
            return f"{of.name} at batch {reader.batch}, written by Spark: {directory}"
        rows, partitions = sum(one.rows for one in exported), len(reader.partitions(of.operator))
        return f"{rows:,} rows of {of.name} in {len(exported)} of {partitions} partitions: {directory}"

    return Document("state-export", reader.store.url, data, lambda: [[said(), *asides_of(reader.findings)]])
