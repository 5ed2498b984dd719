"""Where the input files lie that a file source's last range lists."""

from __future__ import annotations

from ckpttool.laws.base import Law
from ckpttool.model import FileLogEntry
from ckpttool.scene.batches import file_log_position
from ckpttool.scene.scene import Doubt, Scene
from ckpttool.scene.source_logs import log_of, position_in


def out_of_place(scene: Scene) -> Doubt | None:
    """An input file that lies where none of the others does: outside the source's directory Spark refuses it, and
    where that directory is stands in no file."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source in newest.sources if newest and not scene.is_continuous else ():
        log, end = log_of(scene, source), file_log_position(source)
        if log is None or end is None:
            continue
        asked = range(position_in(before, source) + 1, end + 1)
        entries = [(number, entry) for number, several in log.entries.items() for entry in several]
        usual = {_folder(entry) for number, entry in entries if number not in asked}
        for number, entry in entries if len(usual) == 1 else ():
            if number in asked and _is_elsewhere(_folder(entry), *usual):
                return Doubt(f"sources/{log.name}/{number} lists a file that lies apart from the others: {entry.path}")
    return None


def _folder(entry: FileLogEntry) -> tuple[str, ...]:
    """The directories above a file, without those of partitions."""
    return tuple(step for step in entry.path.split("/")[:-1] if "=" not in step)


def _is_elsewhere(one: tuple[str, ...], usual: tuple[str, ...]) -> bool:
    """Neither below nor above the usual place, nor the next in a row of directories (`…/b`, `…/2026/12/01`)."""
    shorter = min(len(one), len(usual))
    if one[:shorter] == usual[:shorter]:
        return False
    in_a_row = one[-1] != usual[-1] and _without_digits(one[:-1]) == _without_digits(usual[:-1])
    return len(one) != len(usual) or not in_a_row


def _without_digits(steps: tuple[str, ...]) -> str:
    return "/".join(steps).translate(_NO_DIGITS)


_NO_DIGITS = str.maketrans("", "", "0123456789")


RULES = (
    Law(
        "input-out-of-place",
        "A file outside the source's directory is refused when its range is asked for.",
        "PartitioningAwareFileIndex, basePath",
        out_of_place,
    ),
)
