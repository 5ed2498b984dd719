"""What a bucket does to its objects by itself: the lifecycle rules of S3 and of Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from ckpttool.model import Json

_ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")  # from which nothing is read without a request that takes hours
_OF_OLD_VERSIONS = ("numNewerVersions", "daysSinceNoncurrentTime", "noncurrentTimeBefore")


class Expiry(Struct, frozen=True):
    """A rule that takes objects away whose names begin with `prefix`: so many `days` after they were written, or at a
    date. `only`: a condition besides, in words."""

    name: str
    prefix: str
    days: int | None
    at_ms: int | None = None
    does: Literal["deletes", "archives"] = "deletes"
    only: str | None = None


def parse_s3_rules(rules: Json) -> tuple[Expiry, ...]:
    """`Rules` of GetBucketLifecycleConfiguration. Objects of Spark have no tags, so that a rule for some is for none of
    them."""
    return tuple(one for rule in _dicts(rules) for one in _of_s3(rule))


def _of_s3(rule: dict[str, Json]) -> Iterator[Expiry]:
    chosen = rule.get("Filter") or {}
    chosen = {**chosen, **(chosen.get("And") or {})}
    if rule.get("Status") != "Enabled" or chosen.get("Tag") or chosen.get("Tags"):
        return
    name, prefix = str(rule.get("ID") or "without a name"), str(chosen.get("Prefix", rule.get("Prefix")) or "")
    larger, smaller = chosen.get("ObjectSizeGreaterThan"), chosen.get("ObjectSizeLessThan")
    sizes = [f"larger than {larger} bytes"] * bool(larger) + [f"smaller than {smaller} bytes"] * bool(smaller)
    only = " and ".join(sizes) or None
    ends = rule.get("Expiration") or {}
    if ends.get("Days") or ends.get("Date"):
        yield Expiry(name, prefix, ends.get("Days"), _milliseconds(ends.get("Date")), only=only)
    for moves in _dicts(rule.get("Transitions")):
        if moves.get("StorageClass") in _ARCHIVES:
            yield Expiry(name, prefix, moves.get("Days"), _milliseconds(moves.get("Date")), "archives", only)


def parse_google_rules(rules: Json) -> tuple[Expiry, ...]:
    """`lifecycle.rule` of a bucket."""
    return tuple(one for number, rule in enumerate(_dicts(rules)) for one in _of_google(number, rule))


def _of_google(number: int, rule: dict[str, Json]) -> Iterator[Expiry]:
    action, condition = rule.get("action") or {}, rule.get("condition") or {}
    if action.get("type") != "Delete" or condition.get("isLive") is False:
        return
    if any(condition.get(name) is not None for name in _OF_OLD_VERSIONS):
        return
    kinds = {"matchesSuffix": "with a name that ends with", "matchesStorageClass": "of class"}
    besides = [f"{text} {', '.join(map(str, condition[key]))}" for key, text in kinds.items() if condition.get(key)]
    for prefix in condition.get("matchesPrefix") or [""]:
        only = " and ".join(besides) or None
        before = _milliseconds(condition.get("createdBefore"))
        yield Expiry(f"rule {number}", str(prefix), condition.get("age"), before, only=only)


def _dicts(value: Json) -> Iterator[dict[str, Json]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def _milliseconds(value: Json) -> int | None:
    """Clients make a time of it, or leave the text."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
