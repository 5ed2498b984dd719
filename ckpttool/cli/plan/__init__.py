"""`ckpt plan`: what somebody wants of a checkpoint, as a plan for `ckpt apply`."""

from __future__ import annotations

import click

from ckpttool.cli.lazy import LazyGroup

# Command → where it is, and the first line of its help.
COMMANDS = {
    "rewind": ("ckpttool.cli.plan.batches:rewind", "Go back to the end of a batch, or to what was there at a time."),
    "drop-batch": ("ckpttool.cli.plan.batches:drop_batch", "Plan anew the batch that is planned and not committed."),
    "offsets": (
        "ckpttool.cli.plan.offsets:offsets",
        "Let the next batch begin elsewhere in its Kafka topics or Delta tables.",
    ),
    "clone": ("ckpttool.cli.plan.places:clone", "Copy the checkpoint to another place, for a query of its own."),
    "fork": ("ckpttool.cli.plan.places:fork", "Begin a new checkpoint at another place, where this one stands."),
    "relocate": (
        "ckpttool.cli.plan.places:relocate",
        "Let the checkpoint go on at another place, and fence off this one.",
    ),
    "source": ("ckpttool.cli.plan.sources:source", "Fit the checkpoint to a query with other sources."),
    "skip-batch": ("ckpttool.cli.plan.batches:skip_batch", "Go on after the batch that is planned and not committed."),
    "query-id": (
        "ckpttool.cli.plan.identity:query_id",
        "Give the query another id, by which exactly-once sinks recognise its batches.",
    ),
    "renumber": (
        "ckpttool.cli.plan.identity:renumber",
        "Let the query go on from where it stands under a number that no sink has.",
    ),
    "sink-ledger": (
        "ckpttool.cli.plan.identity:sink_ledger",
        "Set what a Delta table has recorded as the query's last batch, and nothing else.",
    ),
    "watermark": ("ckpttool.cli.plan.logs:watermark", "Set the watermark that the next batch runs with."),
    "restore-offsets": (
        "ckpttool.cli.plan.logs:restore_offsets",
        "Write the offsets of batch N again, from what the query told when it ran it.",
    ),
    "rename-found": (
        "ckpttool.cli.plan.logs:rename_found",
        "Give files of the logs that were written whole and never renamed the names that are missing.",
    ),
    "gc": (
        "ckpttool.cli.plan.logs:gc",
        "Set aside temporary files, and checksums of files that are gone, older than the newest commit.",
    ),
}


class Wishes(LazyGroup):
    """Also knows those that nobody grants yet, and does not list them: their answer is the reason."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ckpttool.plan.wishes.later import LATER

        if cmd_name not in LATER:
            return super().get_command(ctx, cmd_name)
        from ckpttool.cli.plan.later import not_yet

        return not_yet(cmd_name)


@click.group(
    cls=Wishes,
    known=COMMANDS,
    epilog="""\b
Examples:
  ckpt plan rewind /data/checkpoints/orders --sink /data/orders --to-batch 1038 --out back.json
  ckpt plan drop-batch /data/checkpoints/orders --sink /data/orders

\b
Not yet, and each says why: sink-log, source-log, reset-state, repartition, downgrade.""",
)
def plan() -> None:
    """Plan what somebody wants of a checkpoint, and say which restart follows.

    Nothing is changed: with --out the plan is saved, and ckpt apply carries it out. What only a person can know has an
    id there, and is passed with --accept ID alone.
    """
