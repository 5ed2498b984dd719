"""The Java Debug Wire Protocol: packets and numbers, and what is needed of a class file. No connection."""

from __future__ import annotations

import re
import struct

from msgspec import Struct

HANDSHAKE = b"JDWP-Handshake"
HEADER = struct.Struct(">IIBBB")  # length, id, flags, command set, command; in a reply the last two are an error code
LARGEST = 1 << 26  # bytes of a packet; those that are asked for here have a few thousand
REPLY = 0x80

# (command set, command)
ID_SIZES, RESUME, CLASS_PATHS = (1, 7), (1, 9), (1, 13)
SIGNATURE, METHODS = (2, 1), (2, 5)
BYTECODES = (6, 3)
TYPE_OF_OBJECT = (9, 1)
THREAD_NAME, FRAMES = (11, 1), (11, 6)
SET_EVENT = (15, 1)
FRAME_VALUES, THIS_OBJECT = (16, 1), (16, 3)
COMPOSITE = (64, 100)

BREAKPOINT, CLASS_PREPARE, VM_START, VM_DEATH = 2, 8, 90, 99
SUSPEND_ALL, CLASS_MATCH, LOCATION_ONLY = 2, 5, 7
STATIC, BRIDGE, NATIVE, ABSTRACT = 0x8, 0x40, 0x100, 0x400
RETURNS = range(0xAC, 0xB2)


class JdwpError(Exception):
    """The JVM refused a command, or went away."""


class Packet(Struct, frozen=True):
    """A command, or the reply to one; in a reply the two last bytes of the header are an error code."""

    id: int
    flags: int
    kind: tuple[int, int]
    body: bytes

    @property
    def error(self) -> int:
        return self.kind[0] << 8 | self.kind[1]

    def encode(self) -> bytes:
        return HEADER.pack(HEADER.size + len(self.body), self.id, self.flags, *self.kind) + self.body

    @classmethod
    def decode(cls, data: bytes) -> Packet:
        _, number, flags, first, second = HEADER.unpack_from(data)
        return cls(number, flags, (first, second), data[HEADER.size :])


class Reader:
    """Takes the values of a packet's body one after the other."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def u8(self) -> int:
        return self.take(1)[0]

    def i32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def i64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def blob(self) -> bytes:
        return self.take(self.i32())

    def text(self) -> str:
        return self.blob().decode("utf-8", "replace")

    def take(self, count: int) -> bytes:
        taken = self._body[self._at : self._at + count]
        if len(taken) != count:
            raise JdwpError("a packet ends too early")
        self._at += count
        return taken


def encoded(text: str) -> bytes:
    """A string as packets hold it."""
    data = text.encode()
    return struct.pack(">I", len(data)) + data


def return_indices(code: bytes) -> list[int]:
    """Where in a method's bytecode a return instruction stands."""
    found, at = [], 0
    while at < len(code):
        opcode = code[at]
        if opcode in RETURNS:
            found.append(at)
        at += _length(code, at, opcode)
    return found


def long_slot(signature: str, static: bool) -> int | None:
    """The local variable that holds a method's first long argument."""
    slot = 0 if static else 1
    for argument in re.findall(r"\[*(?:L[^;]*;|.)", signature[1 : signature.index(")")]):
        if argument == "J":
            return slot
        slot += 2 if argument == "D" else 1
    return None


def simple_name(signature: str) -> str:
    """`Lorg/apache/spark/…/OffsetSeqLog;` → `OffsetSeqLog`."""
    return signature.rpartition("/")[2].removesuffix(";")


def _length(code: bytes, at: int, opcode: int) -> int:
    if opcode in (0xAA, 0xAB):  # the two switches are padded to a multiple of four
        start = (at + 4) & ~3
        low, high = (int.from_bytes(code[start + k : start + k + 4], "big", signed=True) for k in (4, 8))
        tail = 12 + 4 * (high - low + 1) if opcode == 0xAA else 8 + 8 * low
        return start + tail - at
    if opcode == 0xC4:  # wide
        return 6 if code[at + 1] == 0x84 else 4
    return _LENGTHS.get(opcode, 1)


def _lengths() -> dict[int, int]:
    two = [0x10, 0x12, *range(0x15, 0x1A), *range(0x36, 0x3B), 0xA9, 0xBC]
    three = [0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1, 0xC6, 0xC7]
    five = [0xB9, 0xBA, 0xC8, 0xC9]
    return dict.fromkeys(two, 2) | dict.fromkeys(three, 3) | dict.fromkeys(five, 5) | {0xC5: 4}


_LENGTHS = _lengths()
