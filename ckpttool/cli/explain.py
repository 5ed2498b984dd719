"""`ckpt explain`: what an error means that somebody has in a log, or pasted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.evidence import evidence_options, given_again, restarted_by
from ckpttool.cli.options import open_given, storage_options, time_option
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import say
from ckpttool.errors import CkptError, NotFound

if TYPE_CHECKING:
    from ckpttool.checkup.checkup import Checkup
    from ckpttool.logs.driver_log import DriverLog
    from ckpttool.report.views.explain import ExplainedFailure

_PIECE = 2**20


@click.command(
    epilog="""\b
Examples:
  ckpt explain driver.log
  pbpaste | ckpt explain -
  ckpt explain driver.log.gz --checkpoint s3a://lake/checkpoints/orders --sink s3a://lake/orders
  ckpt explain app-20261118140000-0001 --format json
  ckpt explain offset-aged-out"""
)
@click.argument("what", metavar="FILE|-|ID")
@click.option("--checkpoint", metavar="URL", help="The query's checkpoint, which decides between the causes.")
@click.option("--no-look", is_flag=True, help="Look at no checkpoint, not even at a local one that the text names.")
@partial(
    evidence_options,
    how_far=click.option(
        "--profile", type=click.Choice(["quick", "full"]), help="How much is looked at, as for ckpt doctor."
    ),
)
@click.option("--verbose", is_flag=True, help="Show every cause that fits.")
@time_option("--now", "The time that it is.", hidden=True)
@output_options("explain", of="checkpoint")
@storage_options
def explain(what: str, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say what an error means: in a driver's log, an event log, a pasted exception.

    FILE may be compressed with gzip, of any size, or an event log as Spark compresses it, or the directory of one that
    is rolled over; - is standard input. Told are the error, its usual causes in the
    order of likelihood, and what tells them apart. A checkpoint decides which one it is: the one given, or a local one
    that the text names. Secrets in the text are not repeated. ID is a finding or a law: what it means.
    Exit status 0: the error is recognised, or there is none. 3: it is not. With a checkpoint: as ckpt doctor.
    """
    if what != "-" and not os.path.exists(what):
        return _entry(what, output)
    if os.path.isdir(what) and not _parts(what):
        raise NotFound(f"{what} is a directory, and no log", "ckpt doctor PATH looks at a checkpoint")
    log = _read(what)
    explained = _recognise(log)
    _assume_its_release(log, given)
    place = given["checkpoint"] or (None if given["no_look"] else _local(log.checkpoint))
    if place and (checkup := _check_up(place, given, storage, asked=given["checkpoint"] is not None)):
        from msgspec.structs import replace

        explained = replace(explained, place=place, checkup=checkup)
    from ckpttool.report.views.explain import explain_document

    output.show(explain_document(explained, list(_again(given)), verbose=given["verbose"]))
    if explained.checkup:
        return explained.checkup.exit_code
    return 0 if explained.is_recognised or (explained.failure is None and log.query) else 3


def _entry(id: str, output: Output) -> int:
    from ckpttool.cli.doctor import entry_of
    from ckpttool.report.views.doctor import entry_document

    try:
        entry = entry_of(id)
    except NotFound:
        step = "ckpt doctor --list-checks prints all ids; - reads what is pasted"
        raise NotFound(f"there is no file {id}, and no finding or law with this id", step) from None
    output.show(entry_document(entry[0], entry))
    return 0


def _read(place: str) -> DriverLog:
    from ckpttool import jail
    from ckpttool.errors import Unavailable
    from ckpttool.formats.state.native import hand_over
    from ckpttool.logs.driver_log import read_log

    hand_over(jail.unpack)  # a log may be anybody's
    try:
        return read_log(*map(_pieces, _parts(place) if os.path.isdir(place) else [place]))
    except OSError as error:
        raise Unavailable(f"{place} cannot be read: {error.strerror}") from None


def _parts(directory: str) -> list[str]:
    """Of an event log that is rolled over, as Spark 4 does it by itself: `events_<number>_<application>[.<codec>]`."""
    numbered = [(name.split("_"), name) for name in os.listdir(directory) if name.startswith("events_")]
    found = sorted((int(parts[1]), name) for parts, name in numbered if len(parts) > 2 and parts[1].isdecimal())
    return [os.path.join(directory, name) for _, name in found]


def _pieces(place: str) -> Iterator[bytes]:
    with open_given("/dev/stdin" if place == "-" else place) as file:
        while piece := file.buffer.read(_PIECE):
            yield piece


def _recognise(log: DriverLog) -> ExplainedFailure:
    """The first failure that a law knows; of one that none knows, the first."""
    from ckpttool.laws.recognise import causes_of
    from ckpttool.report.views.explain import ExplainedFailure

    for failure in log.failures:
        if causes := causes_of(failure.text):
            return ExplainedFailure(log, failure, causes)
    return ExplainedFailure(log, next(iter(log.failures), None), causes_of(log.text) if log.text else ())


def _assume_its_release(log: DriverLog, given: dict[str, Any]) -> None:
    """Whoever starts the query again does so with the Spark that it failed in, unless it is said otherwise."""
    from ckpttool.releases import parse_release

    if given["spark_version"] is None and log.release:
        try:
            given["spark_version"] = parse_release(log.release)
        except NotFound:  # a name of some vendor's
            return


def _local(place: str | None) -> str | None:
    """A text may name any place: nobody is asked over a network because of it."""
    from ckpttool.storage.urls import parse_url

    try:
        target, local = parse_url(place) if place else ("", {})
    except CkptError:
        return None
    path = local["path"] if target is None else None
    if path is None or not os.path.isdir(path):
        return None
    say(f"ckpt: looking at {path}, which the text names (--no-look leaves it alone)")
    return str(path)


def _check_up(place: str, given: dict[str, Any], storage: dict[str, str], *, asked: bool) -> Checkup | None:
    """What nobody asked for may be no checkpoint any more."""
    from ckpttool.checkup.look import check_up

    now_ms = time.time_ns() // 1_000_000 if given["now"] is None else given["now"]
    debug = click.get_current_context().find_root().params["debug"]
    try:
        return check_up(
            place, restarted_by(given), storage, now_ms=now_ms, profile=given["profile"], forgiving=not debug
        )
    except CkptError as error:
        if asked:
            raise
        say(f"ckpt: {error.message}")
        return None


def _again(given: dict[str, Any]) -> Iterator[str]:
    yield from given_again(given)
    if given["profile"]:
        yield f"--profile {given['profile']}"
