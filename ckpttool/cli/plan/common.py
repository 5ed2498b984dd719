"""What the commands of `ckpt plan` share: how the query is started again, and what is made of a wish."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.evidence import evidence_options, restarted_by
from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Command, Output, output_options, with_options
from ckpttool.cli.saved import out_option, save_as

if TYPE_CHECKING:
    from ckpttool.plan.wishes import Wish


def planning_options(command: Command) -> Command:
    """The command gets what `plan_wish` takes."""
    options = (
        click.argument("path"),
        evidence_options,
        out_option,
        output_options("plan-wish"),
        storage_options,
    )
    return with_options(options, command)


def plan_wish(wish: Wish, path: str, output: Output, storage: dict[str, str], given: dict[str, Any]) -> int:
    """Shows it, saves it if asked to, and tells by the exit status what the restart after it is like."""
    from ckpttool.api import lacks, plan_restart
    from ckpttool.apply.make_plan import choose
    from ckpttool.errors import NotFound, Refused
    from ckpttool.report.views.plan_wish import wish_document

    saved_as = given.pop("saved_as")
    restarted = restarted_by(given, wish)
    found = diagnosis, plan = plan_restart(path, restarted, storage, now_ms=int(time.time() * 1000))
    way = choose(plan, None) if plan.options else None
    if way is not None and saved_as is not None:
        save_as(saved_as, way.id, restarted, found, storage)
    output.show(wish_document(diagnosis, plan, way))
    if way is None:
        return NotFound.exit_code if lacks(diagnosis.evidence, wish) else Refused.exit_code
    from ckpttool.diagnosis import diagnose

    return diagnose(way.after, diagnosis.chosen).exit_code
