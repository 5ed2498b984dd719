"""`sources/<n>/0` of the sources that write one, from the bytes of Spark's test resources and of real runs."""

from __future__ import annotations

import pytest

from ckpttool.errors import MalformedFile, UnsupportedVersion
from ckpttool.formats.initial_offset import initial_offset_hint, parse_initial_offset
from ckpttool.model import InitialOffset
from tests.encoders import encode_initial_offset

TOPIC_MAP = '{"kafka-initial-offset-2-1-0":{"2":2,"1":1,"0":0}}'
KAFKA = bytes.fromhex("00 76 31 0a 7b 22 73 70") + b'ark-topic":{"2":0,"0":0}}'
KAFKA_2_1 = bytes.fromhex("32 7b 22") + TOPIC_MAP[2:].encode()
FUTURE = b'0v99999\n{"kafka-initial-offset-future-version":{"2":2,"1":1,"0":0}}'
RATE = b"v1\n1794984732145"
PULSAR = b'v1\n{"topic":[8,11,16,101,24,1,32,1]}'
HUDI = b'v1\n{"offsetCommitTime":"000"}'
COSMOS = b"v1\neyJpZCI6IjEifQ=="
ICEBERG = b'{"version":1,"snapshot_id":-1,"position":-1,"scan_all_files":false}'


@pytest.mark.parametrize(
    ("data", "version", "text", "leading_byte"),
    [
        (KAFKA, 1, '{"spark-topic":{"2":0,"0":0}}', 0),
        (KAFKA_2_1, None, TOPIC_MAP, 0x32),
        (RATE, 1, "1794984732145", None),
        (PULSAR, 1, '{"topic":[8,11,16,101,24,1,32,1]}', None),
        (HUDI, 1, '{"offsetCommitTime":"000"}', None),
        (COSMOS, 1, "eyJpZCI6IjEifQ==", None),
        (ICEBERG, None, ICEBERG.decode(), None),
        (b'v{"t":{"0":1}}', None, '{"t":{"0":1}}', ord("v")),  # 2.1 with a JSON of 118 bytes
        (b'{{"t":{"0":1}}', None, '{"t":{"0":1}}', ord("{")),  # and of 123
        (b'vv1\n{"t":{"0":1}}', 1, '{"t":{"0":1}}', ord("v")),
        (b'{v1\n{"t":{"0":1}}', 1, '{"t":{"0":1}}', ord("{")),
        (b'\xffv1\n{"t":{"0":1}}', 1, '{"t":{"0":1}}', 0xFF),
    ],
)
def test_shapes(data: bytes, version: int | None, text: str, leading_byte: int | None) -> None:
    initial = InitialOffset(version=version, text=text, leading_byte=leading_byte)
    assert parse_initial_offset(data) == initial
    assert encode_initial_offset(initial) == data


def test_the_length_byte_of_2_1_is_the_length() -> None:
    assert KAFKA_2_1[0] == len(TOPIC_MAP)


def test_a_future_version_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion, match="v99999"):
        parse_initial_offset(FUTURE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x00v1",
        b"\x00v1\n",
        b"\x00v1\n5",
        b"\x00v1\n[]",
        b"\x00v1\r\n{}",
        b"\x00[]",
        b"v",
        b"v1",
        b"v1\n",
        b"v1\n \n",
        b"v1\n9223372036854775808",
        b"v1\n" + b"9" * 100_000,
        b"v1\n\xff",
        b"{",
        b"1794984732145",
        b"\xef\xbb\xbfv1\n1",
    ],
)
def test_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_initial_offset(data)


def test_bad_utf8_is_placed_in_the_file() -> None:
    with pytest.raises(MalformedFile) as caught:
        parse_initial_offset(b'\x00v1\n{"\xff')
    assert caught.value.position is not None
    assert caught.value.position.byte == 6


@pytest.mark.parametrize("data", [RATE, b"v1\n1794984732145\n"])
def test_a_bare_integer_after_the_version_proves_rate(data: bytes) -> None:
    assert initial_offset_hint(parse_initial_offset(data)) == "rate"


@pytest.mark.parametrize("data", [KAFKA, KAFKA_2_1, PULSAR, HUDI, COSMOS, ICEBERG])
def test_other_shapes_prove_nothing(data: bytes) -> None:
    assert initial_offset_hint(parse_initial_offset(data)) is None


def test_a_number_behind_a_leading_byte_is_not_rate() -> None:
    assert initial_offset_hint(InitialOffset(version=1, text="5", leading_byte=0)) is None
