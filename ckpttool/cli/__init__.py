"""The command `ckpt`: a group whose commands load when they run, and the one place where errors become exit codes."""

from __future__ import annotations

import atexit
import gc
import sys

# A command is short, and most of what it makes stays: to look for cycles while modules load, while it runs and once
# more when all is taken down costs a tenth of its time. What is frozen is not looked at.
gc.set_threshold(50_000)
atexit.register(gc.freeze)

from contextlib import redirect_stderr  # noqa: E402
from typing import Any, NoReturn  # noqa: E402

import click  # noqa: E402

import ckpttool  # noqa: E402
from ckpttool.cli.lazy import LazyGroup  # noqa: E402
from ckpttool.cli.streams import Printable, finish, prepare, say, unwritable  # noqa: E402
from ckpttool.errors import CkptError  # noqa: E402

# Command → where it is, and the first line of its help.
COMMANDS = {
    "inspect": ("ckpttool.cli.inspect:inspect", "Show what a checkpoint holds, where it stands and what is wrong."),
    "plan-recovery": (
        "ckpttool.cli.plan_recovery:plan_recovery",
        "Say what a restart of the query will do, and plan the ways out.",
    ),
    "doctor": (
        "ckpttool.cli.doctor:doctor",
        "Say how a query is: would it start, and will it go on.",
    ),
    "explain": (
        "ckpttool.cli.explain:explain",
        "Say what an error means: in a driver's log, an event log, a pasted exception.",
    ),
    "plan": ("ckpttool.cli.plan:plan", "Plan what somebody wants of a checkpoint, and say which restart follows."),
    "apply": ("ckpttool.cli.apply:apply", "Carry out a plan of ckpt plan-recovery or ckpt plan."),
    "undo": ("ckpttool.cli.undo:undo", "Take back what ckpt apply did to a checkpoint."),
    "unlock": ("ckpttool.cli.unlock:unlock", "Remove the lock of an apply or undo whose process is gone."),
    "state": ("ckpttool.cli.state:state", "Read the rows that stateful operators keep."),
    "log": ("ckpttool.cli.log:log", "Print one line per batch, oldest first; go on with --follow."),
    "scan": ("ckpttool.cli.scan:scan", "Find the checkpoints below PATH and print one line each, the worst first."),
    "diff": ("ckpttool.cli.diff:diff", "Compare two batches or two checkpoints."),
    "files": ("ckpttool.cli.files:files", "Say of input files whether a source has read them."),
    "check-change": (
        "ckpttool.cli.check_change:check_change",
        "Say whether a changed query may be started on a checkpoint, and what becomes of the rows.",
    ),
    "query": ("ckpttool.cli.query:query", "Say what a streaming query is, without starting it."),
    "rehearse": (
        "ckpttool.cli.rehearse:rehearse",
        "Run the next batch of new and old code on clones, and compare the rows.",
    ),
    "kafka": ("ckpttool.cli.kafka:kafka", "Compare the query's Kafka sources with their brokers."),
    "crash-test": ("ckpttool.cli.crash_test:crash_test", "Crash a real query at exact points, and judge its recovery."),
}

EXIT_STATUS = """\b
Exit status:
  0    done; nothing that needs an action
  1    done; findings of severity error
  2    wrong usage
  3    unknown: too little could be read for a verdict
  4    not found, or not a checkpoint
  5    no access: credentials, permissions, storage or broker unreachable; output not writable
  6    refused: a missing extra, a scheme that cannot be read, a place that is not safe
  70   a bug in ckpt
  130  interrupted"""


@click.group(
    cls=LazyGroup,
    known=COMMANDS,
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
    prepare()
    with redirect_stderr(Printable(sys.stderr) if sys.stderr else None):
        sys.exit(_exit_code_of(arguments))


def _exit_code_of(arguments: list[str]) -> int:
    try:
        code = cli.main(arguments, prog_name="ckpt", standalone_mode=False)
        finish()
        return code if isinstance(code, int) else 0
    except SystemExit:  # click's, where the reader of a help went away
        return 0
    except Exception as error:
        return _exit_code(error, debug="--debug" in arguments)
    except KeyboardInterrupt:
        return 130


def _exit_code(error: Exception, debug: bool) -> int:
    """Tell the user in one or two lines, and choose the documented code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, click.Abort):
        return 130
    if isinstance(error, click.ClickException):
        return _of_usage(error)
    if isinstance(error, CkptError):
        _complain(error.message, error.next_step)
        return error.exit_code
    where = _innermost(error)
    if isinstance(error, OSError) and where.startswith("click."):  # its help, which does not pass through `echo`
        return _exit_code(unwritable(error), debug)
    if debug:
        from traceback import print_exception

        print_exception(error)
        return 70
    _complain(f"a bug in ckpt: {type(error).__name__} in {where}", "report it with the output of ckpt --debug …")
    return 70


def _of_usage(error: click.ClickException) -> int:
    from ckpttool.cli.usage import lines_of

    for line in lines_of(error):
        say(line)
    return error.exit_code


def _complain(message: str, next_step: str | None) -> None:
    say(f"ckpt: {message}")
    if next_step:
        say(f"      {next_step}")


def _innermost(error: Exception) -> str:
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else "an unknown place"
