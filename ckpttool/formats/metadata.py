"""The file `metadata`: the query's id. Writer: `StreamMetadata`, unchanged since Spark 2.1; no version line.

The id is what exactly-once sinks remember; Spark reads it before anything else, and fails in `start()` if it cannot.
"""

from __future__ import annotations

import json

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import JACKSON_NOTHING, MAPPING, NULL_POINTER, parse_json_object
from ckpttool.model import Position, QueryMetadata, SparkError
from ckpttool.words import quote

EXPECTED = '`{"id":"<uuid>"}`'
# What we put there while a checkpoint is being changed. Java quotes up to 36 characters that are no UUID, with less
# than four dashes; of longer ones it only says so.
FENCE_ID = "unfinished: see ckpt plan-recovery"
FENCE = f'{{"id":"{FENCE_ID}"}}'
# The same by `ckpt apply` and `ckpt undo`.
APPLY_FENCE = '{"id":"unfinished: run ckpt apply --resume"}'
UNDO_FENCE = '{"id":"unfinished: run ckpt undo PATH"}'


# What stays where a checkpoint was that goes on at another place, which stands beside it.
MOVED_ID = "moved to: see checkpoint's metadata"
_WHOLE = 4096  # a place is of use only to its end


def encode_moved(to: str) -> bytes:
    return json.dumps({"id": MOVED_ID, "to": to}, separators=(",", ":"), ensure_ascii=False).encode()


def moved_to(data: bytes) -> str | None:
    """Where the checkpoint went that was here."""
    if MOVED_ID.encode() not in data:
        return None
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return None
    to = fields.get("to") if isinstance(fields, dict) and fields.get("id") == MOVED_ID else None
    return to if isinstance(to, str) else None


def is_fence_of_apply(data: bytes) -> bool:
    return data in (APPLY_FENCE.encode(), UNDO_FENCE.encode())


def is_wire(body: bytes) -> bool:
    """What `ckpt apply` and `ckpt undo` put where a query writes next that runs unnoticed."""
    return body.startswith((b"ckpt apply 2", b"ckpt undo 2")) and b" is not finished. Run: ckpt " in body


def found_unfinished(body: bytes, error: MalformedFile) -> MalformedFile | None:
    """What to say of a file that is ours, in place of what its parser says."""
    if is_fence_of_apply(body):
        return error
    if not is_wire(body):
        return None
    return MalformedFile(
        "a trip wire of ckpt apply stands here: a plan is being carried out or taken back, and that is not finished",
        expected=error.expected,
        spark=error.spark,
        next_step="ckpt apply --resume PATH goes on, ckpt undo PATH takes it back",
    )


def parse_metadata(data: bytes) -> QueryMetadata:
    if is_fence_of_apply(data):
        raise MalformedFile(
            "a plan is being carried out or taken back, and that is not finished: this is its fence",
            expected=EXPECTED,
            spark=SparkError("java.lang.IllegalArgumentException"),
            next_step="ckpt apply --resume PATH goes on, ckpt undo PATH takes it back",
        )
    if data == FENCE.encode():
        raise MalformedFile(
            "the steps of a way out were begun and not finished: this is their fence",
            expected=EXPECTED,
            spark=SparkError("java.lang.IllegalArgumentException"),
            next_step="take the steps that are left, the last takes the fence down. ckpt plan-recovery says more",
        )
    if (place := moved_to(data)) is not None:
        raise MalformedFile(
            f"the checkpoint was moved, and goes on at {quote(place, _WHOLE)}",
            expected=EXPECTED,
            spark=SparkError("java.lang.IllegalArgumentException"),
            next_step=f"start the query on {quote(place, _WHOLE)}. ckpt undo of that brings it back here",
        )
    if not data.strip():
        raise MalformedFile(
            "the file is empty",
            expected=EXPECTED,
            position=Position(line=1, byte=0),
            spark=SparkError(JACKSON_NOTHING),
        )
    # Spark's reader puts U+FFFD where bytes are not UTF-8, and then finds no JSON.
    text = data.decode("utf-8", "replace")
    fields = parse_json_object(text)
    query_id = fields.get("id")
    if isinstance(query_id, int | float):
        query_id = str(query_id)
    if not isinstance(query_id, str):
        class_name = NULL_POINTER if "id" in fields and query_id is None else MAPPING
        raise MalformedFile("there is no text field `id`", expected=EXPECTED, spark=SparkError(class_name))
    return QueryMetadata(
        id=_parse_uuid(query_id),
        unknown_fields=tuple(name for name in fields if name != "id"),
    )


def encode_metadata(metadata: QueryMetadata) -> bytes:
    return json.dumps({"id": metadata.id}, separators=(",", ":")).encode()


def _parse_uuid(text: str) -> str:
    """As `UUID.fromString(text).toString()`: five groups of hex digits, shorter groups padded, lower case."""
    groups = text.split("-")
    widths = (8, 4, 4, 4, 12)
    hexadecimal = all(
        group and group.isascii() and all(c in "0123456789abcdefABCDEF" for c in group) for group in groups
    )
    if len(groups) != len(widths) or len(text) > 36 or not hexadecimal:
        shaped = len(groups) == len(widths) and len(text) <= 36
        kind = "NumberFormatException" if shaped else "IllegalArgumentException"
        raise MalformedFile(
            f"`id` is {quote(text)}, not a UUID", expected=EXPECTED, spark=SparkError(f"java.lang.{kind}")
        )
    padded = (group[-width:].rjust(width, "0") for group, width in zip(groups, widths, strict=True))
    return "-".join(padded).lower()
