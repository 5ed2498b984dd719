"""Packets and numbers of the debugger's protocol, and what is needed of a class file."""

from __future__ import annotations

import struct

import pytest

from ckpttool.harness.wire import JdwpError, Packet, Reader, encoded, long_slot, return_indices, simple_name


def test_packet_survives_encoding() -> None:
    packet = Packet(7, 0, (15, 1), b"\x01\x02")
    data = packet.encode()
    assert data == struct.pack(">IIBBB", 13, 7, 0, 15, 1) + b"\x01\x02"
    assert Packet.decode(data) == packet


def test_reply_carries_an_error_code() -> None:
    assert Packet.decode(struct.pack(">IIBH", 11, 7, 0x80, 500)).error == 500


def test_reader_takes_values_in_order() -> None:
    reader = Reader(b"\x02" + struct.pack(">iq", -5, 2**40) + encoded("größe"))
    assert [reader.u8(), reader.i32(), reader.i64(), reader.text()] == [2, -5, 2**40, "größe"]


def test_reader_refuses_a_packet_that_ends_too_early() -> None:
    with pytest.raises(JdwpError, match="too early"):
        Reader(b"\x00\x00").i32()


@pytest.mark.parametrize(
    ("signature", "static", "slot"),
    [
        ("(JLjava/lang/Object;)Z", False, 1),
        ("(Lorg/apache/spark/sql/SparkSession;Ljava/lang/String;J)V", False, 3),
        ("(D[JJ)V", False, 4),
        ("(I[[Ljava/lang/String;J)V", True, 2),
        ("()J", False, None),
    ],
)
def test_slot_of_the_first_long_argument(signature: str, static: bool, slot: int | None) -> None:
    assert long_slot(signature, static) == slot


def test_returns_are_found_among_instructions_of_all_lengths() -> None:
    load_and_return = bytes([0x15, 0xB1, 0xAC])  # iload 177 (not a return), ireturn
    wide_increment = bytes([0xC4, 0x84, 0, 1, 0, 1])
    assert return_indices(load_and_return) == [2]
    assert return_indices(wide_increment + bytes([0xB1])) == [6]


def test_switches_are_padded() -> None:
    table = bytes([0x00, 0xAA, 0, 0]) + struct.pack(">iiiii", 0, 1, 2, 30, 40)  # nop, tableswitch for 1 and 2
    lookup = bytes([0xAB, 0, 0, 0]) + struct.pack(">iiii", 0, 1, 5, 30)
    assert return_indices(table + b"\xb1") == [len(table)]
    assert return_indices(lookup + b"\xb1") == [len(lookup)]


def test_simple_name_keeps_the_outer_class() -> None:
    assert simple_name("Lorg/apache/spark/A$B;") == "A$B"
