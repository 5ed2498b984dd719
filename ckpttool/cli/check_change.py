"""`ckpt check-change`: may a changed query be started on this checkpoint."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.evidence import evidence_options, restarted_by
from ckpttool.cli.jobs import job_options, job_settings
from ckpttool.cli.options import listing_option, split_number, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.saved import out_option, save_as

if TYPE_CHECKING:
    from ckpttool.api import Restarted
    from ckpttool.deploy import Checked
    from ckpttool.laws.changes.planner import PlannerSays
    from ckpttool.query.model import Description, Query


@click.command(
    name="check-change",
    epilog="""\b
Examples:
  ckpt check-change s3a://lake/checkpoints/orders --query jobs/orders.py --was deployed/orders.json
  ckpt check-change /data/checkpoints/orders --query orders.json --accept plan-changed
  ckpt check-change deployed.json --query jobs/all.py::orders --strict
  ckpt check-change /data/checkpoints/orders --query orders.json --take add-source-line --out added.json""",
)
@click.argument("path")
@click.option("--query", "new", required=True, metavar="SOURCE[::QUERY]", help="The query that is to be started.")
@click.option("--was", metavar="SOURCE[::QUERY]", help="The query that wrote the checkpoint.")
@click.option("--accept", multiple=True, metavar="ID[:WHERE]", help="A change that is meant; repeatable.")
@click.option("--strict", is_flag=True, help="What has to be assumed is unknown.")
@click.option("--by-spark", is_flag=True, help="Ask the planner of the job's own Spark too, 4.0 or later.")
@click.option("--take", metavar="OPTION", help="Which way out --out saves; else the one that is exactly once.")
@out_option
@partial(evidence_options, by_source=True)
@partial(job_options, timeout="--job-timeout")
@listing_option
@output_options("check-change", "github")
@storage_options
def check_change(path: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say whether a changed query may be started on a checkpoint, and what becomes of the rows.

    SOURCE is what ckpt query describe takes: a PySpark job, a description that was saved, a checkpoint. PATH may be a
    description of the checkpoint too, which is all that has to be at hand then. What no checkpoint holds, such as what
    a sum summed, is compared with --was; without it, it is assumed to be as it was, and named.
    Exit status 0: Spark goes on with what the new code means. 1: it refuses, or rows differ. 3: it cannot be told.
    With --out a way out that is an edit of the checkpoint is saved as a plan for ckpt apply.
    """
    from msgspec.structs import replace

    from ckpttool.cli.query import is_job
    from ckpttool.deploy import check_change
    from ckpttool.query.saved import split_pick
    from ckpttool.report.views.check_change import change_document

    if given["by_spark"] and (os.path.isfile(path) or not is_job(split_pick(given["new"])[0])):
        raise click.UsageError("--by-spark plans the query of a job, on a checkpoint: it takes no description")
    if given["take"] is not None and given["saved_as"] is None:
        raise click.UsageError("--take needs --out PLAN.json")
    if given["saved_as"] is not None and os.path.isfile(path):
        raise click.UsageError("--out saves a plan for a checkpoint, and PATH is a description of one")
    described, query = _described(given["new"], path, storage, given)
    query, given["options"] = _with_options(query, given["options"])
    was = _described(given["was"], path, storage, given) if given["was"] else None
    _known(given["accept"])
    restarted = _restarted(given, described)
    meant = {"accept": given["accept"], "strict": given["strict"]}
    checked = check_change(path, query, was and was[1], restarted=restarted, storage_options=storage, **meant)
    if given["by_spark"]:
        checked = replace(checked, planner=_planned(given["new"], path, storage, given))
    if given["saved_as"] is not None:
        _save(checked, path, restarted, storage, given)
    output.show(change_document(path, checked, described.origin, was and was[0].origin))
    return checked.exit_code


def _described(source: str, path: str, storage: dict[str, str], given: dict[str, Any]) -> tuple[Description, Query]:
    from ckpttool.cli.query import describe_given
    from ckpttool.query.model import named
    from ckpttool.query.saved import meant_for, split_pick
    from ckpttool.words import enumerated, shown

    place, pick = split_pick(source)
    description = describe_given(place, storage, given)
    query = meant_for(description.queries, pick, path)
    if query is None:
        names = enumerated(map(shown, named(description.queries)))
        raise click.UsageError(f"{place} has several queries: pick one with {place}::NAME of {names}")
    return description, query


def _with_options(query: Query, options: dict[str, str]) -> tuple[Query, dict[str, str]]:
    """The query with what its sources are given by number, and what is given to all of them."""
    from ckpttool.query.started import PLACES, given_to_source
    from ckpttool.words import counted

    numbered = {key: value for key, value in options.items() if split_number(key)[0] is not None}
    left = {key: value for key, value in options.items() if key not in numbered}
    for key, value in numbered.items():
        index, name = split_number(key)
        assert index is not None  # it has one
        if name.lower() in {one.lower() for one in left}:
            raise click.BadParameter(f"{name} is given to all sources, and to one", param_hint="--option")
        if index >= len(query.sources):
            count = counted(len(query.sources), "source")
            raise click.BadParameter(f"{key!r}: the query has {count}, numbered from 0", param_hint="--option")
        if name.lower() in PLACES:
            raise click.BadParameter(f"{key!r}: where a source reads is told by --query", param_hint="--option")
        query = given_to_source(query, index, name, value)
    return query, left


def _planned(source: str, path: str, storage: dict[str, str], given: dict[str, Any]) -> PlannerSays:
    from ckpttool.rehearsal.child import code_of
    from ckpttool.rehearsal.planner import ask_planner

    return ask_planner(path, code_of(source), job_settings(given), given["confs"], storage)


def _save(checked: Checked, path: str, restarted: Restarted, storage: dict[str, str], given: dict[str, Any]) -> None:
    """A plan is of the checkpoint alone: that which comes to the same, whatever query is started there."""
    import time

    from msgspec.structs import replace

    from ckpttool.api import plan_restart
    from ckpttool.apply.make_plan import Undecided, choose
    from ckpttool.errors import Refused
    from ckpttool.plan import Manual

    assert checked.diagnosis
    assert checked.plan
    by_hand = {way.id for way in checked.plan.options if all(isinstance(step, Manual) for step in way.steps)}
    if given["take"] in by_hand:
        raise Refused(f"{given['take']} is done in the code, and changes no file of the checkpoint")
    edits = tuple(way for way in checked.plan.options if way.id not in by_hand)
    try:
        way = choose(replace(checked.plan, options=edits), given["take"])
    except Undecided as error:
        raise click.UsageError(f"{error.message}; {error.next_step}") from None
    start = checked.diagnosis.scene.start
    alone = replace(restarted, query=None, was=None, trigger=start.trigger, options=start.options, wish=way.wish)
    found = plan_restart(path, alone, storage, now_ms=int(time.time() * 1000))
    same = choose(found[1], None if way.wish else way.id)
    more = way.steps[len(same.steps) :]  # what is done in the code, once the checkpoint is mended
    if same.steps != way.steps[: len(same.steps)] or not all(
        isinstance(step, Manual) and step.target == "query" for step in more
    ):
        raise Refused(f"{way.id} would not be the same without the query that was described", "see ckpt plan")
    save_as(given["saved_as"], same.id, alone, found, storage)


def _known(accept: tuple[str, ...]) -> None:
    from ckpttool.laws.changes.judge import LAWS

    for one in accept:
        if one.partition(":")[0] not in {law.id for law in LAWS}:
            raise click.BadParameter(f"{one!r} is no change; docs/changes.md has their ids", param_hint="--accept")


def _restarted(given: dict[str, Any], described: Description) -> Restarted:
    """On the Spark that described the query, unless another is named."""
    from ckpttool.errors import NotFound
    from ckpttool.releases import parse_release

    if given["spark_version"] is None and described.spark_version and described.origin.form != "checkpoint":
        with suppress(NotFound):  # a vendor's: then the files say which it may be
            given = given | {"spark_version": parse_release(described.spark_version)}
    return restarted_by(given, full_listing=given["listing"] == "full")
