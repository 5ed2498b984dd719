"""What becomes of each option and setting that the restart was given: taken, pinned, ignored, or known to nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.options import shown_value
from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.laws.pinned import PARTITIONS
from ckpttool.model import Finding
from ckpttool.releases import Release, since, spell_release
from ckpttool.scene.scene import Scene, Start
from ckpttool.words import enumerated, shown

if TYPE_CHECKING:
    from ckpttool.query.model import Query

Kind = Literal["option", "conf"]
Answer = Literal["taken", "pinned", "ignored", "unknown"]


class Given(Struct, frozen=True):
    """`value`: as it may be shown. `by`: who takes it, or what overrules it, or why nobody does. `effective`: what is
    in force in its place. `source`: of which one it is an option; None: of whichever has such an option."""

    kind: Kind
    key: str
    value: str
    answer: Answer
    by: str
    finding: Finding | None = None
    effective: str | None = None
    source: int | None = None


def answers(scene: Scene) -> tuple[Given, ...]:
    """In the order in which they were given, settings first."""
    if scene.evidence.mode == "dstreams":
        return ()
    settings = (_of_setting(scene, key, value) for key, value in scene.start.conf.items())
    return (*settings, *(_of_option(scene, key, value) for key, value in scene.start.options.items()))


def answers_of_query(scene: Scene, query: Query, typed: Mapping[str, str]) -> Iterator[Given]:
    """Of a described query: what was typed besides, the options of each source, and those of its settings in the place
    of which the checkpoint pins another value. `typed`: options."""
    start = scene.start
    yield from answers(replace(scene, start=replace(start, options=typed)))
    for source in query.sources:
        of_source = replace(scene, start=replace(start, options=source.options, conf={}))
        yield from (replace(one, source=source.index) for one in answers(of_source) if one.key not in typed)
    settings = {key: value for key, value in query.conf.items() if key not in start.conf}
    of_session = answers(replace(scene, start=replace(start, options={}, conf=settings)))
    yield from (one for one in of_session if one.answer == "pinned" and one.finding)


def meant(kind: Kind, key: str) -> str | None:
    """The name that this one is a slip of, or the same name where it belongs; None if it is known, or like none."""
    from ckpttool.connectors import options
    from ckpttool.releases.settings import settings

    known = {**settings(), **_NO_ENTRY}
    if kind == "option":
        return f"--conf {key}" if key in known else options.option_meant(key)
    if key in known:
        return None
    return f"--option {key}" if options.is_named(key) else options.nearest(key, known)


_ALTERNATIVES = re.compile(r"[,;] or ")
_ADVISED = re.compile(r"(?<![\w.])([\w.]+)=([\w.]+)")  # from where a word begins, so that a long one is tried once


def not_advised_again(finding: Finding, start: Start) -> Finding:
    """Without the alternatives that name what was given: it is in force, and this is what comes of it."""
    if finding.next_step is None or not (start.options or start.conf):
        return finding
    every = _ALTERNATIVES.split(finding.next_step)
    left = [one for one in every if not any(_is_given(start, *found) for found in _ADVISED.findall(one))]
    return finding if left == every else replace(finding, next_step=", or ".join(left) or None)


def _is_given(start: Start, key: str, value: str) -> bool:
    given = start.conf.get(key, start.option(key))
    return given is not None and given.strip().lower() == value.lower()


# -- settings ----------------------------------------------------------------------------------------------------------

_STREAMING = "spark.sql.streaming"
_STATE_PARTITIONS = f"{_STREAMING}.internal.stateStore.partitions"
_PROVIDER = f"{_STREAMING}.stateStore.providerClass"
_OFFSETS_VERSION = f"{_STREAMING}.offsetLog.formatVersion"
_COMMITS_VERSION = f"{_STREAMING}.stateStore.checkpointFormatVersion"
# OffsetSeqMetadata.relevantSQLConfDefaultValues: what is forced on the session where the offsets pin nothing.
FORCED: Mapping[str, str] = {
    f"{_STREAMING}.multipleWatermarkPolicy": "min",
    f"{_STREAMING}.flatMapGroupsWithState.stateFormatVersion": "1",
    f"{_STREAMING}.aggregation.stateFormatVersion": "1",
    f"{_STREAMING}.join.stateFormatVersion": "1",
    f"{_STREAMING}.stateStore.compression.codec": "lz4",
    f"{_STREAMING}.statefulOperator.useStrictDistribution": "false",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan": "true",
    f"{_STREAMING}.stateStore.encodingFormat": "unsaferow",
    f"{_STREAMING}.stateStore.rowChecksum.enabled": "false",
    f"{_STREAMING}.stateStore.rocksdb.mergeOperatorVersion": "1",
    "spark.sql.function.protobufExtensions.enabled": "false",
    f"{_STREAMING}.queryEvolution.enableSourceEvolution": "false",
}
# StreamExecution.runStream switches these off for every query.
_SWITCHED_OFF = ("spark.sql.cbo.enabled", "spark.sql.requireAllClusterKeysForDistribution")
_ADAPTIVE = "spark.sql.adaptive.enabled"
# Below `spark.sql.`, and no entries of SQLConf: names that one makes up, and those of modules beside it.
_OTHERS = ("spark.sql.catalog.", "spark.sql.hive.", "spark.sql.iceberg.", "spark.sql.delta.", "spark.sql.kyuubi.")
_NO_ENTRY: Mapping[str, None] = dict.fromkeys(
    f"spark.databricks.delta.streaming.{name}"
    for name in (
        "trailingCommitValidation.enabled",
        "schemaTracking.enabled",
        "schemaValidationOnRestart.enabled",
        "offsetValidation.enabled",
        "unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled",
        "unsafeReadOnIncompatibleSchemaChangesDuringStreamStart.enabled",
        "unsafeReadOnPartitionColumnChanges.enabled",
        "unsafeReadOnNullabilityChange.enabled",
        "allowSchemaLocationOutsideCheckpointLocation",
        "initialSnapshotMaxFiles",
    )
)


def _of_setting(scene: Scene, key: str, value: str) -> Given:
    from ckpttool.releases.settings import knows, settings

    if overruled := _pinned(scene, key):
        path, forced = overruled
        return Given("conf", key, value, "pinned", path, _told_pinned(scene, key, value, path, forced), forced)
    if why := _switched_off(scene, key):
        told = _told("conf-pinned", "warning", f"{key} = {shown(value)} was given, and {why}", "leave it out")
        changes = value.strip().lower() == "true"
        return Given("conf", key, value, "pinned", why, told if changes else None)
    if knows(scene.release, key) or key in _NO_ENTRY:
        return Given("conf", key, shown_value(key, value), "taken", "the session")
    if not key.startswith("spark.sql.") or key.startswith(_OTHERS):
        return Given("conf", shown(key), "***", "unknown", "no setting of Spark SQL: what it does is not known here")
    first = settings().get(key)
    release = spell_release(scene.release)
    why = (
        f"Spark {release} has no such setting"
        if first is None
        else f"Spark {release} does not have it, which came with {spell_release(first)}"
        if first > scene.release
        else f"Spark {release} does not have it any more"
    )
    told = _told("option-unknown", "warning", f"the setting {shown(key)}: {why}, and passes over it", _LOOK_AGAIN)
    return Given("conf", shown(key), "***", "unknown", why, told)


def _pinned(scene: Scene, key: str) -> tuple[str, str] | None:
    """The file that overrules a setting, and with which value. Micro-batches force what their newest offsets pin on the
    session before they plan anything; continuous processing does not."""
    newest = scene.entry(scene.planned)
    if newest is None or scene.is_continuous:
        return None
    path = layout.offsets(scene.planned or 0)
    if key == _OFFSETS_VERSION and scene.release >= since.OFFSETS_2:
        return path, str(newest.version)
    if key == _COMMITS_VERSION and scene.release >= since.COMMITS_OVERRULE and scene.committed is not None:
        commit = scene.checkpoint.commits.get(scene.committed)
        return (layout.commits(scene.committed), str(commit.version)) if commit else None
    if key == PARTITIONS and scene.release >= since.STATE_PARTITIONS and not scene.is_stateful:
        return None  # only the number of the state's partitions is pinned
    if key == _STATE_PARTITIONS and scene.release >= since.STATE_PARTITIONS:
        key = PARTITIONS
    if newest.metadata is None or not _pins(scene.release, key):
        return None
    forced = newest.metadata.conf.get(key, FORCED.get(key))
    return None if forced is None else (path, forced)


def _pins(release: Release, key: str) -> bool:
    first = since.PINNED.get(key)
    return first is not None and release >= first


def _told_pinned(scene: Scene, key: str, value: str, path: str, forced: str) -> Finding | None:
    if value.strip().lower() == forced.strip().lower():
        return None
    return Finding(
        id="conf-pinned",
        severity="warning",
        path=path,
        message=f"{key} = {shown(value)} was given, and this file overrules it: {shown(forced)} stays",
        next_step=f"leave it out: {_moved_by_spark(scene, key) or 'a new checkpoint takes another value'}",
    )


def _moved_by_spark(scene: Scene, key: str) -> str | None:
    """State can be given other partitions where RocksDB keeps it. Of another provider Spark plans the batch before it
    refuses, and every start after that is refused as well."""
    newest = scene.entry(scene.planned)
    pinned = newest.metadata.conf if newest and newest.metadata else {}
    if key != PARTITIONS or not scene.is_stateful or scene.release < since.REPARTITION:
        return None
    if not pinned.get(_PROVIDER, "").endswith(".RocksDBStateStoreProvider"):
        return None
    return "StreamingCheckpointManager.repartition of Spark moves the state of a stopped query to another number"


def _switched_off(scene: Scene, key: str) -> str | None:
    if key in _SWITCHED_OFF:
        return "Spark switches it off for every streaming query"
    if key != _ADAPTIVE:
        return None
    if scene.release < since.ADAPTIVE_STATELESS:
        return "Spark switches it off for every streaming query"
    if scene.is_stateful or scene.is_continuous or scene.is_realtime:
        return "Spark switches it off for a query like this one"
    return None


# -- options -----------------------------------------------------------------------------------------------------------


def _of_option(scene: Scene, key: str, value: str) -> Given:
    from ckpttool.connectors.options import takers

    known = takers(key)
    if not known:
        why = "no source and no sink that is known here has such an option"
        told = _told("option-unknown", "warning", f"the option {shown(key)}: {why}", _LOOK_AGAIN)
        return Given("option", shown(key), "***", "unknown", why, told)
    value = shown_value(key, value)
    sources = {kind for kind in scene.kinds if kind not in ("integer", "python", "unknown")}
    settled = bool(sources) and sources == scene.kinds
    sinks: set[str] = {sink.kind for sink in scene.sinks}
    named = bool(sinks) and "foreachBatch" not in sinks  # what that writes to has options of its own

    here: Mapping[str, set[str]] = {"source": sources, "sink": sinks, "query": {"query"}}
    sure = {"source": settled, "sink": named, "query": True}
    certain = [taker for taker in known if taker.kind in here[taker.part]]
    mine = certain or [taker for taker in known if not sure[taker.part]]
    if not mine:
        why = f"it is one of {enumerated(sorted({f'{taker.kind} {taker.part}s' for taker in known}))}, and none is here"
        return Given(
            "option", key, value, "ignored", why, _told("option-ignored", "info", f"the option {key}: {why}", "")
        )
    began = _began_at(scene)
    if began and all(taker.when == "first" for taker in mine):
        told = Finding(
            id="option-ignored",
            severity="info",
            path=began,
            message=f"the option {key} counts for a new query only: this one goes on from here",
            next_step="leave it out. A new checkpoint begins where it says",
        )
        return Given("option", key, value, "ignored", began, told)
    names = [f"the {taker.kind} {taker.part}" if taker.part != "query" else "the query" for taker in mine]
    return Given("option", key, value, "taken", enumerated(dict.fromkeys(names)))


def _began_at(scene: Scene) -> str | None:
    """The file that says where the query began, or where it is. Kafka's source writes down its beginning; others begin
    as the options say for as long as batch 0 is not committed."""
    newest = scene.evidence.newest
    for source in newest.sources if newest else ():
        path = layout.source_entry(source.key, 0)
        if path in scene.checkpoint.raw and scene.kind_of(source) == "kafka":
            return path
    return layout.offsets(scene.planned) if scene.planned is not None and scene.committed is not None else None


# -- what is shown -----------------------------------------------------------------------------------------------------

_LOOK_AGAIN = "look at how it is spelled, or leave it out: the answer does not depend on it"


def _told(id_: str, severity: Literal["warning", "info"], message: str, next_step: str) -> Finding:
    return Finding(id=id_, severity=severity, path=".", message=message, next_step=next_step or None)


def look(scene: Scene) -> Iterator[Finding]:
    yield from (given.finding for given in answers(scene) if given.finding)


LAWS = (
    Law("conf-pinned", "a setting that was given is overruled", look=look, severities=("warning",)),
    Law("option-ignored", "an option that was given counts for nothing here", look=look, severities=("info",)),
    Law(
        "option-unknown", "an option or a setting that was given is known to nobody", look=look, severities=("warning",)
    ),
)
