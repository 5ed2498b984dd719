"""`ckpt plan source`: the sources of a changed query."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options

_NAMED = {"add": 1, "drop": 1, "move": 2, "reset": 1, "rename": 2}
_NUMBER = click.IntRange(0, 9999)


@click.command(
    name="source",
    epilog="""\b
Examples:
  ckpt plan source /data/checkpoints/orders add 1 --sink /data/orders --out added.json
  ckpt plan source /data/checkpoints/orders drop 0 --order 1,2
  ckpt plan source /data/checkpoints/orders move 0 2
  ckpt plan source /data/checkpoints/orders reset 1
  ckpt plan source /data/checkpoints/orders rename orders all_orders""",
)
@planning_options
@click.argument("change", type=click.Choice(list(_NAMED)))
@click.argument("named", metavar="N [M]", nargs=-1, required=True)
@click.option("--order", metavar="N,N", help="The sources in the order of the new plan: old numbers, - for a new one.")
def source(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Fit the checkpoint to a query with other sources.

    They are told as add N, drop N, move N M or reset N. Spark tells sources by their place in the plan: each has a line
    in the offsets and a directory of that number. These follow the changed query. Which order it has only its plan
    tells: give it with --order, or accept what is shown. Sources that have names, since Spark 4.2, have no order: there
    it is rename OLD NEW.
    """
    from ckpttool.plan.wishes import ChangeSources

    change, named, order = given.pop("change"), given.pop("named"), given.pop("order")
    if len(named) != _NAMED[change]:
        raise click.UsageError("move and rename take two, the old and the new one; add, drop and reset take one")
    if change == "rename":
        return plan_wish(ChangeSources(change, 0, order=order, names=named), path, output, storage, given)
    number, *to = (_NUMBER.convert(one, None, None) for one in named)
    return plan_wish(ChangeSources(change, number, to[0] if to else None, order), path, output, storage, given)
