"""Edits of images: what a loss of power can leave, and a kill cannot.

Spark never waits for the disk, so any of the newest files may be empty, cut, old or gone while younger ones are there.
Each tear is one such edit of one file, with Hadoop's checksum beside it kept or gone.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats import layout
from ckpttool.formats.state.names import SST_DIRECTORY
from ckpttool.harness.crashes import crash_of, torn
from ckpttool.harness.history import Case
from ckpttool.harness.images import Image
from ckpttool.harness.place import JobPlace
from ckpttool.harness.session import Ask
from ckpttool.harness.trial import Trial

Action = Literal["emptied", "cut", "cut-to-version", "flipped", "gone", "replaced"]


def _in_checkpoint(path: str) -> str:
    return f"checkpoint/{path}"


_STORE = _in_checkpoint(layout.store(0, 0))

# The file that is torn: a pattern below the root; the newest that fits, or the one before it.
TARGETS: Mapping[str, tuple[str, int]] = {
    "metadata": (_in_checkpoint(layout.METADATA), 0),
    "offsets": (_in_checkpoint(layout.offsets("*")), 0),
    "offsets-before": (_in_checkpoint(layout.offsets("*")), 1),
    "commits": (_in_checkpoint(layout.commits("*")), 0),
    "commits-before": (_in_checkpoint(layout.commits("*")), 1),
    "source-log": (_in_checkpoint(layout.source_entry(0, "*")), 0),
    "state-delta": (f"{_STORE}/*.delta", 0),
    "state-snapshot": (f"{_STORE}/*.snapshot", 0),
    "state-changelog": (f"{_STORE}/*.changelog", 0),
    "state-zip": (f"{_STORE}/*.zip", 0),
    "state-sst": (f"{_STORE}/{SST_DIRECTORY}/*.sst", 0),
    "state-metadata": (_in_checkpoint(layout.operator_metadata_file(0)), 0),
    "table-log": (f"sink/{layout.DELTA_LOG}/*.json", 0),
    "manifest": (f"sink/{layout.FILE_SINK_LOG}/*", 0),
}
ACTIONS: tuple[Action, ...] = ("emptied", "cut", "flipped", "gone")
ALL: tuple[Action, ...] = get_args(Action)
REORDERED: tuple[Action, ...] = ("gone", "replaced")  # while younger files are as they were
LOGS = ("offsets", "offsets-before", "commits", "commits-before", "source-log")
STATES = ("state-delta", "state-changelog", "state-zip")


class Tear(Struct, frozen=True):
    target: str
    action: Action
    keeps_crc: bool

    @property
    def name(self) -> str:
        return f"{self.target}-{self.action}" + ("" if self.keeps_crc else "-without-crc")


def tears(place: JobPlace) -> Iterator[Tear]:
    """Those that can be made of this disk: where nothing fits, there is nothing to tear. Without a checksum beside a
    file there is one tear in place of two, and a file that is gone needs none."""
    for target in TARGETS:
        path = find(place, target)
        if path is None:
            continue
        for action in (*ACTIONS, *_more(place, target)):
            yield Tear(target, action, keeps_crc=True)
            if _crc(path).exists() and action != "gone":
                yield Tear(target, action, keeps_crc=False)


def cases_of_tears(trial: Trial, ask: Ask, image: Image, actions: Collection[Action] = ALL) -> Iterator[Case]:
    """Recover from every such tear of one image."""
    trial.put_back(image)
    for one in [one for one in tears(trial.job.place) if one.action in actions]:
        trial.put_back(image)
        edit = tear(trial.job.place, one)
        case = trial.recover_disk(ask, torn(crash_of(image, trial.read(), armed=True), edit))
        name = f"torn-{one.name}-{image.id}"
        yield trial.keep(replace(case, name=name, image=str(trial.images.path(image))))


def tear(place: JobPlace, which: Tear) -> str:
    """Make the edit; what was done, in words."""
    path = find(place, which.target)
    assert path, f"nothing to tear for {which.name}"
    data = path.read_bytes()
    if which.action == "gone":
        path.unlink()
        _crc(path).unlink(missing_ok=True)
    elif which.action == "replaced":
        other = find(place, which.target, older=1)
        assert other
        shutil.copyfile(other, path)
        if which.keeps_crc and _crc(other).exists():
            shutil.copyfile(_crc(other), _crc(path))
    else:
        path.write_bytes(_torn(data, which.action))
    if not which.keeps_crc:
        _crc(path).unlink(missing_ok=True)
    crc = "" if which.keeps_crc else ", without its checksum"
    return f"{path.relative_to(place.root)} {which.action}{crc}"


def find(place: JobPlace, target: str, older: int = 0) -> Path | None:
    """The newest file that fits, by the number in its name, or one of those before it."""
    pattern, back = TARGETS[target]
    paths = [path for path in place.root.glob(pattern) if path.is_file() and not path.name.startswith(".")]
    paths.sort(key=_number)
    position = back + older
    return paths[-1 - position] if len(paths) > position else None


def _torn(data: bytes, action: Action) -> bytes:
    if action == "emptied":
        return b""
    if action == "cut":
        return data[: len(data) // 2]
    if action == "cut-to-version":
        return data.partition(b"\n")[0]
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :] if data else b""


def _more(place: JobPlace, target: str) -> Iterator[Action]:
    if target in LOGS:
        yield "cut-to-version"
    if target in STATES and find(place, target, older=1):
        yield "replaced"


def _number(path: Path) -> tuple[int, str]:
    digits = path.name.partition(".")[0].partition("_")[0]
    return (int(digits) if digits.isdecimal() else -1, path.name)


def _crc(path: Path) -> Path:
    return path.with_name(layout.hadoop_crc(path.name))
