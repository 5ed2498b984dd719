"""`ckpt plan source`: the sources of a changed query."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options

_NUMBERS = {"add": 1, "drop": 1, "move": 2, "reset": 1}


@click.command(
    name="source",
    epilog="""\b
Examples:
  ckpt plan source /data/checkpoints/orders add 1 --sink /data/orders --out added.json
  ckpt plan source /data/checkpoints/orders drop 0 --order 1,2
  ckpt plan source /data/checkpoints/orders move 0 2
  ckpt plan source /data/checkpoints/orders reset 1""",
)
@planning_options
@click.argument("change", type=click.Choice(list(_NUMBERS)))
@click.argument("numbers", metavar="N [M]", nargs=-1, required=True, type=click.IntRange(0, 9999))
@click.option("--order", metavar="N,N", help="The sources in the order of the new plan: old numbers, - for a new one.")
def source(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Fit the checkpoint to a query with other sources.

    They are told as add N, drop N, move N M or reset N. Spark tells sources by their place in the plan: each has a line
    in the offsets and a directory of that number. These follow the changed query. Which order it has only its plan
    tells: give it with --order, or accept what is shown.
    """
    from ckpttool.plan.wishes import ChangeSources

    change, numbers, order = given.pop("change"), given.pop("numbers"), given.pop("order")
    if len(numbers) != _NUMBERS[change]:
        raise click.UsageError("move takes two numbers, from where and to where; add, drop and reset take one")
    number, to = (*numbers, None)[:2]
    return plan_wish(ChangeSources(change, number, to, order), path, output, storage, given)
