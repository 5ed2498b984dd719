"""`ckpt doctor`: one verdict on how a query is, check by check, and what mends what is wrong."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.evidence import evidence_options, given_again, restarted_by
from ckpttool.cli.options import listing_option, open_given, storage_options, time_option
from ckpttool.cli.output import Output, output_options
from ckpttool.errors import CkptError, MalformedFile, NotFound

if TYPE_CHECKING:
    from ckpttool.checkup.checkup import Checkup
    from ckpttool.checkup.known import IgnoredFinding, KnownFindings
    from ckpttool.query.model import Query

_LARGEST_BASELINE = 64 * 2**20
_PROFILE = click.option(
    "--profile",
    type=click.Choice(["quick", "full"]),
    help="Names, logs and what was pointed at; or all that there is to read. Default: full on local disk, else quick.",
)


@click.command(
    epilog="""\b
Examples:
  ckpt doctor /data/checkpoints/orders --sink /data/orders
  ckpt doctor s3a://lake/checkpoints/orders --sink s3a://lake/orders --bootstrap-server kafka:9092
  ckpt doctor /data/checkpoints/orders --format junit --fail-on warning --baseline known.json > doctor.xml
  ckpt doctor --explain offset-aged-out
  ckpt doctor --list-checks"""
)
@click.argument("path", required=False)
@partial(evidence_options, how_far=_PROFILE)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="From which severity on the exit status is 1; never: neither 1 nor 3.",
)
@click.option(
    "--query",
    "new",
    metavar="FILE[::QUERY]",
    help="The query that is to be started, as ckpt query describe --format json tells it.",
)
@click.option("--only", multiple=True, metavar="ID", help="Show these checks alone; all are asked.")
@click.option("--ignore", multiple=True, metavar="ID[@PATH]", help="A finding that is known, and does not count.")
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False),
    help="What --write-baseline or --format json wrote: its findings are known, but for those that cost rows.",
)
@click.option("--write-baseline", "written", type=click.Path(dir_okay=False), help="Write what is found as a baseline.")
@click.option("--explain", metavar="ID", help="Say what a check is about; without a checkpoint.")
@click.option("--list-checks", is_flag=True, help="List all checks: id, severity, profile, and what each needs.")
@click.option("--verbose", is_flag=True, help="Show every finding and every check.")
@time_option("--now", "The time that it is.", hidden=True)
@listing_option
@output_options("doctor", "junit", "prometheus")
@storage_options
def doctor(path: str | None, output: Output, storage: dict[str, str], **given: Any) -> int:
    """Say how a query is: would it start, and will it go on.

    Asks all that plan-recovery, state verify and kafka diff ask, over one look, and what no restart shows; each finding
    comes with what mends it. Nothing is changed.
    Exit status 0: fit, or attention is all that it needs. 1: unfit. 3 or 5: it cannot be told.
    """
    if given["explain"] or given["list_checks"]:
        return _about_checks(given["explain"], output)
    if path is None:
        raise click.UsageError("a checkpoint is needed: ckpt doctor PATH")
    _known_ids(given["only"], "--only")
    began = time.monotonic()
    checkup = _check_up(path, given, storage, output, debug=click.get_current_context().find_root().params["debug"])
    checkup = _with_what_is_known(checkup, given)
    if given["written"]:
        _write_baseline(given["written"], checkup)
    _show(checkup, given, output, int((time.monotonic() - began) * 1000))
    return checkup.exit_code


def _about_checks(id: str | None, output: Output) -> int:
    from ckpttool.laws.book import every
    from ckpttool.report.views.doctor import entry_document, laws_document

    output.show(laws_document(every()) if id is None else entry_document(id, list(entry_of(id))))
    return 0


def entry_of(id: str) -> list[str]:
    """What docs/findings.md says of it; of a law that tells under other ids, what Spark minds."""
    import ckpttool
    from ckpttool.laws.book import every

    page = Path(ckpttool.__file__).with_name("findings.md").read_text(encoding="utf-8")
    for entry in page.split("\n### ")[1:]:
        title, _, text = entry.partition("\n")
        if title.strip().strip("`").lower() == id.lower():
            return [title.strip().strip("`"), *text.split("\n## ")[0].rstrip().split("\n")]
    law = next((law for law in every() if law.id.lower() == id.lower()), None)
    if law:
        of_others = [f"told as: {', '.join(law.tells)}"] if law.tells else []
        return [law.id, "", law.title, *([f"in Spark: {law.source}"] if law.source else []), *of_others]
    raise NotFound(f"no check has the id {id}", "ckpt doctor --list-checks prints all of them")


def _check_up(path: str, given: dict[str, Any], storage: dict[str, str], output: Output, *, debug: bool) -> Checkup:
    from msgspec.structs import replace

    from ckpttool.checkup.look import check_up
    from ckpttool.report.views.doctor import unknown_checkup

    restarted = restarted_by(given, full_listing=given["listing"] == "full")
    if given["new"]:
        restarted = replace(restarted, query=_query(given["new"], path))
    now_ms = time.time_ns() // 1_000_000 if given["now"] is None else given["now"]
    try:
        return check_up(path, restarted, storage, now_ms=now_ms, profile=given["profile"], forgiving=not debug)
    except CkptError as error:
        output.refuse("doctor", path, error, unknown_checkup())
        raise


def _query(source: str, path: str) -> Query:
    from ckpttool.query.model import named
    from ckpttool.query.saved import meant_for, parse_description, split_pick
    from ckpttool.words import enumerated, shown

    place, pick = split_pick(source)
    try:
        with open_given(place) as file:
            queries = parse_description(file.buffer.read(_LARGEST_BASELINE)).queries
    except OSError as error:
        raise click.BadParameter(f"{place}: {error.strerror}", param_hint="--query") from None
    query = meant_for(queries, pick, path)
    if query is None:
        names = enumerated(map(shown, named(queries)))
        raise click.UsageError(f"{place} has several queries: pick one with {place}::NAME of {names}")
    return query


def _with_what_is_known(checkup: Checkup, given: dict[str, Any]) -> Checkup:
    from msgspec.structs import replace

    only = frozenset(given["only"]) or None
    return replace(checkup, known=_known(checkup, given), fail_on=given["fail_on"], only=only)


def _known(checkup: Checkup, given: dict[str, Any]) -> KnownFindings:
    from ckpttool.checkup.known import IgnoredFinding, KnownFindings, parse_baseline

    pairs = [one.partition("@") for one in given["ignore"]]
    _known_ids([id for id, _, _ in pairs], "--ignore")
    ignored: list[IgnoredFinding] = [IgnoredFinding(id, path or None) for id, _, path in pairs]
    if given["baseline"] is None:
        return KnownFindings((), tuple(ignored))
    try:
        with open(given["baseline"], "rb") as file:
            query_id, baseline = parse_baseline(file.read(_LARGEST_BASELINE), list(checkup.laws))
    except (MalformedFile, OSError) as error:
        why = f"{error.message}; expected: {error.expected}" if isinstance(error, MalformedFile) else error.strerror
        raise click.BadParameter(f"{given['baseline']}: {why}", param_hint="--baseline") from None
    metadata = checkup.diagnosis.checkpoint.metadata
    if query_id and metadata and query_id != metadata.id:
        why = f"it is of another checkpoint: of the query {query_id}, and this one is {metadata.id}"
        raise click.BadParameter(f"{given['baseline']}: {why}", param_hint="--baseline")
    return KnownFindings(baseline, tuple(ignored))


def _known_ids(ids: list[str] | tuple[str, ...], option: str) -> None:
    from ckpttool.laws.book import every

    if strange := sorted(set(ids) - {law.id for law in every()}):
        raise click.BadParameter(f"{strange[0]!r} is no check; --list-checks prints all of them", param_hint=option)


def _write_baseline(path: str, checkup: Checkup) -> None:
    from ckpttool.checkup.known import encode_baseline
    from ckpttool.errors import Unavailable

    metadata, url = checkup.diagnosis.checkpoint.metadata, checkup.diagnosis.checkpoint.url
    try:
        Path(path).write_text(encode_baseline(metadata.id if metadata else None, url, checkup.to_know()))
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from None


def _show(checkup: Checkup, given: dict[str, Any], output: Output, elapsed_ms: int) -> None:
    from ckpttool.report.views.doctor import doctor_document

    again = list(given_again(given))
    if given["profile"]:
        again.append(f"--state {given['profile']}")
    output.show(doctor_document(checkup, again, elapsed_ms, verbose=given["verbose"]))
