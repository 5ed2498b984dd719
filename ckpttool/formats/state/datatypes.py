"""Spark's data types as JSON, as far as needed to say whether Spark reads them: `DataType.parseDataType`.

Every object has just these keys. A schema that Spark cannot read, it refuses as a whole.
"""

from __future__ import annotations

import re

from ckpttool.model import Json

_NAMES = {
    *("null", "void", "binary", "boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp"),
    *("timestamp_ntz", "string", "variant", "calendarinterval", "interval"),
}
# Compiled by `re` when first used.
_WITH_PARAMETERS = (
    r"(?:decimal(?:\(\s*\d+\s*,\s*-?\d+\s*\))?|(?:char|varchar|time|timestamp_ntz|timestamp_ltz)\(\s*\d+\s*\)"
    r"|interval \w+(?: to \w+)?|string collate \w+|(?:geometry|geography)\(.+\))\Z"
)


def is_struct_type(value: Json) -> bool:
    """Whether Spark takes this for the schema of a row."""
    return (
        _has_keys(value, "fields", "type")
        and value["type"] == "struct"
        and isinstance(value["fields"], list)
        and all(map(_is_field, value["fields"]))
    )


def _is_field(value: Json) -> bool:
    return (
        (_has_keys(value, "metadata", "name", "nullable", "type") or _has_keys(value, "name", "nullable", "type"))
        and isinstance(value["name"], str)
        and isinstance(value["nullable"], bool)
        and isinstance(value.get("metadata", {}), dict)
        and _is_type(value["type"])
    )


def _is_type(value: Json) -> bool:
    if isinstance(value, str):
        return value in _NAMES or re.match(_WITH_PARAMETERS, value) is not None
    if _has_keys(value, "containsNull", "elementType", "type"):
        return value["type"] == "array" and isinstance(value["containsNull"], bool) and _is_type(value["elementType"])
    if _has_keys(value, "keyType", "type", "valueContainsNull", "valueType"):
        inner = _is_type(value["keyType"]) and _is_type(value["valueType"])
        return value["type"] == "map" and isinstance(value["valueContainsNull"], bool) and inner
    return is_struct_type(value) or (isinstance(value, dict) and value.get("type") == "udt")


def _has_keys(value: Json, *keys: str) -> bool:
    return isinstance(value, dict) and value.keys() == set(keys)
