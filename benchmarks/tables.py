"""The tables of docs/performance.md: a measurement writes its own rows, and leaves the others as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def write_row(table: str, cells: Sequence[str]) -> None:
    """Replaces the row with the same first cell between the table's marks, or adds it at the end of the table."""
    page = PAGE.read_text(encoding="utf-8")
    mark, end = f"<!-- measured: {table} -->\n", "<!-- end -->"
    before, _, rest = page.partition(mark)
    body, _, after = rest.partition(end)
    row = f"| {' | '.join(cells)} |"
    rows = body.splitlines()
    places = [at for at, one in enumerate(rows) if one.startswith(f"| {cells[0]} |")] or [len(rows)]
    rows[places[0] : places[0] + 1] = [row]
    PAGE.write_text(before + mark + "\n".join(rows) + "\n" + end + after, encoding="utf-8")
