"""Finds the rows of one key: hashes it to its partition, as Spark did when it put it there, and reads only that."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from ckpttool.errors import CkptError
from ckpttool.formats.state.hashing import CannotHash, partition_of
from ckpttool.formats.state.types import DataType
from ckpttool.model import Json
from ckpttool.state.reader import Row, StateReader
from ckpttool.state.tables import JOIN, StateTable

# What a key has besides the columns that rows were put into partitions by.
_NOT_HASHED = ("sessionStartTime", "index", "__event_time")
_EPOCH = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)


class BadKey(CkptError):
    """Not a key of this table."""

    exit_code = 2


def find_rows(reader: StateReader, table: StateTable, text: str) -> tuple[tuple[int, ...], Iterator[Row]]:
    """The partitions that are read, and the rows there whose key has these columns."""
    kind = table.columns[0].type
    wanted = _columns(kind, text)
    partitions = _partitions(reader, table, kind, wanted)
    places = [at for at, field in enumerate(kind.fields) if field.name in wanted]
    expected = [wanted[kind.fields[at].name] for at in places]

    def rows() -> Iterator[Row]:
        for row in reader.rows(table, partitions):
            key = row.values[0]
            if [key[at] for at in places] == expected:
                yield row

    return partitions, rows()


def _columns(kind: DataType, text: str) -> dict[str, Any]:
    """Column → value: from an object of JSON, or a bare value for a key of a single column."""
    names = [field.name for field in kind.fields]
    types = {field.name: field.type for field in kind.fields}
    given = _json(text)
    if not isinstance(given, dict):
        hashed = [name for name in names if name not in _NOT_HASHED]
        if len(hashed) != 1:
            raise BadKey(f"a key has the columns {', '.join(names) or '(none)'}", 'write {"column":value,…}')
        given = {hashed[0]: text if types[hashed[0]].kind == "string" and not isinstance(given, str) else given}
    unknown = [name for name in given if name not in types]
    if unknown or not given:
        raise BadKey(f"a key has no column {unknown[0] if unknown else ''!r}", f"there are: {', '.join(names)}")
    try:
        return {name: typed_value(types[name], value) for name, value in given.items()}
    except (ValueError, TypeError, ArithmeticError, KeyError):
        raise BadKey(
            f"{text} does not fit the types of the key", "see them with ckpt state list --format json"
        ) from None


def _json(text: str) -> Json:
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return text


def _partitions(reader: StateReader, table: StateTable, kind: DataType, wanted: Mapping[str, Any]) -> tuple[int, ...]:
    """The one that the key is hashed to; all, where that is not certain."""
    every = tuple(reader.partitions(table.operator))
    hashed = [field for field in kind.fields if field.name not in _NOT_HASHED]
    is_certain = reader.conf.is_strictly_distributed or table.operator_name == JOIN
    if not is_certain or not hashed or any(field.name not in wanted for field in hashed):
        return every
    try:
        values = [wanted[field.name] for field in hashed]
        return (partition_of([field.type for field in hashed], values, len(every)),)
    except CannotHash:
        return every


def typed_value(kind: DataType, value: Json) -> Any:
    """The value that decoding gives, from how it is printed."""
    if value is None:
        return None
    if kind.kind == "struct":
        if not isinstance(value, dict):
            raise TypeError
        return tuple(typed_value(field.type, value.get(field.name)) for field in kind.fields)
    if kind.kind == "array":
        assert kind.element
        return [typed_value(kind.element, one) for one in value]
    return _PARSERS[kind.kind](value)


def _days(value: Json) -> int:
    return date.fromisoformat(value).toordinal() - _EPOCH


def _microseconds(value: Json) -> int:
    moment = datetime.fromisoformat(value)
    offset = moment.utcoffset() or timedelta()
    return (moment.replace(tzinfo=None) - offset - datetime(1970, 1, 1)) // _MICROSECOND


def _exactly(type_: type) -> Callable[[Json], Any]:
    def check(value: Json) -> Any:
        if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
            raise TypeError
        return value

    return check


_PARSERS: dict[str, Callable[[Json], Any]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), _exactly(int)),
    **dict.fromkeys(("float", "double"), float),
    "boolean": _exactly(bool),
    "string": _exactly(str),
    "decimal": Decimal,
    "binary": b64decode,
    "date": _days,
    "timestamp": _microseconds,
    "timestamp_ntz": _microseconds,
}
