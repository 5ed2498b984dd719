"""What no schema of state tells: watermarks, windows, gaps, conditions, limits, and what a sum summed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ckpttool.laws.changes.base import Altered, Answer, Assumption, ChangeLaw, Deploy, RowsMeant, Spot
from ckpttool.laws.changes.meeting import DEDUP, WITHIN, pairs_of
from ckpttool.laws.changes.operators import steps
from ckpttool.query.model import Meaning, Query, QueryOperator, QueryWatermark
from ckpttool.state.tables import JOIN
from ckpttool.words import enumerated

_MIXED = "what is stored was kept by the old rule, and what comes is by the new one"
_SIDE_BY_SIDE = "the windows that are stored end as they were, and rows in them are not in the new ones"
_KEEP_END = "sessions that are stored keep their end"
_GROWS = "nothing removes state any more: it grows without bound"
_ONE_MORE = "the watermark jumps, and windows that were open are closed at once, or wait longer"
_NOTHING = "the state of the operator holds nothing that was kept by the old rule"
_SHORT = "windows that began before the watermark, and end behind it, lack the rows that the old ones had"
_LIMITED = ("globalLimit",)


# -- operators ---------------------------------------------------------------------------------------------------------


def look(deploy: Deploy) -> Iterator[Altered | Assumption]:
    if not deploy.tells_operators:
        return
    for step in steps(deploy):
        new = step.new
        if step.stays and step.held and new and step.held.id == new.id and new.meaning:
            old = deploy.old_operator(new.id)
            if deploy.is_emptied(new.id):
                yield from _of_nothing(deploy, step.held, new, new.meaning, old)
                continue
            if stored := _stored(deploy, new, new.meaning):
                yield stored
            if old is None or old.meaning is None:
                yield from _assumed(new, new.meaning) if stored is None else ()
            elif _fits(step.held, new):
                told = (*_meanings(new, old.meaning, new.meaning), *_shifted(deploy, new, old.meaning))
                yield from (one for one in told if stored is None or one.id != stored.id)


def _of_nothing(
    deploy: Deploy, held: QueryOperator, new: QueryOperator, meaning: Meaning, old: QueryOperator | None
) -> Iterator[Altered | Assumption]:
    """The rule may be another where nothing is kept by the old one, and no window has to do with rows that went."""
    begins_behind = _begins_behind(deploy, meaning)
    if old is None or old.meaning is None:
        yield from () if begins_behind else _assumed(new, meaning)
    elif _fits(held, new):
        is_apart = {"window-changed": begins_behind, "gap-changed": _is_no_longer(old.meaning, meaning)}
        for one in (*_meanings(new, old.meaning, meaning), *_shifted(deploy, new, old.meaning)):
            if is_apart.get(one.id, True):
                yield replace(one, answer="harmless", why=_NOTHING, rows=None)
            else:
                yield replace(one, why=_SHORT, rows=RowsMeant(_SHORT)) if one.answer == "rows_differ" else one


def _begins_behind(deploy: Deploy, now: Meaning) -> bool:
    """Whether each window of the query ends before the watermark, or begins there at the earliest."""
    begin, length, reached = _begin(deploy.new), now.window_ms, deploy.watermark_ms
    if begin is None or reached is None or not length or (now.slide_ms or length) != length:
        return False
    return (reached * 1000 - begin) % (length * 1000) == 0


def _is_no_longer(old: Meaning, now: Meaning) -> bool:
    """A session that ended before the watermark would not have gone on behind it."""
    before, after = (one.gap and _milliseconds(one.gap) for one in (old, now))
    return isinstance(before, int) and isinstance(after, int) and after <= before


def _stored(deploy: Deploy, new: QueryOperator, meaning: Meaning) -> Altered | None:
    """The newest windows that the state holds, where none of them is the query's: it may have been changed before. A
    session is as long as its gap at least."""
    stored = deploy.windows_in(new.id)
    if stored is None:
        return None
    lengths = {end - start for start, end in stored.newest}
    gap_ms = _milliseconds(meaning.gap) if stored.are_sessions and meaning.gap else None
    if gap_ms is not None and max(lengths) < gap_ms * 1000:
        before = f"sessions of {max(lengths) // 1000} ms at most"
        return _by_state(new, "gap-changed", before, f"a gap of {gap_ms} ms", _KEEP_END)
    if stored.are_sessions or not meaning.window_ms:
        return None
    if meaning.window_ms * 1000 not in lengths:
        before = f"windows of {enumerated(f'{length // 1000} ms' for length in sorted(lengths))}"
        return _by_state(new, "window-changed", before, f"windows of {meaning.window_ms} ms", _SIDE_BY_SIDE)
    slide = (meaning.slide_ms or meaning.window_ms) * 1000
    begin = _begin(deploy.new)
    if begin is not None and all((start - begin) % slide for start, _ in stored.newest):
        before = f"windows that begin at {stored.newest[0][0] % slide} µs"
        return _by_state(new, "window-changed", before, f"windows that begin at {begin % slide} µs", _SIDE_BY_SIDE)
    return None


def _begin(query: Query) -> int | None:
    """Where its windows begin, in microseconds, if all do alike."""
    starts = set(_ARITHMETIC.findall("\n".join(query.plan)))
    return int(next(iter(starts))) if len(starts) == 1 else None


def _by_state(new: QueryOperator, id_: str, before: str, after: str, why: str) -> Altered:
    return Altered(id_, Spot(operator=new.id), before, after, "state", "rows_differ", why, rows=RowsMeant(why))


_INTERVAL = re.compile(r"(\d{1,15}) (millisecond|second|minute|hour|day)s?")
_UNITS_MS = {"millisecond": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}


def _milliseconds(text: str) -> int | None:
    found = _INTERVAL.fullmatch(text.strip())
    return int(found[1]) * _UNITS_MS[found[2]] if found else None


def _fits(held: QueryOperator, new: QueryOperator) -> bool:
    """Where the schema is another, that says it all; what is beside the key of a join may be hidden."""
    ignored = new.name in (DEDUP, JOIN)
    known = [pair for pair in pairs_of(held, new) if pair.is_known]
    return all(pair.key_fits and (pair.value_fits or ignored) for pair in known)


def _assumed(new: QueryOperator, meaning: Meaning) -> Iterator[Assumption]:
    told = [*meaning.keys, *meaning.values, *filter(None, (meaning.condition,))]
    if told:
        yield Assumption(f"operator {new.id} ({new.name}) was of the same before: {enumerated(told)}")


def _meanings(new: QueryOperator, old: Meaning, now: Meaning) -> Iterator[Altered]:
    yield from _windows(new, old, now)
    if old.join_type != now.join_type:
        yield _unlike(new, "join-type-changed", "join", old.join_type, now.join_type)
    if old.condition != now.condition:
        yield _unlike(new, "join-condition-changed", "condition", old.condition, now.condition)
    if old.limit != now.limit:
        before, after = (f"{one} rows" for one in (old.limit, now.limit))
        why = "it goes on counting from where it was"
        yield Altered("limit-changed", Spot(operator=new.id), before, after, "was", "harmless", why)
    if old.timeout != now.timeout:
        why = "what was set by the old timeout stays until the function sets it anew"
        where = Spot(operator=new.id)
        yield Altered(
            "timeout-changed", where, old.timeout, now.timeout, "was", "rows_differ", why, rows=RowsMeant(why)
        )


def _windows(new: QueryOperator, old: Meaning, now: Meaning) -> Iterator[Altered]:
    """Of a session the gap, of a window its length: the rest of the keys is their meaning."""
    windows, gaps = (old.window_ms, old.slide_ms) != (now.window_ms, now.slide_ms), old.gap != now.gap
    keys = [(place, *pair) for place, pair in enumerate(zip(old.keys, now.keys, strict=False)) if pair[0] != pair[1]]
    for place, before, after in keys:
        if before.startswith("session_window(") and gaps:
            yield _unlike(new, "gap-changed", f"key.{place}", before, after)
        elif before.startswith("window(") and (windows or after.startswith("window(")):
            yield _unlike(new, "window-changed", f"key.{place}", before, after)
        elif after.startswith(f"coalesce({before}, "):
            why = "only what was kept of null begins anew, under another key"
            spot = Spot(operator=new.id, field=f"key.{place}")
            yield Altered("state-meaning-changed", spot, before, after, "was", "harmless", why)
        else:
            why = "all that is kept stays under the old keys, and the new ones begin with nothing"
            yield _unlike(new, "state-meaning-changed", f"key.{place}", before, after, why)
    if not keys and len(old.keys) != len(now.keys) and new.name in (DEDUP, WITHIN):
        before, after = _named(old.keys), _named(now.keys)
        yield _unlike(new, "dedup-columns-changed", "key", before, after)
    if old.values != now.values and new.name != JOIN:
        before, after = _named(old.values), _named(now.values)
        why = f"of each key {after} goes on from what was {before}: a mixture of both"
        yield _unlike(new, "state-meaning-changed", "value", before, after, why)


_UNTOLD_BEGIN = "the text of a running query does not tell where its windows begin"
_ARITHMETIC = re.compile(r"LongType\) - (\d{1,18})\) % \d")


def _shifted(deploy: Deploy, new: QueryOperator, old: Meaning) -> Iterator[Altered]:
    """Where windows begin stands in no key, but in the arithmetic of the plan."""
    if new.meaning is None or new.meaning.window_ms is None or old.keys != new.meaning.keys or deploy.was is None:
        return
    starts = [sorted(set(_ARITHMETIC.findall("\n".join(one.plan)))) for one in (deploy.was, deploy.new)]
    if starts[0] != starts[1]:
        before, after = (f"windows that begin at {_named(several)} µs" for several in starts)
        found = _unlike(new, "window-changed", "key", before, after)
        yield found if all(starts) else replace(found, answer="unknown", why=_UNTOLD_BEGIN, rows=None)


def _named(several: Sequence[str]) -> str:
    return enumerated(several) if several else "nothing"


def _unlike(
    new: QueryOperator, id_: str, field: str, before: str | None, after: str | None, why: str = _MIXED
) -> Altered:
    where = Spot(operator=new.id, field=field)
    return Altered(id_, where, before, after, "was", "rows_differ", why, rows=RowsMeant(why))


# -- watermarks --------------------------------------------------------------------------------------------------------


def look_at_watermarks(deploy: Deploy) -> Iterator[Altered | Assumption]:
    if "watermarks" in deploy.new.not_told:
        return
    if not deploy.compares("watermarks"):
        yield from _assumed_watermarks(deploy)
        return
    old = _by_source(deploy.was.watermarks if deploy.was else ())
    new = _by_source(deploy.new.watermarks)
    for sources in dict.fromkeys((*old, *new)):
        if change := _watermark(deploy, old.get(sources), new.get(sources)):
            yield change


def _by_source(watermarks: tuple[QueryWatermark, ...] | None) -> dict[tuple[int, ...], QueryWatermark]:
    return {one.sources: one for one in watermarks or ()}


def _assumed_watermarks(deploy: Deploy) -> Iterator[Assumption]:
    if not _waits(deploy):
        return
    for one in deploy.new.watermarks or ():
        yield Assumption(f"the watermark was on {one.column} before")
    if not deploy.new.watermarks:
        yield Assumption("there was no watermark before")


def _waits(deploy: Deploy) -> bool:
    """Whether an operator goes by event time."""
    return any(one.name not in _LIMITED for one in deploy.new.operators)


def _watermark(deploy: Deploy, old: QueryWatermark | None, new: QueryWatermark | None) -> Altered | None:
    where = Spot(source=(new or old).sources[0]) if (new or old) and (new or old).sources else Spot()  # type: ignore[union-attr]
    before, after = (_spelled(one) if one else None for one in (old, new))
    if old is None:
        why = "the watermark begins with the next rows"
        return Altered("watermark-added", where, before, after, "was", "harmless", why)
    if new is None:
        answer: Answer = "rows_differ" if _waits(deploy) else "harmless"
        why = _GROWS if _waits(deploy) else "no operator goes by it"
        rows = RowsMeant(why) if answer == "rows_differ" else None
        return Altered("watermark-removed", where, before, after, "was", answer, why, rows=rows)
    if old.column != new.column:
        answer = "rows_differ" if _waits(deploy) else "harmless"
        rows = RowsMeant(_ONE_MORE) if answer == "rows_differ" else None
        return Altered("watermark-column-changed", where, before, after, "was", answer, _ONE_MORE, rows=rows)
    if old.delay_ms != new.delay_ms:
        why = "the watermark never goes back: it moves again when the data is that much further"
        why = why if new.delay_ms > old.delay_ms else "it counts from the next batch on"
        return Altered("watermark-delay-changed", where, before, after, "was", "harmless", why)
    return None


def _spelled(one: QueryWatermark) -> str:
    return f"{one.column}, {one.delay_ms} ms behind"


_ANEW = ("start-state-anew", "new-query-beside", "old-code-first")
_FLUSH = ("flush-first", *_ANEW)
_SILENT = "It goes on without a word."
_BOTH = "the old and the new rule live side by side in one state"
LAWS = (
    ChangeLaw(
        "state-meaning-changed",
        "a column of state is computed from something else, of the same type",
        look,
        _SILENT,
        "each key is a mixture of both, or begins anew beside the old keys",
        "real restarts: sum to max and count, another column, two sums swapped, `upper(k)` for `k`",
        _ANEW,
    ),
    ChangeLaw(
        "window-changed",
        "windows of another length, slide or offset",
        look,
        f"{_SILENT} A window that slides where it did not has another key schema, and is refused.",
        "both kinds live side by side, and rows in the old windows are not in the new ones",
        "real restarts: longer, shorter, with an offset, sliding",
        _FLUSH,
    ),
    ChangeLaw(
        "gap-changed",
        "sessions with another gap",
        look,
        _SILENT,
        "sessions that are stored keep their end",
        "real restarts: longer, shorter",
        _FLUSH,
    ),
    ChangeLaw(
        "join-type-changed",
        "another kind of join",
        look,
        f"{_SILENT} Where the sides may be null now, their schema is refused.",
        _BOTH,
        "real restarts: inner to left, full and semi, left to inner",
        _ANEW,
    ),
    ChangeLaw(
        "join-condition-changed",
        "another condition of a join",
        look,
        f"{_SILENT} Another number or type of keys is refused.",
        _BOTH,
        "real restarts: a range that is wider, a condition more, another key",
        _ANEW,
    ),
    ChangeLaw(
        "limit-changed",
        "another limit",
        look,
        "It goes on counting.",
        "as the query means them: a limit that was passed already lets nothing through",
        "real restarts: more, fewer",
    ),
    ChangeLaw(
        "timeout-changed",
        "another timeout of groups with state",
        look,
        "It goes on where the state has the same schema.",
        "what was set by the old timeout stays until the function sets it anew",
        "Spark's source: FlatMapGroupsWithStateExec",
        ("old-code-first",),
    ),
    ChangeLaw(
        "watermark-added",
        "a watermark where none was",
        look_at_watermarks,
        "It goes on.",
        "as the query means them: rows that come too late are dropped from here on",
        "real restarts: of a count, a dedup, and without state",
    ),
    ChangeLaw(
        "watermark-removed",
        "no watermark where one was",
        look_at_watermarks,
        "In append mode an aggregation is refused in `start()`. Otherwise it goes on without a word.",
        "nothing removes state any more",
        "real restarts: of windows, joins and deduplication",
        ("old-code-first", "keep-old-shape"),
    ),
    ChangeLaw(
        "watermark-delay-changed",
        "another delay of a watermark",
        look_at_watermarks,
        "It goes on. The watermark never goes back.",
        "as the query means them, as soon as the data is further than the watermark that was reached",
        "real restarts: longer, shorter",
    ),
    ChangeLaw(
        "watermark-column-changed",
        "the watermark is on another column",
        look_at_watermarks,
        _SILENT,
        _ONE_MORE,
        "real restarts: a column an hour later",
        _ANEW,
    ),
)
