"""Files as Spark and Hadoop write them, from the values that `ckpttool.formats` makes of them.

For the tests alone: no way out puts such a file anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack
from zlib import crc32

from ckpttool.model import FileLogEntry, InitialOffset, SinkFileEntry

# What Jackson escapes when it writes a string: the short forms, else four upper-case hexadecimal digits.
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)}
_ESCAPES |= {ord(char): "\\" + short for char, short in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)}


def encode_source_log(entries: Iterable[FileLogEntry]) -> bytes:
    return _encode(
        f'{{"path":{_json_text(entry.path)},"timestamp":{entry.timestamp_ms},"batchId":{entry.batch_id}}}'
        for entry in entries
    )


def encode_sink_log(entries: Iterable[SinkFileEntry]) -> bytes:
    return _encode(
        f'{{"path":{_json_text(entry.path)},"size":{entry.size_bytes},'
        f'"isDir":{"true" if entry.is_directory else "false"},"modificationTime":{entry.modified_ms},'
        f'"blockReplication":{entry.block_replication},"blockSize":{entry.block_size},'
        f'"action":{_json_text(entry.action)}}}'
        for entry in entries
    )


def encode_initial_offset(initial: InitialOffset) -> bytes:
    leading = b"" if initial.leading_byte is None else bytes((initial.leading_byte,))
    version = b"" if initial.version is None else f"v{initial.version}\n".encode("ascii")
    return leading + version + initial.text.encode("utf-8")


def encode_hadoop_crc(content: bytes) -> bytes:
    """The checksum file that Hadoop's local file system writes beside `content`."""
    checksums = [crc32(content[start : start + 512]) for start in range(0, len(content), 512)]
    return b"crc\x00" + pack(f">I{len(checksums)}I", 512, *checksums)


def _encode(lines: Iterable[str]) -> bytes:
    return "\n".join(("v1", *lines)).encode("utf-8")


def _json_text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
