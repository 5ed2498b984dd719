"""What several tests of Kafka sources share: a broker with its topics, and a Spark that reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.test_kafka_vs_spark import REPOSITORY, SCRIPT, SPARKS
from tests.differential.topics import Topics
from tests.parts.kafka import Broker
from tests.samples.process import JOBS, SparkProcess


@pytest.fixture(scope="module")
def topics() -> Iterator[Topics]:
    with Broker() as broker:
        yield Topics(broker.address)


@pytest.fixture(scope="module", params=[pytest.param(SPARKS[0], marks=pytest.mark.at_length), SPARKS[1]])
def running(request: pytest.FixtureRequest) -> Iterator[tuple[str, SparkProcess]]:
    """One Spark at a time."""
    path = [JOBS.parent, REPOSITORY]
    with SparkProcess(request.param, ("kafka", "delta"), script=SCRIPT, path=path, brings_broker=False) as process:
        yield request.param, process
