"""A description that was saved: `ckpt.query/1`, read back strictly, since it may come from anybody. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

from ckpttool.errors import MalformedFile, NotFound, Refused
from ckpttool.formats.limits import most, weigh_json
from ckpttool.formats.state.types import parse_type
from ckpttool.model import Json
from ckpttool.query.model import SCHEMA, Description, Query, named
from ckpttool.words import shown

FAMILY = "ckpt.query/"
PICK = "::"  # between a source and which of its queries is meant


class BadDescription(Refused):
    """What is given as a description, and is none."""

    def __init__(self, message: str, next_step: str = "describe the query anew: ckpt query describe JOB.py") -> None:
        super().__init__(message, next_step)


def parse_description(body: bytes) -> Description:
    """Raises BadDescription for what is none, or is of a newer schema."""
    if weigh_json(body) > most("values"):
        raise BadDescription(f"it is larger than any description: {most('values'):,} values are read at most")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise BadDescription("this is no description of a query: it is not JSON, or was cut short") from None
    schema = fields.get("schema") if isinstance(fields, dict) else None
    if not isinstance(schema, str) or not schema.startswith(FAMILY):
        raise BadDescription(f"this is no description of a query: it has no schema {SCHEMA}")
    if schema != SCHEMA:
        raise BadDescription(f"its schema is {shown(schema)}, and this ckpt knows {SCHEMA}", "use a newer ckpt")
    try:
        description = msgspec.convert(fields, Description)
        for schema in filter(None, (one for query in description.queries for one in _schemas(query))):
            parse_type(schema)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadDescription(f"the description is not as ckpt writes it: {shown(str(error), 200)}") from None
    except MalformedFile as error:
        raise BadDescription(f"the description has {error.message}") from None
    return description


def _schemas(query: Query) -> Iterator[Json]:
    yield query.output_schema
    yield from (source.schema for source in query.sources)
    stores = [store for operator in query.operators for store in operator.stores]
    yield from (schema for store in stores for schema in (store.key_schema, store.value_schema))


def picked(queries: Sequence[Query], pick: str | None) -> tuple[Query, ...]:
    """All, or the one of that name or number."""
    if pick is None:
        return tuple(queries)
    by_name = [query for query in queries if query.name == pick]
    if not by_name and pick.isascii() and pick.isdecimal() and 1 <= int(pick[:9]) <= len(queries):
        return (queries[int(pick[:9]) - 1],)
    if len(by_name) != 1:
        raise NotFound(f"there is no query {shown(pick)}", f"there are: {', '.join(map(shown, named(queries)))}")
    return tuple(by_name)


def meant_for(queries: Sequence[Query], pick: str | None, checkpoint: str) -> Query | None:
    """The one that was picked; else the only one, or that which has this checkpoint, or is called as its last part is.
    None: it may be any of several."""
    found = picked(queries, pick)
    if len(found) == 1:
        return found[0]
    place = checkpoint.rstrip("/")
    for fits in ([one for one in found if (one.checkpoint or "").rstrip("/") == place],
                 [one for one in found if one.name == place.rpartition("/")[2]]):  # fmt: skip
        if len(fits) == 1:
            return fits[0]
    return None


def split_pick(source: str) -> tuple[str, str | None]:
    """`jobs/orders.py::orders`. What follows no scheme or chain of file systems: a chain has `://` behind it."""
    place, mark, pick = source.rpartition(PICK)
    return (place, pick) if mark and place and "/" not in pick else (source, None)
