"""What the files give away about their writer: which Spark releases, which kind of execution. Pure.

Every conclusion carries its evidence, and is a range or a guess where the files leave it open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from ckpttool.formats import layout
from ckpttool.formats.names import holes
from ckpttool.model import Checkpoint, Mode, VersionRange
from ckpttool.releases import WRITERS, Release, last_before, since, spell_release
from ckpttool.releases.databricks import Runtime, parse_runtime
from ckpttool.scene.batches import Batch, decode_batches
from ckpttool.storage.urls import is_local

_STREAMING = "spark.sql.streaming."
_RUNTIME = "sparkVersion"  # as Databricks spells its releases
_PLATFORM = "com.databricks."
_PRUNE_FILTERS = "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"
# Spark 3.5.4 alone wrote this key under a wrong name.
_MISNAMED = "spark.databricks.sql.optimizer.pruneFiltersCanPruneStreamingSubplan"

# Spark refuses shorter batches in real-time mode than five seconds; the clocks of a file system may differ a little.
REALTIME_BATCH_AT_LEAST_MS = 4_500

# What a session writes when nothing was set: shown are the ones that differ.
PINNED_DEFAULTS: dict[str, tuple[str, ...]] = {
    "spark.sql.shuffle.partitions": ("200",),
    f"{_STREAMING}stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    ),
    f"{_STREAMING}multipleWatermarkPolicy": ("min",),
    f"{_STREAMING}flatMapGroupsWithState.stateFormatVersion": ("2",),
    f"{_STREAMING}aggregation.stateFormatVersion": ("2",),
    f"{_STREAMING}join.stateFormatVersion": ("2",),
    f"{_STREAMING}stateStore.compression.codec": ("lz4",),
    f"{_STREAMING}stateStore.rocksdb.formatVersion": ("5",),
    f"{_STREAMING}statefulOperator.useStrictDistribution": ("true",),
    _PRUNE_FILTERS: ("false",),
    f"{_STREAMING}stateStore.encodingFormat": ("unsaferow",),
    f"{_STREAMING}stateStore.rocksdb.mergeOperatorVersion": ("2",),
    f"{_STREAMING}stateStore.rowChecksum.enabled": ("false",),
    "spark.sql.function.protobufExtensions.enabled": ("false", "true"),
    f"{_STREAMING}queryEvolution.enableSourceEvolution": ("false",),
    f"{_STREAMING}statefulOperator.alwaysNullableOutput.enabled": ("true", "false"),
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled": ("true", "false"),
}


class Evidence(Struct, frozen=True, dict=True):
    """A checkpoint together with what follows from its files alone; checks and predictions start here. `kinds_before`:
    what was known of sources before files were set aside; without those nobody could tell any more."""

    checkpoint: Checkpoint
    batches: tuple[Batch, ...]
    mode: Mode
    mode_reason: str
    written_by: VersionRange
    databricks: Runtime | None = None
    kinds_before: Mapping[str, tuple[str, ...]] = {}

    @property
    def newest(self) -> Batch | None:
        """The newest planned batch whose offsets could be read."""
        return next((batch for batch in reversed(self.batches) if batch.entry), None)

    @property
    def is_read_back(self) -> bool:
        """Whether batches were read besides the two that a start opens, if there are any."""
        names = self.checkpoint.offset_names
        return len(self.batches) > 2 or (len(names.ids) <= 2 and names.unlisted_below is None)

    @cached_property
    def kinds_told(self) -> Mapping[str, tuple[str, ...]]:
        """Of each source, by its key, what its offsets are taken for, the newest first."""
        told: dict[str, dict[str, None]] = {}
        for batch in reversed(self.batches):
            for line in batch.sources:
                if line.offset:
                    told.setdefault(line.key, {}).setdefault(line.offset.kind)
        for key, kinds in self.kinds_before.items():
            told[key] = told.get(key, {}) | dict.fromkeys(kinds)
        return {key: tuple(kinds) for key, kinds in told.items()}

    @property
    def is_stateful(self) -> bool:
        """State on the disk, or by its logs."""
        return bool(self.checkpoint.operators or self.checkpoint.has_state_directory) or self.logs_tell_of_state

    @property
    def logs_tell_of_state(self) -> bool:
        """Only a stateful query plans a batch that reads nothing, and names state in a commit."""
        checkpoint = self.checkpoint
        if any(commit.state_unique_ids for commit in checkpoint.commits.values()):
            return True
        planned = [batch for batch in self.batches if batch.entry and batch.entry.metadata]
        return any(
            after.id == before.id + 1
            and after.sources
            and [source.text for source in after.sources] == [source.text for source in before.sources]
            and (after.watermark_ms or 0) > (before.watermark_ms or 0)
            for before, after in pairwise(planned)
        )


def gather_evidence(checkpoint: Checkpoint) -> Evidence:
    batches = decode_batches(checkpoint)
    mode, reason = infer_mode(checkpoint, batches)
    databricks = infer_databricks(checkpoint, batches)
    written_by = _by_runtime(databricks) if databricks else infer_written_by(checkpoint, batches)
    return Evidence(checkpoint, batches, mode, reason, written_by, databricks)


# -- which kind of execution -------------------------------------------------------------------------------------------


def left_in_logs(checkpoint: Checkpoint) -> list[str]:
    """What lies in the two logs beside batches, as Spark lists it: Hadoop's local file system hides its checksums."""
    local = is_local(checkpoint.url)
    return [
        f"{log}/{name}"
        for log, names in ((layout.OFFSETS, checkpoint.offset_names), (layout.COMMITS, checkpoint.commit_names))
        for name in names.others
        if not (local and layout.is_hadoop_crc(name))
    ]


def infer_mode(checkpoint: Checkpoint, batches: Sequence[Batch]) -> tuple[Mode, str]:
    if checkpoint.dstreams is not None:
        return "dstreams", "files named checkpoint-<ms>: the older DStreams API, Java-serialised"
    newest = [batch for batch in batches if batch.entry][-2:]
    if newest and newest[-1].sources and all(map(_is_epoch, newest)):
        return "continuous", f"offsets/{newest[-1].id} has an empty metadata line, which continuous processing writes"
    if _is_async(checkpoint):
        return "async", "both logs skip the same batches: asynchronous progress tracking writes only some of them"
    if late := _written_at_the_end(batches):
        return "realtime", f"offsets/{late.id} was written at the end of its batch, as real-time mode does"
    return "microbatch", "every batch has its offsets, written before it ran"


def _is_epoch(batch: Batch) -> bool:
    """No metadata line; an epoch whose empty line was lost has its offset in that place."""
    if batch.entry is None or "" in [source.text for source in batch.sources]:
        return False
    return batch.entry.metadata is None or not batch.sources


def _is_async(checkpoint: Checkpoint) -> bool:
    """Holes that both logs share below the last commit; stateless, as the mode demands. Without commits, many holes."""
    if checkpoint.operators:
        return False
    committed, last = checkpoint.commit_names.ids, checkpoint.last_commit_batch
    gaps = holes(checkpoint.offset_names.ids)
    if last is None:
        return len(gaps) >= 2
    if not checkpoint.offset_names.ids:
        return len(holes(committed)) >= 2
    below = [gap for gap in gaps if gap.stop <= last]
    return bool(below) and not any(batch in committed for gap in below for batch in (gap.start, gap.stop - 1))


def _written_at_the_end(batches: Sequence[Batch]) -> Batch | None:
    """Real-time mode plans a batch, runs it for at least five seconds, and only then writes both logs, side by side.

    Times of files prove it only while they fit between the batches' own times: a copy has none that do."""
    timed = [batch for batch in batches if batch.entry and batch.entry.metadata and batch.written_ms is not None]
    if len(timed) < 2 or not all(map(_ran_before_it_was_logged, timed)):
        return None
    in_turn = all((before.written_ms or 0) <= (after.planned_ms or 0) + 1_000 for before, after in pairwise(timed))
    return timed[-1] if in_turn else None


def _ran_before_it_was_logged(batch: Batch) -> bool:
    planned, written, committed = batch.planned_ms, batch.written_ms, batch.committed_ms
    if planned is None or written is None or written - planned < REALTIME_BATCH_AT_LEAST_MS:
        return False
    return committed is None or 0 <= committed - written <= 1_000


# -- whose Spark -------------------------------------------------------------------------------------------------------


def infer_databricks(checkpoint: Checkpoint, batches: Sequence[Batch]) -> Runtime | None:
    """The runtime that the newest offsets name; else one that is not named, by what only Databricks has: classes of its
    own, and its sources."""
    newest = next((batch for batch in reversed(batches) if batch.entry), None)
    conf = newest.entry.metadata.conf if newest and newest.entry and newest.entry.metadata else {}
    if runtime := parse_runtime(conf.get(_RUNTIME, "")):
        return runtime
    kinds = {source.offset.kind for source in newest.sources if source.offset} if newest else set()
    kinds |= {log.kind for log in checkpoint.source_logs if log.kind}
    own = any(value.startswith(_PLATFORM) for value in conf.values()) or "auto-loader" in kinds
    return Runtime() if own else None


def _by_runtime(runtime: Runtime) -> VersionRange:
    """The pinned configuration says nothing there: Databricks writes a set of its own."""
    if runtime.spark is None:
        return VersionRange(None, None, (f"{runtime.name} has written it, a Spark of its own",))
    first, last = map(spell_release, runtime.spark)
    return VersionRange(first, last, (f"{runtime.name} has written it, which is built on this Spark",))


# -- which Spark -------------------------------------------------------------------------------------------------------


def infer_written_by(checkpoint: Checkpoint, batches: Sequence[Batch]) -> VersionRange:
    """The releases that could have written what we see, by the newest batch; older batches may be older Sparks'."""
    bounds = [*_by_pinned_confs(batches), *_by_formats(checkpoint, batches)]
    lows = [(low, reason) for low, _, reason in bounds if low is not None]
    highs = [(high, reason) for _, high, reason in bounds if high is not None]
    low = max(lows, default=None)
    high = min(highs, default=None)
    evidence = tuple(dict.fromkeys(reason for _, _, reason in bounds))
    if low and high and low[0] > high[0]:  # an upgrade in between: the newest evidence wins
        return VersionRange(spell_release(low[0]), None, (*evidence, "the files stem from more than one release"))
    return VersionRange(spell_release(low[0]) if low else None, spell_release(high[0]) if high else None, evidence)


Bound = tuple[Release | None, Release | None, str]


def _by_pinned_confs(batches: Sequence[Batch]) -> Iterator[Bound]:
    newest = next((batch for batch in reversed(batches) if batch.entry and batch.entry.metadata), None)
    if newest is None or newest.entry is None or newest.entry.metadata is None:
        return
    conf = newest.entry.metadata.conf
    where = layout.offsets(newest.id)
    if not conf:
        yield WRITERS[0][0], last_before(since.PINNED_CONFS), f"{where} pins no configuration, as only Spark 2.1 does"
        return
    written = {key for key in (*since.PINNED, _MISNAMED) if key in conf}
    absent = _may_be_absent(newest.entry.version)
    matching = [run for run in WRITERS if written <= _pinned_by(run[1]) <= written | absent]
    if matching:
        count = f"{len(written)} of the {len(since.PINNED)} confs that Spark ever pinned"
        yield matching[0][0], matching[-1][1], f"{where} pins {count}, the set of these releases"
    elif written & since.PINNED.keys():
        key = max(written & since.PINNED.keys(), key=lambda key: (since.PINNED[key], key))
        yield since.PINNED[key], None, f"{where} pins {key}"


def _pinned_by(release: Release) -> set[str]:
    keys = {key for key, first in since.PINNED.items() if first <= release}
    return keys | {_MISNAMED} if release == since.MISNAMED_CONF else keys


def _may_be_absent(offset_log_version: int) -> set[str]:
    """The first run of a version 2 log in Spark 4.2.0 leaves the number of partitions out."""
    return {"spark.sql.shuffle.partitions"} if offset_log_version == 2 else set()


def _by_formats(checkpoint: Checkpoint, batches: Sequence[Batch]) -> Iterator[Bound]:
    newest = next((batch for batch in reversed(batches) if batch.entry), None)
    commit = next((batch.commit for batch in reversed(batches) if batch.commit), None)
    if newest and newest.entry and newest.entry.version == 2:
        yield since.OFFSETS_2, None, f"offsets/{newest.id} has format version 2"
    if newest and newest.entry and newest.entry.metadata is None:
        yield since.CONTINUOUS, None, "continuous processing exists since 2.3"
    if commit and commit.version == 3:
        yield since.COMMITS_3, None, f"commits/{commit.batch_id} has format version 3"
    elif commit and commit.version == 2:
        yield since.COMMITS_2, None, f"commits/{commit.batch_id} has format version 2"
    elif commit and commit.next_watermark_ms is not None:
        yield since.NEXT_WATERMARK, None, f"commits/{commit.batch_id} holds the next watermark"
    elif commit:
        why = f"commits/{commit.batch_id} holds nothing, as Spark 2.2 and 2.3 write it"
        yield since.EMPTY_COMMITS, last_before(since.NEXT_WATERMARK), why
    for operator in checkpoint.operators:
        yield from _by_operator(operator.id, operator.metadata is not None, checkpoint)


def _by_operator(operator_id: int, has_metadata: bool, checkpoint: Checkpoint) -> Iterator[Bound]:
    where = layout.operator(operator_id)
    if has_metadata:
        yield since.OPERATOR_METADATA, None, f"{where} has operator metadata"
    operator = next(operator for operator in checkpoint.operators if operator.id == operator_id)
    versions = {store.schema.version for store in operator.stores if store.schema}
    for version in sorted(versions):
        yield since.SCHEMA_VERSIONS[version], None, f"{where} has a state schema of version {version}"


def unusual_confs(batch: Batch | None) -> dict[str, str]:
    """The newest batch's pinned confs that differ from Spark's defaults; Spark forces them on every restart."""
    metadata = batch.entry.metadata if batch and batch.entry else None
    conf = metadata.conf if metadata else {}
    return {key: value for key, value in conf.items() if value not in PINNED_DEFAULTS.get(key, (value,))}


def partition_count(evidence: Evidence, batch: int) -> str | None:
    """The number of state partitions that a batch's offsets pin."""
    entry = evidence.checkpoint.offsets.get(batch)
    return entry.metadata.conf.get("spark.sql.shuffle.partitions") if entry and entry.metadata else None
