"""`look_at_kafka`: all Kafka sources of a query, each asked of its own cluster at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.kafka.base import BrokerAnswer, BrokerFault, Clusters, Question, SourceView
from ckpttool.kafka.client import Connection, ask, first_bytes
from ckpttool.kafka.diff import KafkaEvidence, KnownIds
from ckpttool.kafka.positions import positions, questions
from ckpttool.kafka.settings import Settings, translate
from ckpttool.scene.scene import Scene, Start

if TYPE_CHECKING:
    from ckpttool.kafka.moments import Samples, Spot, TimesAnswer

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Brokers(Struct, frozen=True):
    """Where to ask, and what the user knows besides. `timeout_s`: for all questions to one cluster."""

    clusters: Clusters
    file: Mapping[str, str] = {}
    direct: Mapping[str, str] = {}
    renamed: Mapping[str, str] = {}
    known_ids: KnownIds = {}
    known_clusters: Mapping[int, str] = {}
    samples: Samples = {}
    timeout_s: float = 10.0

    def __repr__(self) -> str:
        """Without what the user knows: there are passwords in it."""
        return f"Brokers(clusters={self.clusters!r})"


def look_at_kafka(
    scene: Scene, brokers: Brokers, *, only: int | None = None, since_ms: int | None = None
) -> KafkaEvidence:
    """What the brokers have of what the checkpoint names. Never raises: see the faults in the values.

    `only`: of one source; `since_ms`: the first records from then on, in place of those younger than the batch."""
    settings = load_settings(brokers, scene.start.options)
    asked = questions(positions(scene), _with_isolation(scene.start, settings), brokers.renamed)
    asked = tuple(question for question in asked if only in (None, question.index))
    if since_ms is not None:
        asked = tuple(replace(question, newer_than_ms=since_ms) for question in asked)
    answers = ask_each(scene, brokers, asked)
    return KafkaEvidence(answers, brokers.renamed, brokers.known_ids, brokers.known_clusters)


def ask_each(scene: Scene, brokers: Brokers, asked: Sequence[Question]) -> dict[int, BrokerAnswer]:
    """By source, what its cluster says. Never raises."""
    settings = load_settings(brokers, scene.start.options)

    def answer(question: Question) -> BrokerAnswer:
        reached = connection_to(brokers, settings, question.index)
        if isinstance(reached, BrokerFault):
            return BrokerAnswer(brokers.clusters.of(question.index) or "", fault=reached)
        return ask(reached, question)

    return {one.index: told for one, told in zip(asked, _at_once(answer, asked), strict=True)}


def look_at_records(
    views: Sequence[SourceView], scene: Scene, brokers: Brokers, spots: Callable[[SourceView], Iterable[Spot]]
) -> list[TimesAnswer]:
    """When the records at these spots were made, source by source, and how their topics are set. Never raises."""
    from ckpttool.kafka.moments import TimesAnswer
    from ckpttool.kafka.times import ask_times

    settings = load_settings(brokers, scene.start.options)

    def answer(view: SourceView) -> TimesAnswer:
        reached = view.fault or connection_to(brokers, settings, view.index)
        if isinstance(reached, BrokerFault):
            return TimesAnswer(fault=reached)
        topics = dict.fromkeys(topic.read_as for topic in view.topics if topic.exists and not topic.fault)
        return ask_times(reached, spots(view), topics, view.isolation)

    return _at_once(answer, views)


def look_at_times(views: Sequence[SourceView], scene: Scene, brokers: Brokers) -> list[TimesAnswer]:
    """When the records were made that these views speak of, source by source. Never raises."""
    from ckpttool.kafka.when import spots_of

    return look_at_records(views, scene, brokers, spots_of)


def _at_once(answer: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer]:
    if len(asked) < 2:
        return [answer(one) for one in asked]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=min(8, len(asked))) as several:
        return list(several.map(answer, asked))


def connection_to(brokers: Brokers, settings: Settings | BrokerFault, index: int) -> Connection | BrokerFault:
    """How to reach the cluster of this source, or why that is not known."""
    servers = brokers.clusters.of(index)
    if servers is None:
        return BrokerFault("configuration", f"no broker for source {index}", f"--bootstrap-server {index}=HOST:PORT")
    return settings if isinstance(settings, BrokerFault) else Connection(servers, settings, brokers.timeout_s)


def load_settings(brokers: Brokers, options: Mapping[str, str]) -> Settings | BrokerFault:
    """The client's settings; looks into key stores to see of which kind they are."""
    return translate(options, brokers.file, brokers.direct, first_bytes)


def _with_isolation(start: Start, settings: Settings | BrokerFault) -> Start:
    """Wherever it was given, it is the query's."""
    given = None if isinstance(settings, BrokerFault) else settings.config.get("isolation.level")
    return start.given("kafka.isolation.level", given) if given else start
