"""`ckpt state`: the rows that a query keeps between batches, read from the files of its state stores."""

from __future__ import annotations

from importlib import import_module

import click

# Command → its module and the first line of its help: listing the commands must not import them.
COMMANDS = {
    "list": ("rows", "List operators and their stores, with partitions, versions, rows and bytes."),
    "count": ("rows", "Count the rows of every store, or of one."),
    "rows": ("rows", "Print the rows of a store."),
    "get": ("rows", "Print the rows of one key, from its partition alone."),
    "diff": ("changes", "Show the rows added, changed and removed between two batches."),
    "export": ("changes", "Write the rows of a store to Parquet, Arrow, CSV or JSON lines."),
    "verify": ("files", "Say whether the state can be loaded, and what is wrong with its files."),
    "size": ("files", "Say what the files of the state amount to."),
}


class StateGroup(click.Group):
    """Knows its commands by name; imports one only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ckpttool.cli.state.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=StateGroup,
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
