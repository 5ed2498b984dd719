"""`ckpt plan rewind`, `drop-batch`, `skip-batch`: wishes about batches."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.evidence import rewind_by, rewind_options
from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options


@click.command(
    name="rewind",
    epilog="""\b
Examples:
  ckpt plan rewind /data/checkpoints/orders --sink /data/orders --to-batch 1038 --out back.json
  ckpt plan rewind /data/checkpoints/orders --sink /data/orders --to-time 2026-11-18T14:00:00Z""",
)
@rewind_options
@planning_options
def rewind(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Go back to the end of a batch, or to what was there at a time.

    What came after is planned anew: the sink, the state and both logs go back together. Refused if others wrote to the
    table since, or the state of that batch is not kept any more.
    """
    wish = rewind_by(given)
    if wish is None:
        raise click.UsageError("say how far: --to-batch N or --to-time T")
    return plan_wish(wish, path, output, storage, given)


@click.command(
    name="drop-batch",
    epilog="""\b
Examples:
  ckpt plan drop-batch /data/checkpoints/orders --sink /data/orders
  ckpt plan drop-batch /data/checkpoints/orders --sink foreachBatch --out drop.json""",
)
@planning_options
def drop_batch(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Plan anew the batch that is planned and not committed.

    For a batch that is too large, or reads what is gone: the next start decides anew what it reads. Refused if a sink
    has it; where that is not to be seen, it is asked.
    """
    from ckpttool.plan.wishes import DropBatch

    return plan_wish(DropBatch(), path, output, storage, given)


@click.command(
    name="skip-batch",
    epilog="""\b
Examples:
  ckpt plan skip-batch /data/checkpoints/orders --sink /data/orders
  ckpt plan skip-batch /data/checkpoints/orders --sink jdbc --out skip.json""",
)
@planning_options
def skip_batch(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Go on after the batch that is planned and not committed.

    Spark takes it for finished and never runs it: its rows are lost where no sink has them. Refused for stateful
    queries, whose next batch needs the state that it leaves.
    """
    from ckpttool.plan.wishes import SkipBatch

    return plan_wish(SkipBatch(), path, output, storage, given)
