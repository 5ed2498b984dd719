"""Options of the commands that run a job of the user's: with which Python, and in which session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckpttool.cli.options import open_given, pairs_option
from ckpttool.cli.output import Command, with_options

if TYPE_CHECKING:
    from ckpttool.query.job import JobSettings


def job_options(command: Command, timeout: str = "--timeout") -> Command:
    """The command gets what `job_settings` takes. `timeout`: what that option is called."""
    options = (
        click.option(
            "--python", metavar="EXE", help="The Python that has pyspark; else that of $VIRTUAL_ENV, or python3."
        ),
        click.option("--job-arg", "arguments", multiple=True, metavar="A", help="An argument of the job; repeatable."),
        pairs_option("--spark-conf", "session_confs", help="A setting of the session that the job runs in."),
        pairs_option("--env", "environment", help="A variable of the job's environment."),
        click.option(
            "--packages", metavar="G:A:V,…", help="Connectors by their Maven coordinates, which Spark resolves."
        ),
        click.option("--py-files", metavar="FILE,…", help="Modules of the job: .py, .zip or .egg files."),
        pairs_option("--table", "tables", metavar="NAME=DDL", help="The columns of a table or path that is not here."),
        click.option(
            "--tables",
            "schemas",
            metavar="FILE",
            help="A JSON object of such: DDL, or a schema as Spark's JSON has it.",
        ),
        click.option(
            timeout,
            "job_timeout",
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="The time that the job may take.",
        ),
    )
    return with_options(options, command)


def job_settings(given: dict[str, Any]) -> JobSettings:
    from ckpttool.query.job import JobSettings, python_of

    return JobSettings(
        python=python_of(given["python"]),
        arguments=given["arguments"],
        conf=given["session_confs"],
        packages=given["packages"],
        environment=given["environment"],
        modules=tuple(filter(None, (given["py_files"] or "").split(","))),
        tables=_schemas(given["schemas"]) | given["tables"],
        timeout_s=given["job_timeout"],
    )


def _schemas(path: str | None) -> dict[str, Any]:
    import json

    if path is None:
        return {}
    try:
        with open_given(path) as file:
            found = json.load(file)
    except OSError as error:
        raise click.BadParameter(f"{path!r} cannot be read: {error.strerror}", param_hint="--tables") from None
    except (ValueError, RecursionError):
        raise click.BadParameter(f"{path!r} is no JSON", param_hint="--tables") from None
    if not isinstance(found, dict) or not all(isinstance(one, str | dict) for one in found.values()):
        raise click.BadParameter(f"{path!r} is no JSON object of schemas, by name", param_hint="--tables")
    return found
