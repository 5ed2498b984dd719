"""How numbers and names are put into a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_HISSES = ("ch", "sh", "s", "x", "z")


def counted(number: int, noun: str) -> str:
    """`1 batch`, `2 batches`, `3 entries`, `4 days`"""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_HISSES) else f"{noun}s"


def shown(text: str, limit: int = 60) -> str:
    """Something read from a file, short and printable, without the quotes that messages put around it."""
    return quote(text, limit)[1:-1]


def listed(names: Iterable[str], limit: int = 3) -> str:
    """`a, b, c and 4 more`"""
    every = [shown(name) for name in names]
    more = f" and {len(every) - limit:,} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def quote(text: str, limit: int = 60) -> str:
    """A short, printable rendering of something read from a file, for messages."""
    shown = text if len(text) <= limit else text[:limit] + "…"
    return "`" + shown.encode("unicode_escape").decode("ascii") + "`" if not shown.isprintable() else f"`{shown}`"


def enumerated(words: Iterable[str]) -> str:
    """`a, b and c`"""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def spell_gaps(gaps: Sequence[range]) -> str:
    """`3 is`, `3 to 5 are`, `3, 7 are`: the subject and verb of a sentence about missing numbers."""
    shown = [str(gap.start) if len(gap) == 1 else f"{gap.start} to {gap.stop - 1}" for gap in gaps[:5]]
    more = f" and {len(gaps) - 5} more gaps" if len(gaps) > 5 else ""
    return f"{', '.join(shown)}{more} {'is' if sum(map(len, gaps)) == 1 else 'are'}"


def spell_span(ms: int) -> str:
    """A length of time in the largest unit of which there are two: `3 years`, `5 days`, `47 hours`, `90 s`."""
    for noun, unit in (("year", 31_536_000_000), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        if ms >= 2 * unit:
            return counted(ms // unit, noun)
    return f"{ms // 1000} s"


def spell_batches(batches: Sequence[int]) -> str:
    if len(batches) == 1:
        return f"batch {batches[0]}"
    if len(batches) == 2:
        return f"batches {batches[0]} and {batches[1]}"
    if batches[-1] - batches[0] == len(batches) - 1:
        return f"batches {batches[0]} to {batches[-1]}"
    return f"{len(batches)} batches between {batches[0]} and {batches[-1]}"
