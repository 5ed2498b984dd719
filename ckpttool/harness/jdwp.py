"""A controller that freezes a JVM at exact methods, over the Java Debug Wire Protocol.

The controller listens, the JVM connects out to it (`java_option`) and waits; so nothing is missed and no debug port is
opened in the JVM. Points name classes by a pattern, since Spark moves classes between packages, and methods by name,
since signatures change too. At a hit every Java thread is suspended: the caller may look at the disk, stop and kill
the process, or go on. Native threads and Python are not suspended by this: stop the whole process group before copying.

    with Controller(points) as controller:
        process = start(extra_java_options=controller.java_option)
        while not controller.accept(process.pid):  # others that came were sent away
            pass
        while not any(hit.batch_id == 2 for hit in controller.take_hits(timeout=60)):
            pass
        os.killpg(process.pid, signal.SIGKILL)

The proof that a crash was where it is said to be begins here: `armed` counts the code locations found for each point.
"""

from __future__ import annotations

import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ckpttool.harness import wire
from ckpttool.harness.peer import is_held_by
from ckpttool.harness.wire import JdwpError, Packet, Reader, encoded, long_slot, return_indices, simple_name


class NotReached(JdwpError):
    """The JVM ended, or the time was up, before the point was reached."""


class Point(Struct, frozen=True):
    """A place in a query's life. `classes` is a name with at most one `*`, at its beginning or its end.

    `this` is the simple name of the object's class, where several logs share one method; `caller` is that of the class
    whose method called, where only some calls count."""

    name: str
    classes: str
    method: str
    at: Literal["entry", "exit"]
    this: str | None = None
    caller: str | None = None


class Hit(Struct, frozen=True):
    """A point was reached for the n-th time in this batch: the one that is being planned or run. `looked_up`: the batch
    whose offsets Spark has read last."""

    point: str
    batch_id: int | None
    nth: int
    thread: str
    this: str | None
    looked_up: int | None = None


# These tell which batch is being worked on, most by their first long argument: its offsets are about to be written, or
# its plan is made. (Up to Spark 4.1 a second plan is made to be printed, and that one says batch 0.) One that is about
# to be constructed follows the one that was committed last.
COMMITTING = Point("", "*.HDFSMetadataLog", "add", "entry", this="CommitLog")
CONSTRUCTING = Point("", "*.MicroBatchExecution", "constructNextBatch", "entry")
LOOKING_UP = Point("", "*.HDFSMetadataLog", "get", "entry", this="OffsetSeqLog")
TRACKERS = (
    LOOKING_UP,
    Point("", "*.HDFSMetadataLog", "add", "entry", this="OffsetSeqLog"),
    Point("", "*.IncrementalExecution", "<init>", "entry", caller="MicroBatchExecution"),
    COMMITTING,
    CONSTRUCTING,
)


# -- the controller ----------------------------------------------------------------------------------------------------


def _listening() -> socket.socket:
    """On this machine alone. The address is not to be used again: while a connection is there, nobody else can listen
    in our place, and be given the next JVM."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        listener = socket.socket(family)
        try:
            listener.bind((host, 0))
            listener.listen()
        except OSError:
            listener.close()
        else:
            return listener
    raise JdwpError("this machine has no loopback address to listen on")


class _Place(Struct, frozen=True):
    """A point in one loaded class: where it stopped, and where its batch id is."""

    point: Point
    slot: int | None
    static: bool


class Controller:
    """Listens for one JVM and stops it at points. Not for several threads."""

    def __init__(self, points: Iterable[Point], accept_timeout: float = 120, first_batch: int | None = None) -> None:
        self.armed: Counter[str] = Counter()
        self.batch_id = first_batch
        self._committing: int | None = None
        self._looked_up: int | None = None
        self._counts: Counter[tuple[str, int | None]] = Counter()
        self._points = (*points, *TRACKERS)
        for point in self._points:
            if "*" in point.classes[1:-1]:
                raise ValueError(f"{point.classes}: a `*` stands at the beginning or at the end")
            if point.name:
                self.armed[point.name] = 0
        self._accept_timeout = accept_timeout
        self._listener = _listening()
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
        host, port = self._listener.getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        timeout = int(self._accept_timeout * 1000)
        return f"-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address={address},timeout={timeout}"

    def accept(self, session: int) -> bool:
        """Wait for the JVM, and ask it to tell about the classes as they are loaded; it stays suspended. No, if it was
        somebody else who connected, and no process of this session: the JVM may still come."""
        self._listener.settimeout(self._accept_timeout)
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            raise NotReached("no JVM connected") from None
        if not is_held_by(session, connection):
            connection.close()
            return False
        self._connection = connection
        self._listener.close()  # nobody else is to come; the connection keeps the port from others
        self._begin()
        return True

    def _begin(self) -> None:
        assert self._connection
        deadline = time.monotonic() + self._accept_timeout
        self._connection.sendall(wire.HANDSHAKE)
        if self._receive(len(wire.HANDSHAKE), deadline) != wire.HANDSHAKE:
            raise JdwpError("what connected does not speak JDWP")
        sizes = self._ask(wire.ID_SIZES)
        if [sizes.i32() for _ in range(5)] != [8] * 5:
            raise JdwpError("identifiers of this JVM are not 8 bytes")
        for pattern in dict.fromkeys(point.classes for point in self._points):
            modifier = struct.pack(">B", wire.CLASS_MATCH) + encoded(pattern)
            self._patterns[self._request_event(wire.CLASS_PREPARE, modifier)] = pattern

    def class_path(self) -> list[str]:
        """The jars and directories that the JVM was started with."""
        reply = self._ask(wire.CLASS_PATHS)
        reply.text()  # the directory that they may be relative to
        return [reply.text() for _ in range(reply.i32())]

    def resume(self) -> None:
        """Let the JVM run on, if it is suspended."""
        if self._suspended:
            self._suspended = False
            self._ask(wire.RESUME)

    def fileno(self) -> int:
        """For `select`: something to read means that `accept`, and later `take_hits`, will not wait long."""
        return (self._connection or self._listener).fileno()

    @property
    def has_events(self) -> bool:
        """Whether there are events that have been read already, so that `select` would not tell."""
        return bool(self._events)

    def take_hits(self, timeout: float = 120) -> list[Hit]:
        """The points at which the JVM stops next, which may be none of them; several stand at the same code. It runs to
        its next event set, which suspends it."""
        deadline = time.monotonic() + timeout
        self.resume()
        while not self._events:
            packet = self._packet(deadline)
            if packet.kind == wire.COMPOSITE and not packet.flags & wire.REPLY:
                self._events.append(packet)
        events = Reader(self._events.popleft().body)
        self._suspended = events.u8() == wire.SUSPEND_ALL
        stopped = [stop for _ in range(events.i32()) if (stop := self._event(events))]
        stopped.sort(key=lambda stop: stop[0].point.name != "")  # which batch it is, comes first
        return [hit for place, thread in stopped if (hit := self._hit(place, thread))]

    def forget_batches(self, first_batch: int | None = None) -> None:
        """Another query comes, in the same JVM."""
        self.batch_id, self._counts = first_batch, Counter()
        self._committing = self._looked_up = None

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

    def _event(self, event: Reader) -> tuple[_Place, int] | None:
        kind, request = event.u8(), event.i32()
        if kind == wire.VM_DEATH:
            raise NotReached("the JVM ended")
        thread = event.i64()
        if kind == wire.CLASS_PREPARE:
            event.u8()
            class_id = event.i64()
            event.text()
            event.i32()
            self._arm(self._patterns[request], class_id)
        elif kind == wire.BREAKPOINT:
            event.take(25)  # the location: a tag, class, method and index
            return self._places[request], thread
        elif kind != wire.VM_START:
            raise JdwpError(f"an event of kind {kind} that was not asked for")
        return None

    def _arm(self, pattern: str, class_id: int) -> None:
        if (pattern, class_id) in self._seen:
            return
        self._seen.add((pattern, class_id))
        methods = self._ask(wire.METHODS, struct.pack(">Q", class_id))
        for _ in range(methods.i32()):
            method_id, name, signature, flags = methods.i64(), methods.text(), methods.text(), methods.i32()
            if flags & (wire.BRIDGE | wire.NATIVE | wire.ABSTRACT):
                continue
            static = bool(flags & wire.STATIC)
            for point in self._points:
                if point.classes == pattern and point.method == name:
                    place = _Place(point, long_slot(signature, static), static)
                    for index in self._indices(point, class_id, method_id):
                        where = struct.pack(">BBQQQ", wire.LOCATION_ONLY, 1, class_id, method_id, index)
                        self._places[self._request_event(wire.BREAKPOINT, where)] = place
                        if point.name:
                            self.armed[point.name] += 1

    def _indices(self, point: Point, class_id: int, method_id: int) -> list[int]:
        if point.at == "entry":
            return [0]
        return return_indices(self._ask(wire.BYTECODES, struct.pack(">QQ", class_id, method_id)).blob())

    def _hit(self, place: _Place, thread: int) -> Hit | None:
        point = place.point
        frame, _ = self._frame(thread, 0)
        this = None if place.static else self._class_of_this(frame)
        if point.this not in (None, this) or (point.caller and point.caller != self._caller(thread)):
            return None
        if not point.name:
            self._track(place, frame)
            return None
        self._counts[point.name, self.batch_id] += 1
        name = self._ask(wire.THREAD_NAME, struct.pack(">Q", thread)).text()
        nth = self._counts[point.name, self.batch_id]
        return Hit(point.name, self.batch_id, nth, name, this, self._looked_up)

    def _track(self, place: _Place, frame: bytes) -> None:
        if place.point is LOOKING_UP:
            self._looked_up = self._looked_up if place.slot is None else self._long(frame, place.slot)
        elif place.point is CONSTRUCTING:
            self.batch_id = self.batch_id if self._committing is None else self._committing + 1
        elif place.slot is not None:
            self.batch_id = self._long(frame, place.slot)
        if place.point is COMMITTING:
            self._committing = self.batch_id

    def _frame(self, thread: int, depth: int) -> tuple[bytes, int]:
        """How a frame is named in commands, and the class of its method."""
        frames = self._ask(wire.FRAMES, struct.pack(">Qii", thread, depth, 1))
        frames.i32()
        frame = struct.pack(">QQ", thread, frames.i64())
        frames.u8()
        return frame, frames.i64()

    def _caller(self, thread: int) -> str:
        return self._class_name(self._frame(thread, 1)[1])

    def _class_of_this(self, frame: bytes) -> str | None:
        reply = self._ask(wire.THIS_OBJECT, frame)
        reply.u8()
        found = reply.i64()
        if not found:
            return None
        reply = self._ask(wire.TYPE_OF_OBJECT, struct.pack(">Q", found))
        reply.u8()
        return self._class_name(reply.i64())

    def _class_name(self, class_id: int) -> str:
        if class_id not in self._names:
            self._names[class_id] = simple_name(self._ask(wire.SIGNATURE, struct.pack(">Q", class_id)).text())
        return self._names[class_id]

    def _long(self, frame: bytes, slot: int) -> int:
        reply = self._ask(wire.FRAME_VALUES, frame + struct.pack(">iiB", 1, slot, ord("J")))
        reply.i32()
        reply.u8()
        return reply.i64()

    # -- the wire

    def _request_event(self, kind: int, modifier: bytes) -> int:
        return self._ask(wire.SET_EVENT, struct.pack(">BBi", kind, wire.SUSPEND_ALL, 1) + modifier).i32()

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
            if packet.flags & wire.REPLY and packet.id == number:
                if packet.error:
                    raise JdwpError(f"command {command} failed with error {packet.error}")
                return Reader(packet.body)
            self._events.append(packet)

    def _packet(self, deadline: float) -> Packet:
        head = self._receive(4, deadline)
        if not wire.HEADER.size <= int.from_bytes(head, "big") <= wire.LARGEST:
            raise JdwpError("a packet of a length that there is not")
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
