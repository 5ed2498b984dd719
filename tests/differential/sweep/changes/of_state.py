"""Changes of aggregations, deduplications and limits: what their operators are, and what they keep."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.sweep.changes.catalogue import STREAMING, Base, Change
from tests.differential.sweep.changes.of_sources import ELSEWHERE, IN2, UNWRITTEN
from tests.differential.sweep.changes.query import COUNTER, SCHEMA, Asked, From
from tests.samples.catalogue import CHANGELOG, ROCKSDB

STORE = f"{STREAMING}stateStore."
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
CHECK_OFF = {f"{STORE}stateSchemaCheck": "false"}
WHOLE = ROCKSDB | {CHANGELOG: "false"}
N, SUM = "count(*) AS n", "sum(v) AS s"

COUNTED = Asked(keys=("k",), values=(N, SUM), mode="update")
BY_TWO = COUNTED.but(keys=("k", "g"))
COUNT = Base("count", COUNTED)
COUNT_TWO_KEYS = Base("count-two-keys", BY_TWO)
SUMS = Base("sums", COUNTED.but(values=("sum(id) AS i", "sum(v) AS s")))
SUM_ALONE = Base("sum", COUNTED.but(values=(SUM,)))
NOT_NULL_KEY = Base("count-not-null", COUNTED.but(keys=("coalesce(k, '') AS k",)))
ON_ROCKSDB = Base("count-rocksdb", COUNTED, WHOLE)
UNIQUE = Asked(dedup=("k", "g"), select=("id", "k", "g"))
DEDUP = Base("dedup", UNIQUE)
SEVEN = Asked(limit=7, select=("id", "k"))
LIMIT = Base("limit", SEVEN)

SEEN = "what was counted, and never let through, counts as seen"
OLD_STAYS = "what was counted before stays counted"
UNBOUNDED = "the count of rows that came through before goes on"


def state_changes() -> Iterator[Change]:
    yield from _keys()
    yield from _values()
    yield from _unchecked()
    yield from _operators()
    yield from _around()
    yield from _rocksdb()
    yield from _deduplications()
    yield from _limits()


def _keys() -> Iterator[Change]:
    to, query, key = COUNT.to, COUNTED, "state-key-changed"
    yield to("key-added", query.but(keys=("k", "g")), key)
    yield to("key-retyped", query.but(keys=("length(k) AS k",)), key)
    yield to("key-not-null", query.but(keys=("coalesce(k, '') AS k",)), "state-meaning-changed")
    yield to("key-renamed", query.but(keys=("k AS key",)), "state-field-renamed")
    yield to("key-other-expression", query.but(keys=("upper(k) AS k",)), "state-meaning-changed")
    yield to("key-other-column", query.but(keys=("g AS k",)), "state-meaning-changed")
    yield COUNT_TWO_KEYS.to("key-removed", BY_TWO.but(keys=("k",)), key)
    swapped, renamed = BY_TWO.but(keys=("g", "k")), BY_TWO.but(keys=("g AS k", "k AS g"))
    yield COUNT_TWO_KEYS.to("keys-swapped", swapped, "state-meaning-changed")
    yield COUNT_TWO_KEYS.to("keys-swapped-and-renamed", renamed, "state-meaning-changed")
    # From 4.3 on Spark takes it: there a key may be null whatever it was made of.
    yield NOT_NULL_KEY.to("key-nullable", COUNTED, key, lost="rows without a key do not meet what they were counted as")


def _values() -> Iterator[Change]:
    to, query, value = COUNT.to, COUNTED, "state-value-changed"
    yield to("value-added", query.but(values=(N, SUM, "max(id) AS m")), value)
    yield to("value-added-first", query.but(values=("max(id) AS m", N, SUM)), value)
    yield to("value-removed", query.but(values=(N,)), value)
    yield to("value-retyped", query.but(values=(N, "sum(cast(v AS double)) AS s")), value)
    yield to("values-reordered", query.but(values=(SUM, N)), value)
    yield to("sum-to-avg", query.but(values=(N, "avg(v) AS s")), value)
    yield to("sum-to-collect", query.but(values=(N, "collect_set(v) AS s")), value)
    yield to("value-renamed", query.but(values=("count(*) AS c", "sum(v) AS t")), "state-field-renamed")
    yield to("value-other-column", query.but(values=(N, "sum(id) AS s")), "state-meaning-changed")
    yield to("value-of-a-condition", query.but(values=(N, "sum(if(v > 3, v, 0)) AS s")), "state-meaning-changed")
    yield to("value-twice", query.but(values=(N, SUM, "sum(v) AS t")), "plan-changed")
    alone = SUM_ALONE.query
    yield SUM_ALONE.to("sum-to-max", alone.but(values=("max(v) AS s",)), "state-meaning-changed")
    yield SUM_ALONE.to("sum-to-count", alone.but(values=("count(v) AS s",)), "state-meaning-changed")
    yield SUM_ALONE.to("other-column", alone.but(values=("sum(id) AS s",)), "state-meaning-changed")
    both = ("sum(v) AS s", "sum(id) AS i")
    yield SUMS.to("values-swapped", SUMS.query.but(values=both), "state-meaning-changed")
    shown = {"select": ("k", "n", "s * 2 AS s")}
    yield to("column-after", query.but(**shown), "plan-changed")
    yield to("column-type", query.reading(schema=SCHEMA.replace("v LONG", "v INT")), "source-schema-changed")


def _unchecked() -> Iterator[Change]:
    to, query, off = COUNT.to, COUNTED, "state-check-off"
    # The value that goes is the last one: what is left lies where it lay.
    yield to("unchecked-removed", query.but(values=(N,)), "state-value-changed", off, conf=CHECK_OFF)
    as_double = query.but(values=(N, "sum(cast(v AS double)) AS s"))
    yield to("unchecked-retyped", as_double, "state-value-changed", off, conf=CHECK_OFF)
    yield to("unchecked-key-added", query.but(keys=("k", "g")), "state-key-changed", off, conf=CHECK_OFF)
    yield to("unchecked", query, off, conf=CHECK_OFF)


def _operators() -> Iterator[Change]:
    to, query = COUNT.to, COUNTED
    plain = query.but(keys=(), values=(), mode="append", select=("id", "k", "v"))
    yield to("to-stateless", plain, "operator-removed", lost=UNWRITTEN)
    yield to("to-dedup", plain.but(dedup=("k",)), "operator-replaced", lost=SEEN)
    yield to("to-limit", plain.but(limit=9), "operator-replaced")
    watermark = {"watermark": ("ts", "5 seconds")}
    windowed = query.but(keys=("window(ts, '10 seconds')", "k"), **watermark)
    yield to("to-window", windowed, "state-key-changed", "watermark-added")
    sessions = query.but(keys=("session_window(ts, '5 seconds')", "k"), **watermark, mode="append")
    yield to("to-session", sessions, "operator-replaced", "watermark-added")
    yield to("dedup-below", query.but(dedup=("id",)), "operator-added")
    yield to("filtered", query.but(where="v > 3"), "plan-changed", kept=OLD_STAYS)
    yield to("watermark", query.but(**watermark), "watermark-added", kept=OLD_STAYS)


def _around() -> Iterator[Change]:
    """Sources, sinks, modes and settings of a query with state."""
    to, query = COUNT.to, COUNTED
    yield to("source-added", query.but(sources=(From(), IN2)), "source-added")
    yield to("other-directory", query.reading(folder="in2"), "source-place-changed")
    counter = query.but(sources=(COUNTER,), drive="committed", values=(N, SUM))
    yield to("counter", counter, "source-kind-changed")
    yield to("complete", query.but(mode="complete"), "output-mode-changed")
    yield to("append", query.but(mode="append"), "output-mode-changed")
    yield to("noop", query.but(sink="noop"), "sink-kind-changed", lost=ELSEWHERE)
    yield to("once", query.but(drive="once"), "trigger-changed")
    yield to("partitions", query, conf={"spark.sql.shuffle.partitions": "5"})
    yield to("state-format", query, conf={f"{STREAMING}aggregation.stateFormatVersion": "1"})
    yield to("to-rocksdb", query, conf=WHOLE)
    yield to("watermark-policy", query, conf={f"{STREAMING}multipleWatermarkPolicy": "max"})
    yield to("compression", query, conf={f"{STORE}compression.codec": "zstd"})


def _rocksdb() -> Iterator[Change]:
    to, query = ON_ROCKSDB.to, COUNTED
    yield to("key-added", query.but(keys=("k", "g")), "state-key-changed")
    yield to("value-retyped", query.but(values=(N, "sum(cast(v AS double)) AS s")), "state-value-changed")
    yield to("value-other-column", query.but(values=(N, "sum(id) AS s")), "state-meaning-changed")
    plain = query.but(keys=(), values=(), mode="append", select=("id", "k", "v"))
    yield to("to-stateless", plain, "operator-removed", lost=UNWRITTEN)
    yield to("to-dedup", plain.but(dedup=("k",)), "operator-replaced", lost=SEEN)
    yield to("to-hdfs", query, conf={f"{STORE}providerClass": HDFS})
    yield to("with-changelog", query, conf={CHANGELOG: "true"}, since="3.5")
    retyped = query.but(values=(N, "sum(cast(v AS double)) AS s"))
    yield to("unchecked-retyped", retyped, "state-value-changed", "state-check-off", conf=CHECK_OFF)


def _deduplications() -> Iterator[Change]:
    to, query, columns = DEDUP.to, UNIQUE, "dedup-columns-changed"
    yield to("column-added", query.but(dedup=("k", "g", "v")), columns)
    yield to("column-removed", query.but(dedup=("k",)), columns)
    yield to("columns-swapped", query.but(dedup=("g", "k")), columns)
    yield to("column-retyped", query.but(columns=("id", "k", "v AS g")), columns)
    yield to("other-expression", query.but(columns=("id", "k", "upper(g) AS g")), "state-meaning-changed")
    yield to("output-column-added", query.but(select=("id", "k", "g", "v")), "plan-changed")
    yield to("removed", query.but(dedup=()), "operator-removed", lost=UNWRITTEN)
    counted = query.but(dedup=(), keys=("k", "g"), values=(N,), select=(), mode="update")
    yield to("to-count", counted, "operator-replaced")
    within = query.but(within=True, watermark=("ts", "5 seconds"))
    yield to("to-within", within, "operator-replaced", "watermark-added", since="3.5")
    yield to("watermark", query.but(watermark=("ts", "5 seconds")), "watermark-added")


def _limits() -> Iterator[Change]:
    to, query = LIMIT.to, SEVEN
    yield to("more", query.but(limit=20), "limit-changed", kept=UNBOUNDED)
    yield to("fewer", query.but(limit=3), "limit-changed", kept=UNBOUNDED)
    yield to("removed", query.but(limit=None), "operator-removed", lost=UNWRITTEN)
    yield to("to-dedup", query.but(limit=None, dedup=("k",)), "operator-replaced")
