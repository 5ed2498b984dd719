"""`ckpt plan offsets`: where the next batch is to begin in the query's Kafka sources, or Delta ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckpttool.cli.brokers import given_brokers, open_scene, unasked
from ckpttool.cli.options import open_given
from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options
from ckpttool.errors import Refused

if TYPE_CHECKING:
    from ckpttool.kafka.base import SourceView
    from ckpttool.kafka.moves import OffsetMove
    from ckpttool.plan.wishes import SetOffsets
    from ckpttool.scene.scene import Scene

Parsed = TypeVar("Parsed")
_LARGEST = 16 * 2**20


@click.command(
    name="offsets",
    epilog="""\b
Examples:
  ckpt plan offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --set orders:0=-1000 --out back.json
  ckpt plan offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --set orders=@2026-11-18T14:00:00Z
  ckpt plan offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --from edited.json
  ckpt plan offsets /data/checkpoints/orders --bootstrap-server kafka:9092 --drop-topic refunds \\
    --option subscribe=orders
  ckpt plan offsets /data/checkpoints/orders --set 0=version:41 --option path=/lake/clicks --sink /lake/orders
  ckpt plan offsets /data/checkpoints/orders --bootstrap-server old:9092 --cluster new:9092 --by-time""",
)
@click.option(
    "--set",
    "moves",
    multiple=True,
    metavar="S",
    help="[SOURCE:]TOPIC[:PARTITIONS]=N, earliest, latest, @TIME, +N or -N; PARTITIONS: 0,3-5. Of a Delta source: "
    "N=version:V[@TABLE].",
)
@click.option("--from", "file", metavar="FILE", help="All partitions, as ckpt kafka starting-offsets prints them.")
@click.option(
    "--add-topic", "added", multiple=True, metavar="S", help="A topic that the query will read too, and from where."
)
@click.option("--drop-topic", "dropped", multiple=True, metavar="TOPIC", help="A topic that it will read no more.")
@click.option(
    "--cluster", "clusters", multiple=True, metavar="[N=]H:P[,H:P]", help="With --by-time: where its topics are now."
)
@click.option("--by-time", is_flag=True, help="With --cluster: begin there at the time of the last record read here.")
@planning_options
def offsets(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Let the next batch begin elsewhere in its Kafka topics or Delta tables.

    What the brokers do not have is refused, and so is what leaves a partition out; of a Delta table, to which --option
    path=TABLE leads, what its log does not have. Rows that are read twice or never are counted, and have to be
    accepted. A batch that is planned and not committed is dropped first, if no sink has it.
    """
    from ckpttool.plan.wishes import SetOffsets
    from ckpttool.plan.wishes.versions import parse_version_move

    moves, file, added, dropped = (given.pop(name) for name in ("moves", "file", "added", "dropped"))
    clusters, by_time = given.pop("clusters"), given.pop("by_time")
    if bool(clusters) != by_time:
        raise click.UsageError("--cluster and --by-time need each other")
    if not (moves or file or added or dropped or clusters):
        raise click.UsageError("say what to change: --set, --from, --add-topic, --drop-topic, or --cluster --by-time")
    if clusters and (moves or file or added or dropped):
        raise click.UsageError("with --cluster --by-time all offsets follow from times")
    if any(parse_version_move(text) for text in moves):
        if file or added or dropped:
            raise click.UsageError("--from, --add-topic and --drop-topic are Kafka's, and go without versions")
        given["options"] = _with_table(given["options"], moves)
        return plan_wish(SetOffsets(tuple(moves)), path, output, storage, given)
    if not given["servers"]:
        raise click.UsageError("offsets are held against what the brokers have: --bootstrap-server HOST:PORT")
    if clusters:
        wish = _elsewhere(open_scene(path, storage, given), given, clusters)
        given["servers"] = clusters
    else:
        wish = _wish(open_scene(path, storage, given), given, (_listed(file), _parsed(moves)), _parsed(added), dropped)
    return plan_wish(wish, path, output, storage, given)


def _with_table(options: Mapping[str, str], moves: Sequence[str]) -> Mapping[str, str]:
    """Another table is also the one that the query reads then."""
    from ckpttool.plan.wishes.versions import parse_version_move

    tables = {move.table for move in map(parse_version_move, moves) if move and move.table}
    given = {value for name, value in options.items() if name.lower() == "path"}
    if len(tables | given) > 1:
        raise click.UsageError("one table is looked at, and two are named: set one source after the other")
    return {**options, "path": tables.pop()} if tables else options


def _parsed(texts: Sequence[str]) -> list[OffsetMove]:
    from ckpttool.kafka.moves import parse_move

    return [_said(parse_move, text, "--set") for text in texts]


def _listed(path: str | None) -> tuple[OffsetMove, ...]:
    from ckpttool.errors import MalformedFile
    from ckpttool.kafka.moves import parse_starting

    if path is None:
        return ()
    try:
        with open_given(path) as file:
            return parse_starting(file.read(_LARGEST))
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}", param_hint="--from") from None
    except (MalformedFile, UnicodeDecodeError) as error:
        raise Refused(
            f"{path} is not what ckpt kafka starting-offsets prints: {error}", 'expected {"topic":{"0":23}}'
        ) from None


def _said(parse: Callable[[str], Parsed], text: str, hint: str) -> Parsed:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=hint) from None


def _wish(
    scene: Scene,
    given: dict[str, Any],
    moves: tuple[Sequence[OffsetMove], Sequence[OffsetMove]],
    added: Sequence[OffsetMove],
    dropped: Sequence[str],
) -> SetOffsets:
    """With one offset for each partition, so that the plan means the same tomorrow."""
    from ckpttool.kafka.lookup import ask_each
    from ckpttool.kafka.moves import left_out, questions_of, settled, spell_move
    from ckpttool.plan.wishes import SetOffsets
    from ckpttool.words import listed

    views, (from_file, by_hand) = _views(scene, given), moves
    if lacking := left_out(from_file, views):
        raise Refused(f"{listed(lacking)} left out", "a file of offsets has all partitions: --set changes single ones")
    every = [*from_file, *by_hand]
    since = ask_each(scene, given_brokers(given), questions_of([*every, *added], views))
    kept, new = (tuple(map(spell_move, settled(some, views, since))) for some in (every, added))
    return SetOffsets(kept, new, tuple(dropped))


def _elsewhere(scene: Scene, given: dict[str, Any], clusters: tuple[str, ...]) -> SetOffsets:
    from ckpttool.kafka.lookup import ask_each, look_at_records
    from ckpttool.kafka.mirrored import moves_to, question_of, spots_of, times_of
    from ckpttool.kafka.moves import spell_move
    from ckpttool.plan.wishes import SetOffsets

    if given["renamed"]:
        raise click.UsageError("--map is not for --cluster: the topics have the same names there")
    here, there = given_brokers(given), given_brokers(given | {"servers": clusters})
    views = _views(scene, given)
    told = look_at_records(views, scene, here, spots_of)
    settings = look_at_records(views, scene, there, lambda _: ())
    times = {view.index: times_of(view, *both) for view, *both in zip(views, told, settings, strict=True)}
    asked = ask_each(scene, there, [question_of(view, times[view.index]) for view in views])
    moves = [move for view in views for move in moves_to(view, times[view.index], asked[view.index])]
    return SetOffsets(tuple(map(spell_move, moves)), elsewhere=True)


def _views(scene: Scene, given: dict[str, Any]) -> tuple[SourceView, ...]:
    from ckpttool.kafka.diff import views_of
    from ckpttool.kafka.lookup import look_at_kafka

    views = views_of(scene, look_at_kafka(scene, given_brokers(given)))
    for view in views:
        if view.faults:
            raise unasked(view.faults[0])
    return views
