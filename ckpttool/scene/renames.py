"""Files of the logs that were written whole under another name, and never got their own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.model import LogNames
from ckpttool.scene.scene import Scene
from ckpttool.scene.source_logs import missing_live_entries

_TEMPORARY = re.compile(r"\.(\d{1,19})\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.TID\d+)?\.tmp")


def number_of_temporary(name: str) -> int | None:
    """Of the file that it was to become."""
    told = _TEMPORARY.fullmatch(name)
    return int(told[1]) if told else None


def missing_files(scene: Scene) -> tuple[str, ...]:
    """What a restart opens, and is not there."""
    planned, committed = scene.planned, scene.committed
    newest = max(scene.reached, 0)
    wanted = [layout.offsets(number) for number in (newest - 1, newest) if number >= 0]
    if planned is not None and (committed is None or committed < planned):
        wanted.append(layout.commits(planned))
    there = {layout.offsets(number) for number in scene.checkpoint.offset_names.ids[-3:]}
    there |= {layout.commits(number) for number in scene.checkpoint.commit_names.ids[-3:]}
    missing = [path for path in wanted if path not in there] if scene.reached >= 0 else []
    for log in scene.checkpoint.source_logs:
        try:
            missing += [layout.source_entry(log.name, number) for number in missing_live_entries(log)]
        except MalformedFile:
            continue  # of compact files that belong to no interval: nothing is known to be missing
    return tuple(missing)


def found_for(scene: Scene) -> Mapping[str, list[str]]:
    """Of each missing file the temporary ones that were to become it."""
    logs: dict[str, LogNames] = {
        layout.OFFSETS: scene.checkpoint.offset_names,
        layout.COMMITS: scene.checkpoint.commit_names,
        **{layout.source(log.name): log.names for log in scene.checkpoint.source_logs},
    }
    missing, found = set(missing_files(scene)), dict[str, list[str]]()
    for folder, names in logs.items():
        for name in names.temporary:
            number = number_of_temporary(name)
            if number is not None and (path := f"{folder}/{number}") in missing:
                found.setdefault(path, []).append(f"{folder}/{name}")
    return found
