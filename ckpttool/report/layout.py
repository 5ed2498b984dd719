"""How text is laid out: tables, times, durations, and characters that a terminal may show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from textwrap import wrap

from ckpttool.report.style import Style

CELL_WIDTH = 60
WIDTH = 80  # of prose: the narrowest terminal that people use

# Of Unicode's Default_Ignorable_Code_Point, what Python calls printable: joiners, fillers, selectors of variants.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0").union(
    map(chr, range(0x180B, 0x1810)), map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], style: Style, right: Iterable[int] = ()) -> list[str]:
    from tabulate import tabulate

    # No text becomes shorter by being printable: what follows is cut off anyway.
    cells = [[_fit(printable(cell[: CELL_WIDTH + 1])) for cell in row] for row in rows]
    columns = ["right" if column in set(right) else "left" for column in range(len(head))]
    drawn = tabulate(
        cells, headers=[printable(name) for name in head], tablefmt="plain", colalign=columns, disable_numparse=True
    )
    first, *rest = [line.rstrip() for line in drawn.split("\n")]
    return [style(first, "faint"), *rest]


def prose(lead: str, text: str) -> Iterator[str]:
    """In lines that fit a narrow terminal; long names stay whole."""
    yield from wrap(
        printable(text),
        WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [lead.rstrip()]


def _fit(text: str) -> str:
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"


def printable(text: str) -> str:
    """Text from a file as it may be shown: control characters, those that turn the direction of what follows, lone
    surrogates and the like as escapes; and what Python calls printable, though nobody sees it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


@lru_cache(maxsize=2**12)  # the same few, in texts of millions
def _shown(char: str) -> str:
    seen = char.isprintable() and char not in _UNSEEN
    return char if seen else char.encode("unicode_escape").decode("ascii")


def spell_time(time_ms: int | None, now_ms: int | None = None) -> str:
    if time_ms is None:
        return "an unknown time"
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
    ago = f" ({spell_duration(now_ms - time_ms)} ago)" if now_ms is not None and now_ms >= time_ms else ""
    return f"{moment:%Y-%m-%d %H:%M:%SZ}{ago}"


def duration_between(start_ms: int | None, end_ms: int | None) -> str | None:
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return spell_duration(end_ms - start_ms)


def signed_duration(span_ms: int) -> str:
    return ("+" if span_ms >= 0 else "-") + spell_duration(abs(span_ms))


def spell_duration(span_ms: int) -> str:
    if span_ms < 1000:
        return f"{span_ms} ms"
    for unit, size_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if span_ms >= 2 * size_ms:
            return f"{span_ms // size_ms} {unit}"
    return f"{span_ms / 1000:.1f} s" if span_ms < 10_000 else f"{span_ms // 1000} s"
