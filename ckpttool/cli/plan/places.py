"""`ckpt plan clone`, `fork`: a checkpoint that comes into being at another place."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options
from ckpttool.errors import Refused


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
def fork(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Begin a new checkpoint at another place, where this one stands.

    For a query of another shape that goes on from here: a new id, and as batch 0 the end of the newest batch. Refused
    for stateful queries, and for sinks that go by the numbers of batches.
    """
    from ckpttool.plan.wishes import Fork

    return plan_wish(Fork(_absolute(given.pop("target"))), path, output, storage, given)


def _absolute(target: str) -> str:
    from ckpttool.apply.make_plan import absolute

    return absolute(target)
