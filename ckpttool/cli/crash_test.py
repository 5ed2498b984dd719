"""`ckpt crash-test`: crash a real query at exact points, restart it, and judge whether everything is exactly once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from ckpttool.cli.options import pairs_option
from ckpttool.cli.output import Output, output_options
from ckpttool.cli.streams import end_progress, say, sees_progress, show_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckpttool.harness.driver import Driver
    from ckpttool.harness.history import Histories
    from ckpttool.harness.judge import Judged
    from ckpttool.harness.scenarios import Scenario
    from ckpttool.harness.scratch import Scratch
    from ckpttool.harness.settings import Programs
    from ckpttool.harness.shrink import Smallest


class Trials(Struct, frozen=True):
    """What was asked for, with everything that it needs: to run it, and to make what fails smaller."""

    run: Callable[[Scratch], Iterator[Histories]]
    shrink: Callable[[Scratch, Sequence[Judged]], Iterator[Smallest]]


WITH_SPEC = ("spec", "batches", "scratch", "form", "color")


@click.group(
    name="crash-test",
    epilog="""\b
Examples:
  ckpt crash-test report /tmp/ckpt-crash/histories
  ckpt crash-test report histories/file-to-delta.jsonl --format junit > report.xml""",
)
def crash_test() -> None:
    """Crash a real query at exact points, and judge its recovery."""


@crash_test.command(
    epilog="""\b
Examples:
  ckpt crash-test report /tmp/ckpt-crash/histories
  ckpt crash-test report histories/file-to-delta.jsonl --format json | jq .summary"""
)
@click.argument("histories", nargs=-1, required=True)
@output_options("crash-report", "junit", of=None)
def report(histories: tuple[str, ...], output: Output) -> int:
    """Judge recorded crashes again, without Spark.

    HISTORIES are files that a run has left, or directories with such files.

    Exit status 0: all valid; 1: one is not, or a control is silent; 3: one is void or unknown.
    """
    from ckpttool.harness.histories import load_histories
    from ckpttool.harness.judge import judge
    from ckpttool.harness.report import exit_code_of, report_document

    judged = [judge(one) for one in load_histories(histories)]
    output.show(report_document(judged))
    return exit_code_of(judged)


@crash_test.command(
    name="list",
    epilog="""\b
Examples:
  ckpt crash-test list --format text
  ckpt crash-test list --color never""",
)
@output_options("crash-list", of=None)
def list_scenarios(output: Output) -> int:
    """List the jobs that ship with ckpt, and what is guaranteed of each."""
    from ckpttool.harness.report import scenarios_document
    from ckpttool.harness.scenarios import SCENARIOS

    output.show(scenarios_document(list(SCENARIOS.values())))
    return 0


@crash_test.command(
    name="run",
    epilog="""\b
Examples:
  ckpt crash-test run file-to-append file-to-delta --jars "$(ls jars/*.jar | paste -sd,)"
  ckpt crash-test run --job orders.py --python ~/spark/bin/python --scratch /tmp/orders --torn --kills 3
  ckpt crash-test run --spec orders.json --format junit > crashes.xml""",
)
@click.argument("scenarios", nargs=-1)
@click.option("--job", type=click.Path(exists=True, dir_okay=False), help="A job of your own: a file with build(), …")
@click.option("--spec", type=click.Path(), help="Any command: a JSON file that says what it writes, and where.")
@click.option(
    "--input", "folder", type=click.Path(exists=True, file_okay=False), help="Its input: a file of JSON per batch."
)
@click.option("--python", default="python3", show_default=True, help="The Python that has pyspark.")
@click.option("--jars", default="", metavar="A,B", help="Connectors: the jars of Delta or Kafka with all they need.")
@click.option("--bootstrap-server", "broker", metavar="HOST:PORT", help="A Kafka broker; topics are made there.")
@pairs_option("--conf", "confs", help="A setting of the Spark session.")
@click.option("--seed", default=1, show_default=True, help="What the input is made from.")
@click.option("--batches", metavar="N,N", help="The batches that are crashed; else the scenario's own.")
@click.option("--kills", default=0, show_default=True, type=click.IntRange(0), help="So many real kills besides.")
@click.option("--executors", default=0, show_default=True, type=click.IntRange(0), help="So often an executor is lost.")
@click.option("--torn", is_flag=True, help="Also what a loss of power leaves: files cut, empty, flipped, old, gone.")
@click.option("--again", is_flag=True, help="Also a second crash, at every point of the recovery from one.")
@click.option("--ways-out", is_flag=True, help="Also what plan-recovery offers, carried out; for a Delta sink.")
@click.option("--seconds", default=60.0, show_default=True, help="The time that one recovery may take.")
@click.option("--scratch", type=click.Path(file_okay=False), help="An empty directory for everything; it is kept.")
@output_options("crash-report", "junit", of=None)
def run_trials(scenarios: tuple[str, ...], output: Output, **given: Any) -> int:
    """Stop a query at every point of a batch, recover from each, and judge.

    SCENARIOS are names that `ckpt crash-test list` shows. A job of your own is a file with three names:
    build(spark, source, sink, checkpoint), which starts the query and returns it; make_input(seed, batch), the rows of
    a batch as dictionaries, unless there is --input; and IDENTITY, the columns that name a row in the sink.

    Any other command is told of in a JSON file: command, checkpoint, sink with kind and path, identity, input,
    timeout_s. {scratch} in it is the directory that the command gets, and where everything that it writes has to be.

    --job and --spec are run, as you, with whatever they do. Without --scratch, everything is below
    $XDG_STATE_HOME/ckpt/trials, by default in ~/.local/state, and is removed unless something failed.

    Exit status 0: all valid; 1: one is not, or a control is silent; 3: one is void or unknown; 6: something is missing.
    """
    from ckpttool.harness.judge import judge
    from ckpttool.harness.report import exit_code_of, report_document
    from ckpttool.harness.scratch import Scratch

    folder = Path(given["scratch"]) if given["scratch"] else None
    trial = (_try_command if given["spec"] else _try_jobs)(scenarios, folder, given)
    with Scratch(folder, keep=folder is not None) as scratch:
        judged = [judge(histories) for histories in trial.run(scratch)]
        code = exit_code_of(judged)
        if code:
            scratch.keep()
        smallest = list(trial.shrink(scratch, judged))
        if smallest:
            end_progress()
        output.show(report_document(judged, smallest))
    if code and folder is None:
        say(f"images and histories are kept in {scratch.root}")
    return code


def _try_jobs(names: Sequence[str], folder: Path | None, given: dict[str, Any]) -> Trials:
    """Everything is looked at before the scratch directory is made."""
    from ckpttool.apply.consent import trials
    from ckpttool.harness.campaign import Extras, try_scenarios
    from ckpttool.harness.preflight import require_for_job
    from ckpttool.harness.settings import TrialSettings, save_settings
    from ckpttool.harness.smallest import smallest_failures

    rows = Path(given["folder"]) if given["folder"] else None
    chosen = _chosen(names, given["job"], input_given=rows is not None)
    driver = _driver(given)
    connectors = {jar for one in chosen for jar in one.jars}
    release = require_for_job(driver, connectors, folder or trials(), given["broker"])
    batches = _batches(given["batches"])
    settings = TrialSettings(driver, release, given["seed"], given["seconds"], batches, given["broker"], rows)
    extras = Extras(given["torn"], given["kills"], given["again"], given["ways_out"], given["executors"])

    def run(scratch: Scratch) -> Iterator[Histories]:
        save_settings(scratch.root, settings, chosen)
        say(f"seed {settings.seed}, Spark {release}, in {scratch.root}")
        return try_scenarios(scratch, chosen, settings, _progress, extras)

    return Trials(run, lambda scratch, judged: smallest_failures(scratch, chosen, settings, judged, _shrinking))


def _try_command(_: Sequence[str], folder: Path | None, given: dict[str, Any]) -> Trials:
    from ckpttool.apply.consent import trials
    from ckpttool.harness.campaign import try_command
    from ckpttool.harness.preflight import require_for_command
    from ckpttool.harness.settings import TrialSettings, save_settings
    from ckpttool.harness.smallest import smallest_of_command

    context = click.get_current_context()
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if typed and option.name not in WITH_SPEC:
            raise click.UsageError(f"--spec says all of its command; it does not go with {option.opts[-1]}")
    require_for_command(folder or trials())
    spec = Path(given["spec"]).resolve()
    settings = TrialSettings(_driver(given), "", given["seed"], batches=_batches(given["batches"]))

    def run(scratch: Scratch) -> Iterator[Histories]:
        save_settings(scratch.root, settings, [], spec)
        say(f"in {scratch.root}")
        return iter([try_command(scratch, spec, settings, _progress)])

    return Trials(run, lambda scratch, judged: smallest_of_command(scratch, spec, settings, judged, _shrinking))


@crash_test.command(
    epilog="""\b
Examples:
  ckpt crash-test replay /tmp/orders/images/orders/0042-commit-log-begin-2-1
  ckpt crash-test replay 7 --scratch /tmp/orders --format json"""
)
@click.argument("what", metavar="SEED|IMAGE")
@click.option("--scratch", type=click.Path(file_okay=False), help="With a seed: the directory of the trial.")
@click.option("--job", type=click.Path(exists=True, dir_okay=False), help="The job, in place of the trial's.")
@click.option("--spec", type=click.Path(exists=True, dir_okay=False), help="The command, in place of the trial's.")
@click.option("--python", help="The Python that has pyspark, in place of the trial's.")
@click.option("--jars", default="", metavar="A,B", help="With --python: the connectors.")
@click.option("--bootstrap-server", "broker", metavar="HOST:PORT", help="With --python: the Kafka broker.")
@pairs_option("--conf", "confs", help="With --python: a setting of the Spark session.")
@output_options("crash-report", "junit", of=None)
def replay(what: str, scratch: str | None, output: Output, **given: Any) -> int:
    """Recover once more from a kept image, and judge.

    An IMAGE is a directory that a trial has left. A SEED stands for the smallest failure of the trial with that seed,
    or for its first.

    This runs, as you, what the trial ran: its Python, its jars, and its job or its command; so the trial has to be one
    that you have run, in a directory that only you have access to. Of another one nothing is run that is not named
    here: give --python with --jars and --job, or --spec.

    Exit status as for `ckpt crash-test run`; 4: there is no such image, or no such trial; 6: what would run is not
    yours.
    """
    from ckpttool.harness.judge import judge
    from ckpttool.harness.replay import image_of_seed, replay_image
    from ckpttool.harness.report import exit_code_of, report_document

    named = _named(given)
    is_seed = what.isdecimal() and not Path(what).exists()
    image = image_of_seed(int(what), Path(scratch) if scratch else None) if is_seed else Path(what)
    judged = [judge(replay_image(Path(os.path.realpath(image)), named), is_whole=False)]
    output.show(report_document(judged))
    return exit_code_of(judged)


def _named(given: dict[str, Any]) -> Programs | None:
    """What the command line says is to be run: all of it, or nothing."""
    from ckpttool.harness.settings import Programs

    if given["spec"] is None and given["python"] is None:
        for option in ("job", "jars", "broker", "confs"):
            if given[option]:
                raise click.UsageError("what runs is named as a whole: --python goes with it, or --spec alone")
        return None
    if given["spec"] is not None:
        if any(given[option] for option in ("job", "python", "jars", "broker", "confs")):
            raise click.UsageError("--spec says all of its command; nothing else is named with it")
        return Programs(_driver(given | {"python": "python3"}), spec=Path(given["spec"]).resolve())
    return Programs(_driver(given), job=Path(given["job"]).resolve() if given["job"] else None, broker=given["broker"])


def _chosen(names: Sequence[str], job: str | None, input_given: bool) -> list[Scenario]:
    from ckpttool.harness.contract import check_job
    from ckpttool.harness.scenarios import SCENARIOS, job_scenario

    if (job is None) == (not names):
        raise click.UsageError("give names of scenarios, or a job of your own with --job")
    if job is not None:
        check_job(job, input_given)
        return [job_scenario(Path(job).resolve())]
    for name in names:
        if name not in SCENARIOS:
            raise click.BadParameter(f"{name} is not one of {', '.join(SCENARIOS)}", param_hint="SCENARIOS")
    return [SCENARIOS[name] for name in names]


def _driver(given: dict[str, Any]) -> Driver:
    import shutil

    from ckpttool.harness.driver import Driver

    python = shutil.which(given["python"]) or given["python"]
    jars = [Path(jar).resolve() for jar in given["jars"].split(",") if jar]
    return Driver(Path(python).absolute(), jars, given["confs"])


def _batches(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if not all(part.isdecimal() for part in text.split(",")):
        raise click.BadParameter("expected numbers with commas", param_hint="--batches")
    return tuple(map(int, text.split(",")))


def _progress(scenario: str, done: int, total: int, rate: float) -> None:
    """On a terminal one line that is written over; else a line for every fiftieth. No total: first the run, and at the
    end what is tried besides."""
    from ckpttool.report.layout import spell_duration

    if not done:
        _say(f"{scenario}: runs once, stopped at every point", last=True)
    elif not total:
        _say(f"{scenario}: {done} besides", last=False)
    elif sees_progress() or done % 50 == 0 or done == total:
        left = spell_duration(round(1000 * (total - done) / rate)) if rate else "unknown"
        _say(f"{scenario}: {done} of {total} crashes, {rate:.1f}/s, {left} left", last=done == total)


def _shrinking(scenario: str, anomaly: str, tried: int) -> None:
    if sees_progress() or not tried:
        _say(f"{scenario}: {anomaly}, made smaller: {tried} tried", last=False)


def _say(line: str, last: bool) -> None:
    if sees_progress():
        show_progress(line, last)
    else:
        say(line)
