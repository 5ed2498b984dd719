"""How far the tasks of a Kinesis source came: for each of the connector's batches a directory, with a file a shard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.kinesis import KIND, SHARD_COMMITS, KinesisOffset, refused_shard_commit
from ckpttool.errors import CkptError, LeftUnread, Unavailable
from ckpttool.formats import layout
from ckpttool.model import OffsetLogEntry, ShardCommits, SourceLog


class Walk(Protocol):
    """Whoever reads the checkpoint, and tells what could not be read."""

    def list(self, path: str) -> list[str]: ...

    def is_directory(self, path: str) -> bool: ...

    def bodies(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | CkptError]]: ...

    def tell_what_was_not_read(self, bodies: Mapping[str, bytes | CkptError], besides: str) -> None: ...


def with_shard_commits(log: SourceLog, offsets: Mapping[int, OffsetLogEntry], walk: Walk) -> SourceLog:
    """Where the next batch begins is what the tasks of the newest one have left."""
    batch, path = _newest_batch(log.name, offsets), layout.source(log.name)
    kept = next((one for one in SHARD_COMMITS if one in walk.list(path)), None)
    if batch is None or kept is None:
        return log
    folder = f"{path}/{kept}/{batch}"
    if not walk.is_directory(folder):
        return replace(log, shard_commits=ShardCommits(folder, batch, None))
    names = [name for name in walk.list(folder) if not layout.is_hadoop_crc(name)]
    bodies = dict(walk.bodies([f"{folder}/{name}" for name in names]))
    walk.tell_what_was_not_read(bodies, besides="")
    if any(isinstance(body, Unavailable | LeftUnread) for body in bodies.values()):
        return log
    shards = {file.rpartition("/")[2]: refused_shard_commit(body) for file, body in bodies.items()}
    return replace(log, shard_commits=ShardCommits(folder, batch, shards))


def _newest_batch(name: str, offsets: Mapping[int, OffsetLogEntry]) -> int | None:
    """The connector's own number of it, which its line names."""
    newest = offsets[max(offsets)] if offsets else None
    for source in newest.sources if newest else ():
        if source.text is not None and name == (str(source.index) if source.name is None else source.name):
            offset = recognise_offset(source.text, KIND)
            return offset.number if isinstance(offset, KinesisOffset) else None
    return None
