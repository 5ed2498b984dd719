"""Queries that read Kafka, restarted by real Spark with a real broker: whatever may stand in a line of the offset log
or in a source's first offsets, over topics to which anything happened, with other options.

    python -m tests.differential.sweep.kafka_sweep --spark 4.2.0 [--only initial]

A case is small: the files of its checkpoint, the options, what the broker said, and what Spark did. All of it is kept
in one line of `truths/<release>/kafka.jsonl`, and judged without Spark and without a broker.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from ckpttool import load_checkpoint, open_store
from ckpttool.kafka.base import Clusters
from ckpttool.kafka.lookup import Brokers, look_at_kafka
from ckpttool.releases import parse_release, since
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.differential.sweep import observe
from tests.differential.sweep.load import cases_file, lay
from tests.differential.sweep.restarts import error_of
from tests.differential.sweep.run import flatten, read, write
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.samples.process import JOBS, SparkProcess

SCRIPT = Path(__file__).parents[1] / "kafka_queries.py"
REPOSITORY = SCRIPT.parents[2]
T0 = 1_760_000_000_000
QUERY = "11111111-2222-3333-4444-555555555555"
Json = dict[str, Any]
Text = str | bytes | None  # None: there is no such file

# -- topics: made once, and only read afterwards -----------------------------------------------------------------------


def _trimmed(topics: Topics, name: str, before: int) -> None:
    topics.create(name)
    topics.fill(name, 30)
    topics.trim(name, before)


def _grown(topics: Topics, name: str, before: int = 0) -> None:
    topics.create(name)
    topics.fill(name, 20)
    topics.grow(name, 2)
    topics.fill(name, 5, 1)
    if before:
        topics.trim(name, before, 1)


def _in_transactions(*outcomes: str) -> Callable[[Topics, str], None]:
    def make(topics: Topics, name: str) -> None:
        topics.create(name)
        topics.fill_in_transactions(name, *outcomes)

    return make


def _compacted(topics: Topics, name: str) -> None:
    topics.create(name, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    topics.fill_and_compact(name, 30)


def _two(topics: Topics, name: str) -> None:
    topics.create(name, 2)
    topics.fill(name, 30)
    topics.fill(name, 9, 1)


def _filled(rows: int) -> Callable[[Topics, str], None]:
    def make(topics: Topics, name: str) -> None:
        topics.create(name)
        topics.fill(name, rows)

    return make


MADE: dict[str, Callable[[Topics, str], None]] = {
    "sound": _filled(30),
    "short": _filled(5),
    "empty": _filled(0),
    "two": _two,
    "aged": lambda topics, name: _trimmed(topics, name, 15),
    "agedfar": lambda topics, name: _trimmed(topics, name, 30),
    "agedlittle": lambda topics, name: _trimmed(topics, name, 3),
    "grown": _grown,
    "grownaged": lambda topics, name: _grown(topics, name, 2),
    "ended": _in_transactions("committed", "aborted", "committed"),
    "aborted": _in_transactions("committed", "aborted"),
    "open": _in_transactions("committed", "open", "committed"),
    "compacted": _compacted,
    "missing": lambda topics, name: None,  # noqa: ARG005
}
OFTEN = tuple(name for name in MADE if name not in ("ended", "aborted", "open", "compacted"))


# -- cases -------------------------------------------------------------------------------------------------------------


BEGUN = '\0v1\n{"{t}":{"0":0}}'


@dataclass(frozen=True)
class KafkaCase:
    """`ends`: the line of the source in each offsets file; `committed`: how many of the batches; `initial`: the first
    offsets, as bytes. `{t}` stands for the topic."""

    area: str
    what: str
    topic: str
    ends: tuple[Text, ...]
    committed: int
    initial: Text = BEGUN
    options: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    trigger: str = "available-now"

    @property
    def given(self) -> dict[str, str]:
        given = {key: self.filled(value) for key, value in self.options.items()}
        return (
            given if {"subscribePattern", "assign", "subscribe"} & given.keys() else {"subscribe": self.topic} | given
        )

    def filled(self, text: str) -> str:
        return text.replace("{t}", self.topic)

    @property
    def files(self) -> dict[str, str]:
        """Bytes as Latin-1, so that JSON can have them."""
        conf = json.dumps({"spark.sql.shuffle.partitions": "2"} | dict(self.conf), separators=(",", ":"))
        ends = [None if end is None else self.filled(str(end)) for end in self.ends]
        found = logs_of(ends, self.committed, conf)
        if self.initial is not None:
            initial = self.initial if isinstance(self.initial, str) else self.initial.decode("latin-1")
            found["sources/0/0"] = self.filled(initial)
        return found

    @property
    def id(self) -> str:
        told = [self.files, self.given, dict(self.conf), self.trigger]
        return f"kafka-{self.area}/{hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:10]}"


def logs_of(ends: Sequence[str | None], committed: int, conf: str) -> dict[str, str]:
    """The metadata and both logs of a query with one source, which was planned to these ends."""
    found = {"metadata": json.dumps({"id": QUERY})}
    for batch, end in enumerate(ends):
        head = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":{T0 + 60_000 * batch},"conf":{conf}}}'
        found[f"offsets/{batch}"] = head if end is None else f"{head}\n{end}"
    for batch in range(committed):
        found[f"commits/{batch}"] = 'v1\n{"nextBatchWatermarkMs":0}'
    return found


def at(offset: int, partition: int = 0, topic: str = "{t}") -> str:
    return json.dumps({topic: {str(partition): offset}}, separators=(",", ":"))


def both(first: int, second: int) -> str:
    return json.dumps({"{t}": {"0": first, "1": second}}, separators=(",", ":"))


LOSS: tuple[dict[str, str], ...] = ({}, {"failOnDataLoss": "false"})
LINES = (
    *("-", "", "{}", "null", "0", "7", "{", "[]", '"text"', "true", "1.5", " ", "{ }", "{'{t}':{'0':15}}"),
    *('{"{t}":null}', '{"{t}":{}}', '{"{t}":[15]}', '{"{t}":15}', '{"{t}":"15"}', '{"logOffset":3}'),
    *('{"{t}":{"0":null}}', '{"{t}":{"0":15.5}}', '{"{t}":{"0":"15"}}', '{"{t}":{"0":true}}', '{"{t}":{"0":1e1}}'),
    *('{"{t}":{"0":99999999999999999999}}', '{"{t}":{"0":-99999999999999999999}}', '{"{t}":{"0":9223372036854775807}}'),
    *('{"{t}":{"x":15}}', '{"{t}":{"00":15}}', '{"{t}":{"-1":15}}', '{"{t}":{"0 ":15}}', '{"{t}":{"99999999999":15}}'),
    *('{"{t}":{"0":-1}}', '{"{t}":{"0":-2}}', '{"{t}":{"0":-3}}', '{"{t}":{"0":0}}', '{"{t}":{"0":31}}'),
    *('{"{t}":{"0":15,"0":17}}', '{"{t}":{"0":15},"{t}":{"0":17}}', '{"{t}":{"0":15}} x', '{"{t}":{"0":15}}{}'),
    *('{"{t}":{"0":15,"9":3}}', '{"other":{"0":3}}', '{"{t}":{"0":15},"other":{"0":3}}', '{"{t}":{"0":15},}'),
    *(' {"{t}" : { "0" : 15 } } ', '{"{t}":{"0":015}}', '{"{t}":{"0":+15}}', '{"{t}":{"0":0x0f}}', '{"{t}":{"0":15}'),
    *('{"{T}":{"0":15}}', '{"":{"0":15}}', '{"{t}":{"0":15}}\n{"{t}":{"0":15}}', '{"{t}":{"0":{"a":1}}}', "\ufeff{}"),
)
INITIAL = (
    *(None, b"", b"\0", b"\0v1\n", b"v1\n", b"\0v1", b"\0v", b"\0v2\n{}", b"\0v0\n{}", b"\0vx\n{}", b"\0v01\n{}"),
    *(b"\0{}", b"\0v1\n{}", b"\0v1\nnull", b"\0v1\n-", b"\0v1\n7", b"\0garbage", b"v1\n{}", b"{}", b"x"),
    *(
        b'\0v1\n{"{t}":{"0":2}}',
        b'v1\n{"{t}":{"0":2}}',
        b'xv1\n{"{t}":{"0":2}}',
        b'\0{"{t}":{"0":2}}',
        b'{"{t}":{"0":2}}',
    ),
    *(b'\0v1\n{"{t}":{"0":2}}\n', b'\0\0v1\n{"{t}":{"0":2}}', b'\0v1\r\n{"{t}":{"0":2}}', b'\0v1\n\n{"{t}":{"0":2}}'),
    *(b'\0v1\n{"{t}":{"0":25}}', b'\0v1\n{"{t}":{"0":-2}}', b'\0v1\n{"{t}":{"0":-1}}', b'\0v1\n{"other":{"0":2}}'),
    *(b'\0v1\n{"{t}":{"0":null}}', b'\0v1\n{"{t}":{"0":2,"1":0}}', b'\0v1\n{"{t}":{}}', b'\0v1 \n{"{t}":{"0":2}}'),
)
# Where batch 1 ends, over the start at 10; judged by the two lines before any broker is.
RANGES = (
    *(
        (at(10), at(20)),
        (at(10), at(10)),
        (at(20), at(10)),
        (at(10), at(0)),
        (both(10, 5), at(20)),
        (at(10), both(20, 5)),
    ),
    *((both(10, 5), both(20, 9)), (both(10, 5), both(20, 3)), (at(10), at(20, 1)), (at(10), at(20, topic="{t}x"))),
    *((at(10, topic="{t}x"), at(20)), (at(40), at(50)), (at(10), at(40)), (both(10, 0), both(20, 0)), (at(10), "{}")),
    *(("{}", at(20)), ("{}", "{}"), (at(-2), at(20)), (at(-1), at(20)), (at(10), at(-1)), ("-", at(20)), (at(10), "-")),
)
OPTIONS: tuple[dict[str, str], ...] = (
    {"startingOffsets": "earliest"},
    {"startingOffsets": "latest"},
    {"startingOffsets": '{"{t}":{"0":3}}'},
    {"startingOffsets": "nonsense"},
    {"startingTimestamp": "0"},
    {"startingOffsetsByTimestamp": '{"{t}":{"0":0}}'},
    {"startingTimestamp": "0", "startingOffsetsByTimestampStrategy": "latest"},
    {"minPartitions": "3"},
    {"minPartitions": "0"},
    {"maxRecordsPerPartition": "2"},
    {"maxOffsetsPerTrigger": "4"},
    {"minOffsetsPerTrigger": "4"},
    {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "4"},
    {"maxTriggerDelay": "1s", "minOffsetsPerTrigger": "100"},
    {"includeHeaders": "true"},
    {"kafka.isolation.level": "read_committed"},
    {"kafka.group.id": "own"},
    {"groupIdPrefix": "own"},
    {"kafka.auto.offset.reset": "earliest"},
    {"kafka.enable.auto.commit": "true"},
    {"kafka.key.deserializer": "x"},
    {"endingOffsets": "latest"},
    {"subscribePattern": "{t}.*"},
    {"subscribePattern": "nothing-like-it"},
    {"assign": '{"{t}":[0]}'},
    {"assign": '{"{t}":[0,1]}'},
    {"assign": '{"{t}":[]}'},
    {"subscribe": "{t},{t}x"},
    {"subscribe": "missing"},
    {"subscribe": ""},
    {"subscribe": "{t}", "assign": '{"{t}":[0]}'},
    *({"fetchOffset.numRetries": one} for one in ("0", "-1", "1", "x")),
    {"fetchOffset.retryIntervalMs": "x"},
    {"failOnDataLoss": "maybe"},
)


# By which a query begins that has planned nothing yet. No record is as young as `FAR`.
FAR = "4102444800000"
STARTS: tuple[dict[str, str], ...] = (
    *({"startingOffsets": one} for one in ('{"{t}":{"0":-2}}', '{"{t}":{"0":99}}', '{"{t}":{"0":3,"9":1}}')),
    *({"startingOffsets": one} for one in ('{"other":{"0":3}}', '{"{t}":{}}', "{}", "Latest", "")),
    *({"startingTimestamp": one} for one in ("0", FAR, "-1", "x", "")),
    {"startingTimestamp": FAR, "startingOffsetsByTimestampStrategy": "latest"},
    {"startingTimestamp": FAR, "startingOffsetsByTimestampStrategy": "nonsense"},
    {"startingTimestamp": FAR, "startingOffsets": "earliest"},
    {"startingTimestamp": "0", "startingOffsets": '{"{t}":{"0":3}}'},
    *({"startingOffsetsByTimestamp": f'{{"{{t}}":{{{one}}}}}'} for one in ('"0":0', f'"0":{FAR}', '"0":0,"9":0', "")),
    {"startingOffsetsByTimestamp": f'{{"{{t}}":{{"0":{FAR}}}}}', "startingOffsetsByTimestampStrategy": "latest"},
    {"startingOffsetsByTimestamp": "nonsense"},
    {"startingOffsetsByTimestamp": '{"{t}":{"0":0}}', "startingTimestamp": FAR},
    *({"assign": one} for one in ('{"{t}":[0]}', '{"{t}":[9]}', '{"{t}":["0"]}', '{"{t}":0}', "{}", "x")),
    *({"subscribePattern": one} for one in ("{t}", "{t}.*", "[", "")),
    *({"includeHeaders": "maybe"}, {"minPartitions": "x"}, {"maxRecordsPerPartition": "0"}),
    *({"maxRecordsPerPartition": "x"}, {"maxOffsetsPerTrigger": "x"}, {"maxOffsetsPerTrigger": "0"}),
)
# What says which partitions are read, and how many tasks read them, where those are not what they were.
READ: tuple[dict[str, str], ...] = (
    *({"subscribePattern": "{t}.*"}, {"assign": '{"{t}":[0]}'}, {"assign": '{"{t}":[0,1]}'}),
    *({"minPartitions": "5"}, {"maxRecordsPerPartition": "2"}, {"includeHeaders": "true"}),
)


# What a query in real-time mode begins with. Its reader looks at nothing before it asks for a record.
REALTIME: dict[str, tuple[Text, ...]] = {
    "sound": (at(10), at(0), at(30), at(31), at(-2), at(-1), "-", "{}", '{"{t}":{"0":null}}', both(10, 5), at(5, 1)),
    "two": (both(10, 2), at(10), both(40, 2)),
    "short": (at(10),),
    "empty": (at(0), at(3)),
    "aged": (at(10), at(0), at(15)),
    "agedfar": (at(10), at(0)),
    "grown": (at(10),),
    "grownaged": (at(10), both(10, 1)),
    "missing": (at(10),),
}
# The sink that keeps nothing is not among those that real-time mode lets through.
ANY_SINK = {"spark.sql.streaming.realTimeMode.allowlistCheck": "false"}
REFUSED: tuple[dict[str, str], ...] = (
    *({"maxOffsetsPerTrigger": "4"}, {"minOffsetsPerTrigger": "4"}, {"minPartitions": "3"}),
    *({"endingTimestamp": "9"}, {"maxTriggerDelay": "1s"}, {"maxRecordsPerPartition": "2"}, {"subscribe": "missing"}),
)


def cases(spark: str) -> Iterator[KafkaCase]:
    yield from _lines()
    yield from _initial()
    yield from _ranges()
    yield from _topics()
    for options in OPTIONS:
        yield KafkaCase("options", str(options), "sound", (at(10), at(20)), 2, options=options)
        yield KafkaCase("options", f"replay {options}", "two", (both(10, 2), both(20, 4)), 1, options=options)
    yield from _gaps()
    yield from _starts()
    if parse_release(spark) >= since.REAL_TIME:
        yield from _realtime()


def _gaps() -> Iterator[KafkaCase]:
    """Offsets without a record: markers, what was aborted, what was compacted; and records that nobody may read yet."""
    for topic in ("ended", "aborted", "open"):
        for start, end in ((2, 8), (5, 6), (6, 10), (6, 12), (11, 12), (0, 17)):
            for isolation in ("read_committed", "read_uncommitted"):
                options = {"kafka.isolation.level": isolation}
                told = f"{topic} {start} to {end} {isolation}"
                yield KafkaCase("gaps", f"replay {told}", topic, (at(start), at(end)), 1, options=options)
        for reached in (6, 8, 12, 17, 18):
            for isolation in ("read_committed", "read_uncommitted"):
                options = {"kafka.isolation.level": isolation}
                yield KafkaCase(
                    "gaps", f"{topic} from {reached} {isolation}", topic, (at(reached),), 1, options=options
                )
    for start, end in ((2, 8), (0, 30), (29, 31)):
        yield KafkaCase("gaps", f"replay compacted {start} to {end}", "compacted", (at(start), at(end)), 1)
    for reached in (0, 3, 30, 32):
        yield KafkaCase("gaps", f"compacted from {reached}", "compacted", (at(reached),), 1)


def _starts() -> Iterator[KafkaCase]:
    for options in STARTS:
        yield KafkaCase("starts", f"fresh {options}", "sound", (), 0, None, options=options)
    for options in STARTS[::4]:
        yield KafkaCase("starts", f"fresh, two {options}", "two", (), 0, None, options=options)
        yield KafkaCase("starts", f"batch 0 again {options}", "sound", (at(10),), 0, None, options=options)
    for options in READ:
        for topic in ("grown", "grownaged", "aged", "compacted"):
            yield KafkaCase("starts", f"{topic} new {options}", topic, (at(5), at(10)), 2, options=options)
            yield KafkaCase("starts", f"{topic} replay {options}", topic, (at(5), at(10)), 1, options=options)


def _realtime() -> Iterator[KafkaCase]:
    for topic, starts in REALTIME.items():
        for start in starts:
            for loss in LOSS:
                yield _real_time(f"{topic} from {start!s} {loss}", topic, (start,), 1, options=loss)
    for end in (at(20), at(40), "{", "-"):
        yield _real_time(f"planned up to {end}", "sound", (at(10), end), 1)
    for initial in (None, b"x", b'\0v1\n{"{t}":{"0":2}}', b'\0v1\n{"{t}":{"0":40}}', b"\0v1\n{}"):
        yield _real_time(f"nothing planned, {initial!r}", "sound", (), 0, initial)
    for options in REFUSED:
        yield _real_time(str(options), "sound", (at(10), at(20)), 2, options=options)


def _real_time(
    what: str, topic: str, ends: tuple[Text, ...], committed: int, initial: Text = BEGUN, **more: Any
) -> KafkaCase:
    return KafkaCase("realtime", what, topic, ends, committed, initial, conf=ANY_SINK, trigger="real-time", **more)


def _lines() -> Iterator[KafkaCase]:
    for number, line in enumerate(LINES):
        loss = LOSS[number % 2]
        told = f"{line!r} {dict(loss)}"
        yield KafkaCase("offsets", f"new batch from {told}", "sound", (at(10), line), 2, options=LOSS[0])
        yield KafkaCase("offsets", f"replay up to {told}", "sound", (at(10), line), 1, options=loss)
        yield KafkaCase("offsets", f"replay from {told}", "sound", (line, at(20)), 1, options=LOSS[1 - number % 2])
        if number % 3 == 0:
            yield KafkaCase("offsets", f"first batch up to {told}", "sound", (line,), 0, options=loss)
            yield KafkaCase("offsets", f"new batch from {told}", "two", (both(10, 2), line), 2, options=loss)
    yield KafkaCase("offsets", "no line, replay", "sound", (at(10), None), 1)
    yield KafkaCase("offsets", "no line, new", "sound", (at(10), None), 2)


def _initial() -> Iterator[KafkaCase]:
    for number, initial in enumerate(INITIAL):
        told = repr(initial)
        yield KafkaCase("sources", f"nothing planned, {told}", "sound", (), 0, initial)
        yield KafkaCase("sources", f"batch 0 again, {told}", "sound", (at(10),), 0, initial)
        if number % 2:
            yield KafkaCase("sources", f"new batch, {told}", "sound", (at(10), at(20)), 2, initial)
            yield KafkaCase("sources", f"new batch, {told}", "sound", (at(10),), 1, initial, trigger="default")
        else:
            yield KafkaCase("sources", f"replay, {told}", "sound", (at(10), at(20)), 1, initial)
    for starting in ("earliest", "latest", '{"{t}":{"0":3}}'):
        given = {"startingOffsets": starting}
        yield KafkaCase("sources", f"none, {starting}", "sound", (), 0, None, options=given)
        yield KafkaCase("sources", f"none, batch 0 again, {starting}", "sound", (at(10),), 0, None, options=given)


def _ranges() -> Iterator[KafkaCase]:
    for start, end in RANGES:
        for loss in LOSS:
            told = f"{start} to {end} {loss}"
            yield KafkaCase("ranges", told, "two", (start, end), 1, options=loss)
        yield KafkaCase("ranges", f"{start} to {end}, both committed", "two", (start, end), 2)


def _topics() -> Iterator[KafkaCase]:
    for topic in OFTEN:
        for loss in LOSS:
            yield KafkaCase("topics", f"{topic} new batch {loss}", topic, (at(5), at(10)), 2, options=loss)
            yield KafkaCase("topics", f"{topic} replay {loss}", topic, (at(10), at(20)), 1, options=loss)
            yield KafkaCase("topics", f"{topic} two {loss}", topic, (both(5, 1), both(10, 2)), 2, options=loss)
        yield KafkaCase("topics", f"{topic} nothing planned", topic, (), 0)
        yield KafkaCase("topics", f"{topic} fresh", topic, (), 0, None)
        yield KafkaCase("topics", f"{topic} default trigger", topic, (at(5), at(10)), 2, trigger="default")


# -- restarting --------------------------------------------------------------------------------------------------------


class Restarts:
    """One Spark, which runs the cases one after the other."""

    def __init__(self, spark: str, topics: Topics, folder: Path) -> None:
        self.spark, self.topics, self.folder = spark, topics, folder
        path = [JOBS.parent, REPOSITORY]
        self.running = SparkProcess(spark, ("kafka",), script=SCRIPT, path=path, brings_broker=False)

    def __enter__(self) -> Restarts:
        return self

    def __exit__(self, *_: object) -> None:
        self.running.__exit__(None, None, None)

    def case(self, case: KafkaCase) -> Json:
        checkpoint = self.folder / case.id.replace("/", "-")
        lay(case.files, checkpoint)
        told = self.asked(case, checkpoint)
        before = logs(checkpoint)
        sources = [{"kafka.bootstrap.servers": self.topics.address} | case.given]
        done = self.running.run(
            {
                "checkpoint": str(checkpoint),
                "sources": sources,
                "sink": "noop",
                "trigger": case.trigger,
                "conf": dict(case.conf),
            }
        )
        assert done["error"] is None, done
        return {
            "id": case.id,
            "group": f"kafka/{case.area}",
            "told": case.what,
            "files": case.files,
            "restart": {"options": case.given, "conf": dict(case.conf), "trigger": case.trigger},
            "kafka": told,
            "truth": truth_of(done, before, logs(checkpoint), replans=case.trigger == "real-time"),
        }

    def asked(self, case: KafkaCase, checkpoint: Path) -> Json:
        """What the broker says just before the restart, as the command asks it."""
        evidence = gather_evidence(load_checkpoint(open_store(str(checkpoint)), any_place=True))
        scene = Scene(evidence, Start(parse_release(self.spark), None, case.conf, case.given))
        told = look_at_kafka(scene, Brokers(Clusters(self.topics.address)))
        answers = json.dumps(to_builtins(told.answers, str_keys=True))
        loaded: Json = json.loads(answers.replace(self.topics.address, "broker:9092"))
        return loaded


def logs(checkpoint: Path) -> dict[str, dict[int, tuple[int, int]]]:
    return {log: observe.written(checkpoint / log) for log in ("offsets", "commits")}


def truth_of(done: Json, before: Any, after: Any, *, replans: bool = False) -> Json:
    """In the words of a prediction; of the batches that ran, how many rows each got. `replans`: real-time mode, which
    deletes what it finds without a commit."""
    ran = sorted(batch for batch, file in after["commits"].items() if before["commits"].get(batch) != file)
    following = max(before["commits"], default=-1) + 1
    rows = {number: read["rows"] for number, read in done["batches"].items()}
    assert done["causes"] or not done["failed"], done  # else it was not Spark that failed
    truth: Json = {"outcome": "nothing", "batch_id": None, "phase": None, "error": None, "ran": ran, "rows": rows}
    if ran:
        was_planned = ran[0] in before["offsets"] and not replans
        fresh = not before["offsets"] and not before["commits"]
        truth["outcome"] = "replay" if was_planned else "fresh_start" if fresh else "new_batch"
        truth["batch_id"] = ran[0]
    elif done["causes"]:
        truth |= {"outcome": "error", "phase": done["failed"]}
        truth["batch_id"] = following if done["failed"] == "batch" else None
    if done["causes"]:
        truth["later_error" if ran else "error"] = _error(done["causes"])
    planned = [batch for batch in after["offsets"] if batch not in before["offsets"]]
    return truth | {"planned": planned}


def _error(causes: list[Json]) -> Json:
    told = error_of(causes, None)
    return {"class": told["class"], "condition": told["condition"], "message": (told["message"] or "")[:300]}


# -- running -----------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", required=True)
    parser.add_argument("--only", default="", help="cases with this in their area")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after them")
    options = parser.parse_args()
    target = cases_file(options.spark, "kafka")
    kept = read(options.spark, "kafka")
    todo = {case.id: case for case in cases(options.spark) if options.only in case.area and case.id not in kept}
    began, outcomes = time.monotonic(), Counter[str]()
    with Broker() as broker, tempfile.TemporaryDirectory(prefix="ckpttool-kafka-") as folder:
        topics = Topics(broker.address)
        for name, make in MADE.items():
            make(topics, name)
        with Restarts(options.spark, topics, Path(folder)) as restarts, target.open("a") as out:
            for count, case in enumerate(todo.values(), 1):
                if time.monotonic() > began + options.seconds:
                    break
                done = restarts.case(case)
                outcomes[done["truth"]["outcome"]] += 1
                out.write(flatten(done) + "\n")
                out.flush()
                if count % 25 == 0 or count == len(todo):
                    print(f"{count} of {len(todo)}, {time.monotonic() - began:.0f} s, {dict(outcomes)}", flush=True)
    write(options.spark, "kafka", read(options.spark, "kafka"))


if __name__ == "__main__":
    main()
