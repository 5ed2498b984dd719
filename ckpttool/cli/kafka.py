"""`ckpt kafka`: what the query's Kafka sources have read, and what their brokers still have."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from ckpttool.cli.brokers import broker_options, given_brokers, open_scene
from ckpttool.cli.kafka_starting import starting_offsets
from ckpttool.cli.options import restart_options, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.errors import NotFound

if TYPE_CHECKING:
    from ckpttool.kafka.base import SourceView
    from ckpttool.kafka.lookup import Brokers
    from ckpttool.kafka.moments import Samples
    from ckpttool.report.views.kafka import KafkaReport
    from ckpttool.scene.scene import Scene


@click.group(
    epilog="""\b
Examples:
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt kafka starting-offsets s3a://lake/checkpoints/orders --bootstrap-server kafka:9092 --at-least earliest"""
)
def kafka() -> None:
    """Compare the query's Kafka sources with their brokers."""


kafka.add_command(starting_offsets)


@kafka.command(
    epilog="""\b
Examples:
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092
  ckpt kafka diff s3a://lake/checkpoints/orders --bootstrap-server 0=h1:9092,h2:9092 --bootstrap-server 1=h3:9093
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server h:9093 --kafka-config client.properties --format json
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092 --when --sample 60
  ckpt kafka diff /data/checkpoints/orders --bootstrap-server kafka:9092 --export-metrics > /metrics/orders.prom"""
)
@click.argument("path")
@broker_options(required=True)
@restart_options
@click.option("--when", is_flag=True, help="Tell how late the query is, and when retention will reach it.")
@click.option(
    "--sample",
    type=click.FloatRange(min=0.1, max=86_400),
    metavar="SECONDS",
    help="With --when: look twice, so far apart, to see how fast retention goes.",
)
@click.option("--export-metrics", is_flag=True, help="Print what Prometheus reads, in place of the text.")
@click.option("--all", "everything", is_flag=True, help="Show healthy partitions too.")
@output_options("kafka-diff")
@storage_options
def diff(path: str, output: Output, storage: dict[str, str], everything: bool, **given: Any) -> int:
    """Say whether what the query must read next is still there, partition by partition.

    Exit status 0: it is; 1: rows are lost, or the restart fails; 5: a broker could not be asked. Nothing is changed.
    """
    from ckpttool.report.views.kafka import kafka_document

    if given["sample"] and not given["when"]:
        raise click.UsageError("--sample is for --when")
    if given["export_metrics"]:
        if output.form != "text":
            raise click.UsageError(f"--export-metrics and --format {output.form} exclude each other")
        output.form = "prometheus"
    scene = open_scene(path, storage, given)
    report = _compare(scene, given)
    newest = scene.checkpoint.last_offset_batch, scene.checkpoint.last_commit_batch
    output.show(kafka_document(report, everything=everything, newest=newest))
    return report.exit_code


def _compare(scene: Scene, given: dict[str, Any]) -> KafkaReport:
    from ckpttool.kafka.lookup import look_at_kafka
    from ckpttool.laws.kafka.judge import judge_kafka
    from ckpttool.laws.restart import predict_restart
    from ckpttool.report.views.kafka import KafkaReport

    brokers = given_brokers(given)
    samples = dict(brokers.samples)
    if given["sample"]:
        samples |= _sample(scene, brokers, given["sample"])
    began = time.monotonic()
    scene = replace(scene, kafka=look_at_kafka(scene, brokers))
    judged, asked_ms = judge_kafka(scene), time.time_ns() // 1_000_000
    if not judged.views:
        raise NotFound("the query has no Kafka source", "see what it reads: ckpt inspect PATH")
    if given["when"]:
        left_s = max(0.1, brokers.timeout_s - (time.monotonic() - began))
        brokers = replace(brokers, timeout_s=left_s, samples=samples)
        judged = replace(judged, views=_with_times(judged.views, scene, brokers, asked_ms))
    next_batch = predict_restart(scene)
    return KafkaReport(scene.checkpoint.url, scene.release, next_batch, judged, asked_ms, tells_when=given["when"])


def _sample(scene: Scene, brokers: Brokers, seconds: float) -> Samples:
    """A first look, and the wait until the second."""
    from ckpttool.kafka.diff import views_of
    from ckpttool.kafka.lookup import look_at_kafka
    from ckpttool.kafka.when import samples_of

    views = views_of(scene, look_at_kafka(scene, brokers))
    samples = samples_of(views, time.time_ns() // 1_000_000)
    if samples:
        time.sleep(seconds)
    return samples


def _with_times(views: tuple[SourceView, ...], scene: Scene, brokers: Brokers, now_ms: int) -> tuple[SourceView, ...]:
    from ckpttool.kafka.lookup import look_at_times
    from ckpttool.kafka.when import with_times

    answers = look_at_times(views, scene, brokers)
    return tuple(with_times(view, told, now_ms, brokers.samples) for view, told in zip(views, answers, strict=True))
