"""A controller that freezes a JVM at exact methods, over the Java Debug Wire Protocol.

The controller listens, the JVM connects out to it (`java_option`) and waits; so nothing is missed and no debug port is
opened in the JVM. Points name classes by a pattern, since Spark moves classes between packages, and methods by name,
since signatures change too. At a hit every Java thread is suspended: the caller may look at the disk, stop and kill
the process, or go on. Native threads and Python are not suspended by this: stop the whole process group before copying.

    with Controller(points) as controller:
        process = start(extra_java_options=controller.java_option)
        controller.accept()
        hit = controller.wait_for("offset-log-written", batch_id=2, timeout=60)
        os.killpg(process.pid, signal.SIGKILL)

The proof that a crash was where it is said to be begins here: `armed` counts the code locations found for each point,
`hits` lists what happened before.
"""

from __future__ import annotations

import re
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

HANDSHAKE = b"JDWP-Handshake"
HEADER = struct.Struct(">IIBBB")  # length, id, flags, command set, command; in a reply the last two are an error code
REPLY = 0x80

# (command set, command)
ID_SIZES, RESUME = (1, 7), (1, 9)
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


class NotReached(JdwpError):
    """The JVM ended, or the time was up, before the point was reached."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a query's life. `classes` is a name with at most one `*`, at its beginning or its end.

    `this` is the simple name of the object's class, where several logs share one method; `caller` is that of the class
    whose method called, where only some calls count."""

    name: str
    classes: str
    method: str
    at: Literal["entry", "exit"]
    this: str | None = None
    caller: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A point was reached for the n-th time in this batch. The batch is the method's first long argument, or else the
    one that was planned last."""

    point: str
    batch_id: int | None
    nth: int
    thread: str
    this: str | None


# These tell which batch is being worked on: its offsets are about to be written, or its plan is made. (Up to Spark 4.1
# a second plan is made to be printed, and that one says batch 0.)
TRACKERS = (
    Point("", "*.HDFSMetadataLog", "add", "entry", this="OffsetSeqLog"),
    Point("", "*.IncrementalExecution", "<init>", "entry", caller="MicroBatchExecution"),
)


# -- the protocol, without a connection --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Packet:
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


# -- the controller ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A point in one loaded class: where it stopped, and where its batch id is."""

    point: Point
    slot: int | None
    static: bool


class Controller:
    """Listens for one JVM and stops it at points. Not for several threads."""

    def __init__(self, points: Iterable[Point], accept_timeout: float = 120) -> None:
        self.armed: Counter[str] = Counter()
        self.hits: list[Hit] = []
        self.batch_id: int | None = None
        self._points = (*points, *TRACKERS)
        for point in self._points:
            if "*" in point.classes[1:-1]:
                raise ValueError(f"{point.classes}: a `*` stands at the beginning or at the end")
            if point.name:
                self.armed[point.name] = 0
        self._accept_timeout = accept_timeout
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connection: socket.socket | None = None
        self._ids = iter(range(1, 2**31))
        self._events: deque[Packet] = deque()
        self._patterns: dict[int, str] = {}
        self._places: dict[int, _Place] = {}
        self._seen: set[tuple[str, int]] = set()
        self._names: dict[int, str] = {}
        self._suspended = False

    @property
    def java_option(self) -> str:
        """What the JVM has to be started with."""
        port = self._listener.getsockname()[1]
        timeout = int(self._accept_timeout * 1000)
        return f"-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:{port},timeout={timeout}"

    def accept(self) -> None:
        """Wait for the JVM, and ask it to tell about the classes as they are loaded; it stays suspended."""
        self._listener.settimeout(self._accept_timeout)
        try:
            self._connection, _ = self._listener.accept()
        except TimeoutError:
            raise NotReached("no JVM connected") from None
        deadline = time.monotonic() + self._accept_timeout
        self._connection.sendall(HANDSHAKE)
        if self._receive(len(HANDSHAKE), deadline) != HANDSHAKE:
            raise JdwpError("what connected does not speak JDWP")
        sizes = self._ask(ID_SIZES)
        if [sizes.i32() for _ in range(5)] != [8] * 5:
            raise JdwpError("identifiers of this JVM are not 8 bytes")
        for pattern in dict.fromkeys(point.classes for point in self._points):
            modifier = struct.pack(">B", CLASS_MATCH) + encoded(pattern)
            self._patterns[self._request_event(CLASS_PREPARE, modifier)] = pattern

    def wait_for(self, point: str, batch_id: int | None = None, nth: int = 1, timeout: float = 120) -> Hit:
        """Let the JVM run until this point is reached for the n-th time, in this batch if one is given.

        It returns with every Java thread suspended; the next call goes on from there."""
        if point not in self.armed:
            raise ValueError(f"{point} is not one of this controller's points")
        deadline = time.monotonic() + timeout
        reached = 0
        while True:
            for hit in self._next_hits(deadline):
                reached += hit.point == point and batch_id in (None, hit.batch_id)
                if reached == nth:
                    return hit

    def next_hit(self, timeout: float = 120) -> Hit:
        """Let the JVM run until any point is reached."""
        deadline = time.monotonic() + timeout
        while True:
            for hit in self._next_hits(deadline):
                return hit

    def unarmed(self) -> list[str]:
        """Points for which no code was found: the class was not loaded, or has no such method."""
        return [name for name, locations in self.armed.items() if not locations]

    def close(self) -> None:
        """Let go of the JVM; one that is still alive runs on."""
        if self._connection:
            self._connection.close()
        self._listener.close()

    def __enter__(self) -> Controller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- events

    def _next_hits(self, deadline: float) -> list[Hit]:
        """Let the JVM run to its next event set, which suspends it, and give the hits in it."""
        if self._suspended:
            self._suspended = False
            self._ask(RESUME)
        while not self._events:
            packet = self._packet(deadline)
            if packet.kind == COMPOSITE and not packet.flags & REPLY:
                self._events.append(packet)
        events = Reader(self._events.popleft().body)
        self._suspended = events.u8() == SUSPEND_ALL
        found = (self._event(events) for _ in range(events.i32()))
        return [hit for hit in found if hit]

    def _event(self, event: Reader) -> Hit | None:
        kind, request = event.u8(), event.i32()
        if kind == VM_DEATH:
            raise NotReached("the JVM ended")
        thread = event.i64()
        if kind == CLASS_PREPARE:
            event.u8()
            class_id = event.i64()
            event.text()
            event.i32()
            self._arm(self._patterns[request], class_id)
        elif kind == BREAKPOINT:
            event.take(25)  # the location: a tag, class, method and index
            return self._hit(self._places[request], thread)
        elif kind != VM_START:
            raise JdwpError(f"an event of kind {kind} that was not asked for")
        return None

    def _arm(self, pattern: str, class_id: int) -> None:
        if (pattern, class_id) in self._seen:
            return
        self._seen.add((pattern, class_id))
        methods = self._ask(METHODS, struct.pack(">Q", class_id))
        for _ in range(methods.i32()):
            method_id, name, signature, flags = methods.i64(), methods.text(), methods.text(), methods.i32()
            if flags & (BRIDGE | NATIVE | ABSTRACT):
                continue
            static = bool(flags & STATIC)
            for point in self._points:
                if point.classes == pattern and point.method == name:
                    place = _Place(point, long_slot(signature, static), static)
                    for index in self._indices(point, class_id, method_id):
                        where = struct.pack(">BBQQQ", LOCATION_ONLY, 1, class_id, method_id, index)
                        self._places[self._request_event(BREAKPOINT, where)] = place
                        if point.name:
                            self.armed[point.name] += 1

    def _indices(self, point: Point, class_id: int, method_id: int) -> list[int]:
        if point.at == "entry":
            return [0]
        return return_indices(self._ask(BYTECODES, struct.pack(">QQ", class_id, method_id)).blob())

    def _hit(self, place: _Place, thread: int) -> Hit | None:
        point = place.point
        frame, _ = self._frame(thread, 0)
        this = None if place.static else self._class_of_this(frame)
        if point.this not in (None, this) or (point.caller and point.caller != self._caller(thread)):
            return None
        batch_id = self.batch_id if place.slot is None else self._long(frame, place.slot)
        if not point.name:
            self.batch_id = batch_id
            return None
        before = sum(hit.point == point.name and hit.batch_id == batch_id for hit in self.hits)
        name = self._ask(THREAD_NAME, struct.pack(">Q", thread)).text()
        hit = Hit(point.name, batch_id, before + 1, name, this)
        self.hits.append(hit)
        return hit

    def _frame(self, thread: int, depth: int) -> tuple[bytes, int]:
        """How a frame is named in commands, and the class of its method."""
        frames = self._ask(FRAMES, struct.pack(">Qii", thread, depth, 1))
        frames.i32()
        frame = struct.pack(">QQ", thread, frames.i64())
        frames.u8()
        return frame, frames.i64()

    def _caller(self, thread: int) -> str:
        return self._class_name(self._frame(thread, 1)[1])

    def _class_of_this(self, frame: bytes) -> str | None:
        reply = self._ask(THIS_OBJECT, frame)
        reply.u8()
        found = reply.i64()
        if not found:
            return None
        reply = self._ask(TYPE_OF_OBJECT, struct.pack(">Q", found))
        reply.u8()
        return self._class_name(reply.i64())

    def _class_name(self, class_id: int) -> str:
        if class_id not in self._names:
            self._names[class_id] = simple_name(self._ask(SIGNATURE, struct.pack(">Q", class_id)).text())
        return self._names[class_id]

    def _long(self, frame: bytes, slot: int) -> int:
        reply = self._ask(FRAME_VALUES, frame + struct.pack(">iiB", 1, slot, ord("J")))
        reply.i32()
        reply.u8()
        return reply.i64()

    # -- the wire

    def _request_event(self, kind: int, modifier: bytes) -> int:
        return self._ask(SET_EVENT, struct.pack(">BBi", kind, SUSPEND_ALL, 1) + modifier).i32()

    def _ask(self, command: tuple[int, int], body: bytes = b"") -> Reader:
        assert self._connection, "accept() comes first"
        number = next(self._ids)
        deadline = time.monotonic() + self._accept_timeout
        try:
            self._connection.sendall(Packet(number, 0, command, body).encode())
        except OSError:
            raise NotReached("the JVM ended") from None
        while True:
            packet = self._packet(deadline)
            if packet.flags & REPLY and packet.id == number:
                if packet.error:
                    raise JdwpError(f"command {command} failed with error {packet.error}")
                return Reader(packet.body)
            self._events.append(packet)

    def _packet(self, deadline: float) -> Packet:
        head = self._receive(4, deadline)
        return Packet.decode(head + self._receive(int.from_bytes(head, "big") - 4, deadline))

    def _receive(self, count: int, deadline: float) -> bytes:
        assert self._connection
        data = b""
        while len(data) < count:
            self._connection.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                more = self._connection.recv(count - len(data))
            except TimeoutError:
                raise NotReached("the time is up") from None
            except OSError:
                raise NotReached("the JVM ended") from None
            if not more:
                raise NotReached("the JVM ended")
            data += more
        return data
