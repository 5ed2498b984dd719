"""`ckpt kafka starting-offsets`: where a new query has to begin to go on where this one stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.brokers import broker_options, given_brokers, open_scene, unasked
from ckpttool.cli.options import restart_options, storage_options, time_option
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import say
from ckpttool.errors import NotFound, Unavailable, exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckpttool.kafka.base import SourcePosition
    from ckpttool.kafka.starting import StartingOffsets
    from ckpttool.scene.scene import Scene


@click.command(
    "starting-offsets",
    epilog="""\b
Examples:
  ckpt kafka starting-offsets /data/checkpoints/orders
  ckpt kafka starting-offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --at-least earliest
  ckpt kafka starting-offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --consumer-group orders --commit
  ckpt kafka starting-offsets s3a://lake/checkpoints/orders --bootstrap-server h:9093 --from-time 2026-11-18T14:00""",
)
@click.argument("path")
@click.option("--source", type=click.IntRange(min=0), metavar="N", help="Which Kafka source, if there are several.")
@click.option("--at-least", type=click.Choice(["earliest"]), help="Begin no lower than what the broker still has.")
@time_option("--from-time", "Begin with the records from then on, such as 2026-11-18T14:00:00Z.")
@click.option("--consumer-group", metavar="G", help="A group of consumers to which the offsets are written.")
@click.option("--commit", is_flag=True, help="With --consumer-group: write them, after asking.")
@click.option("--yes", is_flag=True, help="With --commit: do not ask.")
@broker_options(required=False)
@restart_options
@output_options("kafka-starting-offsets")
@storage_options
def starting_offsets(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Print the JSON for Spark's option startingOffsets: what this query would read next.

    Nothing else goes to standard output; what is to be known goes to standard error. Brokers are asked only if they are
    given. Exit status 0: nothing is lost; 1: rows are lost, or the new query cannot begin there.
    """
    from ckpttool.cli.kafka_group import write_as_group
    from ckpttool.laws.restart import predict_restart
    from ckpttool.report.views.kafka_starting import starting_document

    _check_usage(given)
    scene = open_scene(path, storage, given)
    position = _choose(scene, given["source"], given["from_time"] is not None)
    offsets = _find(scene, position, given)
    for note in offsets.notes:
        say(f"ckpt: {note}")
    group = write_as_group(scene, offsets, given) if given["consumer_group"] else None
    next_batch = predict_restart(scene)
    output.show(starting_document(scene.checkpoint.url, next_batch, offsets, group))
    return _exit_code(offsets)


def _check_usage(given: dict[str, Any]) -> None:
    for option in ("at_least", "from_time"):
        if given[option] is not None and not given["servers"]:
            raise click.UsageError(f"--{option.replace('_', '-')} asks the brokers: --bootstrap-server HOST:PORT")
    for option, needs in (("commit", "consumer_group"), ("yes", "commit"), ("consumer_group", "servers")):
        if given[option] and not given[needs]:
            needed = "bootstrap-server" if needs == "servers" else needs.replace("_", "-")
            raise click.UsageError(f"--{option.replace('_', '-')} needs --{needed}")
    if given["at_least"] and given["from_time"] is not None:
        raise click.UsageError("--at-least and --from-time exclude each other")


def _choose(scene: Scene, index: int | None, by_time: bool) -> SourcePosition:
    """The source that was meant; of several, none is guessed."""
    from ckpttool.kafka.positions import positions

    found = positions(scene)
    if not found:
        raise NotFound("the query has no Kafka source", "see what it reads: ckpt inspect PATH")
    numbers = ", ".join(f"{one.index} ({', '.join(one.topics)})" for one in found)
    if index is None and len(found) > 1:
        raise click.UsageError(f"the query has several Kafka sources, {numbers}: choose one with --source")
    chosen = next((one for one in found if index in (None, one.index)), None)
    if chosen is None:
        raise NotFound(f"source {index} is no Kafka source", f"the Kafka sources are {numbers}")
    if chosen.start is None and not by_time:
        raise NotFound(
            f"where source {chosen.index} begins is not in the checkpoint",
            "with --from-time the broker tells where records of a time begin",
        )
    return chosen


def _find(scene: Scene, position: SourcePosition, given: dict[str, Any]) -> StartingOffsets:
    from ckpttool.kafka.diff import views_of
    from ckpttool.kafka.lookup import look_at_kafka
    from ckpttool.kafka.starting import starts_beside, starts_from, starts_of

    brokers = given_brokers(given)
    _check_names(position, brokers.renamed)
    if not given["servers"]:
        return starts_of(position, brokers.renamed)
    since_ms = given["from_time"]
    seen = look_at_kafka(scene, brokers, only=position.index, since_ms=since_ms)
    view = next(view for view in views_of(scene, seen) if view.index == position.index)
    if view.faults:
        raise unasked(view.faults[0])
    if since_ms is not None:
        found = starts_from(view, position.name, seen.answers[position.index])
    else:
        found = starts_beside(view, position.name, at_least_earliest=given["at_least"] is not None)
    for start in found.starts:
        if start.status == "unknown" and (start.offset is None or start.earliest is None):
            raise Unavailable(f"{start.read_as}-{start.partition}: {start.why}")
    return found


def _check_names(position: SourcePosition, renamed: Mapping[str, str]) -> None:
    names = [renamed.get(topic, topic) for topic in position.topics]
    if len(set(names)) < len(names):
        raise click.BadParameter("two topics of the source would have the same name", param_hint="--map")


def _exit_code(offsets: StartingOffsets) -> int:
    return exit_code(
        wrong=any(not start.is_good and start.status != "unknown" for start in offsets.starts),
        unknown=any(start.status == "unknown" for start in offsets.starts),
    )
