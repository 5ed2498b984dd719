"""Whether state of one schema can be read and written with another, as Spark asks it: by types and places of columns.

SchemaHelper and DataType.equalsIgnoreNameAndCompatibleNullability: names count for nothing, and what could be null
before may be never null now, but not the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ckpttool.formats.state.types import parse_type, spell_type
from ckpttool.model import Json


class Unlike(Struct, frozen=True):
    """A column that is not as it was; what is not there is None. `fits`: Spark takes it, only its name differs."""

    place: str
    before: str | None
    after: str | None
    fits: bool


def fits(stored: Json, new: Json) -> bool:
    """`stored`, `new`: types as Spark's JSON has them."""
    if not isinstance(stored, dict) or not isinstance(new, dict):
        return bool(stored == new)
    kind = stored.get("type")
    if kind != new.get("type"):
        return False
    if kind == "array":
        nullable = stored.get("containsNull", True) or not new.get("containsNull", True)
        return bool(nullable and fits(stored["elementType"], new["elementType"]))
    if kind == "map":
        nullable = stored.get("valueContainsNull", True) or not new.get("valueContainsNull", True)
        parts = (fits(stored[part], new[part]) for part in ("keyType", "valueType"))
        return bool(nullable and all(parts))
    if kind == "struct":
        old, now = stored["fields"], new["fields"]
        return len(old) == len(now) and all(map(_column_fits, old, now))
    return bool(stored == new)


def _column_fits(stored: Any, new: Any) -> bool:
    return (may_be_null(stored) or not may_be_null(new)) and fits(stored["type"], new["type"])


def may_be_null(column: Any) -> bool:
    return bool(column.get("nullable", True))


def unlike(stored: Json, new: Json) -> Iterator[Unlike]:
    """Column by column; what only may be null no more is alike."""
    old, now = columns(stored), columns(new)
    for place in range(max(len(old), len(now))):
        before = old[place] if place < len(old) else None
        after = now[place] if place < len(now) else None
        taken = before is not None and after is not None and _column_fits(before, after)
        same = taken and before is not None and after is not None and before["name"] == after["name"]
        if not same:
            yield Unlike(str(place), before and spelled(before), after and spelled(after), taken)


def columns(schema: Json) -> Sequence[Any]:
    return schema.get("fields", ()) if isinstance(schema, dict) else ()


def spelled(column: Any) -> str:
    never = "" if may_be_null(column) else " not null"
    return f"{column['name']} {spell_type(parse_type(column['type']))}{never}"
