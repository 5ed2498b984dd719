"""Documents for people, as lines and tables for a terminal.

Whatever is shown passes through `printable` here, so that no name in a file can move the cursor or colour the screen.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.model import Finding
from ckpttool.report.document import Aside, Block, Document, Findings, Line, Table, Tone, Toned
from ckpttool.report.layout import printable, prose, table
from ckpttool.report.style import Style

_INDENT = " " * 9
_SEVERITIES: dict[str, Tone] = {"error": "error", "warning": "notice", "info": "faint"}


def render(document: Document, style: Style) -> Iterator[str]:
    """A blank line between sections."""
    separator = ""
    for section in document.sections():
        shown = [line for block in section if not isinstance(block, Aside) for line in _lines(block, style)]
        yield separator + "\n".join(shown) + "\n"
        yield from (block for block in section if isinstance(block, Aside))
        separator = "\n"


def _lines(block: Block, style: Style) -> list[str]:
    if isinstance(block, Table):
        return table(block.head, block.rows, style, block.right)
    if isinstance(block, Findings):
        told = [[_spell(line, style) for line in _finding(finding)] for finding in block.findings]
        return "\n\n".join(map("\n".join, told)).split("\n") if told else [style("No findings.", "good")]
    return [_spell(block, style)]


def _spell(line: Line, style: Style) -> str:
    parts = line if isinstance(line, tuple) else (line,)
    return "".join(
        printable(part) if isinstance(part, str) else style(printable(part.text), part.tone) for part in parts
    )


def _finding(finding: Finding) -> Iterator[Line]:
    """What is wrong and where, as one block."""
    yield Toned(f"{finding.severity:<8}", _SEVERITIES[finding.severity]), f" {finding.id}  {_place(finding)}"
    yield from prose(_INDENT, finding.message)
    if finding.severity == "info":
        return
    if finding.expected:
        yield from prose(f"{_INDENT}expected: ", finding.expected)
    if finding.next_step:
        yield from prose(f"{_INDENT}next: ", finding.next_step)


def _place(finding: Finding) -> str:
    place = finding.path or "the checkpoint"
    if finding.position and finding.position.line is not None:
        place += f" line {finding.position.line}"
    if finding.position and finding.position.byte is not None:
        place += f" byte {finding.position.byte}"
    return place
