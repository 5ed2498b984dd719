"""`ckpt plan clone`, `fork`, `relocate`: a checkpoint that comes into being at another place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options
from ckpttool.errors import Refused

_WHOLE = r"(?:/|[A-Za-z][A-Za-z0-9+.-]*:).*"
_MAPPED = re.compile(f"({_WHOLE}?)=({_WHOLE})")


@click.command(
    name="clone",
    epilog="""\b
Examples:
  ckpt plan clone /data/checkpoints/orders /data/checkpoints/orders-test --new-id --out clone.json
  ckpt plan clone /data/checkpoints/orders /data/checkpoints/orders-2 --same-id --sink /data/orders""",
)
@planning_options
@click.argument("target")
@click.option("--new-id", is_flag=True, help="The copy is a query of its own.")
@click.option("--same-id", is_flag=True, help="The copy takes over: the query here never starts again.")
def clone(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Copy the checkpoint to another place, for a query of its own.

    TARGET is born fenced: no Spark starts on it until all is there. This checkpoint is only read, and has to stay as it
    is meanwhile. ckpt undo TARGET removes a copy that nobody started.
    """
    from ckpttool.plan.wishes import Clone

    target, new_id, same_id = given.pop("target"), given.pop("new_id"), given.pop("same_id")
    if new_id and same_id:
        raise click.UsageError("--new-id and --same-id exclude each other")
    if not (new_id or same_id):
        raise Refused(
            "a copy with the same id is the same query to every sink",
            "--new-id makes it a query of its own, --same-id says that only one of both ever starts again",
        )
    return plan_wish(Clone(_absolute(target), same_id), path, output, storage, given)


@click.command(
    name="fork",
    epilog="""\b
Examples:
  ckpt plan fork /data/checkpoints/orders /data/checkpoints/orders-by-day --sink noop --out fork.json
  ckpt plan fork /data/checkpoints/orders /data/checkpoints/orders-by-day --sink /data/orders-by-day""",
)
@planning_options
@click.argument("target")
@click.option("--new-state", is_flag=True, help="Give up what the state holds; all sources have to be Kafka's.")
def fork(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Begin a new checkpoint at another place, where this one stands.

    For a query of another shape that goes on from here: a new id, and as batch 0 the end of the newest batch. Refused
    for stateful queries, and for sinks that go by the numbers of batches. With --new-state nothing is in it but where
    Kafka's sources begin, and that is where this one stands: the query begins with batch 0 and empty state.
    """
    from ckpttool.plan.wishes import Fork

    wish = Fork(_absolute(given.pop("target")), given.pop("new_state"))
    return plan_wish(wish, path, output, storage, given)


@click.command(
    name="relocate",
    epilog="""\b
Examples:
  ckpt plan relocate /data/checkpoints/orders /mnt/checkpoints/orders --sink /data/orders \\
    --map /data/in=/data/in --out moved.json
  ckpt plan relocate s3://old/ckpt/orders s3://new/ckpt/orders --sink s3://new/orders --map s3a://old/in=s3a://new/in""",
)
@planning_options
@click.argument("target")
def relocate(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Let the checkpoint go on at another place, and fence off this one.

    A copy of all that is here, under the same id. Whole URLs in it follow: those of the checkpoint itself, and those of
    a file source's input and of a file sink's output, which you move: --map OLD=NEW takes their places here, and where
    they stay, --map OLD=OLD says so. Here no Spark starts any more, until ckpt undo TARGET brings the checkpoint back.
    """
    from ckpttool.apply.plan_file import absolute_place
    from ckpttool.plan.wishes import Relocate

    places = list(_as_places(given["renamed"]))
    topics = {old: new for old, new in given["renamed"].items() if old not in {one for one, *_ in places}}
    given["renamed"] = topics
    given["sinks"] = tuple(absolute_place(one) for one in given["sinks"])
    wish = Relocate(_absolute(given.pop("target")), tuple((old, new) for _, old, new in places))
    return plan_wish(wish, path, output, storage, given)


def _as_places(renamed: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Those of `--map` that are no topics: the name before the first `=`, and both places. A directory of a partition
    has a `=` in its name, and the new place begins as places do."""
    for old, new in renamed.items():
        if found := _MAPPED.fullmatch(f"{old}={new}"):
            yield old, found[1], found[2]


def _absolute(target: str) -> str:
    from ckpttool.apply.make_plan import absolute

    return absolute(target)
