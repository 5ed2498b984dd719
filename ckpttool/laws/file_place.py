"""Where a file source reads: its log holds whole URLs, and the directory stands in no file, only in its `path`.

FileStreamSource asks for the files of a range with the given path as their `basePath`, unless that is a pattern, and
PartitioningAwareFileIndex compares the spelling, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from msgspec import Struct

from ckpttool.connectors.file import ALSO_READ_PATHS, KIND, PATTERN, is_pattern, is_whole
from ckpttool.formats import layout
from ckpttool.laws.base import REQUIREMENT, Law, finding_of
from ckpttool.model import FileLogEntry, Finding, SourceLog
from ckpttool.releases import since
from ckpttool.scene.batches import SourceProgress, file_log_position
from ckpttool.scene.inputs import PathInput
from ckpttool.scene.scene import Doubt, Failure, Scene
from ckpttool.scene.source_logs import log_of, position_in

_ANALYSIS = "org.apache.spark.sql.AnalysisException"
OUT_OF_PLACE, _MOVED, _MISSING = "input-out-of-place", "input-moved", "input-path-missing"
_URL = re.compile(r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<host>[^/]*))?(?P<path>/.*)")


class SourcePath(Struct, frozen=True):
    """The `path` of a file source. Without a scheme it is taken to be of the file system that the files are of."""

    path: str

    @property
    def is_pattern(self) -> bool:
        return is_pattern(self.path)

    @property
    def fixed(self) -> str:
        """A pattern up to where it begins to be one."""
        return PATTERN.split(self.path, maxsplit=1)[0]

    def has(self, file: str) -> bool:
        """As Spark compares: `/in` has `/input/1` as well."""
        return _is_prefix(_spelled(self.fixed), _spelled(unquote(file)))

    def is_itself(self, file: str) -> bool:
        own, other = _spelled(self.path), _spelled(unquote(file))
        return own[2] == other[2] and _is_prefix(own, other)


def _spelled(url: str) -> tuple[str | None, str, str]:
    """Scheme, host and path, as Hadoop's Path spells them."""
    parts = _URL.fullmatch(url)
    if parts is None:
        return None, "", url
    path = re.sub(r"/(?:\./)+", "/", re.sub("/+", "/", parts["path"]))
    return parts["scheme"], parts["host"] or "", path.rstrip("/") or "/"


def _is_prefix(own: tuple[str | None, str, str], other: tuple[str | None, str, str]) -> bool:
    same_system = own[0] is None or (own[0] == other[0] and own[1] in ("", other[1]))  # a host may be the default one
    return same_system and other[2].startswith(own[2])


class FileReading(Struct, frozen=True):
    """A file source: its log, which of the entries the newest batch reads, and the path that it is given, if that is
    known. `is_its_own`: a description of the query says so; an option may be meant for any of several."""

    source: SourceProgress
    log: SourceLog
    entries: range
    place: SourcePath | None
    is_its_own: bool


def readings(scene: Scene) -> Iterator[FileReading]:
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    for source in newest.sources if newest and not scene.is_continuous else ():
        log, end = log_of(scene, source), file_log_position(source)
        if log is not None and end is not None:
            place, is_its_own = _given(scene, source)
            yield FileReading(source, log, range(position_in(before, source) + 1, end + 1), place, is_its_own)


def _given(scene: Scene, source: SourceProgress) -> tuple[SourcePath | None, bool]:
    typed = scene.start.option("path")
    described = scene.described(source)
    is_its_own = typed is None and described is not None and described.kind == KIND
    path = described.place if is_its_own and described is not None else typed
    return (SourcePath(path) if path and is_whole(path) else None), is_its_own


def _out_of_place(scene: Scene) -> Failure | Doubt | None:
    """Where nobody gave the path, files that lie apart from the others are in doubt."""
    for reading in readings(scene):
        spoken = refused(scene, reading) if reading.place else _lies_apart(reading.log, reading.entries)
        if spoken:
            return spoken
    return None


def refused(scene: Scene, reading: FileReading) -> Failure | Doubt | None:
    log, place = reading.log, reading.place
    if place is None or place.is_pattern:
        return None
    entries = list(_entries(log))
    asked = [entry.path for number, entry in entries if number in reading.entries]
    is_file = any(place.is_itself(entry.path) for _, entry in entries)
    outside = next((path for path in asked if not place.has(path)), None)
    if not is_file and outside is None:
        return None
    why = f"the source is given {place.path}, "
    why += "which is a file" if is_file else f"and sources/{log.name} lists {outside}, which is not in it"
    if not reading.is_its_own and (len(list(readings(scene))) > 1 or scene.kinds & ALSO_READ_PATHS):
        return Doubt(f"{why}. Which of the sources has this path is not known")
    message = "Option 'basePath' must be a directory" if is_file else f"Wrong basePath {place.path} for the root path"
    path = layout.source(log.name)
    if scene.is_replay:
        return Failure("batch", REQUIREMENT, None, message, why, scene.next_id, path=path)
    return Failure("init", REQUIREMENT, None, message, why, path=path)


def _missing(scene: Scene) -> Failure | Doubt | None:
    found = next((one for one in scene.inputs if isinstance(one, PathInput) and one.found.gone), None)
    if found is None:
        return None
    if KIND not in scene.kinds:
        return Doubt(
            f"the source is given {found.path}, and there is nothing: whatever reads a path refuses that, each source"
            " with an error of its own, and no file tells yet what this one is (--option path=, of what is there)"
        )
    condition = "PATH_NOT_FOUND" if scene.release >= since.PATH_NOT_FOUND else None
    why = f"the source is given {found.path}, and there is nothing"
    return Failure("start", _ANALYSIS, condition, "Path does not exist", why, path=layout.SOURCES)


def check_missing(scene: Scene) -> Iterator[Finding]:
    """Inputs tell of themselves, whatever else stops the query."""
    if isinstance(failure := _missing(scene), Failure):
        yield finding_of(_PATH, failure)


def _lies_apart(log: SourceLog, asked: range) -> Doubt | None:
    entries = list(_entries(log))
    usual = {_folder(entry) for number, entry in entries if number not in asked}
    for number, entry in entries if len(usual) == 1 else ():
        if number in asked and _is_elsewhere(_folder(entry), *usual):
            why = f"sources/{log.name}/{number} lists a file that lies apart from the others: {entry.path}"
            return Doubt(f"{why} (--option path=, as the query has it, decides)")
    return None


def _entries(log: SourceLog) -> Iterator[tuple[int, FileLogEntry]]:
    return ((number, entry) for number, several in log.entries.items() for entry in several)


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


def check_moved(scene: Scene) -> Iterator[Finding]:
    """A pattern is not compared, nor is anything where the newest batch read no file: the new place is taken then."""
    found = list(readings(scene))
    if len(found) != 1 or scene.kinds & ALSO_READ_PATHS or _out_of_place(scene):
        return
    log, place = found[0].log, found[0].place
    if place is not None and is_elsewhere(found[0]):
        last = [entry.path for _, entry in _entries(log)][-1]
        why = f"the source has read files such as {last}: whatever lies in {place.path} is new to it, copies of"
        why += " these as well"
        step = "see that no file comes a second time, or give the path that the query was started with"
        yield Finding(_MOVED, "warning", layout.source(log.name), why, next_step=step)


def is_elsewhere(reading: FileReading) -> bool:
    """It has read files, and none of them lies where it reads now."""
    place, read = reading.place, [entry.path for _, entry in _entries(reading.log)]
    return place is not None and bool(read) and not any(place.has(path) for path in read)


LAST_RANGE = (
    Law(
        OUT_OF_PLACE,
        "A file outside the source's directory is refused when its range is asked for.",
        "PartitioningAwareFileIndex, basePath",
        _out_of_place,
        symptom="a file source is given another directory than that of the files which it has to read",
        next_step="give the path that the query was started with",
        errors=("Wrong basePath…for the root path", "Option 'basePath' must be a directory"),
        often=3,
    ),
)
_PATH = Law(
    _MISSING,
    "A file source is not made of a path that does not exist, unless that is a pattern.",
    "DataSource.checkAndGlobPathIfNecessary",
    _missing,
    look=check_missing,
    symptom="a file source is given a path where nothing is",
    next_step="give the path that the query was started with",
    needs="inputs",
    errors=("PATH_NOT_FOUND", "Path does not exist:"),
    often=3,
)
GIVEN = (_PATH,)
TOLD = (
    Law(
        _MOVED,
        "a file source is given a directory of which it has read nothing",
        look=check_moved,
        severities=("warning",),
    ),
)
