"""`ckpt apply`: carry out a plan, so that at any moment Spark starts on the old checkpoint, on the new one, or not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.carry_out import ask, carrying_options, end, interruptible, settings_of, telling_reasons
from ckpttool.cli.evidence import evidence_options, restarted_by, rewind_by, rewind_options
from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.apply.plan_file import PlanFile


@click.command(
    name="apply",
    epilog="""\b
Examples:
  ckpt apply back.json --dry-run
  ckpt apply back.json --yes
  ckpt apply /data/checkpoints/orders --sink /data/orders --take write-commit-again
  ckpt apply --resume /data/checkpoints/orders""",
)
@click.argument("path", metavar="PLAN.json|PATH")
@click.option("--take", metavar="OPTION", help="PATH is a checkpoint: plan this way out, and carry it out at once.")
@click.option("--resume", "resumes", is_flag=True, help="PATH is a checkpoint: go on where an apply was interrupted.")
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
    if not given["yes"] and not given["dry_run"]:
        _ask(plan, storage)
    with interruptible() as stop:
        settings = settings_of(given, restarted, storage, stop)
        outcome = apply_plan(plan, settings, resumes=resumes, only_looks=given["dry_run"])
    return end(outcome, plan, output)


def _plan_of(path: str, take: str | None, restarted: Restarted, storage: dict[str, str]) -> PlanFile:
    from ckpttool.apply.make_plan import plan_at

    return _loaded(path) if take is None else plan_at(path, take, restarted, storage)


def _loaded(path: str) -> PlanFile:
    from ckpttool.apply.plan_file import load_plan

    if os.path.isdir(path) or "://" in path:
        raise click.UsageError(f"{path} is no plan: a checkpoint needs --take OPTION, or --resume")
    return load_plan(path)


def _ask(plan: PlanFile, storage: dict[str, str]) -> None:
    from ckpttool.apply.run import quiet_for
    from ckpttool.report.views.apply import after, head, plan_lines

    lines = [head(plan), *map(str, plan_lines(plan)), after(plan), *quiet_for(plan, storage)]
    batch = plan.promise.restart["batch_id"]
    word = "yes" if batch is None else str(batch)
    ask(lines, word, f"Is the query stopped? Type {'yes' if batch is None else 'the batch that Spark starts then'}")
