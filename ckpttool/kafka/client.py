"""The door to the brokers. A few batched calls for one source, whatever the number of its partitions; it only reads.

Whatever goes wrong becomes a `Fault` in the answer: of the cluster, of a topic, or of a partition. librdkafka tells of
a broker that it cannot reach beside the call that waits for it, so both are listened to, and a refused login, a failed
handshake or a cluster that is down ends the wait at once.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, Isolation, PartitionAnswer, Question, Reason, TopicAnswer
from ckpttool.kafka.settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

Partition = tuple[str, int]
_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_ROUNDS = 4  # a topic that was just made names leaders who do not know of it yet
_PAUSE_S = 0.25
_POLL_S = 0.05

_REASONS: Mapping[str, Reason] = {
    "_AUTHENTICATION": "authentication",
    "SASL_AUTHENTICATION_FAILED": "authentication",
    "UNSUPPORTED_SASL_MECHANISM": "authentication",
    "_SSL": "tls",
    "TOPIC_AUTHORIZATION_FAILED": "authorisation",
    "CLUSTER_AUTHORIZATION_FAILED": "authorisation",
    "GROUP_AUTHORIZATION_FAILED": "authorisation",
    "UNKNOWN_TOPIC_OR_PART": "unknown_topic",
    "_UNKNOWN_TOPIC": "unknown_topic",
    "GROUP_ID_NOT_FOUND": "unknown_group",
    "UNKNOWN_MEMBER_ID": "in_use",
    "NON_EMPTY_GROUP": "in_use",
    "TOPIC_EXCEPTION": "unknown_topic",
    "_TIMED_OUT": "timeout",
    "_TIMED_OUT_QUEUE": "timeout",
    "_TRANSPORT": "unreachable",
    "_ALL_BROKERS_DOWN": "unreachable",
    "_RESOLVE": "unreachable",
    "_INVALID_ARG": "configuration",
}
_STEPS: Mapping[Reason, str] = {
    "unreachable": "see that the address is right, and that brokers answer on it",
    "timeout": "is the port the one of a listener for clients? give a slow cluster more time: --timeout SECONDS",
    "tls": "compare security.protocol with the listener's, and the certificates: -X security.protocol=SSL",
    "authentication": "see that user, password and sasl.mechanism are right: -X sasl.username=… --kafka-config FILE",
    "authorisation": "this user needs Describe on the topic",
    "in_use": "stop the group's members, or name a group that nobody uses",
    "configuration": "-X takes librdkafka's names; options of a Spark job are given as --option kafka.…",
}
_PASSING = {
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "_UNKNOWN_PARTITION",
    "UNKNOWN_TOPIC_OR_PART",
    "FENCED_LEADER_EPOCH",
    "OFFSET_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "REQUEST_TIMED_OUT",
    "THROTTLING_QUOTA_EXCEEDED",
}
_ENDS_THE_WAIT = {
    "_AUTHENTICATION",
    "SASL_AUTHENTICATION_FAILED",
    "_SSL",
    "_ALL_BROKERS_DOWN",
    "UNSUPPORTED_SASL_MECHANISM",
}
MISSING = BrokerFault("missing_extra", "asking Kafka needs an optional package", "pip install 'ckpttool[kafka]'")


class Connection(Struct, frozen=True):
    """A cluster, and how to reach it. `timeout_s` is for everything together."""

    servers: str
    settings: Settings = Settings()
    timeout_s: float = 10.0


def ask(connection: Connection, question: Question) -> BrokerAnswer:
    """What the cluster has of these topics. Never raises."""
    try:
        call = Call(connection)
        topics = call.topics(question)
        return BrokerAnswer(connection.servers, topics, call.cluster_id(), isolation=question.isolation)
    except Failed as failed:
        return BrokerAnswer(connection.servers, fault=failed.fault, isolation=question.isolation)


def first_bytes(path: str) -> bytes:
    """What a key store begins with."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read(16)
    return b""


class Failed(Exception):
    """The cluster as a whole gives no answer."""

    def __init__(self, fault: BrokerFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class _Ear(logging.Handler):
    """What librdkafka says of its connections: partly to a callback, partly to the log. Names of errors, and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, str]] = []
        self.logger = logging.Logger("librdkafka")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.startswith("FAIL "):
            self.heard.append(("", text.partition("]: ")[2]))

    def error(self, error: KafkaError) -> None:
        self.heard.append((error.name(), error.str()))

    @property
    def ended(self) -> tuple[str, str] | None:
        """Why waiting is of no use."""
        return next((one for one in self.heard if one[0] in _ENDS_THE_WAIT), None)


class Call:
    """One client, and the time that is left to it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + connection.timeout_s
        self._ear = _Ear()
        self.admin: AdminClient = self.connect("admin")

    def connect(self, kind: Literal["admin", "consumer"], **more: Any) -> Any:
        """A client of this kind, which tells the ear what happens to its connections."""
        try:
            from confluent_kafka import Consumer, KafkaException
            from confluent_kafka.admin import AdminClient
        except ImportError:
            raise Failed(MISSING) from None
        settings = self._connection.settings
        if not self._connection.servers.strip():
            raise Failed(
                BrokerFault("configuration", "no address of a broker was given", "--bootstrap-server HOST:PORT")
            )
        config: dict[str, Any] = {
            "client.id": "ckpttool",
            **{key: value for key, value in settings.config.items() if key != "isolation.level"},
            "bootstrap.servers": self._connection.servers,
            "error_cb": self._ear.error,
            **more,
        }
        try:
            return (AdminClient if kind == "admin" else Consumer)(config, logger=self._ear.logger)
        except KafkaException as error:
            raise Failed(self.fault(error.args[0])) from None
        except (TypeError, ValueError) as error:
            raise Failed(BrokerFault("configuration", settings.hide(str(error)), _STEPS["configuration"])) from None

    # -- the calls ----------------------------------------------------------------------------------------------------

    def topics(self, question: Question) -> dict[str, TopicAnswer]:
        names = dict.fromkeys((*question.topics, *self._matching(question.pattern)))
        answers = {name: _illegal(name) for name in names if not _LEGAL.fullmatch(name)}
        answers |= self._describe([name for name in names if name not in answers])
        offsets = self._offsets([(name, number) for name in names for number in answers[name].partitions], question)
        return {
            name: replace(
                answers[name], partitions={number: offsets[name, number] for number in answers[name].partitions}
            )
            for name in names
        }

    def cluster_id(self) -> str | None:
        """By which a cluster is told from another; some that speak the protocol have none."""
        with suppress(Failed):  # the rest of the answer is there already
            asked = self.admin.describe_cluster(request_timeout=self.left)
            found = getattr(self.results({"cluster": asked})["cluster"], "cluster_id", None)
            return found if isinstance(found, str) and found else None
        return None

    def _matching(self, pattern: str | None) -> list[str]:
        """The topics that a pattern finds; one that only Java understands finds none here."""
        if pattern is None:
            return []
        from confluent_kafka import KafkaException

        try:
            fits = re.compile(pattern)
            metadata = self.admin.list_topics(timeout=self.left)
        except re.error:
            return []
        except KafkaException as error:
            raise Failed(self._why(error.args[0])) from None
        return sorted(name for name in metadata.topics if fits.search(name) and not name.startswith("__"))

    def _describe(self, names: list[str]) -> dict[str, TopicAnswer]:
        """The topics, and which partitions they have."""
        if not names:
            return {}
        from confluent_kafka import TopicCollection

        futures = self.admin.describe_topics(TopicCollection(names), request_timeout=self.left)
        return {name: _topic(name, told) for name, told in self.results(futures).items()}

    def _offsets(self, wanted: list[Partition], question: Question) -> dict[Partition, PartitionAnswer]:
        from confluent_kafka import admin

        spec: Any = admin.OffsetSpec
        times = {one: question.since_ms.get(one, question.newer_than_ms) for one in wanted}
        asked = [
            dict.fromkeys(wanted, spec.earliest()),
            dict.fromkeys(wanted, spec.latest()),
            {one: spec.for_timestamp(time_ms) for one, time_ms in times.items() if time_ms is not None},
        ]
        sent = [self._list_offsets(specs, question.isolation) for specs in asked]
        told = [self._settle(futures, specs, question.isolation) for futures, specs in zip(sent, asked, strict=True)]
        earliest, latest, newer = told
        return {one: _answer(earliest[one], latest[one], newer.get(one)) for one in wanted}

    def _list_offsets(self, specs: Mapping[Partition, Any], isolation: Isolation) -> dict[Partition, Future[Any]]:
        from confluent_kafka import IsolationLevel, TopicPartition

        asked = {TopicPartition(*one): spec for one, spec in specs.items()}
        if not asked:
            return {}
        level = IsolationLevel.READ_COMMITTED if isolation == "read_committed" else IsolationLevel.READ_UNCOMMITTED
        futures = self.admin.list_offsets(asked, isolation_level=level, request_timeout=self.left)
        return {(one.topic, one.partition): future for one, future in futures.items()}

    def _settle(
        self, futures: dict[Partition, Future[Any]], specs: Mapping[Partition, Any], isolation: Isolation
    ) -> dict[Partition, int | BrokerFault]:
        """The offsets; what failed for reasons that pass is asked again, all of it together, some times."""
        told = self.results(futures)
        for _ in range(_ROUNDS):
            again = [one for one, result in told.items() if _is_passing(result)]
            if not again or self.left <= _PAUSE_S:
                break
            time.sleep(_PAUSE_S)
            told |= self.results(self._list_offsets({one: specs[one] for one in again}, isolation))
        return {one: _offset(result) for one, result in told.items()}

    # -- waiting ------------------------------------------------------------------------------------------------------

    @property
    def left(self) -> float:
        """librdkafka refuses to wait for nothing at all."""
        return max(0.05, self._deadline - time.monotonic())

    def results(self, futures: Mapping[Any, Future[Any]]) -> dict[Any, Any]:
        """Each result, or the fault in its place. If the cluster is out of reach, that is the answer."""
        from confluent_kafka import KafkaException

        results: dict[Any, Any] = {}
        for key, future in futures.items():
            self._await(future)
            try:
                results[key] = future.result(timeout=0)
            except KafkaException as error:
                results[key] = self.fault(error.args[0])
            except (TypeError, ValueError) as error:
                results[key] = BrokerFault("other", self._connection.settings.hide(str(error)))
        if results and all(
            isinstance(one, BrokerFault) and one.reason in ("timeout", "unreachable") for one in results.values()
        ):
            raise Failed(self._out_of_reach(next(iter(results.values()))))
        return results

    def _await(self, future: Future[Any]) -> None:
        """Until it is done, or it is plain that it never will be."""
        grace_s = 0.5  # beyond the client's own timeout, which has the better message
        while not future.done():
            with suppress(TimeoutError):
                future.exception(timeout=_POLL_S)
                return
            self.admin.poll(0)  # hands over what was heard
            self.listen()
            if time.monotonic() > self._deadline + grace_s:
                raise Failed(self._out_of_reach(BrokerFault("timeout", "", _STEPS["timeout"])))

    def listen(self) -> None:
        """Whether it was heard meanwhile that waiting is of no use."""
        if self._ear.ended is not None:
            raise Failed(self._out_of_reach(_fault_of(*self._ear.ended, self._connection.settings)))

    # -- reasons ------------------------------------------------------------------------------------------------------

    def _why(self, error: KafkaError) -> BrokerFault:
        return self._out_of_reach(self.fault(error))

    def fault(self, error: KafkaError) -> BrokerFault:
        return _fault_of(error.name(), error.str(), self._connection.settings)

    def _out_of_reach(self, fault: BrokerFault) -> BrokerFault:
        """In place of "timed out": what was heard of the connections meanwhile, the most telling first."""
        settings = self._connection.settings
        heard = [_fault_of(name, text, settings) for name, text in self._ear.heard if name != "_ALL_BROKERS_DOWN"]
        order: tuple[Reason, ...] = ("authentication", "tls", "unreachable", "timeout")
        telling = [one for reason in order for one in heard if one.reason == reason]
        best = telling[0] if telling else fault
        servers = self._connection.servers
        waited = f"no answer within {self._connection.timeout_s:g} s"
        said = waited if best.reason == "timeout" or not best.message else best.message
        return BrokerFault(best.reason, f"{servers}: {said}", best.next_step or _STEPS.get(best.reason))


def _fault_of(name: str, text: str, settings: Settings) -> BrokerFault:
    if name in _PASSING and name != "UNKNOWN_TOPIC_OR_PART":
        return BrokerFault("passing", _plain(text))
    if of_another_kind := _other_protocol(text):
        return of_another_kind
    reason = _REASONS.get(name, "other" if name else "unreachable")
    if reason == "unreachable" and re.search(r"SSL|handshake|certificate", text):
        reason = "tls"
    return BrokerFault(reason, settings.hide(_plain(text)), _STEPS.get(reason))


def _other_protocol(text: str) -> BrokerFault | None:
    """Who hangs up at the first request, or answers with what is no length, expects something else."""
    if "Disconnected" in text and "APIVERSION_QUERY" in text:
        return BrokerFault(
            "tls", "the broker hangs up at the first request, as a listener does that expects TLS", _STEPS["tls"]
        )
    if "connection closed by peer" in text and "SSL" not in text:
        why = "the broker hangs up, as a listener does that wants a login or another security.protocol"
        return BrokerFault("unreachable", why, _STEPS["authentication"])
    answer = re.search(r"Invalid response size (\d+)", text)
    if answer is None:
        return None
    begins = (int(answer.group(1)) & 0xFFFFFFFF).to_bytes(4)
    if begins[:1] in b"\x15\x16" and begins[1] == 3:
        return BrokerFault("tls", "the listener answers in TLS", _STEPS["tls"])
    return BrokerFault("unreachable", "what answers there is no Kafka broker", _STEPS["unreachable"])


def _is_passing(result: Any) -> bool:
    return isinstance(result, BrokerFault) and result.reason == "passing"


def _offset(result: Any) -> int | BrokerFault:
    if not isinstance(result, BrokerFault):
        return int(result.offset)
    return replace(result, reason="other") if _is_passing(result) else result


def _plain(text: str) -> str:
    """librdkafka's message without its own names for the connection."""
    text = re.sub(r"^\S+?/(bootstrap|\d+): ", "", text)
    text = re.sub(r"\s*\(after \d+ms in state [A-Z_]+(, \d+ identical error\(s\) suppressed)?\)", "", text)
    return " ".join(text.split())


def _illegal(name: str) -> TopicAnswer:
    return TopicAnswer(fault=BrokerFault("unknown_topic", f"no topic can have the name {name[:60]!r}"))


def _topic(name: str, described: Any) -> TopicAnswer:
    if isinstance(described, BrokerFault):
        which = "no topic" if described.reason == "unknown_topic" else "topic"
        return TopicAnswer(fault=replace(described, message=f"{which} {name}: {described.message}"))
    topic_id = None if described.topic_id is None else str(described.topic_id)
    return TopicAnswer(topic_id, dict.fromkeys(sorted(one.id for one in described.partitions), PartitionAnswer()))


def _answer(earliest: int | BrokerFault, latest: int | BrokerFault, newer: int | BrokerFault | None) -> PartitionAnswer:
    """That the records' times are not known leaves the rest as it is."""
    fault = next((one for one in (earliest, latest) if isinstance(one, BrokerFault)), None)
    end = None if isinstance(latest, BrokerFault) else latest
    return PartitionAnswer(
        earliest=None if isinstance(earliest, BrokerFault) else earliest,
        latest=end,
        newer_from=None if newer is None or isinstance(newer, BrokerFault) else end if newer < 0 else newer,
        fault=fault,
    )
