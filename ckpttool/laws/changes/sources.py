"""Sources that came, went, changed places, or read something else. Version 1 of the offset log knows them by their
lines, version 2 by names, which are numbers unless the job gives others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ckpttool.connectors.base import TopicOffset
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.kafka.base import Subscription
from ckpttool.kafka.positions import is_subscribed, subscription_of
from ckpttool.laws.base import ASSERTION
from ckpttool.laws.changes.base import Altered, Answer, Assumption, ChangeLaw, Deploy, RowsMeant, Spot
from ckpttool.laws.changes.kinds import Pair, foreign, kind_of, kinds_differ, other_kind, spelled_source
from ckpttool.laws.changes.schemas import columns, fits, spelled
from ckpttool.laws.file_place import is_elsewhere, readings, refused
from ckpttool.laws.kafka.base import loss
from ckpttool.query.model import DescribedSource, Query
from ckpttool.releases import since
from ckpttool.scene.scene import Failure

_ANALYSIS = "org.apache.spark.sql.AnalysisException"
_NAMES = "STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT"
_ANEW = "the added source begins at its beginning, or where its options say"
_UNREAD = "what it had not read yet is never read"
_AGAIN = "all of its files are new: what was read before may come a second time"
# Formats whose files say what they are: a reader of another format fails on them.
_BINARY = ("parquet", "orc", "avro", "binaryfile")
_NUMBERS = ("byte", "short", "integer", "long", "float", "double")


def look(deploy: Deploy) -> Iterator[Altered | Assumption]:
    held, new = deploy.held.sources, deploy.new.sources
    if "sources" in deploy.held.not_told or not held:
        return
    compared = list(_compared(deploy))
    if "sources" not in deploy.new.not_told:
        yield from compared
    elif not new or any(isinstance(one, Altered) and one.answer != "harmless" for one in compared):
        before, why = ", ".join(map(spelled_source, held)), "the description does not tell its sources for sure"
        yield Altered("source-kind-changed", Spot(), before, None, "checkpoint", "unknown", why)


def _compared(deploy: Deploy) -> Iterator[Altered | Assumption]:
    held, new = deploy.held.sources, deploy.new.sources
    yield from _names_assumed(deploy)
    if _names_changed(deploy):
        yield from _named(deploy)
    elif _by_names(deploy):
        yield from _matched_by_name(deploy)
    elif len(held) != len(new):
        yield from _counted(deploy)
    else:
        yield from _in_place(deploy, list(zip(held, new, strict=True)))


def _by_names(deploy: Deploy) -> bool:
    """Whether the offset log is of version 2."""
    newest = deploy.scene.evidence.newest if deploy.scene else None
    if newest and newest.entry:
        return newest.entry.version >= 2
    return any(source.name for source in deploy.held.sources)


def _key(source: DescribedSource) -> str:
    return source.name or str(source.index)


# -- how many there are ------------------------------------------------------------------------------------------------


def _counted(deploy: Deploy) -> Iterator[Altered]:
    held, new = deploy.held.sources, deploy.new.sources
    failure = _refused_by_number(len(held), len(new))
    came, went = _unpaired(held, new), _unpaired(new, held)
    if len(new) > len(held):
        for source in came[: len(new) - len(held)] or new[len(held) :]:
            id_, where = "source-added" if source.shared_with is None else "source-shared", Spot(source=source.index)
            yield Altered(id_, where, None, spelled_source(source), "checkpoint", "refused", failure.why, failure)
        return
    for source in went[: len(held) - len(new)] or held[len(new) :]:
        where, before = Spot(source=source.index), spelled_source(source)
        yield Altered("source-removed", where, before, None, "checkpoint", "refused", failure.why, failure)


def _refused_by_number(held: int, new: int) -> Failure:
    message = f"There are [{held}] sources in the checkpoint offsets and now there are [{new}] sources requested"
    why = f"the offsets have lines of {held}, and the query has {new}"
    return Failure("init", ASSERTION, None, message, why, path=layout.OFFSETS)


def _unpaired(some: Sequence[DescribedSource], of: Sequence[DescribedSource]) -> list[DescribedSource]:
    """Those of `of` that have no like among the others: a source that is there twice has one like alone."""
    left = list(some)
    found = []
    for source in of:
        like = next((one for one in left if _is_like(one, source)), None)
        if like is None:
            found.append(source)
        else:
            left.remove(like)
    return found


def _is_like(one: DescribedSource, other: DescribedSource) -> bool:
    same_place = one.place == other.place or None in (one.place, other.place)
    return kind_of(one) == kind_of(other) and same_place


def _matched_by_name(deploy: Deploy) -> Iterator[Altered | Assumption]:
    held = {_key(source): source for source in deploy.held.sources}
    new = {_key(source): source for source in deploy.new.sources}
    gone, come = [key for key in held if key not in new], [key for key in new if key not in held]
    if gone and len(gone) == len(come) and all(source.name for source in new.values()):
        for old, now in zip(gone, come, strict=True):
            yield Altered(
                "source-renamed", Spot(source=new[now].index), old, now, "checkpoint", "rows_differ",
                "a name that no offsets have: it begins at its beginning", rows=RowsMeant(_AGAIN),
            )  # fmt: skip
        gone, come = [], []
    for key in come:
        source = new[key]
        answer: Answer = "harmless" if source.name else "rows_differ"
        rows, where = None if source.name else RowsMeant(_ANEW), Spot(source=source.index)
        yield Altered("source-added", where, None, spelled_source(source), "checkpoint", answer, _ANEW, rows=rows)
    for key in gone:
        source = held[key]
        where = Spot(source=source.index)
        yield Altered(
            "source-removed", where, spelled_source(source), None, "checkpoint", "rows_differ", _UNREAD,
            rows=RowsMeant(_UNREAD),
        )  # fmt: skip
    yield from _in_place(deploy, [(held[key], new[key]) for key in held if key in new])


# -- names -------------------------------------------------------------------------------------------------------------


def _names_changed(deploy: Deploy) -> bool:
    had = _names(deploy.held) or _pins_names(deploy)
    return bool(had) != bool(_names(deploy.new))


def _names(query: Query) -> list[str]:
    return [source.name for source in query.sources if source.name]


def _pins_names(deploy: Deploy) -> bool:
    """Offsets of version 1 are those of sources with names too, and only the setting tells."""
    return deploy.held.conf.get("spark.sql.streaming.queryEvolution.enableSourceEvolution") == "true"


def _names_assumed(deploy: Deploy) -> Iterator[Assumption]:
    names = _names(deploy.new)
    was = _names(deploy.was) if deploy.was and deploy.compares("sources") else _names(deploy.held)
    if names and _pins_names(deploy) and was != names and not _names(deploy.held):
        yield Assumption(f"the sources had the same names before: {', '.join(names)}")


def _named(deploy: Deploy) -> Iterator[Altered]:
    """A source with a name keeps its log under it, and the setting that allows names is pinned."""
    if _names(deploy.new):
        after, message = ", ".join(map(_key, deploy.new.sources)), "doesn't exist"
        why = "their logs are looked for under the names, where there are none"
        failure = Failure("init", ILLEGAL_STATE, None, message, why, path=layout.SOURCES)
        if deploy.release >= since.NAMES_REFUSED and not _by_names(deploy):
            message, why = "on a checkpoint that was created without it", "offsets of version 1 cannot be given names"
            failure = Failure("init", _ANALYSIS, _NAMES, message, why, path=layout.OFFSETS)
        yield Altered("source-named", Spot(), None, after, "checkpoint", "refused", why, failure)
        return
    before = ", ".join(map(_key, deploy.held.sources)) if _names(deploy.held) else "names"
    if "plan" in deploy.new.not_told or not _names(deploy.held):
        why = "the sources of the checkpoint have names, and whether those of the query have the same is not told"
        yield Altered("source-named", Spot(), before, None, "checkpoint", "unknown", why)
        return
    message, why = "All sources should be named at this point", "the offsets have names, and the query has none"
    failure = Failure("init", ASSERTION, None, message, why, path=layout.OFFSETS)
    yield Altered("source-named", Spot(), before, None, "checkpoint", "refused", why, failure)


# -- one and the same line ---------------------------------------------------------------------------------------------


def _in_place(deploy: Deploy, pairs: list[Pair]) -> Iterator[Altered | Assumption]:
    if len(pairs) > 1 and all(kinds_differ(*pair) for pair in pairs):
        yield foreign(pairs)
        return
    swapped = _swapped(pairs)
    for held, new in pairs:
        if kinds_differ(held, new):
            yield other_kind(held, new)
        else:
            yield from _placed(deploy, held, new, "sources-swapped" if swapped else "source-place-changed")
            yield from _schema(deploy, new)


def _swapped(pairs: Sequence[Pair]) -> bool:
    held, new = ([pair[side].place for pair in pairs] for side in (0, 1))
    return len(pairs) > 1 and None not in held and held != new and sorted(map(str, held)) == sorted(map(str, new))


def _placed(deploy: Deploy, held: DescribedSource, new: DescribedSource, id_: str) -> Iterator[Altered | Assumption]:
    if new.kind == "file":
        yield from _files(deploy, held, new, id_)
    elif new.kind == "kafka":
        yield from _topics(deploy, held, new, id_)
    else:
        old = deploy.old_source(new.index)
        if old is None and new.place is not None:
            yield Assumption(f"source {new.index} read {new.place} before")
        elif old is not None and old.place != new.place:
            why = "its offsets are those of another place"
            where = Spot(source=new.index)
            yield Altered(id_, where, old.place, new.place, "was", "unknown", why)


def _files(deploy: Deploy, held: DescribedSource, new: DescribedSource, id_: str) -> Iterator[Altered | Assumption]:
    scene = deploy.scene
    if scene is None or new.place is None:
        if held.place != new.place:
            yield Assumption(f"source {new.index} read {new.place} before")
        return
    for reading in readings(scene):
        if (reading.source.own_name, reading.source.number) != (held.name, held.index):
            continue
        spoken, where = refused(scene, reading), Spot(source=new.index)
        if isinstance(spoken, Failure):
            yield Altered(id_, where, held.place, new.place, "checkpoint", "refused", spoken.why, spoken)
        elif is_elsewhere(reading):
            rows = RowsMeant(_AGAIN)
            yield Altered(id_, where, held.place, new.place, "checkpoint", "rows_differ", _AGAIN, rows=rows)
        else:
            yield from _wider(deploy, new)


def _wider(deploy: Deploy, new: DescribedSource) -> Iterator[Altered]:
    old = deploy.old_source(new.index)
    if old is not None and old.place != new.place:
        why = "it holds what was read before. The files that it covers besides are new"
        yield Altered("source-place-changed", Spot(source=new.index), old.place, new.place, "was", "harmless", why)


def _topics(deploy: Deploy, held: DescribedSource, new: DescribedSource, id_: str) -> Iterator[Altered | Assumption]:
    wanted = subscription_of(new.options)
    if wanted == Subscription():
        yield Assumption(f"source {new.index} subscribes to what it did before")
        return
    newest = deploy.scene.evidence.newest if deploy.scene else None
    offsets = [source.offset for source in newest.sources if source.number == held.index] if newest else []
    had = {topic for one in offsets if isinstance(one, TopicOffset) for topic in one.topics}
    had = had or set(filter(None, (held.place or "").split(",")))
    gone = sorted(topic for topic in had if not is_subscribed(wanted, topic))
    come = sorted(set(wanted.topics or ()) - had) if had else []
    where, before, after = Spot(source=new.index), ",".join(sorted(had)), new.place
    if gone:
        fails = {key.lower(): value for key, value in new.options.items()}.get("failondataloss", "true")
        names = ", ".join(gone)
        if fails.strip().lower() == "false":
            why = f"{names}: read no more, and what it had not read yet is never read"
            yield Altered(id_, where, before, after, "checkpoint", "rows_differ", why, rows=RowsMeant(_UNREAD))
            return
        raised = loss(deploy.release, "PARTITIONS_DELETED", "have been deleted.", "are gone.")
        why = f"{names} in the offsets, and not in what the source subscribes to"
        failure = Failure("batch", *raised, why, deploy.next_id, path=layout.OFFSETS)
        yield Altered(id_, where, before, after, "checkpoint", "refused", why, failure)
    elif come:
        why = f"{', '.join(come)}: read from the earliest record"
        yield Altered(id_, where, before, after, "checkpoint", "harmless", why)


# -- schemas -----------------------------------------------------------------------------------------------------------


def _schema(deploy: Deploy, new: DescribedSource) -> Iterator[Altered | Assumption]:
    old = deploy.old_source(new.index)
    if new.kind != "file" or new.schema is None:
        return
    if old is None or old.schema is None:
        yield Assumption(f"source {new.index} was read as {new.format} of the same columns before")
        return
    where = Spot(source=new.index)
    if old.format != new.format and old.format and new.format:
        why = f"files that are {old.format} are read as {new.format}"
        if new.format in _BINARY or old.format in _BINARY:
            why += ", which fails where it meets one"
            yield Altered("source-schema-changed", where, old.format, new.format, "was", "refused_later", why)
        else:
            rows = RowsMeant(why)
            yield Altered("source-schema-changed", where, old.format, new.format, "was", "rows_differ", why, rows=rows)
        return
    before = {column["name"]: column for column in columns(old.schema)}
    for column in columns(new.schema):
        earlier = before.get(column["name"])
        if earlier is not None and not fits(earlier["type"], column["type"]):
            yield _retyped(new, earlier, column)


def _retyped(new: DescribedSource, before: Any, after: Any) -> Altered:
    where = Spot(source=new.index, field=str(after["name"]))
    told = (spelled(before), spelled(after))
    both = [one["type"] for one in (before, after)]
    numbers = [_NUMBERS.index(one) for one in both if one in _NUMBERS]
    wider = after["type"] == "string" or (len(numbers) == 2 and numbers[0] < numbers[1])
    if wider and new.format not in _BINARY:
        why = "what is read fits into it"
        return Altered("source-schema-changed", where, *told, "was", "harmless", why)
    if new.format in _BINARY:
        why = f"whether {new.format} files are read with this type depends on what wrote them"
        return Altered("source-schema-changed", where, *told, "was", "unknown", why)
    if len(numbers) == 2:
        why = "a number that does not fit into it comes as null, and no file of the checkpoint tells of one"
        return Altered("source-schema-changed", where, *told, "was", "unknown", why)
    why = "what is of the other type comes as null"
    return Altered("source-schema-changed", where, *told, "was", "rows_differ", why, rows=RowsMeant(why))


_CODE = ("keep-old-shape", "old-code-first")
LAWS = (
    ChangeLaw(
        "source-added",
        "a source that the offsets have no line of",
        look,
        "By lines it refuses before any batch. By names the new one begins at its beginning.",
        "none where it is refused",
        "real restarts: before and after the others, by lines and by names",
        ("add-source-line", "new-query-beside", "old-code-first"),
    ),
    ChangeLaw(
        "source-removed",
        "a source that the offsets have a line of, and the query does not read",
        look,
        "By lines it refuses before any batch. By names it goes on without a word.",
        "what the removed source had not read yet is never read",
        "real restarts: the first, the last, by lines and by names",
        ("keep-old-shape", "drop-source-line", "old-code-first"),
    ),
    ChangeLaw(
        "source-shared",
        "the same DataFrame is read twice",
        look,
        "It counts as two sources, and is refused as one more.",
        "none: no batch runs",
        "real restarts: a union of a source with itself",
        ("keep-old-shape", "old-code-first"),
    ),
    ChangeLaw(
        "sources-swapped",
        "sources in another order",
        look,
        "Each goes on with the other's offsets: files of the last batch are out of place.",
        "none where it is refused. Otherwise all files are new",
        "real restarts: of a union and of a join",
        _CODE,
    ),
    ChangeLaw(
        "source-kind-changed",
        "a source of another kind in the place of one",
        look,
        "It fails where it reads offsets that are not its own.",
        "none: no batch runs",
        "real restarts: files to rate and rate-micro-batch",
        ("start-state-anew", "old-code-first"),
    ),
    ChangeLaw(
        "source-place-changed",
        "a source reads another place",
        look,
        "A file source asks for the files of the newest batch below its new path: where there were any it refuses, "
        "else it takes all files there for new.",
        "none where it is refused. Otherwise what was read before may come a second time",
        "real restarts: after batches with and without files, a pattern that covers more",
        ("old-code-first",),
    ),
    ChangeLaw(
        "source-schema-changed",
        "a source's columns, or its format, are others",
        look,
        "It goes on without a word where the new format reads the files.",
        "what does not fit comes as null, or as other columns",
        "real restarts: wider and wrong types, columns more and fewer, JSON as text, CSV and Parquet",
        ("old-code-first",),
    ),
    ChangeLaw(
        "source-named",
        "sources were given names, or lost them",
        look,
        "It refuses: their logs and offsets are kept under other names.",
        "none: no batch runs",
        "real restarts: names put on a checkpoint without",
        _CODE,
        since=since.OFFSETS_2,
    ),
    ChangeLaw(
        "source-renamed",
        "a source with a name has another",
        look,
        "It goes on without a word, and begins that source at its beginning.",
        "all that it read comes again",
        "real restarts of named sources",
        _CODE,
        since=since.OFFSETS_2,
    ),
    ChangeLaw(
        "foreign-query",
        "no source is of the kind that the checkpoint has",
        look,
        "It fails where it reads offsets that are not its own.",
        "none: no batch runs",
        "as with each source of another kind",
        ("old-code-first",),
    ),
)
