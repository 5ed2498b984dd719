"""What a writer of a Spark Connect client would start, told as plain values.

Such a client has no JVM at hand: of the plan its server tells what `explain(True)` prints, which is read elsewhere. The
writer's message has what it was given, and the plan's message the options of sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

Json = dict[str, Any]
_TRIGGERS = {
    "processing_time_interval": "processingTime",
    "available_now": "availableNow",
    "once": "once",
    "continuous_checkpoint_interval": "continuous",
    "real_time_batch_duration": "realTime",
}


def describe(
    writer: Any, where: str | None, pinned: list[str], code_of: Callable[[Any], Json], table: str | None = None
) -> Json:
    """Asks the server to plan, and nothing else. `table`: what `toTable` will be given."""
    message, session = writer._write_proto, writer._session
    plan = writer._write_stream._child.to_proto(session.client)
    options = dict(message.options)
    table = table or message.table_name or None
    trigger = message.WhichOneof("trigger")
    return {
        "name": message.query_name or None,
        "where": where,
        "checkpoint": {key.lower(): value for key, value in options.items()}.get("checkpointlocation"),
        "output_mode": message.output_mode.lower() or "append",
        "trigger": {_TRIGGERS[trigger]: getattr(message, trigger)} if trigger in _TRIGGERS else {},
        "format": _sink(message, table, setting(session, "spark.sql.sources.default")),
        "place": message.path or table,
        "options": options,
        "function": _function(message, code_of),
        "reads": list(_reads(plan.root)),
        "output_schema": json.loads(session.client.schema(plan).json()),
        "conf": {key: value for key in pinned if (value := setting(session, key)) is not None},
        "explained": session.client.explain_string(plan, "extended"),
    }


def setting(session: Any, key: str) -> str | None:
    """A server logs each key that it does not know, unless it is asked with a default."""
    with suppress(Exception):
        found = session.conf.get(key, None)
        return None if found is None else str(found)
    return None


def _sink(message: Any, table: str | None, default: str | None) -> str | None:
    if message.HasField("foreach_batch"):
        return "foreachBatch"
    if message.HasField("foreach_writer"):
        return "foreach"
    return "table" if table and message.format in ("", default) else message.format or default


def _function(message: Any, code_of: Callable[[Any], Json]) -> Json | None:
    if not message.HasField("foreach_batch"):
        return None
    from pyspark.serializers import CloudPickleSerializer

    return code_of(CloudPickleSerializer().loads(message.foreach_batch.python_function.command))


def _reads(message: Any) -> Iterator[Json]:
    """Streaming reads, depth first, as Spark numbers its sources."""
    if message.DESCRIPTOR.name == "Read" and message.is_streaming:
        if message.HasField("named_table"):
            table = message.named_table
            yield {"provider": "table", "options": dict(table.options), "table": table.unparsed_identifier}
        else:
            source = message.data_source
            paths = {"path": source.paths[0]} if len(source.paths) == 1 else {}
            yield {"provider": source.format, "options": dict(source.options) | paths, "table": None}
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value if hasattr(value, "append") else [value]:
                yield from _reads(one)
