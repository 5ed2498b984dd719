"""`ckpt rehearse`: the next batch, really run on clones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ckpttool.cli.jobs import job_options, job_settings
from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options


@click.command(
    epilog="""\b
Examples:
  ckpt rehearse /data/checkpoints/orders --job new.py --was-job old.py
  ckpt rehearse s3a://lake/checkpoints/orders --job jobs/all.py::orders --was-job old/all.py::orders --identity id
  ckpt rehearse /data/checkpoints/orders --job new.py --was-job old.py --batches 2 --format json"""
)
@click.argument("path")
@click.option("--job", "new", required=True, metavar="JOB.py[::QUERY]", help="The code that is to be deployed.")
@click.option("--was-job", "old", metavar="OLD.py[::QUERY]", help="The code that wrote the checkpoint.")
@click.option("--batches", type=click.IntRange(1, 10), default=1, show_default=True, help="How many batches to run.")
@click.option("--rows", type=click.IntRange(1), metavar="N", help="End a batch after about so many rows of a source.")
@click.option("--identity", metavar="COLUMN,…", help="The columns that tell rows apart; else all.")
@click.option(
    "--sink",
    type=click.Choice(["capture", "run"]),
    default="capture",
    show_default=True,
    help="`run` calls functions of foreachBatch: what they write goes to clones.",
)
@click.option("--yes", is_flag=True, help="With --sink run: what the functions do beside Spark may be done.")
@click.option("--master", default="local[2]", show_default=True, help="Where the child's Spark runs.")
@click.option(
    "--work", type=click.Path(path_type=Path), metavar="DIR", help="Where the clones go; else a new directory."
)
@click.option("--keep", is_flag=True, help="Leave that directory when all is done.")
@click.option("--watch", multiple=True, metavar="URL", help="What else must not change meanwhile; repeatable.")
@job_options
@output_options("rehearse")
@storage_options
def rehearse(path: str, new: str, old: str | None, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Run the next batch of new and old code on clones, and compare the rows.

    The old code plans the batch, and the new one replays it from the same input. Of the checkpoint as much is copied as
    that needs; what is written goes to one directory, and rows go there in place of the sink, whose code is not run
    but with --sink run.
    Nothing else is written: the checkpoint and what --watch names are looked at before and after.
    Exit status 0: the same rows; 1: others, or the new code fails, or something was changed meanwhile; 3: not known.
    """
    from msgspec.structs import replace

    from ckpttool.rehearsal.rehearse import Rehearsed
    from ckpttool.rehearsal.rehearse import rehearse as run
    from ckpttool.rehearsal.view import exit_code_of, rehearsal_document

    if given["sink"] == "run" and not given["yes"]:
        raise click.UsageError("with --sink run the job's functions do what they do beside Spark: --yes lets them")
    settings = job_settings(given)
    how = Rehearsed(
        settings=replace(settings, conf={"spark.master": given["master"], **settings.conf}),
        batches=given["batches"],
        rows=given["rows"],
        identity=tuple(filter(None, (given["identity"] or "").split(","))),
        work=given["work"],
        keep=given["keep"],
        watch=given["watch"],
        sink=given["sink"],
    )
    found = run(path, new, old, how, storage)
    output.show(rehearsal_document(found))
    return exit_code_of(found)
