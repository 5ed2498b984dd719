"""librdkafka's own mock of a cluster, for faults that no real broker shows when asked to.

    with MockBroker("orders", partitions=4) as mock:
        mock.answers(LIST_OFFSETS, NOT_LEADER, NOT_LEADER)
        ...mock.address...

It is a fake: it speaks the protocol over a real socket, and has what is told here, no more. The Python client does not
show it, so its C functions are called.
"""

from __future__ import annotations

import ctypes
from importlib.metadata import files
from types import TracebackType
from typing import Any

LIST_OFFSETS = 2  # requests and answers, as the protocol numbers them
NOT_LEADER, REQUEST_TIMED_OUT, THROTTLED = 6, 7, 89
_BROKER = 1
_PRODUCER = 0
_KEPT = 5 * 2**20  # bytes of a partition


class MockBroker:
    """A cluster of one broker with one topic. `address` is what clients connect to."""

    def __init__(self, topic: str, partitions: int = 1) -> None:
        self._topic, self._partitions = topic, partitions
        self._c = _client_library()
        self._handle: Any = None
        self._cluster: Any = None

    def __enter__(self) -> MockBroker:
        why = ctypes.create_string_buffer(256)
        self._handle = self._c.rd_kafka_new(_PRODUCER, None, why, len(why))
        assert self._handle, why.value
        self._cluster = self._c.rd_kafka_mock_cluster_new(ctypes.c_void_p(self._handle), 1)
        self._call("rd_kafka_mock_set_controller_id", _BROKER)  # whom questions about topics go to
        self._call("rd_kafka_mock_topic_create", self._topic.encode(), self._partitions, 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call("rd_kafka_mock_cluster_destroy")
        self._c.rd_kafka_destroy(ctypes.c_void_p(self._handle))

    @property
    def address(self) -> str:
        told: bytes = self._c.rd_kafka_mock_cluster_bootstraps(ctypes.c_void_p(self._cluster))
        return told.decode()

    def answers(self, request: int, *errors: int) -> None:
        """The next requests of this kind fail so, one after the other."""
        many = (ctypes.c_int * len(errors))(*errors)
        self._call("rd_kafka_mock_push_request_errors_array", request, ctypes.c_size_t(len(errors)), many)

    def leave_without_leader(self, partition: int) -> None:
        nobody = -1
        self._call("rd_kafka_mock_partition_set_leader", self._topic.encode(), partition, nobody)

    def fill(self, first: int, end: int) -> None:
        """Each partition has records up to before `end`; those below `first` are gone: it keeps 5 MiB of the newest."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "message.max.bytes": 8_000_000, "linger.ms": 0})
        size = _KEPT // (end - first + 1) if first else 1
        for _ in range(end):
            for partition in range(self._partitions):
                producer.produce(self._topic, b"x" * size, partition=partition)
            producer.flush()

    def is_slow(self, milliseconds: int) -> None:
        self._call("rd_kafka_mock_broker_set_rtt", _BROKER, milliseconds)

    def _call(self, name: str, *arguments: Any) -> None:
        getattr(self._c, name)(ctypes.c_void_p(self._cluster), *arguments)


def _client_library() -> ctypes.CDLL:
    """The one that the Python client has loaded; its wheel brings it."""
    import confluent_kafka  # noqa: F401  # loads what the library itself needs

    found = next(str(one.locate()) for one in files("confluent-kafka") or () if "librdkafka" in one.name)
    library = ctypes.CDLL(found)
    for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library
