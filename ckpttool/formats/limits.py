"""How much is read of what: one table, which `--read-limit KIND=N` changes for one run.

Who can write to a checkpoint decides how large its files are, so each kind of file has a size that it is not read
beyond. The sizes are far above what Spark writes, and such that whatever fits into them is answered in 512 MB of memory
and in a time that its bytes account for. Stores ask for a file's limit by its path: no reader can forget to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from ckpttool.errors import LeftUnread

_MIB = 2**20
PIECE_BYTES = 64 * _MIB  # at a time, of files that are read piece by piece, and of files that are read together


class Limit(Struct, frozen=True):
    most: int
    of: str  # what is counted


TABLE: Mapping[str, Limit] = {
    # Spark writes 45 bytes.
    "metadata": Limit(_MIB, "bytes of a `metadata`"),
    # A Kafka source of 100,000 partitions has 2 MB of offsets, state of as many partitions with ids 6 MB of commit.
    "offsets": Limit(16 * _MIB, "bytes of an offset log's file"),
    "commits": Limit(16 * _MIB, "bytes of a commit log's file"),
    # A compacted log has a line for each file ever: half a million files of long names.
    "sources": Limit(64 * _MIB, "bytes of a source's file"),
    "sink-log": Limit(64 * _MIB, "bytes of a file sink's log"),
    # A schema of 10,000 columns is 1 MB.
    "schemas": Limit(8 * _MIB, "bytes of an operator's metadata or schema"),
    # Compressed, of one partition. Of RocksDB only tables of its snapshots are larger, and they are not read whole.
    "state": Limit(128 * _MIB, "bytes of a state file"),
    # An OPTIMIZE of a large table commits 100,000 files in 50 MB.
    "delta-log": Limit(64 * _MIB, "bytes of a file in `_delta_log`"),
    # A table keeps every snapshot that is not expired, of 1 KB each.
    "iceberg": Limit(64 * _MIB, "bytes of an Iceberg table's metadata, unpacked too"),
    "other": Limit(64 * _MIB, "bytes of any other file"),
    # What all files that are looked at together come to, but for those of state.
    "total": Limit(128 * _MIB, "bytes of logs and metadata together"),
    # Commas, brackets and lines: a bound for what a parser makes of a text, of which each takes up to 100 bytes.
    "values": Limit(3_000_000, "values in logs and metadata together"),
    # A query has a line for each source, and pins some thirty settings.
    "lines": Limit(1_000, "lines of an offset log's file"),
    "settings": Limit(10_000, "pinned settings of a batch"),
    # Of HDFS-backed state all of a partition is held in memory, of RocksDB what changelogs have changed.
    "unpacked": Limit(160 * _MIB, "decompressed bytes of state in memory"),
    "entries": Limit(1_500_000, "entries of state in memory"),
    # Rows to be compared, and keys to be looked up, where their bytes do not do; values take up to four times as much.
    "decoded": Limit(64 * _MIB, "characters of decoded rows in memory"),
    # Copied to a temporary directory where they are not on the local disk; a partition of Spark's is some of them.
    "tables": Limit(8 * 1024 * _MIB, "bytes of the tables of a snapshot that are fetched"),
    # Where it is shown as values: of a byte may become a list of nothing, or six characters of text, several times.
    "row": Limit(4 * _MIB, "bytes of a row of state"),
    # What the rows of a table have in their lists and maps in all, where an item may be of two bytes, or of none.
    "items": Limit(3_000_000, "items of lists and maps in rows that are Avro"),
    # Logs of 100,000 batches have 200,000 names with their checksums.
    "names": Limit(1_000_000, "names in a directory"),
    # A query has one for each source.
    "source-logs": Limit(1_000, "names in `sources`"),
    # Joins, aggregations and the like of one query; Spark numbers them from 0 on.
    "operators": Limit(100, "operators in `state`"),
    "partitions": Limit(20_000, "partitions of an operator"),
    # Spark keeps those of 100 batches, and goes on to an older one where it cannot read one.
    "bases": Limit(100, "whole copies of a store that are tried"),
    "pages": Limit(5_000, "pages of a listing"),
    # What a storage that is asked may take for all its answers together.
    "seconds": Limit(900, "seconds of waiting for a storage"),
}

_in_force = {kind: limit.most for kind, limit in TABLE.items()}


def most(kind: str) -> int:
    return _in_force[kind]


def given() -> dict[str, int]:
    """What is in force in place of the table: for other processes, which have to be told."""
    return {kind: now for kind, now in _in_force.items() if now != TABLE[kind].most}


@contextmanager
def changed(given: Mapping[str, int]) -> Iterator[None]:
    """Other limits than the table's, for as long as a command runs."""
    before = dict(_in_force)
    _in_force.update(given)
    try:
        yield
    finally:
        _in_force.update(before)


class OverLimit(LeftUnread):
    """Something of a kind is more than is read of it; `found`: how much, where that is known."""

    exit_code = 3

    def __init__(self, kind: str, found: int | None = None) -> None:
        allowed, of = most(kind), TABLE[kind].of
        has = f"more than {allowed:,} {of}" if found is None else f"{found:,} {of}, and {allowed:,} are read at most"
        super().__init__(
            f"{has}: --read-limit {kind}={'N' if found is None else found} would read it",
            expected=f"at most {allowed:,}",
        )
        self.kind = kind


def check(kind: str, found: int) -> None:
    if found > most(kind):
        raise OverLimit(kind, found)


_FILES = tuple(kind for kind, limit in TABLE.items() if limit.of.startswith("bytes of a"))  # as layout tells them


def largest_file() -> int:
    """What no answer to a request for a file, or for a piece of one, is larger than."""
    return max(PIECE_BYTES, *(most(kind) for kind in _FILES))


class Room:
    """What is left for all files that are looked at together."""

    def __init__(self) -> None:
        self.bytes, self.values = most("total"), most("values")

    def take(self, body: bytes, weigh: Callable[[bytes], int] | None = None) -> None:
        """Raises OverLimit if this file does not fit any more; a smaller one still may."""
        if len(body) > self.bytes:
            raise OverLimit("total")
        values = (weigh or weigh_json)(body)
        if values > self.values:
            raise OverLimit("values")
        self.bytes -= len(body)
        self.values -= values


def weigh_json(body: bytes) -> int:
    """A bound for the values that a parser makes of lines and JSON."""
    return sum(map(body.count, (b",", b"[", b"{", b"\n", b"\r")))


def weigh_lines(body: bytes) -> int:
    """Of lines of which little is kept, whatever stands in them."""
    return 4 * body.count(b"\n")
