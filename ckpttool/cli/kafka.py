"""`ckpt kafka`: what the query's Kafka sources have read, and what their brokers still have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers
from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    given_release,
    output_options,
    parse_pairs,
    refusals_as_json,
    restart_options,
    storage_options,
)
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.report.kafka import KafkaReport


@click.group(
    epilog="""\b
Examples:
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt kafka diff s3a://lake/checkpoints/orders --bootstrap-server kafka:9092 --format json"""
)
def kafka() -> None:
    """Compare the query's Kafka sources with their brokers."""


@kafka.command(
    epilog="""\b
Examples:
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt kafka diff s3a://lake/checkpoints/orders --bootstrap-server 0=h1:9092,h2:9092 --bootstrap-server 1=h3:9093
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server h:9093 --kafka-config client.properties --format json"""
)
@click.argument("path")
@broker_options(required=True)
@restart_options
@click.option("--all", "everything", is_flag=True, help="Show healthy partitions too.")
@output_options("text", "json")
@storage_options
def diff(path: str, form: str, color: str, everything: bool, **given: Any) -> int:
    """Say whether what the query must read next is still there, partition by partition.

    Exit status 0: it is; 1: rows are lost, or the restart fails; 5: a broker could not be asked. Nothing is changed.
    """
    storage = gather_storage_options(given["storage_option"], given["storage_options_file"])
    with refusals_as_json("kafka-diff", path, form):
        report = _look(path, storage, given)
    if form == "json":
        from ckpttool.report.json import render_json
        from ckpttool.report.kafka import kafka_fields

        echo(render_json(kafka_fields(report)))
    else:
        from ckpttool.report.kafka import render_kafka

        echo(render_kafka(report, choose_style(color), everything=everything))
    return report.exit_code


def _look(path: str, storage: dict[str, str], given: dict[str, Any]) -> KafkaReport:
    from ckpttool.checkpoint import load_checkpoint
    from ckpttool.evidence import gather_evidence
    from ckpttool.kafka.lookup import look_at_kafka
    from ckpttool.kafka.rules import judge_kafka
    from ckpttool.report.kafka import KafkaReport
    from ckpttool.restart import choose_release, predict_restart
    from ckpttool.rules import Conditions, Scene
    from ckpttool.storage import open_store

    evidence = gather_evidence(load_checkpoint(open_store(path, storage)))
    release, _ = choose_release(evidence, given_release(given["spark_version"]))
    options, confs = parse_pairs(given["options"], "--option"), parse_pairs(given["confs"], "--conf")
    conditions = Conditions(release, trigger=given["trigger"], conf=confs, options=options)
    scene = Scene(evidence, conditions, kafka_asked=True)
    judged = judge_kafka(look_at_kafka(scene, given_brokers(given)), scene)
    if not judged.views:
        raise NotFound("the query has no Kafka source", "see what it reads: ckpt inspect PATH")
    next_batch = predict_restart(evidence, conditions, kafka_asked=True)
    return KafkaReport(evidence.checkpoint.url, release, next_batch, judged)
