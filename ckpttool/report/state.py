"""What stores of state there are, and how many rows, as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckpttool.formats.state.types import DataType
from ckpttool.model import Finding
from ckpttool.report.json import Fields, finding_fields, header
from ckpttool.report.layout import printable, table
from ckpttool.report.style import Style, plain

if TYPE_CHECKING:
    from ckpttool.state.reader import StateReader
    from ckpttool.state.survey import Survey
    from ckpttool.state.tables import Table


# -- the list ----------------------------------------------------------------------------------------------------------


def list_fields(reader: StateReader, surveys: Sequence[Survey]) -> Fields:
    return {
        **header("state-list", reader.store.url),
        "batch": reader.batch,
        "version": reader.version,
        "stores": [survey_fields(reader, one) for one in surveys],
        "findings": [finding_fields(one) for one in reader.findings],
    }


def survey_fields(reader: StateReader, survey: Survey) -> Fields:
    of = survey.table
    return {
        "operator": of.operator,
        "name": of.operator_name,
        "name_inferred": of.is_inferred,
        "store": of.name,
        "directory": of.store,
        "column_family": of.family,
        "shape": of.shape,
        "partitions": survey.partitions,
        "provider": of.provider,
        "batch": reader.batch,
        "rows": survey.rows,
        "rows_unknown_why": survey.why,
        "bytes": survey.size_bytes,
        "versions": {"first": survey.versions[0], "last": survey.versions[1]} if survey.versions else None,
        "columns": columns_fields(of),
    }


def columns_fields(of: Table) -> list[Fields]:
    return [{"name": column.name, "type": spell_type(column.type)} for column in of.columns]


def spell_type(kind: DataType) -> str:
    """As Spark's `simpleString`."""
    if kind.kind == "struct":
        return f"struct<{','.join(f'{field.name}:{spell_type(field.type)}' for field in kind.fields)}>"
    if kind.kind == "array":
        assert kind.element
        return f"array<{spell_type(kind.element)}>"
    if kind.kind == "map":
        assert kind.element
        assert kind.value
        return f"map<{spell_type(kind.element)},{spell_type(kind.value)}>"
    return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(kind.name, kind.name)


def render_list(reader: StateReader, surveys: Sequence[Survey], style: Style = plain) -> str:
    head = ("Operator", "Name", "Store", "Partitions", "Provider", "Versions", "Rows", "Bytes")
    rows = [
        (
            str(one.table.operator),
            _spell_operator(one.table),
            one.table.name,
            str(one.partitions),
            one.table.provider,
            f"{one.versions[0]}–{one.versions[1]}" if one.versions else "none",
            f"{one.rows:,}" if one.rows is not None else "?",
            f"{one.size_bytes:,}",
        )
        for one in surveys
    ]
    lines = [f"State after batch {reader.batch}: version {reader.version}", ""]
    lines += table(head, rows, style, right=(3, 6, 7))
    unknown = dict.fromkeys(one.why for one in surveys if one.why)
    lines += [f"  Rows of some are not known: {printable(why)}" for why in unknown if why]
    if surveys:
        first = surveys[0].table
        lines += [
            "",
            f"  See rows: ckpt state rows {reader.store.url} --operator {first.operator} --store {first.name}",
        ]
    return "\n".join([*lines, *_findings(reader.findings, style)]) + "\n"


def _spell_operator(of: Table) -> str:
    if of.operator_name is None:
        return "unknown"
    return f"{of.operator_name} (inferred)" if of.is_inferred else of.operator_name


def _findings(findings: Sequence[Finding], style: Style) -> list[str]:
    if not findings:
        return []
    from ckpttool.report.text import render_findings

    return ["", *render_findings(findings, style)]


# -- counts ------------------------------------------------------------------------------------------------------------


def count_fields(reader: StateReader, counts: Sequence[tuple[Table, dict[int, int]]]) -> Fields:
    return {
        **header("state-count", reader.store.url),
        "batch": reader.batch,
        "stores": [
            {
                "operator": of.operator,
                "name": of.operator_name,
                "store": of.name,
                "rows": sum(by_partition.values()),
                "rows_by_partition": [
                    {"partition": partition, "rows": rows} for partition, rows in by_partition.items()
                ],
            }
            for of, by_partition in counts
        ],
        "findings": [finding_fields(one) for one in reader.findings],
    }


def render_counts(reader: StateReader, counts: Sequence[tuple[Table, dict[int, int]]], style: Style = plain) -> str:
    """One store is told in a sentence, which also spares a small count the drawing of tables."""
    lines = [f"State after batch {reader.batch}: version {reader.version}", ""]
    lines += [_one_count(*counts[0])] if len(counts) == 1 else _table_of_counts(counts, style)
    return "\n".join([*lines, *_findings(reader.findings, style)]) + "\n"


def _one_count(of: Table, found: Mapping[int, int]) -> str:
    rows = sum(found.values())
    most = f"at most {max(found.values(), default=0):,} in a partition"
    where = f"store {of.name} of operator {of.operator}, {_spell_operator(of)}"
    return f"{rows:,} {'row' if rows == 1 else 'rows'} in {printable(where)}; {most}"


def _table_of_counts(counts: Sequence[tuple[Table, Mapping[int, int]]], style: Style) -> list[str]:
    head = ("Operator", "Name", "Store", "Rows", "Most in a partition")
    rows = [
        (
            str(of.operator),
            _spell_operator(of),
            of.name,
            f"{sum(found.values()):,}",
            f"{max(found.values(), default=0):,}",
        )
        for of, found in counts
    ]
    return table(head, rows, style, right=(3, 4))
