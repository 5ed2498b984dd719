"""The options that say where a query's Kafka brokers are and how to reach them, and what they stand for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.options import open_given, pairs_option
from ckpttool.cli.output import Command, with_options
from ckpttool.errors import Refused, Unavailable

if TYPE_CHECKING:
    from ckpttool.kafka.base import BrokerFault, Clusters
    from ckpttool.kafka.earlier import Earlier
    from ckpttool.kafka.lookup import Brokers
    from ckpttool.scene.scene import Scene

_LARGEST_JSON = 256 * 2**20


def broker_options(*, required: bool) -> Callable[[Command], Command]:
    options = (
        click.option(
            "--bootstrap-server",
            "servers",
            multiple=True,
            required=required,
            metavar="[N=]H:P[,H:P]",
            help="The Kafka cluster of all sources, or of source N.",
        ),
        pairs_option("-X", "direct", help="A setting of librdkafka. Other users can see it."),
        click.option(
            "--kafka-config",
            type=click.Path(exists=True, dir_okay=False),
            help="A file of a Kafka client's settings, Java's or librdkafka's.",
        ),
        pairs_option("--map", "renamed", metavar="OLD=NEW", help="A topic that has another name at the broker."),
        click.option(
            "--known-topic-ids",
            type=click.Path(exists=True, dir_okay=False),
            help="An earlier JSON of ckpt kafka diff: tells which topics were recreated, and how fast retention goes.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(min=0.1),
            default=10.0,
            show_default=True,
            help="Seconds for each Kafka cluster, in all.",
        ),
    )
    return partial(with_options, options)


def open_scene(path: str, storage: dict[str, str], given: dict[str, Any]) -> Scene:
    """The checkpoint, and how its query will be started again."""
    from ckpttool.laws.restart import choose_release
    from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
    from ckpttool.scene.evidence import gather_evidence
    from ckpttool.scene.scene import Scene, Start
    from ckpttool.storage.store import open_store

    evidence = gather_evidence(load_checkpoint(open_store(path, storage), batches=ONLY_OPENED))
    release, _ = choose_release(evidence, given["spark_version"])
    start = Start(release, trigger=given["trigger"], conf=given["confs"], options=given["options"])
    return Scene(evidence, start)


def given_brokers(given: dict[str, Any]) -> Brokers:
    from ckpttool.kafka.lookup import Brokers

    earlier = _earlier(given["known_topic_ids"])
    return Brokers(
        clusters=parse_clusters(given["servers"]),
        file=_read_config(given["kafka_config"]),
        direct=given["direct"],
        renamed=given["renamed"],
        known_ids=earlier.known_ids,
        known_clusters=earlier.known_clusters,
        samples=earlier.samples,
        timeout_s=given["timeout"],
    )


def unasked(fault: BrokerFault) -> Exception:
    """What a command that cannot go on without an answer ends with."""
    if fault.reason == "configuration":
        return click.UsageError(fault.message)
    kind = Refused if fault.reason in ("missing_extra", "unsupported", "in_use") else Unavailable
    return kind(fault.message, fault.next_step)


def parse_clusters(values: tuple[str, ...]) -> Clusters:
    """`h1:9092,h2:9092` for all sources, `1=h3:9092` for one."""
    from ckpttool.kafka.base import Clusters

    default, by_index = None, {}
    for value in values:
        if set(value) & set("@?#"):  # answers name their brokers, and must show no secret
            raise click.BadParameter(
                "the address of a broker is HOST:PORT; who you are goes into --kafka-config FILE",
                param_hint="--bootstrap-server",
            )
        index, equals, servers = value.partition("=")
        if not equals:
            default = value
        elif index.isascii() and index.isdecimal() and len(index) < 6:
            by_index[int(index)] = servers
        else:
            raise click.BadParameter("expected HOST:PORT or N=HOST:PORT", param_hint="--bootstrap-server")
    return Clusters(default, by_index)


def _read_config(path: str | None) -> dict[str, str]:
    """A file with a password in it must not be open to others."""
    from ckpttool.kafka.settings import has_secrets, parse_properties

    if path is None:
        return {}
    with open_given(path, errors="replace") as file:
        config = parse_properties(file.read())
    if has_secrets(config) and os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise click.BadParameter(f"others can read the passwords in {path}: chmod 600 it", param_hint="--kafka-config")
    return config


def _earlier(path: str | None) -> Earlier:
    """The ids of the topics and the earliest offsets, as they were."""
    from ckpttool.kafka.earlier import Earlier, parse_earlier

    if path is None:
        return Earlier()
    with open_given(path) as file:
        earlier = parse_earlier(file.buffer.read(_LARGEST_JSON))
    if not earlier.known_ids:
        raise click.BadParameter(
            "no topic ids in that file: give a JSON of ckpt kafka diff", param_hint="--known-topic-ids"
        )
    return earlier
