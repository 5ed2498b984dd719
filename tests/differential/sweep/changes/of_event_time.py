"""Changes of windows, watermarks, sessions and joins."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.sweep.changes.catalogue import Base, Change
from tests.differential.sweep.changes.of_sources import IN2, UNWRITTEN
from tests.differential.sweep.changes.of_state import SUM, WHOLE, N
from tests.differential.sweep.changes.query import Asked, From

FIVE, HOUR = ("ts", "5 seconds"), ("ts", "1 hour")
TEN = ("window(ts, '10 seconds')", "k")
WINDOWED = Asked(watermark=FIVE, keys=TEN, values=(N,))
WINDOW = Base("window", WINDOWED)
WINDOW_UPDATE = Base("window-update", WINDOWED.but(mode="update"))
WINDOW_ROCKSDB = Base("window-rocksdb", WINDOWED, WHOLE)
SESSIONS = Asked(watermark=FIVE, keys=("session_window(ts, '3 seconds')", "k"), values=(N,))
SESSION = Base("session", SESSIONS)
IDS = Asked(watermark=FIVE, dedup=("id", "ts"), select=("id", "k"))
DEDUP_TIMED = Base("dedup-timed", IDS)
WITHIN = Base("within", Asked(watermark=FIVE, dedup=("id",), within=True, select=("id", "k")), since="3.5")
CHAINED = Base("dedup-window", WINDOWED.but(dedup=("id", "ts")))
NEAR = "l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL 4 SECONDS AND l.ts + INTERVAL 4 SECONDS"
PAIRS = Asked((From(), IN2), watermark=FIVE, join=("inner", NEAR), select=("l.id AS l", "r.id AS r"))
JOIN = Base("join", PAIRS)
OUTER = Base("join-outer", PAIRS.but(join=("left_outer", NEAR)))

GOES_BY = "the watermark never goes back, and what came too late before is gone"
OPEN = "windows that were open and get no more rows are never written"
TWICE = "what was written before comes once more"
GROWS = "nothing removes state any more"
EVICTED = "windows that were removed from the state are missing"
SHIFTED = "the watermark jumps, and closes windows that were open"
FORGOTTEN = "what was removed from the state comes again"
MIXED = "what is stored was kept by the old rule"


def event_time_changes() -> Iterator[Change]:
    yield from _watermarks()
    yield from _windows()
    yield from _updating_windows()
    yield from _sessions()
    yield from _unique()
    yield from _joins()


def _watermarks() -> Iterator[Change]:
    for base in (WINDOW, WINDOW_UPDATE):
        query = base.query
        yield base.to("delay-longer", query.but(watermark=HOUR), "watermark-delay-changed", kept=GOES_BY)
        shorter = query.but(watermark=("ts", "1 second"))
        yield base.to("delay-shorter", shorter, "watermark-delay-changed", kept=GOES_BY)
        yield base.to("watermark-removed", query.but(watermark=None), "watermark-removed", lost=GROWS)
    later = WINDOWED.but(watermark=("ts2", "5 seconds"), keys=("window(ts2, '10 seconds')", "k"))
    both = ("watermark-column-changed", "state-meaning-changed")
    yield WINDOW.to("other-column", later, *both, lost=SHIFTED)


def _windows() -> Iterator[Change]:
    to, query = WINDOW.to, WINDOWED
    yield to("longer", query.but(keys=("window(ts, '20 seconds')", "k")), "window-changed", lost=MIXED)
    yield to("shorter", query.but(keys=("window(ts, '5 seconds')", "k")), "window-changed", lost=MIXED)
    shifted = "window(ts, '10 seconds', '10 seconds', '3 seconds')"
    yield to("offset", query.but(keys=(shifted, "k")), "window-changed", lost=MIXED)
    yield to("sliding", query.but(keys=("window(ts, '10 seconds', '5 seconds')", "k")), "window-changed")
    yield to("update", query.but(mode="update"), "output-mode-changed", lost=OPEN)
    yield to("complete", query.but(mode="complete"), "output-mode-changed", lost=EVICTED)
    yield to("key-added", query.but(keys=(*TEN, "g")), "state-key-changed")
    yield to("key-removed", query.but(keys=TEN[:1]), "state-key-changed")
    yield to("value-added", query.but(values=(N, SUM)), "state-value-changed")
    yield to("value-other", query.but(values=("count_if(v > 3) AS n",)), "state-meaning-changed")
    yield to("dedup-below", query.but(dedup=("id", "ts")), "operator-added")
    above = query.but(above=("window.start", "sum(n) AS n"), mode="append")
    yield to("sum-above", above, "operator-added", "operators-moved")
    plain = query.but(keys=(), values=(), select=("id", "k"))
    yield to("to-stateless", plain, "operator-removed", lost=OPEN)
    yield to("to-dedup", plain.but(dedup=("id", "ts")), "operator-replaced")
    sessions = query.but(keys=("session_window(ts, '3 seconds')", "k"))
    yield to("to-session", sessions, "operator-replaced")
    yield to("other-directory", query.reading(folder="in2"), "source-place-changed", lost=TWICE)
    yield to("other-directory-filled", query.reading(folder="in3"), "source-place-changed", lost=TWICE)
    yield to("filtered", query.but(where="v > 3"), "plan-changed", kept="what was counted before stays counted")
    yield to("to-files", query.but(sink="json"), "sink-kind-changed", lost="what was written before is elsewhere")
    on_rocksdb = WINDOW_ROCKSDB.to
    yield on_rocksdb("longer", query.but(keys=("window(ts, '20 seconds')", "k")), "window-changed", lost=MIXED)
    yield on_rocksdb("sliding", query.but(keys=("window(ts, '10 seconds', '5 seconds')", "k")), "window-changed")
    yield on_rocksdb("update", query.but(mode="update"), "output-mode-changed", lost=OPEN)
    two = CHAINED.query
    yield CHAINED.to("dedup-removed", two.but(dedup=()), "operator-removed", lost=UNWRITTEN)
    yield CHAINED.to("window-removed", IDS, "operator-removed", "operators-moved")
    yield CHAINED.to("dedup-columns", two.but(dedup=("id",)), "dedup-columns-changed")
    yield CHAINED.to("value-added", two.but(values=(N, SUM)), "state-value-changed")


def _updating_windows() -> Iterator[Change]:
    to, query = WINDOW_UPDATE.to, WINDOW_UPDATE.query
    yield to("append", query.but(mode="append"), "output-mode-changed", lost=TWICE)
    yield to("complete", query.but(mode="complete"), "output-mode-changed", lost=EVICTED)
    yield to("longer", query.but(keys=("window(ts, '20 seconds')", "k")), "window-changed", lost=MIXED)


def _sessions() -> Iterator[Change]:
    to, query = SESSION.to, SESSIONS
    yield to("gap-longer", query.but(keys=("session_window(ts, '7 seconds')", "k")), "gap-changed", lost=MIXED)
    yield to("gap-shorter", query.but(keys=("session_window(ts, '1 second')", "k")), "gap-changed", lost=MIXED)
    yield to("key-added", query.but(keys=(*query.keys, "g")), "state-key-changed")
    yield to("key-removed", query.but(keys=query.keys[:1]), "state-key-changed")
    yield to("value-added", query.but(values=(N, SUM)), "state-value-changed")
    yield to("to-window", query.but(keys=TEN), "operator-replaced")
    yield to("delay-longer", query.but(watermark=HOUR), "watermark-delay-changed", kept=GOES_BY)
    yield to("to-stateless", query.but(keys=(), values=(), select=("id", "k")), "operator-removed", lost=OPEN)


def _unique() -> Iterator[Change]:
    to, query = DEDUP_TIMED.to, IDS
    yield to("columns-swapped", query.but(dedup=("ts", "id")), "dedup-columns-changed")
    yield to("column-removed", query.but(dedup=("ts",)), "dedup-columns-changed")
    yield to("watermark-removed", query.but(watermark=None), "watermark-removed", lost=GROWS)
    yield to("delay-longer", query.but(watermark=HOUR), "watermark-delay-changed", kept=GOES_BY)
    yield to("to-within", query.but(within=True), "operator-replaced", since="3.5")
    yield to("to-window", WINDOWED, "operator-replaced")
    within, by_id = WITHIN.to, WITHIN.query
    yield within("column-added", by_id.but(dedup=("id", "k")), "dedup-columns-changed")
    yield within("delay-longer", by_id.but(watermark=HOUR), "watermark-delay-changed", kept=GOES_BY)
    yield within("to-dedup", by_id.but(within=False), "operator-replaced", lost=FORGOTTEN)
    yield within("removed", by_id.but(dedup=(), within=False), "operator-removed", lost=UNWRITTEN)


def _joins() -> Iterator[Change]:
    to, query = JOIN.to, PAIRS
    yield to("left-outer", query.but(join=("left_outer", NEAR)), "join-type-changed", lost=MIXED)
    yield to("full-outer", query.but(join=("full_outer", NEAR)), "join-type-changed", lost=MIXED)
    yield to("left-semi", query.but(join=("left_semi", NEAR), select=("id",)), "join-type-changed", lost=MIXED)
    wider = NEAR.replace("4", "9")
    yield to("wider", query.but(join=("inner", wider)), "join-condition-changed", lost=MIXED)
    more = f"{NEAR} AND l.v > r.v"
    yield to("condition-added", query.but(join=("inner", more)), "join-condition-changed", lost=MIXED)
    by_two = f"{NEAR} AND l.g = r.g"
    yield to("key-added", query.but(join=("inner", by_two)), "state-key-changed", "join-condition-changed")
    other = NEAR.replace("l.k = r.k", "l.g = r.k")
    yield to(
        "other-key", query.but(join=("inner", other)), "join-condition-changed", "state-meaning-changed", lost=MIXED
    )
    also = query.but(select=("l.id AS l", "r.id AS r", "l.v"))
    yield to("column-added", also, "state-value-changed")
    yield to("column-after", query.but(select=("l.id AS l", "r.id * 2 AS r")), "plan-changed")
    yield to("sides-swapped", query.but(sources=(IN2, From())), "sources-swapped")
    yield to("filtered", query.but(where="v > 3"), "plan-changed", kept="what was read before stays to be met")
    yield to("delay-longer", query.but(watermark=HOUR), "watermark-delay-changed", kept=GOES_BY)
    yield to("watermark-removed", query.but(watermark=None), "watermark-removed", lost=GROWS)
    union = query.but(join=None, select=("id AS l",))
    yield to("to-union", union, "operator-removed", lost=UNWRITTEN)
    yield OUTER.to("inner", PAIRS, "join-type-changed", lost=MIXED)
