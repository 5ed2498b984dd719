"""Queries that read a Delta table, whose commits are of every kind: what each range of the query holds, and with which
options it is started again.

The table is data, too: `ops` has one word per version (see `queries.OPERATIONS`); a version that it does not name is an
append. What stands behind a `+` comes after the commit and makes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.differential.sweep.bases import Base, has_delta, query, since

Json = dict[str, Any]
IGNORES = ("ignoreChanges", "ignoreDeletes", "skipChangeCommits", "ignoreFileDeletion")
CDF = {"delta.enableChangeDataFeed": "true"}
MAPPED = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def reading(ops: str = "", sink: str = "each", *, fail_in: Any = None, **more: Any) -> Json:
    """`ops`: blanks between them; a `-` for an append."""
    asked = query("delta", "stateless", sink, ops=ops.split(), **more)
    return asked if fail_in is None else asked | {"fail_in": fail_in}


def given(**reader: str | None) -> Json:
    """Another restart: with this option of the source, or (None) without one that it had."""
    return {"reader": reader}


def ignoring(*names: str) -> tuple[Json, ...]:
    return tuple(given(**{name: "true"}) for name in names or IGNORES)


def heeding(option: str, *instead: str) -> tuple[Json, ...]:
    """Without the option that the query had, and with another one in its place."""
    return given(**{option: None}), *(given(**{option: None, other: "true"}) for other in instead)


OTHERWISE = (
    given(startingVersion="2"),
    given(failOnDataLoss="false"),
    given(readChangeFeed="true"),
    given(excludeRegex="part-00000"),
    given(maxFilesPerTrigger="2"),
    given(maxBytesPerTrigger="1"),
)
CHANGES = (
    *ignoring("ignoreChanges", "skipChangeCommits"),
    *OTHERWISE,
    given(startingVersion="99"),
    given(startingTimestamp="2001-01-01"),
)


def live(name: str, asked: Json, *changes: Json, files: int = 4, **more: Any) -> Base:
    """Started with one version and again after each, so every batch is one version."""
    return Base(f"table-{name}", asked, files=files, starts=files, grows=1, changes=changes, suite="tables", **more)


def loading(name: str, asked: Json, *changes: Json, **more: Any) -> Base:
    """Stopped within the table's first snapshot, of one file a version."""
    stopped: Json = {"make": "committed", "commits": 2}
    return Base(f"table-{name}", asked, files=6, changes=changes, suite="tables", **(stopped | more))


# Other releases are tried on others of their kind.
ON_ONE_RELEASE = (
    *("loading-compacted", "loading-checkpointed", "loading-updated", "merge-ahead", "merge-last", "merge-replay"),
    *("old-checkpointed-last", "old-checkpointed-replay", "old-vacuumed-replay", "optimize-ahead", "optimize-last"),
    *("overwrite-ahead", "overwrite-last", "property-ahead", "replace-ahead", "restore-ahead", "restore-last"),
    *("tracked", "tracked-drop", "tracked-rename", "truncate-ahead", "update-delta-replay", "update-older"),
    *("update-replay", "vector-ahead", "vector-last"),
)


def table_bases(spark: str) -> Iterator[Base]:
    for base in _every(spark) if has_delta(spark) else ():
        if since(spark, "4.2") or base.name.removeprefix("table-") not in ON_ONE_RELEASE:
            yield base


def _every(spark: str) -> Iterator[Base]:
    yield live("appends", reading(), *CHANGES)
    yield live("appends-delta", reading(sink="delta"), given(failOnDataLoss="false"))
    yield from _changed()
    yield from _fed()
    yield from _loading()
    yield from _schemas()
    yield from _old()
    if since(spark, "4.2"):
        v2 = {"spark.sql.streaming.offsetLog.formatVersion": "2"}
        yield live("offsets-v2", reading(), given(failOnDataLoss="false"), conf=v2)
        yield live("offsets-v2-replay", reading(fail_in=["before", 3]), conf=v2)


def _changed() -> Iterator[Base]:
    """Commits that take files: ahead of the query, in its last range, and in the range that it has to repeat."""
    yield live("update-ahead", reading("- - - - update"), *ignoring())
    yield live("delete-ahead", reading("- - - - delete"), *ignoring())
    yield live("merge-ahead", reading("- - - - merge"), *ignoring("ignoreDeletes", "ignoreFileDeletion"))
    words = {"update": "ignoreChanges", "delete": "ignoreDeletes", "merge": "skipChangeCommits"}
    for op, option in words.items():
        reader = {option: "true"}
        other = "ignoreChanges" if option == "skipChangeCommits" else "skipChangeCommits"
        yield live(f"{op}-last", reading(f"- - - {op}", reader=reader), *heeding(option, other, "ignoreDeletes"))
        replayed = reading(f"- - - {op}", reader=reader, fail_in=["before", 3])
        yield live(f"{op}-replay", replayed, *heeding(option, other))
    heedless, heeds = {"ignoreChanges": "true"}, heeding("ignoreChanges")
    yield live("update-older", reading("- - update -", reader=heedless), *heeds)
    yield live("update-delta-replay", reading("- - - update", "delta", reader=heedless))
    yield live("overwrite-ahead", reading("- - - - overwrite"), *ignoring("ignoreDeletes", "skipChangeCommits"))
    yield live("overwrite-last", reading("- - - overwrite", reader=heedless), *heeds)
    yield live("optimize-ahead", reading("- - - - optimize"))
    yield live("optimize-last", reading("- - - optimize"), given(failOnDataLoss="false"))
    vectors = reading("three - - - one", properties=VECTORS)
    yield live("vector-ahead", vectors, *ignoring("ignoreDeletes", "ignoreChanges"))
    passed = reading("three - - one", properties=VECTORS, reader=heedless)
    yield live("vector-last", passed, *heeding("ignoreChanges", "skipChangeCommits"))
    yield live("replace-ahead", reading("- - - - replace"), *ignoring("ignoreChanges", "skipChangeCommits"))
    yield live("restore-ahead", reading("- - - - restore"), *ignoring("ignoreDeletes"))
    yield live("restore-last", reading("- - - restore", reader=heedless), *heeds)
    yield live("truncate-ahead", reading("- - - - truncate"), *ignoring("ignoreDeletes", "skipChangeCommits"))


def _fed() -> Iterator[Base]:
    """By the change feed."""
    feed = {"readChangeFeed": "true"}
    away = given(readChangeFeed=None)
    yield live("feed", reading("- - update delete", properties=CDF, reader=feed), away, given(startingVersion="2"))
    yield live("feed-replay", reading("- - - update", properties=CDF, reader=feed, fail_in=["before", 3]), away)
    yield live("feed-off-ahead", reading("- - - - feed-off", properties=CDF, reader=feed), away)
    yield live("feed-off-on", reading("- - - - feed-off feed-on", properties=CDF, reader=feed), away, more=2)
    stopped = reading("- - - - feed-off", properties=CDF, reader=feed, fail_in=["before", 3])
    yield live("feed-off-replay", stopped, away)
    yield live("feed-never", reading(), given(readChangeFeed="true"), given(readChangeData="true"))
    late = reading("- - update -", properties=CDF, reader={"ignoreChanges": "true"})
    yield live("feed-gone-on", late, given(readChangeFeed="true"))


def _loading() -> Iterator[Base]:
    one_by_one = {"maxFilesPerTrigger": "1"}
    yield loading("loading", reading(reader=one_by_one), *OTHERWISE)
    yield loading(
        "loading-optimized", reading("- - - - - - optimize+vacuum", reader=one_by_one), *ignoring("ignoreChanges")
    )
    yield loading("loading-compacted", reading("- - - - - - optimize", reader=one_by_one))
    yield loading(
        "loading-deleted",
        reading("- - - - - - delete+vacuum", reader=one_by_one),
        *ignoring("ignoreDeletes", "skipChangeCommits"),
    )
    yield loading(
        "loading-updated",
        reading("- - - - - - update", reader=one_by_one),
        *ignoring("ignoreChanges", "skipChangeCommits"),
    )
    yield loading("loading-checkpointed", reading("- - - -+checkpoint - -", reader=one_by_one))
    failed = reading(reader=one_by_one, fail_in=["before", 2])
    yield loading("loading-replay", failed, make=None, commits=1)
    vacuumed = reading("- - - - - - optimize+vacuum", reader=one_by_one, fail_in=["before", 2])
    yield loading("loading-replay-vacuumed", vacuumed, make=None, commits=1)
    yield loading("loading-feed", reading(properties=CDF, reader=one_by_one | {"readChangeFeed": "true"}))


def _schemas() -> Iterator[Base]:
    yield live("column-ahead", reading("- - - - add-column"), given(failOnDataLoss="false"))
    yield live("column-later", reading("- - - - add-column -"), more=2)
    yield live("rename-ahead", reading("- - - - rename-column", properties=MAPPED), *ignoring("skipChangeCommits"))
    yield live("drop-ahead", reading("- - - - drop-column", properties=MAPPED))
    tracked = {"schemaTrackingLocation": "{checkpoint}/_schemas"}
    untracked = given(schemaTrackingLocation=None)
    yield live("tracked", reading(properties=MAPPED, reader=tracked), untracked)
    yield live("tracked-rename", reading("- - - - rename-column", properties=MAPPED, reader=tracked), untracked)
    yield live("tracked-drop", reading("- - - - drop-column", properties=MAPPED, reader=tracked), untracked)
    yield live("property-ahead", reading("- - - - feed-on"), given(failOnDataLoss="false"))


def _old() -> Iterator[Base]:
    """With a checkpoint of the log, so that older commits can go as they do with time."""
    keep_on = given(failOnDataLoss="false")
    yield live("old-checkpointed", reading("- - -+checkpoint - -"), keep_on, files=5)
    yield live("old-checkpointed-last", reading("- - - -+checkpoint -"), keep_on)
    replayed = reading("- - -+checkpoint - -", fail_in=["before", 4])
    yield live("old-checkpointed-replay", replayed, keep_on, files=5)
    yield live("old-vacuumed", reading("- - - - optimize+vacuum"), keep_on)
    yield live("old-vacuumed-replay", reading("- - - - optimize+vacuum", fail_in=["before", 3]), keep_on)
