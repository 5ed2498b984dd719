"""Describing a job: its file is run in a child process whose Spark starts no query, and tells what each one is."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

import ckpttool
from ckpttool.errors import NotFound, Refused, Unavailable
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.session import Answer, Died, Late, Session, environment_for
from ckpttool.literals import shell_word
from ckpttool.query.from_spark import description_of
from ckpttool.query.model import DescribedFrom, Description
from ckpttool.releases import since
from ckpttool.words import shown

ROOT = Path(ckpttool.__file__).parents[1]
DESCRIBE = Path(ckpttool.__file__).with_name("spark") / "describe.py"


class JobSettings(Struct, frozen=True):
    """`python`: that of an environment that has pyspark. `packages`: Maven coordinates, resolved by Spark itself.
    `tables`: schemas of what is not here, by name or path."""

    python: Path
    arguments: Sequence[str] = ()
    conf: Mapping[str, str] = {}
    packages: str | None = None
    environment: Mapping[str, str] = {}
    tables: Mapping[str, str] = {}
    timeout_s: float = 120


def describe_job(job: Path, settings: JobSettings) -> tuple[Description, str | None]:
    """And what stopped the job after the queries that are described. Nothing is started, and no source or sink is
    asked: Spark only plans."""
    try:
        body = job.read_bytes()
    except OSError as error:
        raise NotFound(f"{job} cannot be read: {error.strerror}") from None
    with Scratch() as scratch:
        answer = _ask(scratch, job, settings)
    if (lacks := answer["failed"] and answer["failed"].get("lacks")) is not None:
        option = f"--table {shell_word(lacks)}='id bigint, …'"
        raise Refused(f"{shown(lacks)} is not here, and {job} gives no schema of it", f"give its columns: {option}")
    failed = _spell(answer["failed"])
    if failed and not answer["queries"]:
        needs = "the job must come to its start() with what is given, and may write nowhere but in $TMPDIR"
        raise NotFound(f"{job} failed {failed}, before it started a query", needs)
    if not answer["queries"]:
        raise NotFound(f"{job} ended without starting a query", "give the file whose run comes to start() or toTable()")
    return description_of(answer, DescribedFrom("job", str(job), hashlib.sha256(body).hexdigest())), failed


def _spell(failed: Answer | None) -> str | None:
    if failed is None:
        return None
    line = f"in line {failed['where']} " if failed["where"] else ""
    return f"{line}with {failed['class']}: {shown(failed['message'], 200)}"


def _ask(scratch: Scratch, job: Path, settings: JobSettings) -> Answer:
    asked = asked_of(scratch, job, settings) | {"pinned": sorted(since.PINNED)}
    try:
        with start_child(scratch, settings, DESCRIBE, "describe") as session:
            return session.ask(asked, settings.timeout_s)
    except Late:
        raise Unavailable(
            f"{job} had not ended after {settings.timeout_s:g} s", "give it longer: --timeout SECONDS"
        ) from None
    except Died as error:
        raise died(job, settings.python, str(error)) from None


def asked_of(scratch: Scratch, job: Path, settings: JobSettings) -> dict[str, Any]:
    """What each child that runs a job is told of it."""
    return {
        "job": str(job.resolve()),
        "arguments": list(settings.arguments),
        "conf": _conf(scratch) | dict(settings.conf) | _packages(settings),
        "tables": dict(settings.tables),
    }


def start_child(scratch: Scratch, settings: JobSettings, script: Path, name: str) -> Session:
    """The user's Python with one of our scripts, where we are: what a job reads may be named from there."""
    environment = environment_for(settings.python) | dict(settings.environment) | {"TMPDIR": str(scratch.folder("tmp"))}
    if not os.access(settings.python, os.X_OK):
        raise Refused(f"there is no Python at {settings.python}", "name one that has pyspark: --python EXE")
    return Session(scratch, _command(scratch, settings, script), environment, name, Path.cwd())


def _command(scratch: Scratch, settings: JobSettings, script: Path) -> list[str]:
    """A job that is run here changes no file but in our own directory; Spark keeps there the packages it resolves."""
    start = f"import sys; sys.path.append({str(ROOT)!r}); from ckpttool.jail.confined import main; main(sys.argv[1:])"
    confined = [sys.executable, "-I", "-S", "-B", "-c", start, str(scratch.root), "--"]
    return [*confined, str(settings.python), str(script)]


def died(job: Path, python: Path, log: str) -> Refused:
    if "No module named 'pyspark'" in log:
        return Refused(f"{python} has no pyspark", "name a Python that has it: --python EXE")
    last = next((line for line in reversed(log.strip().splitlines()) if line.strip()), "it said nothing")
    return Refused(f"the Spark that {job} runs in ended: {last.strip()}", "start the job by hand with the same Python")


def _conf(scratch: Scratch) -> dict[str, str]:
    """One thread plans, and whatever Spark writes lies among ours."""
    local = scratch.folder("local")
    return {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(local),
        "spark.jars.ivy": str(scratch.folder("ivy")),
        "spark.sql.warehouse.dir": str(scratch.folder("warehouse")),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={local} -Dderby.system.home={local}",
        "spark.sql.debug.maxToStringFields": "10000",  # of a plan everything is told, not its first 25 columns
    }


def _packages(settings: JobSettings) -> dict[str, str]:
    return {"spark.jars.packages": settings.packages} if settings.packages else {}
