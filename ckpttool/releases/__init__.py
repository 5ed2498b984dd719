"""Spark's releases: how they are spelled, and which ones are known. What changed in which of them is in `since`."""

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
# The oldest and the newest release that restarts are predicted for.
OLDEST: Release = (2, 4, 0)
NEWEST: Release = (4, 3, 0)
# Older releases do not start on the Java of the others: what is said of them is read from their source.
OLDEST_RUN: Release = (3, 3, 0)
# The same of queries that read Delta tables.
OLDEST_DELTA_RUN: Release = (3, 5, 0)
# The oldest release that crash tests run.
OLDEST_CRASHED: Release = (3, 5, 0)
# Before and after every release.
ALWAYS: Release = (0, 0, 0)
FOREVER: Release = (99, 0, 0)

# Runs of releases that write the same set of pinned confs: first and last known release of each run. A checkpoint may
# stem from releases that are too old for a prediction.
WRITERS: tuple[tuple[Release, Release], ...] = (
    ((2, 1, 0), (2, 1, 3)),
    ((2, 2, 0), (2, 2, 3)),
    ((2, 3, 0), (2, 3, 4)),
    ((2, 4, 0), (2, 4, 8)),
    ((3, 0, 0), (3, 0, 3)),
    ((3, 1, 0), (3, 1, 3)),
    ((3, 2, 0), (3, 2, 1)),
    ((3, 2, 2), (3, 5, 3)),
    ((3, 5, 4), (3, 5, 4)),
    ((3, 5, 5), (3, 5, 8)),
    ((4, 0, 0), (4, 0, 4)),
    ((4, 1, 0), (4, 1, 3)),
    ((4, 2, 0), (4, 2, 1)),
    ((4, 3, 0), (4, 3, 0)),
)


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


def last_before(release: Release) -> Release:
    """The newest patch of the line that a change put an end to."""
    return max(last for _, last in WRITERS if last < release)
