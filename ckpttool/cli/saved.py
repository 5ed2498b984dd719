"""`--out PLAN.json`: a way out that is kept, for `ckpt apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckpttool.cli.streams import say

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.diagnosis import Diagnosis
    from ckpttool.plan import Plan

out_option = click.option(
    "--out", "saved_as", metavar="PLAN.json", help="Save a way out as a plan, which ckpt apply carries out."
)


def save_as(
    path: str, take: str | None, restarted: Restarted, found: tuple[Diagnosis, Plan], storage: dict[str, str]
) -> None:
    from ckpttool.apply.make_plan import Undecided, choose, make_plan
    from ckpttool.apply.plan_file import save_plan
    from ckpttool.storage.store import open_store

    diagnosis, plan = found
    try:
        option = choose(plan, take)
    except Undecided as error:
        raise click.UsageError(f"{error.message}; {error.next_step}") from None
    store = open_store(diagnosis.scene.root, storage)
    save_plan(make_plan(diagnosis, option, plan, restarted, store, storage), path)
    say(f"ckpt: saved {option.id} as {path}; ckpt apply {path} --dry-run shows what it would do")
