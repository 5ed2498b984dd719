"""`ckpt state diff` and `export`: from one batch to another, and out of the checkpoint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from ckpttool.model import Finding
from ckpttool.report.document import Document, Fields, Findings, Records, Section, Table
from ckpttool.report.state_rows import line_renderer
from ckpttool.report.views.findings import findings_fields
from ckpttool.report.views.state_rows import asides_of
from ckpttool.state.difference import RowChange
from ckpttool.state.export import Exported
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import StateTable
from ckpttool.words import counted

_SHOWN = 50

# A reader of the state at a batch, and the table that is compared.
Side = tuple[StateReader, StateTable]


def changes_document(earlier: Side, later: Side, changes: Iterable[RowChange]) -> Document:
    shown = _Changes(earlier, later, changes)
    records = Records("changes", shown.lines, after=shown.after, asides=lambda: asides_of(shown.findings))
    return Document("state-diff", later[0].store.url, shown.data, shown.blocks, records)


class _Changes:
    """Changes are found while they are shown; how many there were, and what could not be read, is known in the end."""

    def __init__(self, earlier: Side, later: Side, changes: Iterable[RowChange]) -> None:
        (self._before, table_before), (self._after, self._table) = earlier, later
        self._changes, self._counts = changes, Counter[str]()
        self._line = _line_renderer(table_before, self._table)

    @property
    def findings(self) -> list[Finding]:
        return [*self._before.findings, *self._after.findings]

    def data(self) -> Fields:
        batches = [self._before.batch, self._after.batch]
        return {"batches": batches, "operator": self._table.operator, "store": self._table.name}

    def lines(self) -> Iterator[str]:
        return map(self._line, self._counted())

    def after(self) -> Fields:
        return {"summary": self._summary(), "findings": findings_fields(self.findings)}

    def blocks(self) -> Iterator[Section]:
        changes = self._counted()
        rows = [_row(change, self._line(change), self._table) for change in islice(changes, _SHOWN)]
        more = sum(1 for _ in changes)
        said = ", ".join(f"{count:,} {kind}" for kind, count in self._summary().items())
        yield [f"{self._table.name} from batch {self._before.batch} to {self._after.batch}: {said}"]
        if rows:
            table = Table(("Change", "Partition", "Key", "Before", "After"), rows, {1})
            yield [table, *([f"  … {more:,} more; all with --format jsonl"] if more else [])]
        if self.findings:
            yield [Findings(self.findings)]

    def _counted(self) -> Iterator[RowChange]:
        for change in self._changes:
            self._counts[change.change] += 1
            yield change

    def _summary(self) -> dict[str, int]:
        return {kind: self._counts[kind] for kind in ("added", "changed", "removed")}


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
        where = f"{len(exported)} of {counted(partitions, 'partition')}"
        return f"{counted(rows, 'row')} of {of.name} in {where}: {directory}"

    return Document("state-export", reader.store.url, data, lambda: [[said(), *asides_of(reader.findings)]])
