"""Changes of queries without state, and of sources and sinks of all."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.sweep.changes.catalogue import STREAMING, Base, Change
from tests.differential.sweep.changes.query import CLOCK, COUNTER, SCHEMA, Asked, From

IN2, IN3 = From("in2"), From("in3")
COLUMNS = ("id", "k", "v")
SELECT = Asked(select=COLUMNS)
TWO = Asked((From(), IN2), select=COLUMNS)
OFFSETS_2 = {f"{STREAMING}offsetLog.formatVersion": "2"}
NAMES_ON = {f"{STREAMING}queryEvolution.enableSourceEvolution": "true"}
NAMED = Asked((From(name="left"), From("in2", name="right")), select=COLUMNS)

STATELESS = Base("stateless", SELECT)
TO_FILES = Base("to-files", SELECT.but(sink="json"))
UNION = Base("union", TWO)
UNION_2 = Base("union-offsets-2", TWO, OFFSETS_2, since="4.2")
BY_NAME = Base("named", NAMED, NAMES_ON | OFFSETS_2, since="4.2")

ELSEWHERE = "what was written before is elsewhere"
UNWRITTEN = "what the removed operator held is never written, and it has no versions from here on"


def source_changes() -> Iterator[Change]:
    yield from _plans()
    yield from _files()
    yield from _sources()
    yield from _to_state()
    yield from _sinks()
    yield from _by_name()


def _plans() -> Iterator[Change]:
    to, query = STATELESS.to, SELECT
    yield to("filtered", query.but(where="v % 2 = 0"), "plan-changed")
    yield to("column-added", query.but(select=(*COLUMNS, "v * 2 AS w")), "plan-changed", "output-schema-changed")
    yield to("column-removed", query.but(select=("id", "k")), "plan-changed", "output-schema-changed")
    yield to("expression", query.but(select=("id", "upper(k) AS k", "v")), "plan-changed")
    yield to("other-function", query.but(writer="append_rows_again"), "batch-function-changed")
    yield to("named-query", query.but(name="orders"), "query-renamed")
    yield to("update", query.but(mode="update"), "output-mode-changed")
    yield to("complete", query.but(mode="complete"), "output-mode-changed")
    yield to("once", query.but(drive="once"), "trigger-changed")
    yield to("processing-time", query.but(drive="committed"), "trigger-changed")
    yield to("continuous", query.but(drive="continuous"), "mode-changed")
    yield to("partitions", query, conf={"spark.sql.shuffle.partitions": "5"})
    yield to("check-off", query, "state-check-off", conf={f"{STREAMING}stateStore.stateSchemaCheck": "false"})


def _files() -> Iterator[Change]:
    to, query = STATELESS.to, SELECT
    for name, options in {
        "max-files": {"maxFilesPerTrigger": "2"},
        "latest-first": {"latestFirst": "true"},
        "name-only": {"fileNameOnly": "true"},
        "max-age": {"maxFileAge": "1d"},
        "cleaned": {"cleanSource": "delete"},
        "recursive": {"recursiveFileLookup": "true"},
        "by-glob": {"pathGlobFilter": "*.json"},
    }.items():
        yield to(name, query.reading(options=options))
    for base, asked in ((STATELESS, query), (UNION, TWO)):
        yield base.to("other-directory", asked.reading(folder="in3"), "source-place-changed")
    covers = "the files of the directories that it covers now are new"
    yield to("more-directories", query.reading(folder="in*"), "source-place-changed", kept=covers)
    of_text = Asked((From(format="text", schema="value STRING"),), select=("value",))
    null = "the text is no JSON of this type, and comes as null"
    yield to("text", of_text, "source-schema-changed", lost="rows come in the other format")
    yield to("csv", query.reading(format="csv"), "source-schema-changed", lost="rows come in the other format")
    yield to("parquet", query.reading(format="parquet"), "source-schema-changed")
    wrong = SCHEMA.replace("k STRING", "k INT")
    yield to("type-wrong", query.reading(schema=wrong), "source-schema-changed", lost=null)
    wider = SCHEMA.replace("n INT", "n LONG")
    yield to("type-wider", query.reading(schema=wider), "source-schema-changed")
    yield to("schema-column-added", query.reading(schema=f"{SCHEMA}, more STRING"), "source-schema-changed")
    fewer = SCHEMA.replace("g STRING, ", "")
    yield to("schema-column-removed", query.reading(schema=fewer), "source-schema-changed")
    for name, numbers in {"counter": COUNTER, "rate": CLOCK}.items():
        yield to(name, query.but(sources=(numbers,), drive="committed"), "source-kind-changed")


def _sources() -> Iterator[Change]:
    one, two = STATELESS.to, UNION.to
    yield one("source-added", SELECT.but(sources=(From(), IN2)), "source-added")
    yield one("source-added-first", SELECT.but(sources=(IN2, From())), "source-added")
    yield one("source-twice", SELECT.but(sources=(From(), From())), "source-shared")
    joined = SELECT.but(sources=(From(), IN2), join=("inner", "l.k = r.k"), select=("l.id",))
    yield one("join-added", joined, "source-added", "operator-added")
    yield one("named", SELECT.reading(name="left"), "source-named", conf=NAMES_ON, since="4.2")
    yield two("third", TWO.but(sources=(From(), IN2, IN3)), "source-added")
    yield two("swapped", TWO.but(sources=(IN2, From())), "sources-swapped")
    yield two("first-removed", TWO.but(sources=(IN2,)), "source-removed")
    yield two("second-removed", TWO.but(sources=(From(),)), "source-removed")
    stub = From("in2", is_stub=True)
    yield two("second-as-stub", TWO.but(sources=(From(), stub)), "plan-changed")
    yield two("first-as-stub", TWO.but(sources=(From(is_stub=True), IN2)), "plan-changed")
    yield two("foreign", TWO.but(sources=(COUNTER, CLOCK), drive="committed"), "foreign-query")
    yield two("second-replaced", TWO.but(sources=(From(), COUNTER), drive="committed"), "source-kind-changed")
    yield two("named", NAMED, "source-named", conf=NAMES_ON, since="4.2")
    by_map = UNION_2.to
    anew = "the added source begins at its beginning"
    yield by_map("third", TWO.but(sources=(From(), IN2, IN3)), "source-added", lost=anew)
    yield by_map("swapped", TWO.but(sources=(IN2, From())), "sources-swapped")
    yield by_map("first-removed", TWO.but(sources=(IN2,)), "source-removed", lost="its offsets are the other's now")
    yield by_map("second-removed", TWO.but(sources=(From(),)), "source-removed", lost="its unread rows")


def _to_state() -> Iterator[Change]:
    to = STATELESS.to
    counted = SELECT.but(keys=("k",), values=("count(*) AS n",), select=(), mode="update")
    watermark = ("ts", "5 seconds")
    windows = ("window(ts, '10 seconds')", "k")
    windowed = SELECT.but(watermark=watermark, keys=windows, values=("count(*) AS n",), select=())
    yield to("count", counted, "operator-added")
    yield to("window", windowed, "operator-added", "watermark-added")
    yield to("dedup", SELECT.but(dedup=("k",)), "operator-added")
    yield to("limit", SELECT.but(limit=9), "operator-added")
    yield to("watermark", SELECT.but(watermark=watermark), "watermark-added")


def _sinks() -> Iterator[Change]:
    for base in (STATELESS, TO_FILES):
        query = base.query
        yield base.to("noop", query.but(sink="noop"), "sink-kind-changed", lost=ELSEWHERE)
        yield base.to("memory", query.but(sink="memory", name="rows"), "sink-kind-changed")
    yield STATELESS.to("files", SELECT.but(sink="json"), "sink-kind-changed", lost=ELSEWHERE)
    files = TO_FILES.query
    yield TO_FILES.to("function", files.but(sink="each"), "sink-kind-changed", lost=ELSEWHERE)
    yield TO_FILES.to("other-place", files.but(output="output2"), "sink-place-changed", lost=ELSEWHERE)
    yield TO_FILES.to("others-place", files.but(output="taken"), "sink-place-changed", lost="written nowhere")


def _by_name() -> Iterator[Change]:
    to, query = BY_NAME.to, NAMED
    left, right = query.sources
    third, other = From("in3", name="third"), From("in2", name="other")
    anew = "it was meant to begin at its beginning"
    yield to("swapped", query.but(sources=(right, left)), "sources-swapped")
    yield to("first-removed", query.but(sources=(right,)), "source-removed", lost="its unread rows")
    yield to("second-removed", query.but(sources=(left,)), "source-removed", lost="its unread rows")
    yield to("third", query.but(sources=(left, right, third)), "source-added", kept=anew)
    yield to("renamed", query.but(sources=(left, other)), "source-renamed")
    off = dict.fromkeys(NAMES_ON, "false")
    yield to("unnamed", TWO, "source-renamed", conf=off)
    yield to("unnamed-conf-on", TWO, "source-renamed")
