"""Two kinds of checksum file that share a suffix: Hadoop's `.<name>.crc` and Spark's `<name>.crc`.

Hadoop's `ChecksumFs` writes `.<name>.crc` beside every file on a local path, all versions: `crc`, 0x00, the chunk size,
then a CRC-32 per chunk, integers big-endian. Spark's `ChecksumCheckpointFileManager` (4.1 to master) writes
`<name>.crc` beside state files: one JSON object with a signed CRC-32C of the whole file.
"""

from __future__ import annotations

from itertools import zip_longest
from struct import unpack_from
from zlib import crc32

from ckpttool.errors import MalformedFile
from ckpttool.formats.envelope import INT_MAX, parse_json_object
from ckpttool.formats.values import Fields, decode_utf8
from ckpttool.model import HadoopCrc, Position, SparkChecksum

HADOOP_MAGIC = b"crc\x00"
HADOOP_CHUNK_BYTES = 512
_HEADER_BYTES = 8


def parse_hadoop_crc(data: bytes) -> HadoopCrc:
    if data[: len(HADOOP_MAGIC)] != HADOOP_MAGIC:
        raise MalformedFile("not a Hadoop checksum file", expected="`crc` and a zero byte", position=Position(byte=0))
    checksums, cut_off = divmod(len(data) - _HEADER_BYTES, 4)
    if checksums < 0 or cut_off:
        raise MalformedFile(
            "the file ends inside a number",
            expected="a chunk size and CRC-32s of 4 bytes each",
            position=Position(byte=len(data) - len(data) % 4),
        )
    chunk_bytes = unpack_from(">I", data, len(HADOOP_MAGIC))[0]
    if not 1 <= chunk_bytes <= INT_MAX:
        raise MalformedFile(
            f"a chunk size of {chunk_bytes}",
            expected=f"a positive chunk size, {HADOOP_CHUNK_BYTES} by default",
            position=Position(byte=len(HADOOP_MAGIC)),
        )
    return HadoopCrc(chunk_bytes, unpack_from(f">{checksums}I", data, _HEADER_BYTES))


def verify_hadoop_crc(crc: HadoopCrc, content: bytes) -> int | None:
    """The index of the first chunk that differs, is missing or has no checksum; None when all agree."""
    pairs = zip_longest(crc.checksums, _chunk_checksums(content, crc.chunk_bytes))
    return next((index for index, (recorded, actual) in enumerate(pairs) if recorded != actual), None)


def parse_spark_checksum(data: bytes) -> SparkChecksum:
    fields = Fields(parse_json_object(decode_utf8(data), line=1), line=1)
    creator = fields.object("creator")
    return SparkChecksum(
        algorithm=fields.text("algorithm"),
        value=fields.int32("value"),
        main_file_bytes=fields.long("mainFileSize"),
        timestamp_ms=fields.long("timestampMs"),
        executor_id=creator.text("executorId"),
        task_info=creator.text("taskInfo"),
    )


def _chunk_checksums(content: bytes, chunk_bytes: int) -> list[int]:
    view = memoryview(content)
    return [crc32(view[start : start + chunk_bytes]) for start in range(0, len(content), chunk_bytes)]
