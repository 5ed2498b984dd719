"""Where the Iceberg sources of a query stand, as Iceberg reads their lines, and what was found of their table. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ckpttool.connectors.iceberg import KIND, IcebergOffset, deserialize
from ckpttool.errors import CkptError, MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.iceberg import IcebergFile, IcebergHistory
from ckpttool.scene.batches import SourceProgress, beside
from ckpttool.scene.lookup import Lookup
from ckpttool.scene.scene import Scene


class Line(Struct, frozen=True):
    """A text that the source parses as an offset."""

    path: str
    text: str

    @property
    def offset(self) -> IcebergOffset | None:
        try:
            return deserialize(self.text)
        except MalformedFile:
            return None


class Stand(Struct, frozen=True):
    """A source: where it began, and where the next batch begins and, if that is logged, ends. None: there is no text.

    A batch that is logged and lacks the source's line reads nothing from it: `reads` is False."""

    source: str
    beginning: Line | None = None
    start: Line | None = None
    end: Line | None = None
    reads: bool = True

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is parsed when the batch is planned, in this order. A range without an end yet has only its start, and
        one that is empty by its text is not looked at."""
        if not self.reads or (self.start and self.end and self.start.text == self.end.text):
            return ()
        return tuple(line for line in (self.start, self.end) if line)

    @property
    def is_readable(self) -> bool:
        return all(line.offset for line in self.lines)


class IcebergInput(Struct, frozen=True):
    """An Iceberg table. `history`: of its current metadata; `error`: why that is not known.

    `files`: by snapshot the data files that it added, in the order of its positions, as far as manifests were read;
    `unread`: of the other snapshots, where others' manifests lie, the one that is gone or damaged; `files_known`: none
    ahead was left out. `data`: which of the files were looked for."""

    stand: Stand
    path: str
    history: IcebergHistory = IcebergHistory()
    exists: bool = True
    error: CkptError | None = None
    files: Mapping[int, tuple[IcebergFile, ...]] = {}
    unread: Mapping[int, str] = {}
    files_known: bool = False
    data: Lookup = Lookup()

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        return self.data.not_looked_at


def stands(scene: Scene) -> Iterator[Stand]:
    """The sources of the newest batch; before there is one, those that wrote down where they begin."""
    newest, before = scene.batch(scene.planned), scene.batch(scene.previous)
    if scene.is_continuous:
        return
    if newest is None and scene.planned is None:
        for log in scene.checkpoint.source_logs:
            if log.kind == KIND:
                yield Stand(log.name, _beginning(scene, log.name))
    for source, earlier in beside(newest, before):
        if scene.kind_of(source) == KIND:
            yield _stand(scene, source, earlier)


def reads_iceberg(scene: Scene) -> bool:
    """By the checkpoint; before it tells anything by the table that was looked at."""
    return any(True for _ in stands(scene)) or any(isinstance(one, IcebergInput) for one in scene.inputs)


def _stand(scene: Scene, source: SourceProgress, earlier: SourceProgress | None) -> Stand:
    """A source without a line in a committed batch goes on from the one before."""
    newest = _line(scene.planned, source)
    before = _line(scene.previous, earlier)
    beginning = _beginning(scene, source.key)
    if scene.replays_as_logged:
        return Stand(source.key, beginning, before, newest, reads=newest is not None)
    return Stand(source.key, beginning, newest or before)


def _line(batch: int | None, source: SourceProgress | None) -> Line | None:
    if batch is None or source is None or source.text is None:
        return None
    return Line(layout.offsets(batch), source.text)


def _beginning(scene: Scene, name: str) -> Line | None:
    path = layout.iceberg_beginning(name)
    body = scene.checkpoint.raw.get(path)
    return None if body is None else Line(path, body.decode("utf-8", "replace"))
