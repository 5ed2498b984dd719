"""How state is kept up: whole copies in time, of even size, and old ones removed. Spark's maintenance does it in the
background of the executors, and nobody hears of it when it does not. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from statistics import median

from ckpttool.formats import layout
from ckpttool.formats.names import parse_long
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.laws.base import Law
from ckpttool.laws.pace import intervals_of
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene
from ckpttool.scene.state_chain import Chain, StateFiles, StoreFiles, base_versions, chains, loadable_versions
from ckpttool.storage.urls import is_local
from ckpttool.words import counted, spell_batches, spell_span

_DELTAS = "spark.sql.streaming.stateStore.minDeltasForSnapshot"
_FEW = 10  # changes after which a whole copy is due, by default
_LATE_MS = 600_000  # ten rounds of maintenance
_SKEWED, _LARGE = 10, 16 * 2**20
_MANY_STORES, _TINY, _A_FEW = 100, 2**16, 5
_DAY_MS = 86_400_000
_DOLLARS_PER_WRITE = 5 / 1_000_000  # what the large stores ask of whoever has no contract


def _first_chain(store: StoreFiles, version: int) -> Chain | None:
    chain = next(chains(store, version), None)
    return None if chain is None or chain.missing or chain.incomplete else chain


def _seen(scene: Scene) -> StateFiles | None:
    files = scene.needed_state
    return files if files is not None and files.version > 0 and not files.unreachable else None


def _span_of(scene: Scene, versions: int) -> int | None:
    """The time in which the newest so many batches were planned, as far as that is known."""
    times = [batch.logged_ms for batch in scene.evidence.batches if batch.logged_ms is not None]
    return times[-1] - times[-min(versions, len(times))] if len(times) > 1 else None


def _lag(scene: Scene) -> Iterator[Finding]:
    files = _seen(scene)
    if files is None:
        return
    due = parse_long(scene.conf(_DELTAS, "")) or _FEW
    late = [
        (len(chain.changes), store)
        for store in files.stores
        if (chain := _first_chain(store, files.version)) and len(chain.changes) >= 5 * due
    ]
    if not late:
        return
    most, store = max(late, key=lambda one: one[0])
    span = _span_of(scene, most)
    if span is None or span < _LATE_MS:
        return
    yield Finding(
        "state-snapshot-lag",
        "warning",
        store.path,
        f"{counted(most, 'change')} lie on the newest whole copy, of {spell_span(span)} and more, and so it is in"
        f" {counted(len(late), 'store')}: one is due after {due}",
        expected="a whole copy now and then",
        next_step="look in the executors' logs for the maintenance thread, which makes them and removes old files",
    )


def _one_copy(scene: Scene) -> Iterator[Finding]:
    files = _seen(scene)
    alone = [store for store in files.stores if _has_one_copy(store, files.version)] if files else []
    if files and alone:
        yield Finding(
            "state-one-copy-only",
            "info",
            alone[0].path,
            f"{counted(len(alone), 'store')} of {len(files.stores)} can be loaded in one way only: if the whole copy"
            " that it begins with is damaged, there is none to go back to",
            next_step="keep a backup. spark.sql.streaming.minBatchesToRetain keeps more",
        )


def _has_one_copy(store: StoreFiles, version: int) -> bool:
    ways = [chain for chain in islice(chains(store, version), 3) if not chain.missing]
    return len(ways) == 1 and ways[0].base is not None


def _skew(scene: Scene) -> Iterator[Finding]:
    """Of the bytes that a start reads: those of the newest whole copy and of the changes since."""
    files = _seen(scene)
    by_name: dict[tuple[int, str], list[tuple[int, StoreFiles]]] = {}
    for store in files.stores if files else ():
        known = [size for size in store.sizes.values() if size is not None]
        if store.provider == "hdfs" and known:  # of RocksDB it is the tables that are large
            by_name.setdefault((store.operator, store.name), []).append((sum(known), store))
    for (operator, name), sizes in by_name.items():
        most, store = max(sizes, key=lambda one: one[0])
        usual = median(size for size, _ in sizes)
        if len(sizes) > 2 and most >= max(_LARGE, _SKEWED * usual):
            of = layout.operator(operator) if name == layout.DEFAULT_STORE else f"{name} of {layout.operator(operator)}"
            yield Finding(
                "state-skew",
                "warning",
                store.path,
                f"partition {store.partition} has {most / 2**20:,.0f} MiB to load, and half of those of {of} have"
                f" {usual / 2**20:,.1f} MiB or less",
                expected="partitions of about one size",
                next_step="a key that most rows have (null?) is kept in one partition: split it, or leave it out",
            )


def _orphans(scene: Scene) -> Iterator[Finding]:
    files, oldest = _seen(scene), scene.checkpoint.offset_names.first
    if files is None or not oldest or scene.checkpoint.offset_names.unlisted_below is not None:
        return
    left, first = 0, None
    for store in files.stores:
        needed = next((base for base in base_versions(store, files.version) if base <= oldest), 0)
        old = [version for version in parse_state_versions(store.names) if version < needed] if needed else []
        left += len(old)
        first = first or (store if old else None)
    if first is not None:
        yield Finding(
            "state-orphans",
            "info",
            first.path,
            f"{counted(left, 'version')} of stores are there that no batch in the logs can be gone back to with",
            next_step="Spark's maintenance removes them when a store is loaded again",
        )


def _growing(scene: Scene) -> Iterator[Finding]:
    """Where no watermark clears it. State that grows with its keys is as it should be."""
    sizes = scene.around.state_bytes if scene.around else None
    marks = {batch.watermark_ms for batch in scene.evidence.batches if batch.watermark_ms is not None}
    if sizes is None or len(marks) > 1 or sizes[1] < max(_LARGE, 2 * sizes[0]):
        return
    yield Finding(
        "state-growing",
        "warning",
        layout.STATE,
        f"its whole copies have grown from {sizes[0] / 2**20:,.0f} to {sizes[1] / 2**20:,.0f} MiB, and no watermark has"
        " moved that would clear anything",
        expected="state that is cleared",
        next_step="a watermark that follows the rows, or a time to live of what is kept",
    )


def _no_way_back(scene: Scene) -> Iterator[Finding]:
    """By names: of an earlier batch some store lacks a file that its version cannot do without."""
    files, checkpoint = _seen(scene), scene.checkpoint
    before = [one for one in sorted(checkpoint.offsets.keys() & checkpoint.commits.keys()) if one + 1 < scene.next_id]
    if files is None or not files.stores or len(before) < 2 or not scene.evidence.is_read_back:
        return
    if not any(_may_load(scene, files, batch) for batch in before):
        yield Finding(
            "rewind-impossible",
            "warning",
            layout.STATE,
            f"the logs keep {spell_batches(before)}, and of none of them all files of its state are there",
            expected="state of earlier batches, as far back as the logs go",
            next_step="a batch that goes wrong cannot be taken back: keep a backup, and leave state/ to Spark",
        )


def _may_load(scene: Scene, files: StateFiles, batch: int) -> bool:
    """Whether the state after this batch has all its files. With ids a version has a file of its own."""
    ids = scene.checkpoint.commits[batch].state_unique_ids or {}
    for store in files.stores:
        of_operator = ids.get(store.operator, ())
        own = of_operator[store.partition] if store.partition < len(of_operator) else ()
        if store.unique_id is None:
            versions = loadable_versions(store)
            if versions is not None and batch + 1 not in versions:
                return False
        elif own and not any(name.startswith(f"{batch + 1}_{id}.") for id in own for name in store.names):
            return False
    return True


def _tiny(scene: Scene) -> Iterator[Finding]:
    """Each store writes a file in every batch, whether it has changed or not."""
    files = _seen(scene)
    sizes = [sum(size or 0 for size in store.sizes.values()) for store in files.stores] if files else []
    every = intervals_of(scene.evidence.batches)
    if len(sizes) < _MANY_STORES or sum(sizes) > len(sizes) * _TINY or len(every) < _A_FEW:
        return
    requests = len(sizes) * 30 * _DAY_MS // int(median(every))
    money = "" if is_local(scene.root) else f", some ${requests * _DOLLARS_PER_WRITE:,.0f} in an object store"
    yield Finding(
        "too-many-tiny-stores",
        "info",
        layout.STATE,
        f"{counted(len(sizes), 'store')} hold {sum(sizes) / 2**10:,.0f} KiB to load together, and each writes a file in"
        f" every batch: {requests:,} in a month{money}",
        next_step="fewer partitions: spark.sql.shuffle.partitions of a query that begins anew, or since 4.2"
        " repartitioned state. A longer trigger interval has fewer batches",
    )


HEALTH = (
    Law(
        "state-growing",
        "state grows, and nothing clears it",
        look=_growing,
        severities=("warning",),
        needs="state",
        profile="full",
        errors=("HDFS_STORE_PROVIDER_OUT_OF_MEMORY", "OutOfMemoryError"),
        often=3,
    ),
    Law(
        "state-snapshot-lag",
        "whole copies of the state are overdue",
        look=_lag,
        severities=("warning",),
        needs="state",
    ),
    Law(
        "state-one-copy-only",
        "state that can be loaded in one way",
        look=_one_copy,
        severities=("info",),
        needs="state",
    ),
    Law("state-skew", "one partition has most of the state", look=_skew, severities=("warning",), needs="state"),
    Law(
        "rewind-impossible",
        "the logs keep earlier batches, and the state of none of them is whole",
        look=_no_way_back,
        severities=("warning",),
        needs="state",
    ),
    Law(
        "too-many-tiny-stores",
        "very many stores that hold next to nothing",
        look=_tiny,
        severities=("info",),
        needs="state",
    ),
    Law("state-orphans", "state that nothing refers to", look=_orphans, severities=("info",), needs="state"),
)
