"""`look_at_kafka`: all Kafka sources of a query, each asked of its own cluster at the same time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckpttool.kafka.base import BrokerAnswer, Clusters, Fault, Question
from ckpttool.kafka.client import Connection, ask, first_bytes
from ckpttool.kafka.diff import KafkaEvidence, Knowledge, KnownIds
from ckpttool.kafka.positions import positions, questions, subscription_of
from ckpttool.kafka.settings import Settings, translate
from ckpttool.rules.base import Scene


@dataclass(frozen=True, slots=True)
class Brokers:
    """Where to ask, and what the user knows besides. `timeout_s`: for all questions to one cluster."""

    clusters: Clusters
    file: Mapping[str, str] = field(default_factory=dict, repr=False)
    direct: Mapping[str, str] = field(default_factory=dict, repr=False)
    renamed: Mapping[str, str] = field(default_factory=dict)
    known_ids: KnownIds = field(default_factory=dict)
    timeout_s: float = 10.0


def look_at_kafka(scene: Scene, brokers: Brokers) -> KafkaEvidence:
    """What the brokers have of what the checkpoint names. Never raises: see the faults in the values."""
    options = scene.conditions.options
    settings = load_settings(brokers, options)
    asked = questions(positions(scene), _with_isolation(options, settings), brokers.renamed)

    def answer(question: Question) -> BrokerAnswer:
        servers = brokers.clusters.of(question.index)
        if servers is None:
            step = f"--bootstrap-server {question.index}=HOST:PORT"
            return BrokerAnswer("", fault=Fault("configuration", f"no broker for source {question.index}", step))
        if isinstance(settings, Fault):
            return BrokerAnswer(servers, fault=settings)
        return ask(Connection(servers, settings, brokers.timeout_s), question)

    if len(asked) < 2:
        answers = [answer(question) for question in asked]
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(max_workers=min(8, len(asked))) as several:
            answers = list(several.map(answer, asked))
    knowledge = Knowledge(brokers.renamed, brokers.known_ids, subscription_of(options))
    return KafkaEvidence({one.index: told for one, told in zip(asked, answers, strict=True)}, knowledge)


def load_settings(brokers: Brokers, options: Mapping[str, str]) -> Settings | Fault:
    """The client's settings; looks into key stores to see of which kind they are."""
    return translate(options, brokers.file, brokers.direct, first_bytes)


def _with_isolation(options: Mapping[str, str], settings: Settings | Fault) -> dict[str, str]:
    """Wherever it was given, it is the query's."""
    given = None if isinstance(settings, Fault) else settings.config.get("isolation.level")
    return dict(options) | ({"kafka.isolation.level": given} if given else {})
