"""`ckpt query`: what a streaming query is, before it is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.jobs import job_options, job_settings
from ckpttool.cli.options import open_given, storage_options
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import say

if TYPE_CHECKING:
    from ckpttool.query.model import Description


@click.group(
    epilog="""\b
Examples:
  ckpt query describe jobs/orders.py
  ckpt query describe s3a://lake/checkpoints/orders --format json > deployed.json"""
)
def query() -> None:
    """Say what a streaming query is, without starting it."""


@query.command(
    epilog="""\b
Examples:
  ckpt query describe jobs/orders.py --python ~/spark/bin/python
  ckpt query describe jobs/all.py::orders --job-arg --env --job-arg test --format json > orders.json
  ckpt query describe jobs/orders.py --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0
  ckpt query describe s3a://lake/checkpoints/orders --format json > deployed.json
  ckpt query describe explained.txt"""
)
@click.argument("sources", metavar="SOURCE[::QUERY]...", nargs=-1, required=True)
@job_options
@output_options("query", of=None)
@storage_options
def describe(sources: tuple[str, ...], output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say what each query is: sources, watermarks, stateful operators with their stores, sink, trigger, plan.

    SOURCE is a PySpark job, or its module:function that makes writers, a checkpoint, what --format json printed
    before, the text of explain(True) or explain(), or a query's progress: its JSON, an event log, a driver's log; -
    is standard input. A job is run, as it is by spark-submit, with this user's rights, but nothing that it starts
    or writes happens: each query is planned in place of being started, no source, table or broker is asked for
    data, and functions of foreachBatch are not called. The others tell less: what they do not tell is named. Values
    of options that may be secret are left out.
    """
    from msgspec.structs import replace

    from ckpttool.query.model import together
    from ckpttool.query.saved import picked, split_pick
    from ckpttool.report.views.query import query_document

    descriptions = []
    for place, pick in map(split_pick, sources):
        description = describe_given(place, storage, given)
        descriptions.append(replace(description, queries=picked(description.queries, pick)))
    output.show(query_document(together(descriptions)))
    return 0


def describe_given(place: str, storage: dict[str, str], given: dict[str, Any]) -> Description:
    """By what it is: a file holds a text or a job, anything else is a checkpoint."""
    from ckpttool.query.texts import describe_text

    body = _file(place)
    if body is not None:
        return describe_text(body, place) or _job(place, given)
    from ckpttool.query.job import is_function  # a saved description is read without all that starts a process

    return _job(place, given) if is_function(place) else _checkpoint(place, storage)


def is_job(place: str) -> bool:
    """Whether it is a file that Python has to run."""
    from ckpttool.query.texts import describe_text

    body = None if place == "-" else _file(place)
    return body is not None and describe_text(body, place) is None


def _file(place: str) -> bytes | None:
    from ckpttool.errors import Refused, Unavailable
    from ckpttool.formats.limits import PIECE_BYTES

    if place != "-" and not os.path.isfile(place):
        return None
    try:
        with open_given("/dev/stdin" if place == "-" else place) as file:
            body = file.buffer.read(PIECE_BYTES + 1)
    except OSError as error:
        raise Unavailable(f"{place} cannot be read: {error.strerror}") from None
    if len(body) > PIECE_BYTES:
        step = "of a log the end is enough: tail -n 10000 LOG | ckpt query describe -"
        raise Refused(f"{place} is larger than {PIECE_BYTES:,} bytes: it is no description and no job", step)
    return body


def _checkpoint(place: str, storage: dict[str, str]) -> Description:
    from ckpttool.query.from_checkpoint import describe_checkpoint
    from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
    from ckpttool.scene.evidence import gather_evidence
    from ckpttool.storage.store import open_store

    return describe_checkpoint(gather_evidence(load_checkpoint(open_store(place, storage), batches=ONLY_OPENED)))


def _job(place: str, given: dict[str, Any]) -> Description:
    from pathlib import Path

    from ckpttool.errors import Refused
    from ckpttool.query.job import describe_function, describe_job, is_function

    if place == "-":
        raise Refused("standard input holds no description, no plan and no progress", "name a job by its file")
    settings = job_settings(given)
    description, failed = (
        describe_function(place, settings) if is_function(place) else describe_job(Path(place), settings)
    )
    if failed:
        say(f"ckpt: {place} failed {failed}; described is what it started before")
    return description
