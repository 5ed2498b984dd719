"""`<version>[_<id>].zip` and `SSTs/*.sst`: a snapshot of a RocksDB store, all releases since 3.2.

Writer: `RocksDBFileManager`. The zip holds RocksDB's small files and `metadata`: a version line, then JSON that names
the SST and log files beside it. Spark reads the zip from its beginning, entry by entry, and never opens its directory:
so do we, and what ends too early or does not match its checksum is found where Spark finds it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

from msgspec import Struct

from ckpttool.errors import LeftUnread, MalformedFile
from ckpttool.formats.envelope import parse_json_object
from ckpttool.formats.state.names import LOG_DIRECTORY, SST_DIRECTORY
from ckpttool.formats.values import Fields, decode_utf8
from ckpttool.model import Json, Position, SparkError

METADATA = "metadata"
SST_MAGICS = (0x88E241B785F4CFF7, 0xDB4775248B80FB57)  # of block-based tables, and of the oldest ones

_VERSIONS = {"v1": 1, "v2": 2}
_LARGEST_ENTRY_BYTES = 2**26
_LARGEST_ZIP_BYTES = 2**27  # all entries together
_MOST_ENTRIES = 2**14
_FED_BYTES = 2**14  # of a deflated entry at a time
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_HEADER_MAGIC, _DESCRIPTOR_MAGIC = b"PK\x03\x04", b"PK\x07\x08"
_ENCRYPTED, _HAS_DESCRIPTOR = 0x1, 0x8
_STORED, _DEFLATED = 0, 8

ZIP = SparkError("java.util.zip.ZipException")
ZIP_ENDED = SparkError("java.io.EOFException")


class ImmutableFile(Struct, frozen=True):
    """An SST or log file: its name in RocksDB, its name below `SSTs/` or `logs/`, and the size it must have."""

    local_name: str
    path: str
    size_bytes: int


class Snapshot(Struct, frozen=True):
    """What a zip holds. `column_families`: name → id, None in stores without any. `version`: of the description; only
    4.0 writes 2, where names have ids, and no other release takes that."""

    files: tuple[ImmutableFile, ...]
    entries: tuple[str, ...]
    keys: int
    internal_keys: int = 0
    column_families: Mapping[str, int] | None = None
    version: int = 1


class NoMetadata(MalformedFile):
    """The zip ends before its last entry, `metadata`; to Spark it looks like one that never had it."""


class WrongVersion(MalformedFile):
    """The first line of `metadata` is no version that any Spark writes."""


def parse_snapshot_zip(data: bytes) -> Snapshot:
    entries = read_zip_entries(data)
    if METADATA not in entries:
        raise NoMetadata(
            "no whole `metadata` among the entries",
            expected="the files of RocksDB, then `metadata`",
            position=Position(byte=len(data)),
            spark=SparkError("java.nio.file.NoSuchFileException"),
        )
    return parse_snapshot_metadata(entries[METADATA], tuple(entries))


def parse_snapshot_metadata(data: bytes, entries: tuple[str, ...] = ()) -> Snapshot:
    first, _, rest = decode_utf8(data).partition("\n")
    version = _VERSIONS.get(first.rstrip("\r"))
    if version is None:
        raise WrongVersion("`metadata` does not begin with its version", expected="`v1`", position=Position(line=1))
    values = parse_json_object(rest, line=2)
    fields = Fields(values, line=2)
    files = (*_files(fields, "sstFiles", "dfsSstFileName", SST_DIRECTORY), *_log_files(fields))
    return Snapshot(
        files=tuple({file.local_name: file for file in files}.values()),  # Spark writes the later over the earlier
        entries=entries,
        keys=fields.long("numKeys"),
        internal_keys=fields.long("numInternalKeys") if "numInternalKeys" in fields else 0,
        column_families=_ids(fields, values.get("columnFamilyMapping")),
        version=version,
    )


def check_sst(data: bytes) -> None:
    """Only the last bytes, which RocksDB looks at when it opens the file; blocks are read when they are needed."""
    if int.from_bytes(data[-8:], "little") not in SST_MAGICS:
        raise MalformedFile(
            "the file does not end like a table of RocksDB",
            expected="its magic number",
            position=Position(byte=max(0, len(data) - 8)),
            spark=SparkError("org.rocksdb.RocksDBException"),
        )


def _log_files(fields: Fields) -> tuple[ImmutableFile, ...]:
    return _files(fields, "logFiles", "dfsLogFileName", LOG_DIRECTORY) if "logFiles" in fields else ()


def _files(fields: Fields, name: str, dfs_name: str, directory: str) -> tuple[ImmutableFile, ...]:
    found = []
    for item in fields.objects(name):
        base = item.text(dfs_name)
        if "/" in base or base in ("", ".", ".."):
            raise MalformedFile(f"`{dfs_name}` is no file name", expected="a name", position=Position(line=2))
        found.append(ImmutableFile(item.text("localFileName"), f"{directory}/{base}", item.long("sizeBytes")))
    return tuple(found)


def _ids(fields: Fields, families: Json) -> Mapping[str, int] | None:
    if families is None:
        return None
    ids = fields.object("columnFamilyMapping")
    return {family: ids.int32(family) for family in families}


# -- the zip, as `java.util.zip.ZipInputStream` reads it ---------------------------------------------------------------


def read_zip_entries(data: bytes) -> dict[str, bytes]:
    """Name → contents. Whatever does not begin like an entry ends the zip, be it its directory or damage."""
    entries: dict[str, bytes] = {}
    at = total = 0
    while len(data) - at >= _HEADER.size and data.startswith(_HEADER_MAGIC, at):
        header = _HEADER.unpack_from(data, at)
        flags, method, crc, stored, size, name_bytes, extra_bytes = header[2], header[3], *header[6:]
        start = at + _HEADER.size + name_bytes + extra_bytes
        if start > len(data):
            raise _ended(at)
        has_descriptor = bool(flags & _HAS_DESCRIPTOR)
        if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED) or (has_descriptor and method != _DEFLATED):
            raise _bad(at, "an entry that is not deflated")
        name = data[at + _HEADER.size : at + _HEADER.size + name_bytes].decode("utf-8", "replace")
        content, end = _inflated(data, start) if method == _DEFLATED else _stored(data, start, size)
        if has_descriptor:
            crc, stored, size, end = _descriptor(data, end)
        if len(content) != size or (has_descriptor and stored != end - start - 16 and stored != end - start - 12):
            raise _bad(at, f"{name!r} has another size than its header says")
        if zlib.crc32(content) != crc:
            raise _bad(at, f"{name!r} has another checksum than its header says")
        entries[name.rpartition("/")[2]] = content
        total += len(content)
        if total > _LARGEST_ZIP_BYTES:
            raise LeftUnread("a zip whose entries are too large to be looked into", expected="RocksDB's small files")
        if len(entries) > _MOST_ENTRIES:
            raise LeftUnread("a zip whose entries are too many to be looked into", expected="RocksDB's small files")
        at = end
    return entries


def _inflated(data: bytes, start: int) -> tuple[bytes, int]:
    """Bit by bit: what an entry leaves over is copied, and of many entries that must not be the whole rest."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    pieces: list[bytes] = []
    at, total = start, 0
    while not inflater.eof and at < len(data):
        piece = memoryview(data)[at : at + _FED_BYTES]
        try:
            pieces.append(inflater.decompress(piece, _LARGEST_ENTRY_BYTES))
        except zlib.error:
            raise _bad(start, "an entry cannot be decompressed") from None
        total += len(pieces[-1])
        if inflater.unconsumed_tail or total > _LARGEST_ENTRY_BYTES:
            raise LeftUnread("an entry is too large to be looked into", expected="RocksDB's small files")
        at += len(piece)
    if not inflater.eof:
        raise _ended(start)
    return b"".join(pieces), at - len(inflater.unused_data)


def _stored(data: bytes, start: int, size: int) -> tuple[bytes, int]:
    if start + size > len(data):
        raise _ended(start)
    return data[start : start + size], start + size


def _descriptor(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Checksum, stored size and size behind an entry, and where the next one begins; its magic number is optional."""
    if len(data) - at < 16:
        raise _ended(at)
    fields = at + 4 if data.startswith(_DESCRIPTOR_MAGIC, at) else at
    crc, stored, size = (int.from_bytes(data[fields + 4 * i : fields + 4 * i + 4], "little") for i in range(3))
    return crc, stored, size, fields + 12


def _ended(at: int) -> MalformedFile:
    return MalformedFile(
        "the zip ends inside an entry", expected="whole entries", position=Position(byte=at), spark=ZIP_ENDED
    )


def _bad(at: int, message: str) -> MalformedFile:
    return MalformedFile(message, expected="an entry as Spark writes it", position=Position(byte=at), spark=ZIP)
