"""`ckpt plan query-id`, `renumber`, `sink-ledger`: wishes about what sinks recognise the query's batches by."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.output import Output
from ckpttool.cli.plan.common import plan_wish, planning_options


@click.command(
    name="query-id",
    epilog="""\b
Examples:
  ckpt plan query-id /data/checkpoints/orders --sink /data/orders --from-sink --out id.json
  ckpt plan query-id /data/checkpoints/copy --sink /data/copy --new
  ckpt plan query-id /data/checkpoints/orders --sink /data/orders --set 7a29e7d5-4f5b-4c8e-9f0a-3d2b1c0a9e8f""",
)
@click.option("--set", "wanted", metavar="UUID", help="This id.")
@click.option("--new", is_flag=True, help="One that no query has.")
@click.option(
    "--from-sink", is_flag=True, help="The one by which a sink knows a query that stands where this one does."
)
@planning_options
def query_id(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Give the query another id, by which exactly-once sinks recognise its batches.

    Refused if a sink has batches under that id that are yet to come, which it would skip; or if it has the batch that
    runs again, and would be given it once more.
    """
    from ckpttool.plan.wishes import QueryId

    wanted, new, from_sink = given.pop("wanted"), given.pop("new"), given.pop("from_sink")
    if (wanted is not None) + new + from_sink != 1:
        raise click.UsageError("say which id: --set UUID, --new or --from-sink")
    return plan_wish(QueryId(wanted, from_sink), path, output, storage, given)


@click.command(
    name="renumber",
    epilog="""\b
Examples:
  ckpt plan renumber /data/checkpoints/orders --sink /data/orders --above-sink
  ckpt plan renumber /data/checkpoints/orders --sink /data/orders --above-sink --out renumber.json""",
)
@click.option("--above-sink", is_flag=True, required=True, help="The number above all that the named sinks have.")
@planning_options
def renumber(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Let the query go on from where it stands under a number that no sink has.

    For a checkpoint that was restored or recreated beside a sink that skips batches by their number. Refused for
    stateful queries, whose state is kept under the numbers of the batches.
    """
    from ckpttool.plan.wishes import Renumber

    return plan_wish(Renumber(), path, output, storage, given)


@click.command(
    name="sink-ledger",
    epilog="""\b
Examples:
  ckpt plan sink-ledger /data/checkpoints/orders --sink /data/orders --set 1038
  ckpt plan sink-ledger /data/checkpoints/orders --sink /data/orders --txn-app-id orders-job --set 1038""",
)
@click.option("--set", "to", type=click.IntRange(min=0), required=True, metavar="N", help="The last batch it has.")
@planning_options
def sink_ledger(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Set what a Delta table has recorded as the query's last batch, and nothing else.

    For a table whose rows were taken back, say by RESTORE, which leaves the record: it would skip the batches that
    write them again. Refused while the table has rows of batches above N, or lacks some up to N.
    """
    from ckpttool.plan.wishes import SetLedger

    return plan_wish(SetLedger(given.pop("to")), path, output, storage, given)
