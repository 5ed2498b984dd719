"""The command `ckpt`: a group whose commands load when they run, and the one place where errors become exit codes."""

from __future__ import annotations

import gc
import sys
from io import TextIOWrapper
from typing import Any, NoReturn

import click

import ckpttool
from ckpttool.errors import CkptError

# Command → its module and the first line of its help: listing the commands must not import them.
COMMANDS = {
    "inspect": ("ckpttool.cli.inspect", "Show what a checkpoint holds, where it stands and what is wrong."),
    "plan-recovery": ("ckpttool.cli.plan_recovery", "Say what a restart of the query will do, and plan the ways out."),
    "state": ("ckpttool.cli.state", "Read the rows that stateful operators keep."),
    "log": ("ckpttool.cli.log", "Print one line per batch, oldest first; go on with --follow."),
    "scan": ("ckpttool.cli.scan", "Find the checkpoints below PATH and print one line each, the worst first."),
    "diff": ("ckpttool.cli.diff", "Compare two batches or two checkpoints."),
    "kafka": ("ckpttool.cli.kafka", "Compare the query's Kafka sources with their brokers."),
    "crash-test": ("ckpttool.cli.crash_test", "Crash a real query at exact points, and judge its recovery."),
}

_SELDOM = 50_000  # a command is short, and most of what it makes stays: looking for cycles costs a tenth of its time

EXIT_STATUS = """\b
Exit status:
  0    done; nothing that needs an action
  1    done; findings of severity error
  2    wrong usage
  3    unknown: too little could be read for a verdict
  4    not found, or not a checkpoint
  5    no access: credentials, permissions, storage or broker unreachable
  6    refused: a missing extra, or a scheme that cannot be read
  70   a bug in ckpt
  130  interrupted"""


class LazyGroup(click.Group):
    """Knows its commands by name; imports one only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        command: click.Command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_STATUS,
)
@click.version_option(ckpttool.__version__, prog_name="ckpt")
@click.option("--debug", is_flag=True, help="Show the traceback of a bug in ckpt.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """Read, explain and recover Spark Structured Streaming checkpoints, without a JVM.

    Reading never writes below the checkpoint.

    \b
    Examples:
      ckpt inspect /data/checkpoints/orders
      ckpt plan-recovery /data/checkpoints/orders --spark-version 4.2
      ckpt log s3://lake/checkpoints/orders --follow
    """
    ctx.obj = {"debug": debug}


def main(arguments: list[str] | None = None) -> NoReturn:
    arguments = sys.argv[1:] if arguments is None else arguments
    gc.set_threshold(_SELDOM)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that lacks a character gets its escape
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(arguments, prog_name="ckpt", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except Exception as error:
        sys.exit(_exit_code(error, debug="--debug" in arguments))
    except KeyboardInterrupt:
        sys.exit(130)


def _exit_code(error: Exception, debug: bool) -> int:
    """Tell the user in one or two lines, and choose the documented code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort):
        return 130
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, CkptError):
        _complain(error.message, error.next_step)
        return error.exit_code
    if debug:
        raise error
    where = _innermost(error)
    _complain(f"a bug in ckpt: {type(error).__name__} in {where}", "report it with the output of ckpt --debug …")
    return 70


def _complain(message: str, next_step: str | None) -> None:
    from ckpttool.report.layout import printable

    click.echo(f"ckpt: {printable(message)}", err=True)
    if next_step:
        click.echo(f"      {printable(next_step)}", err=True)


def _innermost(error: Exception) -> str:
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "an unknown place"
