"""What lies on the disk after a crash or a recovery, written down for the judge: the logs, the sink's log, its rows.

Rows are read by us and not by Spark: from JSON lines, or from Parquet, which needs pyarrow. A data file never changes,
so each is read once and remembered by its name. Of a Delta table the rows are those of the files that its JSON commits
have added and not removed, of a file sink those that its manifest lists, of a plain directory those of all its files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from posixpath import basename
from typing import Any
from urllib.parse import unquote

from ckpttool.errors import MalformedFile, Refused
from ckpttool.formats import layout
from ckpttool.formats.delta_log import DeltaCommit, parse_commit
from ckpttool.formats.file_log import parse_sink_log
from ckpttool.harness.history import Disk, Fields, ObservedCommit, SinkKind
from ckpttool.harness.place import JobPlace

Rows = tuple[Fields, ...]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATA = (".json", ".parquet")


class DiskReader:
    """Reads disks of one job; `kind` is that of its sink."""

    def __init__(self) -> None:
        self._rows: dict[str, Rows] = {}

    def read(self, place: JobPlace, kind: SinkKind, visible: Rows | None = None) -> Disk:
        """`visible`: the sink's rows, where somebody else has read them, as of Kafka."""
        checkpoint = place.checkpoint
        try:
            sink = self._sink_log(place.sink, kind)
            shown = None if kind == "kafka" else self._rows_of(place.sink, self.live_files(place.sink, kind))
        except MalformedFile:  # its log was torn
            sink, shown = None, None
        return Disk(
            metadata=_text(checkpoint / layout.METADATA),
            offsets=_log(checkpoint / layout.OFFSETS),
            commits=_log(checkpoint / layout.COMMITS),
            source_logs={path.name: _log(path) for path in sorted((checkpoint / layout.SOURCES).glob("*"))},
            sink=sink,
            visible=shown if visible is None else visible,
            garbage=tuple(self._garbage(place, sink)),
            state_files=tuple(
                sorted(str(path.relative_to(checkpoint / layout.STATE)) for path in _files(checkpoint / layout.STATE))
            ),
        )

    # -- the sink

    def _sink_log(self, sink: Path, kind: SinkKind) -> tuple[ObservedCommit, ...] | None:
        if kind == "delta":
            return tuple(self._delta_commit(sink, commit) for commit in delta_commits(sink))
        if kind == "file":
            return tuple(self._manifests(sink))
        return None

    def _delta_commit(self, sink: Path, commit: DeltaCommit) -> ObservedCommit:
        transaction = commit.transactions[-1] if commit.transactions else None
        restored = commit.parameters.get("version") if commit.operation == "RESTORE" else None
        files = tuple(sorted(map(unquote, commit.added)))
        return ObservedCommit(
            version=commit.version,
            app_id=transaction.app_id if transaction else None,
            batch_id=transaction.version if transaction else None,
            operation=commit.operation,
            restored_to=int(restored) if isinstance(restored, int | str) else None,
            files=files,
            rows=self._rows_of(sink, files),
        )

    def _manifests(self, sink: Path) -> Iterable[ObservedCommit]:
        """A compacted one lists everything so far: its batch added what is not known yet. In any other a name that is
        known was added again, and readers get its rows again."""
        known: set[str] = set()
        for batch, path in _log_files(sink / layout.FILE_SINK_LOG).items():
            listed = [basename(unquote(entry.path)) for entry in parse_sink_log((_text(path) or "").encode())]
            files = tuple(name for name in listed if path.suffix != layout.COMPACT_SUFFIX or name not in known)
            known.update(files)
            yield ObservedCommit(version=batch, batch_id=batch, files=files, rows=self._rows_of(sink, files))

    def live_files(self, sink: Path, kind: SinkKind) -> list[str]:
        """Those that a reader of the sink reads."""
        if kind == "delta":
            live: set[str] = set()
            for commit in delta_commits(sink):
                live = live - set(commit.removed) | set(commit.added)
            return sorted(map(unquote, live))
        if kind == "file":
            return [name for commit in self._manifests(sink) for name in commit.files]
        return data_files(sink)

    def _rows_of(self, sink: Path, names: Iterable[str]) -> Rows:
        return tuple(row for name in names for row in self.rows_of(sink / name))

    def rows_of(self, path: Path) -> Rows:
        key = str(path)
        if not path.exists():
            return ()  # the judge will miss the rows
        if key not in self._rows:
            self._rows[key] = tuple(_parquet(path) if path.suffix == ".parquet" else _json_lines(path))
        return self._rows[key]

    def _garbage(self, place: JobPlace, sink: tuple[ObservedCommit, ...] | None) -> Iterable[str]:
        for path in _files(place.root):
            if ".tmp" in path.name and path.suffix != layout.CRC_SUFFIX and not path.is_relative_to(place.input):
                yield str(path.relative_to(place.root))
        if sink is not None:
            named = {name for commit in sink for name in commit.files}
            unnamed = (name for name in data_files(place.sink) if name not in named)
            yield from (f"sink/{name}" for name in unnamed if not self._is_without_rows(place.sink / name))

    def _is_without_rows(self, path: Path) -> bool:
        """Delta writes a file for a task without rows, and does not add it."""
        try:
            return not self.rows_of(path)
        except (ValueError, OSError):  # it was being written
            return False


def sink_kind(sink: Path) -> SinkKind:
    """By what lies there."""
    if (sink / "_delta_log").is_dir():
        return "delta"
    return "file" if (sink / layout.FILE_SINK_LOG).is_dir() else "foreachBatch"


def spark_format(sink: Path, kind: SinkKind) -> str | None:
    """By what name Spark reads it; None: there is nothing to read yet, or it is no directory."""
    if kind == "delta":
        return "delta" if (sink / "_delta_log").exists() else None
    names = data_files(sink) if kind != "kafka" else []
    return Path(names[0]).suffix[1:] if names else None


def delta_commits(table: Path) -> list[DeltaCommit]:
    paths = sorted((table / "_delta_log").glob("[0-9]*.json"))
    return [parse_commit(path.read_bytes(), int(path.stem)) for path in paths if re.fullmatch(r"\d{20}", path.stem)]


def data_files(folder: Path) -> list[str]:
    """What a reader of the plain directory takes: no name in the path begins with a dot or an underscore."""
    names = (path.relative_to(folder) for path in _files(folder) if path.suffix in DATA)
    return sorted(str(name) for name in names if not any(part[0] in "._" for part in name.parts))


def moment_ms(value: Any) -> Any:
    """Times as milliseconds, whether they come as values or as ISO 8601 with a zone; anything else stays what it is."""
    if isinstance(value, str):
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", value):
            return value
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)
    return value


def as_fields(row: Mapping[str, Any]) -> Fields:
    return {name: moment_ms(value) for name, value in row.items() if value is not None}


def _json_lines(path: Path) -> Iterable[Fields]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except ValueError:
        raise Refused(
            f"the sink's file {path.name} is neither Parquet nor JSON", "write Delta, Parquet or JSON"
        ) from None
    return (as_fields(row) for row in rows)


def _parquet(path: Path) -> Iterable[Fields]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise Refused(
            "the sink holds Parquet files, and pyarrow is not installed", "pip install 'ckpttool[delta]'"
        ) from None
    return map(as_fields, parquet.ParquetFile(path).read().to_pylist())


def _log(folder: Path) -> dict[int, str]:
    """The texts of a log by their number."""
    texts = {number: _text(path) for number, path in _log_files(folder).items()}
    return {number: text for number, text in texts.items() if text is not None}


def _log_files(folder: Path) -> dict[int, Path]:
    """The files of a log by their number; a compacted one takes the place of the entry."""
    paths = sorted(folder.glob("[0-9]*"), key=lambda path: path.suffix == layout.COMPACT_SUFFIX)
    found = {int(name): path for path in paths if (name := path.name.removesuffix(layout.COMPACT_SUFFIX)).isdecimal()}
    return dict(sorted(found.items()))


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "backslashreplace")
    except (FileNotFoundError, IsADirectoryError):
        return None


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
