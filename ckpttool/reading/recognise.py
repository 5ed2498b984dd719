"""What a directory is: a checkpoint, a DStreams checkpoint, or something else, and then where the checkpoint may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ckpttool.errors import CkptError, MalformedFile, NotACheckpoint, NotFound
from ckpttool.formats.dstreams import parse_dstream_names, parse_wal_names, sniff_codec
from ckpttool.formats.layout import (
    COMPACT_SUFFIX,
    DELTA_LOG,
    FILE_SINK_LOG,
    LOGS,
    METADATA,
    OFFSETS,
    OWN_DIRECTORY,
    PARTS,
    SOURCES,
    STATE,
    is_schema_log,
)
from ckpttool.formats.metadata import parse_metadata
from ckpttool.formats.names import parse_log_names
from ckpttool.model import DStreamsDirectory, OffsetLogEntry
from ckpttool.storage.store import Store, is_directory

_LOOKS = 100  # how many directories below are looked into for checkpoints


def is_checkpoint(store: Store, names: Collection[str]) -> bool:
    """`metadata` and a log, a log whose files look like batches (the metadata is lost), or nothing but parts of one."""
    logs = [name for name in LOGS if name in names]
    if METADATA in names and logs:
        return True
    if names and all(name in (*PARTS, OWN_DIRECTORY) or name.startswith(".") for name in names):
        kept = any(name in names and _is_numbered(store, name) for name in (SOURCES, STATE))
        return kept or (METADATA in names and _is_query_metadata(store)) or _has_batches(store, logs)
    if METADATA in names and not is_directory(store, METADATA):
        return _is_query_metadata(store)
    return _has_batches(store, logs)


def _is_numbered(store: Store, name: str) -> bool:
    """Whether it has a directory for a source or an operator: others have folders of these names too."""
    return is_directory(store, name) and any(one.isdecimal() for one in _list_what_may_be_listed(store, name))


def is_any_checkpoint(store: Store, names: Collection[str]) -> bool:
    """Of a streaming query or of DStreams. Whoever looks for checkpoints asks this, as does whoever opens one."""
    return is_checkpoint(store, names) or is_dstreams(store, names)


def _has_batches(store: Store, logs: Iterable[str]) -> bool:
    return any(parse_log_names(_list_what_may_be_listed(store, log)).ids for log in logs)


def _is_query_metadata(store: Store) -> bool:
    try:
        parse_metadata(store.read(METADATA))
    except (NotFound, MalformedFile):
        return False
    return True


def _list_what_may_be_listed(store: Store, path: str) -> list[str]:
    """Not being allowed to look is no answer to what a directory is: that error goes on."""
    try:
        return store.list(path)
    except (NotFound, MalformedFile):
        return []


def is_dstreams(store: Store, names: Collection[str]) -> bool:
    """Files named by a time. Directories of such names, and such files beside a log, are somebody's checkpoints."""
    if any(log in names for log in LOGS):
        return False
    times = parse_dstream_names(names).times_ms
    return bool(times) and not is_directory(store, f"checkpoint-{times[-1]}")


def load_dstreams(store: Store, names: Sequence[str]) -> DStreamsDirectory:
    checkpoints = parse_dstream_names(names)
    newest = f"checkpoint-{checkpoints.last_ms}"
    rdds = [
        f"{name}/{rdd}"
        for name in names
        if name.count("-") == 4 and is_directory(store, name)
        for rdd in list_or_nothing(store, name)
        if rdd.startswith("rdd-")
    ]
    return DStreamsDirectory(
        checkpoints=checkpoints,
        codec=sniff_codec(_head(store, newest)[:64]),
        receiver_streams=tuple(sorted(list_or_nothing(store, "receivedData"))),
        block_log=parse_wal_names(list_or_nothing(store, "receivedBlockMetadata")),
        rdd_directories=tuple(sorted(rdds)),
    )


def explain_foreign(store: Store, names: Sequence[str]) -> NotACheckpoint | NotFound:
    """Why this is not a checkpoint, and where one is if it can be seen from here."""
    if above := _checkpoint_above(store):
        return NotACheckpoint(f"{store.url} is a directory inside a checkpoint", f"try {above}", (above,))
    if not names:
        return NotFound(f"{store.url} is empty", "a query that starts on it starts from nothing")
    below, all_seen = _checkpoints_below(store, names)
    if below:
        listed = ", ".join(below[:20]) + (f" and {len(below) - 20} more" if len(below) > 20 else "")
        urls = tuple(store.at(name).url for name in below)
        count = f"{'' if all_seen else 'at least '}{len(below)}"
        message = f"{store.url} is not a checkpoint but holds {count}: {listed}"
        return NotACheckpoint(message, f"try {urls[0]}", urls)
    what = _what_else(store, names)
    return NotACheckpoint(
        f"{store.url} is not a checkpoint: it is {what}", "give the directory named as checkpointLocation"
    )


def _checkpoint_above(store: Store) -> str | None:
    """The checkpoint around `…/offsets`, `…/sources/0` or `…/state/0/1`: one look, where the path names such a part."""
    steps = store.url.partition("::")[0].rstrip("/").split("/")[-5:]
    depth = next((depth for depth, step in enumerate(reversed(steps), 1) if step in PARTS and step != METADATA), None)
    if depth is None:
        return None
    above = store.above(depth)
    return above.url if is_any_checkpoint(above, list_or_nothing(above)) else None


def _what_else(store: Store, names: Sequence[str]) -> str:
    if DELTA_LOG in names:
        return "a Delta table"
    if FILE_SINK_LOG in names:
        return "the output of a file sink"
    if any(looks_like_file_log(_head(store, str(i))) for i in parse_log_names(names).ids[-1:]):
        return "the log of a file source or a file sink"
    if any(log in names for log in LOGS):
        return "a directory whose logs hold no batch, without `metadata`"
    return "a directory without `metadata`, `offsets` or `commits`"


def _checkpoints_below(store: Store, names: Iterable[str]) -> tuple[list[str], bool]:
    """Checkpoints in the two levels below, the nearer first; False: there was more to look at than we do."""
    found: list[str] = []
    level, all_seen = list(_folders(store, "", names)), True
    for _depth in range(2):
        deeper: list[str] = []
        for path in level[:_LOOKS]:
            inside = list_or_nothing(store, path)
            if is_any_checkpoint(store.at(path), inside):
                found.append(path)
            else:
                deeper.extend(_folders(store, path, inside))
        all_seen = all_seen and len(level) <= _LOOKS
        level = deeper
    return found, all_seen


def _folders(store: Store, path: str, names: Iterable[str]) -> Iterator[str]:
    """Directories that may hold checkpoints; asked lazily, because a table has thousands of files."""
    for name in sorted(names)[: 10 * _LOOKS]:
        child = f"{path}/{name}" if path else name
        if not name.startswith((".", "_")) and is_directory(store, child):
            yield child


def list_or_nothing(store: Store, path: str = "") -> list[str]:
    try:
        return store.list(path)
    except CkptError:
        return []


def _head(store: Store, path: str) -> bytes:
    try:
        return store.read(path)
    except CkptError:
        return b""


def looks_like_file_log(body: bytes) -> bool:
    return body.startswith(b'v1\n{"path":')


def source_kind_by_names(names: Collection[str]) -> str | None:
    if "rocksdb" in names:
        return "auto-loader"
    if any(map(is_schema_log, names)):
        return "delta"
    if any(name in ("shard-source", "shard-commit") for name in names):
        return "kinesis"
    if any(name.endswith(COMPACT_SUFFIX) for name in names):
        return "file"
    return "iceberg" if OFFSETS in names else None


def file_sources(offsets: Mapping[int, OffsetLogEntry]) -> set[str]:
    """The sources most of whose lines are such as only a file source writes."""
    votes: Counter[str] = Counter()
    for entry in offsets.values():
        for source in entry.sources:
            if source.text is not None:
                is_file = source.text.startswith('{"logOffset":')
                votes[str(source.index) if source.name is None else source.name] += 1 if is_file else -1
    return {name for name, balance in votes.items() if balance > 0}
