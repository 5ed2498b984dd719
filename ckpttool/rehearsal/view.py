"""`ckpt rehearse`: what a deploy does to the rows of the next batch."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import exit_code
from ckpttool.model import Json
from ckpttool.rehearsal.model import CodeRun, Rehearsal
from ckpttool.rehearsal.rows import Row, RowComparison
from ckpttool.report.document import Document, Fields, Line, Section, Table, Toned
from ckpttool.report.views.plan_recovery import source_fields
from ckpttool.words import counted, spell_batches

_SHOWN = 5  # changed files


def exit_code_of(rehearsal: Rehearsal) -> int:
    wrong = rehearsal.verdict in ("rows_differ", "failed") or bool(rehearsal.touched)
    return exit_code(wrong=wrong, unknown=rehearsal.verdict == "unknown")


def rehearsal_document(rehearsal: Rehearsal) -> Document:
    return Document("rehearse", rehearsal.checkpoint, lambda: _fields(rehearsal), lambda: _sections(rehearsal))


# -- for programs ------------------------------------------------------------------------------------------------------


def _fields(rehearsal: Rehearsal) -> Fields:
    clone, rows = rehearsal.clone, rehearsal.rows
    return {
        "batch_ids": list(rehearsal.batch_ids),
        "range": [source_fields(one) for one in rehearsal.range],
        "clone": {"files": clone.files, "bytes": clone.bytes, "seconds": round(clone.seconds, 3)},
        "runs": [_run_fields(run) for run in rehearsal.runs],
        "rows": rows and _rows_fields(rows),
        "written": [
            {"place": one.place, "added": _rows_fields(one.added), "removed": _rows_fields(one.removed)}
            for one in rehearsal.written
        ],
        "verdict": rehearsal.verdict,
        "agrees_with_check_change": rehearsal.agrees_with_check_change,
        "not_rehearsed": list(rehearsal.not_rehearsed),
        "production_untouched": not rehearsal.touched,
        "touched": list(rehearsal.touched),
        "kept": rehearsal.kept,
    }


def _run_fields(run: CodeRun) -> Fields:
    error = run.error
    return {
        "which": run.which,
        "outcome": run.outcome,
        "why": run.why,
        "error": error
        and {
            "phase": error.phase,
            "batch_id": error.batch_id,
            "class": error.class_name,
            "condition": error.condition,
            "message": error.message,
        },
        "spark_version": run.spark_version,
        "rows_in": run.rows_in,
        "rows_out": run.rows_out,
        "watermark_ms": run.watermark_ms,
        "state_rows": [
            {"operator": number, "before": before, "after": after} for number, (before, after) in run.state_rows.items()
        ],
        "seconds": run.seconds,
    }


def _rows_fields(rows: RowComparison) -> Fields:
    samples = [{"identity": one.identity, "old": one.old, "new": one.new} for one in rows.samples]
    counts = {"only_old": rows.only_old, "only_new": rows.only_new, "changed": rows.changed, "same": rows.same}
    return counts | {"samples": samples}


# -- for people --------------------------------------------------------------------------------------------------------


def _sections(rehearsal: Rehearsal) -> Iterator[Section]:
    yield [_answer(rehearsal), *_of_the_batch(rehearsal)]
    yield [_runs(rehearsal)]
    yield [f"  {run.which} code: {why}" for run in rehearsal.runs if (why := _why(run))]
    if rehearsal.rows and rehearsal.rows.samples:
        yield [Table(["Row", "Old code", "New code"], [list(map(_spell, (one.identity, one.old, one.new)))
                                                       for one in rehearsal.rows.samples])]  # fmt: skip
    if rehearsal.written:
        told = [[one.place, *map(_differences, (one.added, one.removed))] for one in rehearsal.written]
        yield [Table(["Written to", "Rows added", "Rows removed"], told)]
    yield list(_foot(rehearsal))


def _answer(rehearsal: Rehearsal) -> Line:
    rows, new = rehearsal.rows, rehearsal.new
    if new.error is not None:
        spark = f"Spark {new.spark_version} " if new.spark_version else ""
        told = new.error.condition or new.error.class_name
        return Toned(f"This deploy fails: {spark}ends the new code with {told}.", "error")
    if rows is None:
        done = f"the new code makes {counted(new.rows_out, 'row')}" if new.outcome == "done" else "it was not run"
        return Toned(f"What this deploy changes is not known: {done}, and there are none of the old code.", "notice")
    if not rehearsal.steady:
        told = "the old code gives other rows each time it runs, and so does the new one."
        return Toned(f"What this deploy changes is not known: {told}", "notice")
    if rows.is_same and not all(one.is_same for one in rehearsal.written):
        return Toned("This deploy gives its function the same rows, and that writes others.", "error")
    more = rows.only_new - rows.doubled
    adds = f", adds {more:,}" if more else ""
    changed = counted(rows.changed, "row")
    told = f"This deploy loses {rows.only_old:,}, doubles {rows.doubled:,}{adds}, changes {changed}."
    return Toned(told, "good" if rows.is_same else "error")


def _of_the_batch(rehearsal: Rehearsal) -> Iterator[Line]:
    if rehearsal.batch_ids:
        same = f" {counted(rehearsal.rows.same, 'row')} are the same." if rehearsal.rows else ""
        yield f"  It was {spell_batches(rehearsal.batch_ids)}, on clones of {_size(rehearsal)}.{same}"


def _size(rehearsal: Rehearsal) -> str:
    return f"{counted(rehearsal.clone.files, 'file')} and {rehearsal.clone.bytes:,} bytes"


def _runs(rehearsal: Rehearsal) -> Table:
    rows = [
        [
            run.which,
            run.outcome.replace("_", " "),
            run.spark_version or "",
            f"{run.rows_in:,}",
            f"{run.rows_out:,}",
            ", ".join(f"{_number(before)} → {_number(after)}" for before, after in run.state_rows.values()),
            f"{run.seconds:.1f}",
        ]
        for run in rehearsal.runs
    ]
    return Table(["Code", "Run", "Spark", "Rows in", "Rows out", "Rows of state", "Seconds"], rows, {3, 4, 6})


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _why(run: CodeRun) -> str | None:
    if run.error is None:
        return run.why
    where = f" in batch {run.error.batch_id}" if run.error.batch_id is not None else ""
    return f"{run.error.class_name}{where}: {run.error.message}"


def _spell(row: Row | None) -> str:
    return "-" if row is None else ", ".join(f"{name}={_value(value)}" for name, value in row.items())


def _value(value: Json) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _differences(rows: RowComparison) -> str:
    if rows.is_same:
        return f"{rows.same:,}, the same" if rows.same else "none"
    counts = {"by old code only": rows.only_old, "by new code only": rows.only_new, "changed": rows.changed}
    return ", ".join([f"{rows.same:,} the same", *(f"{count:,} {name}" for name, count in counts.items() if count)])


def _foot(rehearsal: Rehearsal) -> Iterator[Line]:
    rows = rehearsal.rows
    if rows and rows.only_old and rows.only_new and not rows.changed:
        yield "  A row that changed counts as one lost and one added: --identity COLUMN,… says which belong together."
    if rehearsal.agrees_with_check_change is False:
        yield Toned("  ckpt check-change says otherwise.", "notice")
    if rehearsal.not_rehearsed:
        yield f"  Not rehearsed: {', '.join(rehearsal.not_rehearsed)}"
    if not rehearsal.touched:
        yield "  Nothing else was changed meanwhile."
    for path in rehearsal.touched[:_SHOWN]:
        yield Toned(f"  Changed meanwhile, by somebody else if not by the job: {path}", "error")
    if rehearsal.kept:
        yield f"  Kept: {rehearsal.kept}"
