"""Can what was written with one schema be read with another? As the Delta source decides it. Pure."""

from __future__ import annotations

from typing import Literal

from ckpttool.errors import MalformedFile
from ckpttool.formats.delta_log import DeltaMetadata
from ckpttool.formats.envelope import parse_json
from ckpttool.model import Json

Change = Literal["Rename", "Drop"]
_MAPPING_MODE = "delta.columnMapping.mode"
_TYPE_WIDENING = "delta.enableTypeWidening"
# What types with elements are made of, and which of their keys says whether these may be null.
_PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "array": (("elementType",), "containsNull"),
    "map": (("keyType", "valueType"), "valueContainsNull"),
}


def has_mapped_columns(*metadata: DeltaMetadata) -> bool:
    return any(one.configuration.get(_MAPPING_MODE, "none") != "none" for one in metadata)


def reads_on(written: DeltaMetadata, current: DeltaMetadata) -> bool | None:
    """Whether a stream that knows the current schema takes what was written before. None: not known here."""
    if (written.schema, written.partition_columns) == (current.schema, current.partition_columns):
        return True
    if current.configuration.get(_TYPE_WIDENING) == "true":
        return None  # some changes of type are no obstacle then
    try:
        old, new = parse_json(written.schema or ""), parse_json(current.schema or "")
    except MalformedFile:
        return None
    if written.partition_columns != current.partition_columns:
        return False
    return _is_readable_as(old, new) and not _is_renamed(written, current, old, new)


def has_changed(written: DeltaMetadata, current: DeltaMetadata) -> bool:
    """Whether a stream that tracks schemas takes one for another: columns, partitions, or Delta's own properties."""
    own = [
        {key: text for key, text in one.configuration.items() if key.startswith("delta.")} for one in (written, current)
    ]
    return (written.schema, written.partition_columns, own[0]) != (current.schema, current.partition_columns, own[1])


def renamed_or_dropped(before: str, now: str) -> tuple[Change, ...]:
    """What was done to mapped columns, which are told apart by their physical names."""
    try:
        old, new = (
            {physical: name for name, physical in _physical_names(parse_json(text)).items() if physical}
            for text in (before, now)
        )
    except MalformedFile:
        return ()
    renamed = any(new.get(physical, name) != name for physical, name in old.items())
    dropped = any(physical not in new for physical in old)
    return (*(("Rename",) if renamed else ()), *(("Drop",) if dropped else ()))


def _is_renamed(written: DeltaMetadata, current: DeltaMetadata, old: Json, new: Json) -> bool:
    """With mapped columns a name may have gone to another column."""
    if not has_mapped_columns(written) or not has_mapped_columns(current):
        return False
    before, after = _physical_names(old), _physical_names(new)
    return any(after.get(name, physical) != physical for name, physical in before.items())


def _physical_names(schema: Json) -> dict[str, Json]:
    key = "delta.columnMapping.physicalName"
    return {name: field.get("metadata", {}).get(key) for name, field in _fields(schema).items()}


def _is_readable_as(old: Json, new: Json) -> bool:
    """Columns may come, none may go; types stay, and what could be null still may."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return bool(old == new)
    if old.get("type") != new.get("type"):
        return False
    kind = old.get("type")
    if kind == "struct":
        return _is_struct_readable_as(_fields(old), _fields(new))
    if kind not in _PARTS:
        return bool(old == new)
    parts, nulls = _PARTS[kind]
    return _may_stay_null(old, new, nulls) and all(_is_readable_as(old.get(part), new.get(part)) for part in parts)


def _is_struct_readable_as(old: dict[str, Json], new: dict[str, Json]) -> bool:
    return all(
        name in new
        and _may_stay_null(field, new[name], "nullable")
        and _is_readable_as(field.get("type"), new[name].get("type"))
        for name, field in old.items()
    )


def _may_stay_null(old: Json, new: Json, key: str) -> bool:
    return bool(new.get(key, True)) or not old.get(key, True)


def _fields(schema: Json) -> dict[str, Json]:
    fields = schema.get("fields") if isinstance(schema, dict) else None
    found = fields if isinstance(fields, list) else []
    return {str(field.get("name")): field for field in found if isinstance(field, dict)}
