"""What was seen of a query, and under what it is started again; what follows from both is asked only here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.kafka import has_beginning
from ckpttool.formats import layout
from ckpttool.formats.names import parse_long
from ckpttool.model import Checkpoint, Finding, LogNames, Mode, OffsetLogEntry, Position, SparkError
from ckpttool.releases import Release, since
from ckpttool.scene.batches import Batch, SourceProgress
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.sinks import Logs, SinkEvidence, SinkView
from ckpttool.scene.state_chain import StateFiles
from ckpttool.storage.urls import is_local

if TYPE_CHECKING:
    from ckpttool.kafka.diff import KafkaEvidence
    from ckpttool.query.model import DescribedSource, Query
    from ckpttool.scene.around import Around
    from ckpttool.scene.inputs import InputEvidence
    from ckpttool.scene.windows import StoredWindows

Phase = Literal["start", "init", "batch"]
Trigger = Literal["default", "once", "available-now", "continuous", "real-time"]

ASYNC_OPTION = "asyncProgressTrackingEnabled"
SOCKET = "socket"
RATE = "rate"
SUBSCRIPTIONS = ("assign", "subscribe", "subscribePattern")
# What a scene may hold, or nobody has looked at. `state`: names and sizes of its files, `rows`: what is inside them.
# `query`: what is started. `fleet`: the checkpoints around, `around`: what else there is.
Part = Literal["logs", "batches", "clock", "state", "rows", "sinks", "inputs", "brokers", "query", "fleet", "around"]

PHASES: tuple[Phase, ...] = ("start", "init", "batch")  # in the order of time


class Failure(Struct, frozen=True):
    """How the start ends: the root cause's class, Spark's condition if it has one, the fixed part of the message, empty
    where all of it varies. `path`: the file that stops it, or the checkpoint. `law`: the one that is broken, where one
    check answers for several."""

    phase: Phase
    class_name: str
    condition: str | None
    message: str
    why: str
    batch_id: int | None = None
    sink_written_first: bool = False
    path: str = "."
    expected: str | None = None
    position: Position | None = None
    law: str = ""

    @property
    def spark(self) -> SparkError:
        return SparkError(self.class_name, self.condition)


class Doubt(Struct, frozen=True):
    """Why the files do not tell."""

    why: str


_OWN_LOG = ("file", "rate", "iceberg")
_OF_MANY = ("integer", "python", "unknown")  # what sources of several kinds write, or a damaged line looks like


class Start(Struct, frozen=True):
    """Under what the query is started again; what is not given is assumed to be as it was, or Spark's default.

    `options`: of the query as a whole, of which a source may have other ones. `of_sources`: by their keys, all that
    those are given which somebody described. `is_named`: whether somebody said which release of Apache Spark it is."""

    release: Release
    trigger: Trigger | None = None
    conf: Mapping[str, str] = {}
    options: Mapping[str, str] = {}
    is_named: bool = False
    of_sources: Mapping[str, Mapping[str, str]] = {}

    @property
    def async_progress(self) -> bool | None:
        given = self.option(ASYNC_OPTION)
        return None if given is None else given.strip().lower() == "true"

    @property
    def reads_kafka(self) -> bool:
        """By the options alone; a query that only writes to Kafka has those of the client too."""
        return self.subscribes or any(key.lower().startswith("kafka.") for key in self.options)

    @property
    def reads_event_hubs(self) -> bool:
        """By the connector of its own, whose offsets look like Kafka's; through the Kafka endpoint it is Kafka."""
        return any(key.lower().startswith("eventhubs.") for key in self.options)

    @property
    def reads_socket(self) -> bool:
        return self.option("host") is not None and self.option("port") is not None

    @property
    def reads_rate(self) -> bool:
        """Only the rate source has these options."""
        return self.option("rowsPerSecond") is not None or self.option("rampUpTime") is not None

    @property
    def subscribes(self) -> bool:
        """Only Kafka sources have these options."""
        return any(self.option(name) is not None for name in SUBSCRIPTIONS)

    def option(self, name: str) -> str | None:
        return option(self.options, name)

    def of(self, source: str) -> Start:
        """As one of its sources is started, named by its key. One that nobody described has what all are given."""
        own = self.of_sources.get(source)
        return self if own is None else replace(self, options=own)

    def given(self, key: str, value: str) -> Start:
        """With an option that the query and all of its sources are given."""
        of_sources = {source: _with(options, key, value) for source, options in self.of_sources.items()}
        return replace(self, options=_with(self.options, key, value), of_sources=of_sources)


def _with(options: Mapping[str, str], key: str, value: str) -> dict[str, str]:
    return {name: old for name, old in options.items() if name.lower() != key.lower()} | {key: value}


def option(options: Mapping[str, str], name: str) -> str | None:
    """Of the sources and the writer: Spark does not tell upper from lower case, and takes what was given last."""
    return {key.lower(): value for key, value in options.items()}.get(name.lower())


class NotLookedAt(Struct, frozen=True):
    part: Part
    what: str  # in words


class Scene(Struct, frozen=True):
    """What was looked at, and how the query is started again: all that a law, a prediction or a plan goes by.

    `states`: by version, the files of those that somebody looked at. `kafka`: what brokers said; None: nobody asked.
    `now_ms`: the time; None where nothing that is told depends on it. `query`: what is started, where that is
    described, and `was`: what was started before; else it is taken to be the same. `windows`: of those in its state
    that somebody looked at. `around`: what lies around its files. `unasked`: ids of laws that could not answer."""

    evidence: Evidence
    start: Start
    sinks: tuple[SinkEvidence, ...] = ()
    states: Mapping[int, StateFiles] = {}
    inputs: tuple[InputEvidence, ...] = ()
    kafka: KafkaEvidence | None = None
    now_ms: int | None = None
    query: Query | None = None
    was: Query | None = None
    windows: tuple[StoredWindows, ...] = ()
    around: Around | None = None
    unasked: frozenset[str] = frozenset()

    @property
    def release(self) -> Release:
        return self.start.release

    @property
    def checkpoint(self) -> Checkpoint:
        return self.evidence.checkpoint

    @property
    def root(self) -> str:
        return self.checkpoint.url

    @property
    def planned(self) -> int | None:
        """The highest offset file, as Spark counts them: names in another spelling count too."""
        return highest(self.checkpoint.offset_names)

    @property
    def committed(self) -> int | None:
        return highest(self.checkpoint.commit_names)

    @property
    def reached(self) -> int:
        """The highest batch that either log ever heard of, -1 if there is none."""
        return max((one for one in (self.planned, self.committed) if one is not None), default=-1)

    @property
    def is_on_databricks(self) -> bool:
        """A query that came from there is started there again, unless a release of Apache Spark is named."""
        return self.evidence.databricks is not None and not self.start.is_named

    @property
    def is_local(self) -> bool:
        """Only Hadoop's local file system keeps `.X.crc`, and trips over one that is left."""
        return is_local(self.checkpoint.url)

    @property
    def is_async(self) -> bool:
        given = self.start.async_progress
        return self.evidence.mode == "async" if given is None else given

    @property
    def may_be_async(self) -> bool:
        """Whether the hole below the newest offsets may be there by design, and nobody has said how the query runs:
        both logs lack the batch, and what lies above was planned later than what lies below. A copy under another
        number was not."""
        planned, lower = self.batch(self.planned), self.batch(self.previous_on_disk)
        if self.is_async or planned is None or lower is None:
            return False
        if planned.id - 1 in (lower.id, *self.checkpoint.commit_names.ids) or self.is_stateful:
            return False
        unsaid = self.start.async_progress is None and self.release >= since.ASYNC_PROGRESS
        return unsaid and (planned.planned_ms or 0) > (lower.planned_ms or 0)

    @property
    def is_continuous(self) -> bool:
        trigger = self.start.trigger
        return self.evidence.mode == "continuous" if trigger is None else trigger == "continuous"

    @property
    def is_realtime(self) -> bool:
        trigger = self.start.trigger
        return self.evidence.mode == "realtime" if trigger is None else trigger == "real-time"

    @property
    def mode(self) -> Mode:
        """How the query runs when it is started again, where the files may show how it ran before."""
        if self.evidence.mode == "dstreams":
            return "dstreams"
        modes: dict[Mode, bool] = {
            "continuous": self.is_continuous,
            "realtime": self.is_realtime,
            "async": self.is_async,
        }
        return next((mode for mode, holds in modes.items() if holds), "microbatch")

    def described(self, source: SourceProgress) -> DescribedSource | None:
        """The same in the query that is started."""
        sources = self.query.sources if self.query else ()
        if source.own_name:
            return next((one for one in sources if one.name == source.own_name), None)
        return next((one for one in sources if one.index == source.number), None)

    @property
    def is_stateful(self) -> bool:
        return self.evidence.is_stateful

    @property
    def has_state_ids(self) -> bool:
        """Checkpoint format 2: each commit names the state files that the next batch loads."""
        return any(commit.state_unique_ids for commit in self.checkpoint.commits.values())

    @property
    def operator_names(self) -> set[str | None]:
        return {operator.name for operator in self.checkpoint.operators}

    @property
    def previous(self) -> int | None:
        """The batch at whose end the newest begins: the one before; with asynchronous progress the next lower."""
        planned = self.planned
        if not planned:
            return None
        return self.previous_on_disk if self.is_async else planned - 1

    @property
    def previous_on_disk(self) -> int | None:
        planned = self.planned
        lower = [batch for batch in self.checkpoint.offset_names.ids if planned is not None and batch < planned]
        return lower[-1] if lower else None

    @property
    def is_replay(self) -> bool:
        planned, committed = self.planned, self.committed
        return planned is not None and (committed is None or committed != planned)

    @property
    def replays_as_logged(self) -> bool:
        """Real-time mode deletes offsets that have no commit, and plans anew; continuous processing goes by commits."""
        return self.is_replay and not self.is_realtime and not self.is_continuous

    @property
    def next_id(self) -> int:
        """The batch that comes next if nothing stands in its way. Real-time mode deletes offsets without a commit."""
        planned, committed = self.planned, self.committed
        if self.is_continuous or (self.is_realtime and self.is_replay):
            planned = committed
        elif self.is_replay:
            return planned or 0
        return 0 if planned is None else planned + 1

    @property
    def needed_state(self) -> StateFiles | None:
        """The files of the version that the next batch begins with; None if nobody looked at them."""
        return self.states.get(self.next_id)

    @property
    def not_looked_at(self) -> tuple[NotLookedAt, ...]:
        """What the next batch depends on besides, and nobody has looked at: an answer holds but for that."""
        return tuple(self._not_looked_at()) if self.evidence.mode != "dstreams" else ()

    def _not_looked_at(self) -> Iterator[NotLookedAt]:
        if self.is_stateful and self.planned is not None and not self.is_continuous:
            if self.needed_state is None:
                yield NotLookedAt("state", "the files of its state")
            elif self.needed_state.mode == "quick":
                yield NotLookedAt("rows", "what is inside the files of its state")
        if not self.sinks:
            yield NotLookedAt("sinks", "its sink")
        if "kafka" in self.kinds and self.kafka is None:
            yield NotLookedAt("brokers", "what Kafka still has")
        if not self.inputs and (
            self.kinds & {"delta", "iceberg", "hudi"} or ("file" in self.kinds and self.replays_as_logged)
        ):
            yield NotLookedAt("inputs", "what it reads")
        for folder in dict.fromkeys(folder for one in self.inputs for folder in one.not_looked_at):
            yield NotLookedAt("inputs", f"what it reads in {folder}")

    @property
    def kinds(self) -> set[str]:
        """Of the sources that the newest offsets have a line for; before there are any, by the options."""
        newest = self.evidence.newest
        if newest is None:
            if self.start.reads_event_hubs:
                return {"eventhubs"}
            began = any(self._began_in_kafka(log.name) for log in self.checkpoint.source_logs)
            return {"kafka"} if self.start.reads_kafka or began else set()
        return {kind for source in newest.sources if (kind := self.kind_of(source))}

    def kind_of(self, source: SourceProgress) -> str | None:
        """A kind that was known once is kept: a damaged line changes nothing. By the log that the source itself keeps,
        else by the newest of its offsets that only one kind writes, else by the options of a query that has no other
        source. What subscribes, or began as Kafka's sources do, is Kafka's whatever its lines look like."""
        alone = self.evidence.newest is not None and len(self.evidence.newest.sources) == 1
        if alone and self.start.reads_event_hubs:
            return "eventhubs"
        if self._began_in_kafka(source.key) or (alone and self.start.subscribes):
            return "kafka"
        logs = [log.kind for log in self.checkpoint.source_logs if log.name == source.key and log.kind in _OWN_LOG]
        lines = self.evidence.kinds_told.get(source.key, ())
        told = next((kind for kind in (*logs, *lines) if kind not in _OF_MANY), None)
        if told is None and self.start.reads_kafka and alone:
            return "kafka"
        if alone and self.start.reads_socket and told in (None, "socket-continuous"):
            return SOCKET
        if alone and self.start.reads_rate and told is None:
            return RATE
        return told or next(iter(lines), None)

    def _began_in_kafka(self, name: str) -> bool:
        return has_beginning(self.checkpoint.raw.get(layout.source_entry(name, 0)))

    # -- the sinks -----------------------------------------------------------------------------------------------------

    @property
    def sink_views(self) -> tuple[SinkView, ...]:
        return tuple(SinkView(sink, self.logs) for sink in self.sinks)

    @property
    def logs(self) -> Logs:
        """The checkpoint as far as a sink is concerned."""
        newest = self.evidence.newest
        metadata = self.checkpoint.metadata
        steps = [source.step for source in newest.sources] if newest and self.replays_as_logged else []
        counted = [step.amount for step in steps if step and step.unit == "rows" and step.amount is not None]
        return Logs(
            batch_id=self.next_id,
            is_replay=self.replays_as_logged,
            planned=self.checkpoint.last_offset_batch,
            committed=self.checkpoint.last_commit_batch,
            commits=frozenset(self.checkpoint.commit_names.ids),
            planned_ms=newest.logged_ms if newest and self.replays_as_logged else None,
            query_id=metadata.id if metadata else None,
            rows=sum(counted) if steps and len(counted) == len(steps) else None,
            empty=all(step is not None and step.amount == 0 for step in steps) if steps else None,
            now_ms=self.now_ms,
            planned_at={batch.id: batch.logged_ms for batch in self.evidence.batches if batch.logged_ms is not None},
            rows_of={batch.id: batch.rows for batch in self.evidence.batches if batch.rows is not None},
        )

    @property
    def asks_for_rows(self) -> bool:
        """Whether any task of the next batch runs: a sink that has the batch already does not even ask for its rows."""
        return not self.sinks or not all(view.ends_before_reading(self.next_id) for view in self.sink_views)

    @property
    def witnesses(self) -> tuple[SinkView, ...]:
        """The sinks in which a row could be twice, or missing."""
        return tuple(view for view in self.sink_views if not view.keeps_nothing)

    def any_skips(self, batch_id: int) -> bool | None:
        return _any([view.skips(batch_id) for view in self.witnesses] if self.sinks else [None])

    def any_holds(self, batch_id: int) -> bool | None:
        return _any([view.holds(batch_id) for view in self.witnesses] if self.sinks else [None])

    def all_hold(self, batch_id: int) -> bool | None:
        return _not(_any([_not(view.holds(batch_id)) for view in self.witnesses] if self.sinks else [None]))

    # -- single files --------------------------------------------------------------------------------------------------

    def fault(self, path: str) -> Finding | None:
        return next((fault for fault in self.checkpoint.faults if fault.path == path), None)

    def batch(self, batch_id: int | None) -> Batch | None:
        return next((batch for batch in self.evidence.batches if batch.id == batch_id), None)

    def entry(self, batch_id: int | None) -> OffsetLogEntry | None:
        return None if batch_id is None else self.checkpoint.offsets.get(batch_id)

    def has_offsets(self, batch_id: int) -> bool:
        """Whether they are there and could be read."""
        return batch_id in self.checkpoint.offsets and batch_id in self.checkpoint.offset_names.ids

    def has_commit(self, batch_id: int) -> bool:
        return batch_id in self.checkpoint.commits and batch_id in self.checkpoint.commit_names.ids

    def conf(self, key: str, default: str) -> str:
        return self.start.conf.get(key, default)

    def is_on(self, key: str, *, default: bool) -> bool:
        return self.conf(key, str(default)).strip().lower() == "true"


class Trouble(Struct, frozen=True):
    """Something at an input. `obstacle`: what it does to the restart, in `phase`; None if it stops nothing. `step`:
    what comes first within a phase."""

    phase: Phase
    obstacle: Failure | Doubt | None
    finding: Finding
    step: int = 0


def highest(names: LogNames) -> int | None:
    """`Long.parseLong` takes `005` and `+5`, so they count."""
    odd = [number for name in names.non_canonical if (number := parse_long(name)) is not None and number >= 0]
    return max([*names.ids[-1:], *odd], default=None)


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _any(answers: Sequence[bool | None]) -> bool | None:
    return True if True in answers else None if None in answers else False
