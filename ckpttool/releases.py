"""Spark's releases: how they are spelled, and which ones the rules know."""

from __future__ import annotations

from ckpttool.errors import NotFound

Release = tuple[int, int, int]

# The newest known patch of each minor release that restarts are predicted for.
NEWEST_PATCHES: dict[tuple[int, int], int] = {
    (2, 4): 8,
    (3, 0): 3,
    (3, 1): 3,
    (3, 2): 4,
    (3, 3): 4,
    (3, 4): 4,
    (3, 5): 8,
    (4, 0): 4,
    (4, 1): 3,
    (4, 2): 1,
    (4, 3): 0,
}
OLDEST: Release = (2, 4, 0)
NEWEST: Release = (4, 3, 0)
# Older releases do not start on the Java of the others: what is said of them is read from their source.
OLDEST_RUN: Release = (3, 3, 0)


def parse_release(text: str) -> Release:
    """`4.2.0`, or `4.2` for its newest known patch. Releases that nobody knows yet parse as well."""
    parts = text.split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
        raise NotFound(f"{text} is not a Spark release", "give X.Y or X.Y.Z, such as 4.2.0")
    numbers = tuple(map(int, parts))
    minor = (numbers[0], numbers[1])
    return (*minor, numbers[2] if len(numbers) == 3 else NEWEST_PATCHES.get(minor, 0))


def spell_release(release: Release) -> str:
    return ".".join(map(str, release))
