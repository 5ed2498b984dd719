"""What a restart will do, under one release of Spark. Pure.

Only the highest offset file, the one before it and the highest commit decide. Equal heads: a new batch. An offset
without a commit: exactly that batch again. What stops the restart on the way is told by the book of laws, the first
that Spark comes to; where the files leave it open, the answer is "unknown" and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.base import OffsetStep
from ckpttool.laws.base import ASSERTION, Law
from ckpttool.laws.book import first_obstacle
from ckpttool.model import Json
from ckpttool.releases import NEWEST, NEWEST_PATCHES, OLDEST, OLDEST_RUN, Release, parse_release, since, spell_release
from ckpttool.scene.batches import Batch, SourceProgress, beside, offset_json
from ckpttool.scene.evidence import Evidence
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.source_logs import can_be_called

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
GOES_ON = ("replay", "new_batch", "fresh_start")
Outcome = Literal["replay", "new_batch", "fresh_start", "error", "unknown"]
Choice = Literal["given", "inferred", "default", "any"]


class SourceRange(Struct, frozen=True):
    """What the batch reads from one source; `end` None: decided at run time. Offsets as they stand in the log."""

    index: int
    name: str | None
    kind: str | None
    start: Json
    end: Json
    step: OffsetStep | None


class Restart(Struct, frozen=True):
    """The prediction. `batch_id`: the batch that runs first; for an error the one that is tried, None if none is.

    `law`: the one that stops it, or leaves it open; none yet of inputs and sinks."""

    outcome: Outcome
    batch_id: int | None
    sources: tuple[SourceRange, ...]
    watermark_ms: int | None
    error: Failure | None
    why: tuple[str, ...]
    assumes: tuple[str, ...]
    law: Law | None = None


def predict_restart(scene: Scene) -> Restart:
    """What the first batch of a restart will be, or what stops it, as far as the checkpoint itself decides."""
    if unpredictable := _beyond_the_rules(scene):
        return _unknown(unpredictable, _assumptions(scene))
    if found := first_obstacle(scene):
        law, spoken = found
        if isinstance(spoken, Doubt):
            return _unknown(spoken.why, _assumptions(scene), law)
        return _error(wrapped(spoken, scene.release), _assumptions(scene), law)
    return _continuous(scene) if scene.is_continuous else _micro_batch(scene)


def possible_releases(evidence: Evidence) -> list[Release]:
    """The newest patches of the minor releases that may have written the files, oldest first.

    Releases from before those that are checked count only if the files leave no other."""
    low = parse_release(evidence.written_by.min or spell_release(OLDEST_RUN))
    high = parse_release(evidence.written_by.max or spell_release(NEWEST))
    if high < OLDEST:
        return [(*minor, patch) for minor, patch in sorted(NEWEST_PATCHES.items())]
    low = max(low, OLDEST_RUN) if high >= OLDEST_RUN else low
    minors = [minor for minor in sorted(NEWEST_PATCHES) if low[:2] <= minor <= high[:2]]
    return [min((*minor, NEWEST_PATCHES[minor]), high) for minor in minors] or [high]


def choose_release(evidence: Evidence, given: Release | None) -> tuple[Release, Choice]:
    """The release to predict for: the one given, else the newest that may have written the files."""
    if given is not None:
        return given, "given"
    low, high = evidence.written_by.min, evidence.written_by.max
    if (low is None and high is None) or (high is not None and parse_release(high) < OLDEST):
        return NEWEST, "default"
    return possible_releases(evidence)[-1], "inferred"


def stopped(restart: Restart, spoken: Failure | Doubt, law: Law | None = None) -> Restart:
    """The same restart, when something besides the checkpoint stops it."""
    if isinstance(spoken, Doubt):
        return _unknown(spoken.why, restart.assumes, law)
    return _error(spoken, restart.assumes, law)


def wrapped(failure: Failure, release: Release) -> Failure:
    """3.3 puts a condition around every assertion that fails; the releases after it do not."""
    wraps = since.ASSERTIONS_WRAPPED <= release < since.ASSERTIONS_BARE
    internal = wraps and failure.class_name == ASSERTION and failure.condition is None
    return replace(failure, condition="INTERNAL_ERROR") if internal else failure


def _beyond_the_rules(scene: Scene) -> str | None:
    if scene.evidence.mode == "dstreams":
        return "a DStreams checkpoint restarts only inside the application that wrote it"
    if scene.release[:2] > NEWEST[:2]:
        return f"Spark {spell_release(scene.release)} is newer than any release that the rules know"
    if scene.release < OLDEST:
        return f"Spark {spell_release(scene.release)} is older than any release that the rules know"
    return None


def _unknown(why: str, assumes: tuple[str, ...], law: Law | None = None) -> Restart:
    return Restart("unknown", None, (), None, None, (why,), assumes, law)


def _error(failure: Failure, assumes: tuple[str, ...], law: Law | None = None) -> Restart:
    return Restart("error", failure.batch_id, (), None, failure, (failure.why,), assumes, law)


def _continuous(scene: Scene) -> Restart:
    last = scene.checkpoint.last_commit_batch
    if last is None:
        return Restart("fresh_start", 0, (), None, None, ("no epoch was committed",), _assumptions(scene))
    why = f"continuous processing goes on after commits/{last}"
    ranges = tuple(_new_ranges(scene, scene.batch(last), None))
    return Restart("new_batch", last + 1, ranges, None, None, (why,), _assumptions(scene))


def _micro_batch(scene: Scene) -> Restart:
    planned, committed = scene.planned, scene.committed
    if planned is None:
        why = "offsets/ holds no batch" + ("" if committed is None else f", commits/ reaches {committed}")
        return Restart("fresh_start", 0, (), None, None, (why,), _assumptions(scene))
    newest, before = scene.batch(planned), scene.batch(scene.previous)
    if committed == planned:
        why = f"offsets/{planned} is the highest, and commits/{planned} is there"
        ranges = tuple(_new_ranges(scene, newest, before))
        watermark_ms = newest.next_watermark_ms if newest else None
        return Restart("new_batch", planned + 1, ranges, watermark_ms, None, (why,), _assumptions(scene))
    if scene.is_realtime:
        why = f"real-time mode deletes offsets/{planned}, which has no commit, and plans anew"
        ranges = tuple(_new_ranges(scene, scene.batch(committed), None))
        following = 0 if committed is None else committed + 1
        return Restart("new_batch", following, ranges, None, None, (why,), _assumptions(scene))
    why = f"offsets/{planned} is the highest, commits/{planned} is not there"
    ranges = tuple(_replayed_ranges(scene, newest, before))
    watermark_ms = newest.watermark_ms if newest else None
    return Restart("replay", planned, ranges, watermark_ms, None, (why,), _assumptions(scene))


def _new_ranges(scene: Scene, newest: Batch | None, before: Batch | None) -> Iterator[SourceRange]:
    for source, earlier in _with_their_own(newest, before):
        reached = source if source.text is not None else earlier or source
        start = _as_json(reached) if can_be_called(source.name) else None
        yield SourceRange(source.index, source.name, scene.kind_of(source), start, None, None)


def _with_their_own(
    newest: Batch | None, before: Batch | None
) -> Iterator[tuple[SourceProgress, SourceProgress | None]]:
    """The sources, each with what the batch before has of it. Where lines belong to no source, those that lack theirs
    go on from the batch before, if there is one."""
    named = {source.key: source for source in newest.sources if can_be_called(source.name)} if newest else {}
    if newest is None or before is None or len(named) == len(newest.sources):
        yield from beside(newest, before)
        return
    for source in before.sources:
        yield named.get(source.key, source), source


def ranges_between(scene: Scene, before: int, last: int) -> tuple[SourceRange, ...]:
    """What the batches after `before`, up to `last`, read of each source: batches whose offsets are there."""
    return tuple(_replayed_ranges(scene, scene.batch(last), scene.batch(before)))


def _replayed_ranges(scene: Scene, newest: Batch | None, before: Batch | None) -> Iterator[SourceRange]:
    for source, start in beside(newest, before):
        kind = scene.kind_of(source)
        yield SourceRange(source.index, source.name, kind, _as_json(start), _as_json(source), source.step)


def _as_json(source: SourceProgress | None) -> Json:
    return offset_json(source.text) if source else None


def _provider_of_no_state(scene: Scene) -> str | None:
    """Of a query that shows no state: the provider that somebody chose for it. Who lost all of it shows none either."""
    entry = scene.entry(scene.planned)
    pinned = entry.metadata.conf if entry and entry.metadata else {}
    name = pinned.get(PROVIDER, "").rpartition(".")[2]
    is_chosen = name.startswith("RocksDB") and not scene.is_stateful and not scene.checkpoint.operators
    return name if is_chosen else None


def _assumptions(scene: Scene) -> tuple[str, ...]:
    said = [] if scene.query else ["the same query: the same sources in the same order, the same operators"]
    if not scene.start.conf:
        said.append("the session's configuration as it was, or Spark's defaults")
    if provider := _provider_of_no_state(scene):
        said.append(
            f"the query has no state: there is no state/, though offsets/{scene.planned} pins {provider} for it"
        )
    if scene.start.trigger is None:
        said.append(f"the trigger that the files show: {scene.evidence.mode}")
    if scene.evidence.databricks:
        said.append(f"predicted for Apache Spark {spell_release(scene.release)}, not checked on Databricks")
    if scene.release < OLDEST_RUN:
        said.append(f"Spark {spell_release(scene.release)}: not checked against a running Spark")
    return tuple(said)
