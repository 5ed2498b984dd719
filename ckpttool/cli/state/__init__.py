"""`ckpt state`: the rows that a query keeps between batches, read from the files of its state stores."""

from __future__ import annotations

import click

from ckpttool.cli.lazy import LazyGroup

# Command → where it is, and the first line of its help.
COMMANDS = {
    "list": (
        "ckpttool.cli.state.rows:list_",
        "List operators and their stores, with partitions, versions, rows and bytes.",
    ),
    "count": ("ckpttool.cli.state.rows:count_", "Count the rows of every store, or of one."),
    "rows": ("ckpttool.cli.state.rows:rows_", "Print the rows of a store."),
    "get": ("ckpttool.cli.state.rows:get_", "Print the rows of one key, from its partition alone."),
    "diff": ("ckpttool.cli.state.changes:diff_", "Show the rows added, changed and removed between two batches."),
    "export": ("ckpttool.cli.state.changes:export_", "Write the rows of a store to Parquet, Arrow, CSV or JSON lines."),
    "verify": (
        "ckpttool.cli.state.files:verify_",
        "Say whether the state can be loaded, and what is wrong with its files.",
    ),
    "size": ("ckpttool.cli.state.files:size_", "Say what the files of the state amount to."),
}


@click.group(
    cls=LazyGroup,
    known=COMMANDS,
    epilog="""\b
Examples:
  ckpt state list /data/checkpoints/orders
  ckpt state rows s3://lake/checkpoints/orders --operator 0 --format jsonl""",
)
def state() -> None:
    """Read the rows that stateful operators keep.

    State is what a query remembers between batches: counts, keys seen, rows waiting for a join. It is read from the
    files, without a JVM, as it was after the last committed batch or an earlier one whose files are still there.
    """
