"""`ckpt apply`: carry out a plan, so that at any moment Spark starts on the old checkpoint, on the new one, or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.carry_out import ask, carrying_options, end, interruptible, settings_of, telling_reasons
from ckpttool.cli.evidence import evidence_options, restarted_by, rewind_by, rewind_options
from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.apply.plan_file import PlanFile
    from ckpttool.harness.started_copy import StartedCopy


@click.command(
    name="apply",
    epilog="""\b
Examples:
  ckpt apply back.json --dry-run
  ckpt apply back.json --yes
  ckpt apply /data/checkpoints/orders --sink /data/orders --take write-commit-again
  ckpt apply back.json --yes --verify-with-spark orders.json
  ckpt apply --resume /data/checkpoints/orders""",
)
@click.argument("path", metavar="PLAN.json|PATH")
@click.option("--take", metavar="OPTION", help="PATH is a checkpoint: plan this way out, and carry it out at once.")
@click.option("--resume", "resumes", is_flag=True, help="PATH is a checkpoint: go on where an apply was interrupted.")
@click.option(
    "--backup",
    type=click.Choice(["full", "logs"]),
    default="full",
    show_default=True,
    help="What to keep a copy of; logs: no state, and then undo is refused.",
)
@click.option(
    "--verify-with-spark",
    "spec",
    type=click.Path(),
    metavar="SPEC.json",
    help="Before the fence falls, start the command of a crash-test --spec once, on a copy.",
)
@carrying_options
@evidence_options
@rewind_options
@output_options("apply")
@storage_options
def apply(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Carry out a plan of ckpt plan-recovery or ckpt plan.

    While it is under way no Spark starts on the checkpoint; what it changes is copied before, and in the end must do
    what the plan promised. Interrupted at any moment, --resume goes on and ckpt undo takes it back.
    Exit status 0: applied. 6: refused, nothing is changed. 1 or 5: stopped half-way, and fenced.
    """
    from ckpttool.apply.run import apply_plan, plan_to_resume

    restarted = restarted_by(given, rewind_by(given))
    resumes, take = given["resumes"], given["take"]
    if resumes and take:
        raise click.UsageError("--resume and --take exclude each other")
    with telling_reasons(output, "apply", path):
        pointed_at = (*restarted.sinks, *restarted.look_at)
        plan = plan_to_resume(path, storage, pointed_at) if resumes else _plan_of(path, take, restarted, storage)
    with _copy_to_start(given["spec"], plan) as in_spark:
        if not given["yes"] and not given["dry_run"]:
            _ask(plan, storage, keeps_state=given["backup"] != "logs")
        with interruptible() as stop:
            settings = settings_of(given, restarted, storage, stop, in_spark)
            outcome = apply_plan(plan, settings, resumes=resumes, only_looks=given["dry_run"])
    return end(outcome, plan, output)


@contextmanager
def _copy_to_start(spec: str | None, plan: PlanFile) -> Iterator[StartedCopy | None]:
    """What could not be started is refused before anything is changed."""
    if spec is None:
        yield None
        return
    from ckpttool.apply.consent import trials
    from ckpttool.harness.preflight import require_for_command
    from ckpttool.harness.scratch import Scratch
    from ckpttool.harness.started_copy import StartedCopy

    require_for_command(trials())
    with Scratch() as scratch:
        yield StartedCopy(scratch, Path(spec).resolve(), plan)


def _plan_of(path: str, take: str | None, restarted: Restarted, storage: dict[str, str]) -> PlanFile:
    from ckpttool.apply.make_plan import plan_at

    return _loaded(path) if take is None else plan_at(path, take, restarted, storage)


def _loaded(path: str) -> PlanFile:
    from ckpttool.apply.plan_file import load_plan

    if os.path.isdir(path) or "://" in path:
        from ckpttool.storage.urls import redact_url

        raise click.UsageError(f"{redact_url(path)} is no plan: a checkpoint needs --take OPTION, or --resume")
    return load_plan(path)


def _ask(plan: PlanFile, storage: dict[str, str], *, keeps_state: bool) -> None:
    from ckpttool.apply.run import quiet_for
    from ckpttool.report.views.apply import head, plan_lines

    lines = [head(plan, keeps_state=keeps_state), *plan_lines(plan), *(f"  {one}" for one in quiet_for(plan, storage))]
    ask(lines, *_question(plan))


def _question(plan: PlanFile) -> tuple[str, str]:
    """A word that nobody types by habit, and what is asked."""
    batch, back_to = plan.promise.restart["batch_id"], getattr(plan.wish, "to_batch", None)
    if back_to is not None:
        return str(back_to), "  Is the query stopped? Type the batch to go back to"
    if batch is None:
        return "yes", "  Is the query stopped? Type yes"
    return str(batch), "  Is the query stopped? Type the batch that Spark starts then"
