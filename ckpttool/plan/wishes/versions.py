"""`offsets` of a Delta source: the version of its table that the next batch begins with.

The line says that nothing of the version was taken yet, and that this is no initial snapshot; it stands in both offsets
that a start opens, between which the source is asked for what it has read last. Whether the table still has the version
and all after it, its log tells, which is looked at where `--option path=TABLE` leads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.connectors.delta import KIND, NEXT_VERSION, DeltaOffset
from ckpttool.formats import layout
from ckpttool.formats.offsets import encode_offset_log
from ckpttool.plan.conditions import Condition
from ckpttool.plan.cost import FREE, Cost
from ckpttool.plan.repair import Refusal, Repair
from ckpttool.plan.steps import Step, replace_file
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import Scene

_SHAPE = re.compile(r"([0-9]{1,4})=version:([0-9]{1,18})(?:@(.+))?")
_SCHEMA_LOGS = ("schemaTrackingLocation", "schemaLocation")


class VersionMove(Struct, frozen=True):
    """`table`: another one than the source has read, which is the one that `--option path` names."""

    source: int
    version: int
    table: str | None = None


def parse_version_move(text: str) -> VersionMove | None:
    """None: it is none."""
    found = _SHAPE.fullmatch(text)
    return VersionMove(int(found[1]), int(found[2]), found[3]) if found else None


def set_versions(scene: Scene, id: str, moves: tuple[VersionMove, ...], state_counts_twice: str) -> Repair | Refusal:
    """`scene`: with its newest batch finished."""
    steps: list[Step] = []
    cost, told = FREE, []
    lines: dict[int, str] = {}
    for move in moves:
        source = _source(scene, move.source)
        table = _table(scene, source)
        if source is None or table is None:
            return Refusal(id, _unseen(scene, move, source))
        if why := next(_obstacles(scene, move, table), None):
            return Refusal(id, why)
        offset: DeltaOffset = table.range.end
        lines[source.index] = _line(move, table)
        cost += _cost(move, table)
        told.append(f"source {move.source} from version {offset.version:,} to {move.version:,}")
    for batch in (scene.previous, scene.planned):
        entry = scene.entry(batch)
        if entry is not None:
            sources = (replace(one, text=lines.get(one.index, one.text)) for one in entry.sources)
            mended = replace(entry, sources=tuple(sources))
            if mended != entry:
                path = layout.offsets(entry.batch_id)
                steps += replace_file(scene.root, path, encode_offset_log(mended), "the next batch begins here")
    counts = scene.is_stateful and cost.replayed != 0
    text = "its state has rows already that are read again, and counts them twice"
    conditions = (Condition(state_counts_twice, text),) if counts else ()
    return Repair(id, f"Set the next version: {', '.join(told)}", tuple(steps), cost=cost, conditions=conditions)


def _source(scene: Scene, number: int) -> SourceProgress | None:
    newest = scene.batch(scene.planned)
    return next((one for one in newest.sources if one.index == number), None) if newest else None


def _table(scene: Scene, source: SourceProgress | None) -> DeltaInput | None:
    tables = (one for one in scene.inputs if isinstance(one, DeltaInput))
    return next((one for one in tables if source and one.range.source == source.key), None)


def _unseen(scene: Scene, move: VersionMove, source: SourceProgress | None) -> str:
    if source is None:
        return f"there is no source {move.source}"
    if scene.kind_of(source) != KIND:
        return f"source {move.source} is no Delta table"
    return f"the table of source {move.source} was not looked at: give the source's own --option path=TABLE"


def _obstacles(scene: Scene, move: VersionMove, table: DeltaInput) -> Iterator[str]:
    if table.error is not None or not table.exists or table.metadata is None:
        yield f"{table.path} cannot be read as a Delta table{f': {table.error.message}' if table.error else ''}"
        return
    if any(scene.start.option(name) for name in _SCHEMA_LOGS):
        yield f"source {move.source} goes by a log of schemas, which would have to go back with it"
    if table.metadata.table_id != table.range.end.table_id and move.table is None:
        yield (
            f"{table.path} is another table than source {move.source} has read: if it is to go on there, say"
            f" {move.source}=version:{move.version}@{table.path}"
        )
    there = table.names.commits
    newest = there[-1] if there else -1
    if move.version > newest + 1:
        yield f"{table.path} ends at version {newest:,}: version {move.version:,} is not there yet"
    elif gone := next((one for one in range(move.version, newest + 1) if one not in there), None):
        yield f"{table.path} has version {gone:,} no more, which is read from version {move.version:,} on"
    elif move.version <= newest and move.version not in there:
        yield f"{table.path} has version {move.version:,} no more"


def _line(move: VersionMove, table: DeltaInput) -> str:
    fields = {
        "sourceVersion": 1,
        "reservoirId": table.metadata.table_id if table.metadata else table.range.end.table_id,
        "reservoirVersion": move.version,
        "index": NEXT_VERSION,
        "isStartingVersion": False,
    }
    return json.dumps(fields, separators=(",", ":"))


def _cost(move: VersionMove, table: DeltaInput) -> Cost:
    """How many rows a version has its log need not say; nor whether another table has those of the one before."""
    stood: DeltaOffset = table.range.end
    if table.metadata is None or table.metadata.table_id != stood.table_id:
        return Cost(None, None, None)
    if (move.version, NEXT_VERSION, False) == (stood.version, stood.index, stood.is_initial_snapshot):
        return FREE
    if move.version > stood.version:
        return Cost(0, None, 0)
    return Cost(None, 0, None)
