"""Both kinds of `.crc`, from bytes written by Hadoop's local file system and by Spark 4.1."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile
from ckpttool.formats.checksums import parse_hadoop_crc, parse_spark_checksum, verify_hadoop_crc
from ckpttool.model import HadoopCrc, SparkChecksum
from tests.encoders import encode_hadoop_crc

COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
COMMIT_CRC = bytes.fromhex("63 72 63 00 00 00 02 00 f3 2a bf dd")

SIDECAR = (
    b'{"algorithm":"CRC32C","value":-78393416,"mainFileSize":3758,"timestampMs":1794984985516,'
    b'"creator":{"executorId":"driver","taskInfo":"Task= 0.0, Stage= 14.0"}}'
)


def test_crc_of_a_commit() -> None:
    assert len(COMMIT) == 29
    crc = parse_hadoop_crc(COMMIT_CRC)
    assert crc == HadoopCrc(512, (0xF32ABFDD,))
    assert verify_hadoop_crc(crc, COMMIT) is None


def test_crc_is_encoded_as_hadoop_writes_it() -> None:
    assert encode_hadoop_crc(COMMIT) == COMMIT_CRC


def test_an_empty_file_has_only_the_header() -> None:
    assert encode_hadoop_crc(b"") == bytes.fromhex("63 72 63 00 00 00 02 00")
    assert verify_hadoop_crc(parse_hadoop_crc(encode_hadoop_crc(b"")), b"") is None


@pytest.mark.parametrize(("size", "chunks"), [(1, 1), (512, 1), (513, 2), (1024, 2), (1025, 3)])
def test_one_checksum_for_each_512_bytes(size: int, chunks: int) -> None:
    assert len(parse_hadoop_crc(encode_hadoop_crc(b"x" * size)).checksums) == chunks


@pytest.mark.parametrize(("changed", "chunk"), [(0, 0), (511, 0), (512, 1), (1100, 2)])
def test_the_first_bad_chunk_is_found(changed: int, chunk: int) -> None:
    content = bytearray(1200)
    crc = parse_hadoop_crc(encode_hadoop_crc(bytes(content)))
    content[changed] = 1
    assert verify_hadoop_crc(crc, bytes(content)) == chunk


def test_a_file_that_grew_or_shrank_by_chunks_is_bad_from_there() -> None:
    crc = parse_hadoop_crc(encode_hadoop_crc(bytes(1024)))
    assert verify_hadoop_crc(crc, bytes(1536)) == 2
    assert verify_hadoop_crc(crc, bytes(512)) == 1
    assert verify_hadoop_crc(crc, b"") == 0


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (b"", 0),
        (b"crc", 0),
        (b'{"algorithm"', 0),
        (COMMIT_CRC[:4], 4),
        (COMMIT_CRC[:7], 4),
        (COMMIT_CRC[:11], 8),
        (b"crc\x00\x00\x00\x00\x00", 4),
        (b"crc\x00\xff\xff\xff\xff", 4),
    ],
)
def test_malformed_hadoop_crc(data: bytes, byte: int) -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_hadoop_crc(data)
    assert caught.value.position is not None
    assert caught.value.position.byte == byte


def test_spark_sidecar() -> None:
    assert parse_spark_checksum(SIDECAR) == SparkChecksum(
        algorithm="CRC32C",
        value=-78393416,
        main_file_bytes=3758,
        timestamp_ms=1794984985516,
        executor_id="driver",
        task_info="Task= 0.0, Stage= 14.0",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"-78393416", b"2147483648"),
        (b"-78393416", b'"x"'),
        (b'"driver"', b"1"),
        (b'"creator"', b'"maker"'),
        (b"}}", b"}"),
        (b"CRC32C", b"\xff"),
    ],
)
def test_malformed_spark_sidecar(old: bytes, new: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_spark_checksum(SIDECAR.replace(old, new))


@pytest.mark.parametrize("data", [b"", b"null", COMMIT_CRC])
def test_not_a_spark_sidecar(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_spark_checksum(data)
