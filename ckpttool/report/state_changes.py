"""What `ckpt state diff` and `export` say, as text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ckpttool.report.json import Fields, finding_fields, header
from ckpttool.report.layout import table
from ckpttool.report.state_rows import line_renderer
from ckpttool.report.style import Style, plain
from ckpttool.report.text import render_findings
from ckpttool.state.difference import RowChange
from ckpttool.state.export import Exported
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import Table

_SHOWN = 50


def change_line(before: Table, after: Table, change: RowChange) -> str:
    """A change as one object of JSON: the row before and after, null where it was not there."""
    old = line_renderer(before)(Row(change.partition, change.before)) if change.before is not None else "null"
    new = line_renderer(after)(Row(change.partition, change.after)) if change.after is not None else "null"
    return f'{{"change":"{change.change}","partition":{change.partition},"before":{old},"after":{new}}}'


def diff_json(
    earlier: StateReader, later: StateReader, before: Table, after: Table, changes: Iterable[RowChange]
) -> Iterator[str]:
    found = list(changes)
    head = {
        **header("state-diff", later.store.url),
        "batches": [earlier.batch, later.batch],
        "operator": after.operator,
        "store": after.name,
        "summary": _summary(found),
        "findings": [finding_fields(one) for one in (*earlier.findings, *later.findings)],
    }
    yield json.dumps(head)[:-1] + ', "changes": ['
    for at, change in enumerate(found):
        yield (",\n" if at else "\n") + change_line(before, after, change)
    yield "\n]}"


def render_diff(
    earlier: StateReader,
    later: StateReader,
    before: Table,
    after: Table,
    changes: Sequence[RowChange],
    style: Style = plain,
) -> str:
    counts = _summary(changes)
    said = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    lines = [f"{after.name} from batch {earlier.batch} to {later.batch}: {said}"]
    rows = []
    for change in changes[:_SHOWN]:
        row = json.loads(change_line(before, after, change))
        shown = row["after"] or row["before"]
        key, value = (json.dumps(shown[column.name], ensure_ascii=False) for column in after.columns[:2])
        was = json.dumps(row["before"][after.columns[1].name], ensure_ascii=False) if change.change == "changed" else ""
        rows.append((change.change, str(change.partition), key, was, value if change.after is not None else ""))
    if rows:
        lines += ["", *table(("Change", "Partition", "Key", "Before", "After"), rows, style, right=(1,))]
    if len(changes) > _SHOWN:
        lines.append(f"  … {len(changes) - _SHOWN:,} more; all with --format jsonl")
    findings = (*earlier.findings, *later.findings)
    return "\n".join([*lines, *(["", *render_findings(findings, style)] if findings else [])]) + "\n"


def _summary(changes: Iterable[RowChange]) -> dict[str, int]:
    counts: Counter[str] = Counter(change.change for change in changes)
    return {kind: counts[kind] for kind in ("added", "changed", "removed")}


def export_fields(reader: StateReader, of: Table, directory: str, exported: Sequence[Exported]) -> Fields:
    return {
        **header("state-export", reader.store.url),
        "batch": reader.batch,
        "operator": of.operator,
        "store": of.name,
        "directory": directory,
        "rows": sum(one.rows for one in exported),
        "files": [{"partition": one.partition, "path": one.path, "rows": one.rows} for one in exported],
        "findings": [finding_fields(one) for one in reader.findings],
    }
