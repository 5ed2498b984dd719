"""`ckpt undo`: take back what `ckpt apply` did, finished or not."""

from __future__ import annotations

from typing import Any

import click

from ckpttool.cli.carry_out import ask, carrying_options, end, interruptible, settings_of, telling_reasons
from ckpttool.cli.options import look_at_option, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import say


@click.command(
    name="undo",
    epilog="""\b
Examples:
  ckpt undo /data/checkpoints/orders
  ckpt undo /data/checkpoints/orders --list
  ckpt undo /data/checkpoints/orders --forget 20261119T081500Z-4f2a91""",
)
@click.argument("path")
@click.option("--id", "plan_id", metavar="ID", help="Which apply; else the newest.")
@click.option("--list", "lists", is_flag=True, help="Show what was applied here, and whether it can be taken back.")
@click.option("--forget", metavar="ID", help="Delete the copies of an apply, which then cannot be taken back.")
@carrying_options
@look_at_option
@output_options("undo")
@storage_options
def undo(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Take back what ckpt apply did to a checkpoint.

    Every file that it touched becomes what it was, byte for byte, with its time. Refused where the query ran since.
    Exit status 0: undone. 6: refused, nothing is changed. 1 or 5: stopped half-way, and fenced.
    """
    from ckpttool.api import Restarted
    from ckpttool.apply.run import forget, listed, plan_to_undo, take_back_plan
    from ckpttool.report.views.apply import applies_document, lock_removed_document

    if given["lists"]:
        output.show(applies_document(path, listed(path, storage, given["look_at"])))
        return 0
    if given["forget"]:
        say(f"ckpt: {forget(path, given['forget'], storage):,} bytes are gone")
        return 0
    with telling_reasons(output, "undo", path):
        plan = plan_to_undo(path, given["plan_id"], storage, given["look_at"])
    if plan is None:
        output.show(lock_removed_document(path))
        return 0
    if not given["yes"] and not given["dry_run"]:
        lines = [f"Take back: {plan.option.title} ({plan.option.id}), applied {plan.id}"]
        ask(lines, "undo", "Is the query stopped? Type undo")
    with interruptible() as stop:
        outcome = take_back_plan(plan, settings_of(given, Restarted(), storage, stop), only_looks=given["dry_run"])
    return end(outcome, plan, output)
