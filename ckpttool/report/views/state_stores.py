"""`ckpt state list` and `count`: what stores of state there are, and how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ckpttool.formats.state.types import spell_type
from ckpttool.literals import shell_path, shell_word
from ckpttool.report.document import Block, Document, Fields, Findings, Line, Section, Table, Toned
from ckpttool.report.views.findings import findings_fields
from ckpttool.state.survey import most, total
from ckpttool.words import counted

if TYPE_CHECKING:
    from ckpttool.state.reader import StateReader
    from ckpttool.state.survey import Survey
    from ckpttool.state.tables import StateTable

# By store and partition.
Counts = Sequence[tuple["StateTable", Mapping[int, int | None]]]


def stores_document(reader: StateReader, surveys: Sequence[Survey]) -> Document:
    def data() -> Fields:
        return {
            "batch": reader.batch,
            "version": reader.version,
            "stores": [_survey_fields(reader, one) for one in surveys],
            "findings": findings_fields(reader.findings),
        }

    return Document("state-list", reader.store.url, data, lambda: _stores(reader, surveys))


def _survey_fields(reader: StateReader, survey: Survey) -> Fields:
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
        "versions": {"first": min(survey.versions), "last": max(survey.versions)} if survey.versions else None,
        "version_runs": versions_fields(survey.versions),
        "columns": columns_fields(of),
    }


def versions_fields(versions: frozenset[int] | None) -> list[Fields] | None:
    return None if versions is None else [{"first": first, "last": last} for first, last in _runs(versions)]


def spell_versions(versions: frozenset[int] | None) -> str:
    if versions is None:
        return "?"
    return ", ".join(f"{first}–{last}" for first, last in _runs(versions)) or "none"


def _runs(versions: frozenset[int]) -> list[tuple[int, int]]:
    """First and last of each row of them without a gap."""
    firsts = sorted(version for version in versions if version - 1 not in versions)
    lasts = sorted(version for version in versions if version + 1 not in versions)
    return list(zip(firsts, lasts, strict=True))


def columns_fields(of: StateTable) -> list[Fields]:
    return [{"name": column.name, "type": spell_type(column.type)} for column in of.columns]


def _stores(reader: StateReader, surveys: Sequence[Survey]) -> Iterator[Section]:
    yield [state_title(reader)]
    yield _table_of_stores(surveys)
    if surveys:
        first = surveys[0].table
        where = f"--operator {first.operator} --store {shell_word(first.name)}"
        rows = f"ckpt state rows {shell_path(reader.store.url)} {where}"
        yield [("  See rows: ", Toned(rows, "command"))]
    yield found_so_far(reader)


def state_title(reader: StateReader) -> Line:
    return f"State after batch {reader.batch}: version {reader.version}"


def found_so_far(reader: StateReader) -> Section:
    return [Findings(reader.findings)] if reader.findings else []


def _table_of_stores(surveys: Sequence[Survey]) -> Iterator[Block]:
    head = ("Operator", "Name", "Store", "Partitions", "Provider", "Versions", "Rows", "Bytes")
    rows = [
        (
            str(one.table.operator),
            _spell_operator(one.table),
            one.table.name,
            str(one.partitions),
            one.table.provider,
            spell_versions(one.versions),
            spell_number(one.rows),
            f"{one.size_bytes:,}",
        )
        for one in surveys
    ]
    yield Table(head, rows, {3, 6, 7})
    unknown = dict.fromkeys(one.why for one in surveys if one.why)
    yield from (f"  Rows of some are not known: {why}" for why in unknown)


def _spell_operator(of: StateTable) -> str:
    if of.operator_name is None:
        return "unknown"
    return f"{of.operator_name} (inferred)" if of.is_inferred else of.operator_name


# -- counts ------------------------------------------------------------------------------------------------------------


def counts_document(reader: StateReader, counts: Counts) -> Document:
    def data() -> Fields:
        return {
            "batch": reader.batch,
            "stores": [_count_fields(of, found) for of, found in counts],
            "findings": findings_fields(reader.findings),
        }

    return Document("state-count", reader.store.url, data, lambda: _counts(reader, counts))


def _count_fields(of: StateTable, found: Mapping[int, int | None]) -> Fields:
    return {
        "operator": of.operator,
        "name": of.operator_name,
        "store": of.name,
        "rows": total(found.values()),
        "rows_by_partition": [{"partition": partition, "rows": rows} for partition, rows in found.items()],
    }


def _counts(reader: StateReader, counts: Counts) -> Iterator[Section]:
    """One store is told in a sentence, which also spares a small count the drawing of tables."""
    yield [state_title(reader)]
    yield [_one_count(*counts[0]) if len(counts) == 1 else _table_of_counts(counts)]
    yield found_so_far(reader)


def _one_count(of: StateTable, found: Mapping[int, int | None]) -> Line:
    rows = total(found.values())
    where = f"store {of.name} of operator {of.operator}, {_spell_operator(of)}"
    if rows is None:
        unread = sum(one is None for one in found.values())
        return f"? rows in {where}; {unread} of {counted(len(found), 'partition')} cannot be read"
    return f"{counted(rows, 'row')} in {where}; at most {spell_number(most(found.values()))} in a partition"


def _table_of_counts(counts: Counts) -> Table:
    head = ("Operator", "Name", "Store", "Rows", "Most in a partition")
    rows = [
        (
            str(of.operator),
            _spell_operator(of),
            of.name,
            spell_number(total(found.values())),
            spell_number(most(found.values())),
        )
        for of, found in counts
    ]
    return Table(head, rows, {3, 4})


def spell_number(number: int | None) -> str:
    """`?` where nobody can tell."""
    return "?" if number is None else f"{number:,}"
