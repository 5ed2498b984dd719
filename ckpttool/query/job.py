"""Describing a job: its file is run in a child process whose Spark starts no query, and tells what each one is."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
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
from ckpttool.model import Json
from ckpttool.query.from_connect import connected_query
from ckpttool.query.from_spark import query_of
from ckpttool.query.model import DescribedFrom, Description
from ckpttool.releases import since
from ckpttool.spark import in_child
from ckpttool.storage.urls import redact_url
from ckpttool.words import shown

ROOT = Path(ckpttool.__file__).parents[1]
NEEDS = "the job must come to its start() with what is given, and may write nowhere but in $TMPDIR"
STARTS = "give the file whose run comes to start() or toTable()"
_FUNCTION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_LAUNCH = """import os, sys
sys.path.insert(0, os.getcwd())
from pyspark.sql import SparkSession
from {module} import {function}
made = {function}(SparkSession.builder.getOrCreate())
for one in made.values() if isinstance(made, dict) else made if isinstance(made, (list, tuple)) else [made]:
    if hasattr(one, "start"):
        one.start()
"""
IN_CHILD = Path(in_child.__file__)


class JobSettings(Struct, frozen=True):
    """`python`: that of an environment that has pyspark. `packages`: Maven coordinates, resolved by Spark itself.
    `modules`: files that the job imports. `tables`: schemas of what is not here, by name or path, as DDL or JSON."""

    python: Path
    arguments: Sequence[str] = ()
    conf: Mapping[str, str] = {}
    packages: str | None = None
    environment: Mapping[str, str] = {}
    modules: Sequence[str] = ()
    tables: Mapping[str, Json] = {}
    timeout_s: float = 120


def python_of(given: str | None) -> Path:
    """That which was named, or is active. Links stay: an environment is known by the path to its Python."""
    active = os.environ.get("VIRTUAL_ENV")
    named = given or (os.path.join(active, "bin", "python") if active else "python3")
    return Path(shutil.which(os.path.expanduser(named)) or named)


def describe_job(job: Path, settings: JobSettings) -> tuple[Description, str | None]:
    """And what stopped the job after the queries that are described. Nothing is started, and no source or sink is
    asked: Spark only plans."""
    try:
        body = job.read_bytes()
    except OSError as error:
        raise NotFound(f"{job} cannot be read: {error.strerror}") from None
    with Scratch() as scratch:
        answer = _ask(scratch, job, settings)
    return _told(answer, DescribedFrom("job", str(job), hashlib.sha256(body).hexdigest()))


def describe_function(name: str, settings: JobSettings) -> tuple[Description, str | None]:
    """`module:function`, which gets a session and returns writers that were not started."""
    module, _, function = name.partition(":")
    with Scratch() as scratch:
        launched = scratch.folder("job") / "launch.py"
        launched.write_text(_LAUNCH.format(module=module, function=function), encoding="utf-8")
        answer = _ask(scratch, launched, settings, name)
    return _told(answer, DescribedFrom("job", name))


def is_function(place: str) -> bool:
    return _FUNCTION.fullmatch(place) is not None and not os.path.exists(place)


def _told(answer: Answer, origin: DescribedFrom) -> tuple[Description, str | None]:
    job = origin.place
    if (lacks := answer["failed"] and answer["failed"].get("lacks")) is not None:
        option = f"--table {shell_word(lacks)}='id bigint, …'"
        raise Refused(f"{shown(lacks)} is not here, and {job} gives no schema of it", f"give its columns: {option}")
    failed = spell_failure(answer["failed"])
    if failed and not answer["queries"]:
        raise NotFound(f"{job} failed {failed}, before it started a query", NEEDS)
    if not answer["queries"]:
        made = [one for one in answer.get("made", ()) if one]
        reached = f"; it made writers that it did not start, in {', '.join(made[:5])}" if made else ""
        raise NotFound(f"{job} ended without starting a query{reached}", STARTS)
    queries = tuple(connected_query(raw) if "explained" in raw else query_of(raw) for raw in answer["queries"])
    return Description(origin, answer["spark_version"], queries), failed


def spell_failure(failed: Answer | None) -> str | None:
    if failed is None:
        return None
    line = f"in line {failed['where']} " if failed["where"] else ""
    message = re.sub(r"[\w+.-]+://\S+", lambda url: redact_url(url[0]), failed["message"])
    return f"{line}with {failed['class']}: {shown(message, 200)}"


def _ask(scratch: Scratch, job: Path, settings: JobSettings, function: str | None = None) -> Answer:
    asked = (
        asked_of(scratch, job, settings, "describe")
        | {"function": function}
        | {"pinned": sorted(since.PINNED), "seconds": settings.timeout_s}
    )
    try:
        with start_child(scratch, settings, "describe") as session:
            return session.ask(asked, settings.timeout_s)
    except Late:
        raise Unavailable(
            f"{function or job} had not ended after {settings.timeout_s:g} s", "give it longer: --timeout SECONDS"
        ) from None
    except Died as error:
        raise died(job, settings.python, str(error)) from None


def asked_of(scratch: Scratch, job: Path, settings: JobSettings, name: str) -> dict[str, Any]:
    """What each child that runs a job is told of it. `name`: its own, where others run beside it."""
    return {
        "job": str(job.resolve()),
        "named": str(job),
        "arguments": list(settings.arguments),
        "conf": _conf(scratch, name) | dict(settings.conf) | _packages(settings),
        "tables": dict(settings.tables),
    }


def start_child(scratch: Scratch, settings: JobSettings, module: str, name: str | None = None) -> Session:
    """The user's Python with a module of `ckpttool.spark`, where we are: what a job reads may be named from there."""
    environment = environment_for(settings.python) | dict(settings.environment) | {"TMPDIR": str(scratch.folder("tmp"))}
    environment |= {"CKPT_GUARD": "off"}  # what a guard in the job would say is asked here
    modules = [os.path.abspath(os.path.dirname(one) if one.endswith(".py") else one) for one in settings.modules]
    found = [*modules, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    environment |= {"PYTHONPATH": os.pathsep.join(found)} if modules else {}
    if not os.access(settings.python, os.X_OK):
        raise Refused(f"there is no Python at {settings.python}", "name one that has pyspark: --python EXE")
    return Session(scratch, _command(scratch, settings, module), environment, name or module, Path.cwd())


def _command(scratch: Scratch, settings: JobSettings, module: str) -> list[str]:
    """A job that is run here changes no file but in our own directory; Spark keeps there the packages it resolves."""
    start = f"import sys; sys.path.append({str(ROOT)!r}); from ckpttool.jail.confined import main; main(sys.argv[1:])"
    confined = [sys.executable, "-I", "-S", "-B", "-c", start, str(scratch.root), "--"]
    return [*confined, str(settings.python), str(IN_CHILD), module]


def died(job: Path, python: Path, log: str) -> Refused:
    if "No module named 'pyspark'" in log:
        return Refused(f"{python} has no pyspark", "name a Python that has it: --python EXE")
    last = next((line for line in reversed(log.strip().splitlines()) if line.strip()), "it said nothing")
    return Refused(f"the Spark that {job} runs in ended: {last.strip()}", "start the job by hand with the same Python")


def _conf(scratch: Scratch, name: str) -> dict[str, str]:
    """One thread plans, and whatever Spark writes lies among ours."""
    local = scratch.folder("local", name)
    return {
        "spark.master": "local[1]",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(local),
        "spark.jars.ivy": str(scratch.folder("ivy", name)),
        "spark.sql.warehouse.dir": str(scratch.folder("warehouse", name)),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={local} -Dderby.system.home={local}",
        "spark.sql.debug.maxToStringFields": "10000",  # of a plan everything is told, not its first 25 columns
    }


def _packages(settings: JobSettings) -> dict[str, str]:
    return {"spark.jars.packages": settings.packages} if settings.packages else {}
