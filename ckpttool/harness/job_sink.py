"""What a job on trial writes to: a directory, which images have with the rest; or a Kafka topic, which none has."""

from __future__ import annotations

from typing import Protocol

from ckpttool.harness.disk import DiskReader
from ckpttool.harness.history import Disk, Fields, SinkKind
from ckpttool.harness.place import JobPlace


class JobSink(Protocol):
    """`target`: what the job is given to write to. The kind of a sink is an argument, since of somebody's own job it is
    seen only after its first run."""

    target: str

    def begin(self) -> None:
        """The query starts with nothing written."""

    def before_copy(self) -> None:
        """An image is taken: what is in no file yet has to be written into one."""

    def after_put_back(self) -> None:
        """The files are those of an image again."""

    def read(self, kind: SinkKind) -> Disk:
        """The disk as it is, with the rows that a reader of the sink gets."""

    def lose_rows(self, kind: SinkKind) -> tuple[Fields, ...]:
        """Take some rows out, and say which: a control that the judge has to see."""

    def close(self) -> None:
        """Nobody writes to it any more."""


class SinkDirectory:
    """All of it is files. `SinkTopic` is in `topics.py`."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._reader = DiskReader()
        self.target = str(place.sink)

    def nothing(self) -> None:
        """Beside what is done with the files."""

    begin = before_copy = after_put_back = close = nothing

    def read(self, kind: SinkKind) -> Disk:
        return self._reader.read(self._place, kind)

    def lose_rows(self, kind: SinkKind) -> tuple[Fields, ...]:
        paths = [self._place.sink / name for name in self._reader.live_files(self._place.sink, kind)]
        path, rows = next((path, rows) for path in paths if (rows := self._reader.rows_of(path)))
        path.unlink()
        return rows
