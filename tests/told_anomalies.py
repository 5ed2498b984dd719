"""What docs/exactly-once.md tells of anomalies. Their names are stable: reports go by them, and so do the tests."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "exactly-once.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|")) for line in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE)
]
# Name → the property that finds it.
ANOMALIES = {row[0].strip("`"): row[1] for row in ROWS if len(row) == 3 and re.fullmatch(r"P\d+", row[1])}
