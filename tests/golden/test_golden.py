"""Every command on every sample, text and JSON, as it was when someone last read it.

`make golden` rewrites the files; their diff is reviewed. What they say is checked against Spark in test_samples.py and
tests/differential; here nothing may change unnoticed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckpttool
from ckpttool.harness.history import Histories
from ckpttool.harness.history_json import encode_histories
from ckpttool.query.from_spark import query_of
from ckpttool.query.model import DescribedFrom, Description, fields_of
from tests.conftest import run_ckpt
from tests.differential.sweep.changes.load import read, unpack
from tests.history_builders import STEP_OF, Shape, sound_history
from tests.samples.place import about, place_sample, sample_names
from tests.unit.rehearsal.acting import python_that_acts

EXPECTED = Path(__file__).parent / "expected"
KNOWN_BAD = Path(__file__).parents[1] / "known_bad"
CRASH_TESTS, SCAN = "crash-test-report", "scan"
APPLY, PLAN, WISHES, MOVED, REHEARSE = "apply", "plan.json", "plan", "moved", "rehearse"
CHECKED, EXPLAINED = "check-change", "explain"
DOCTOR = "doctor"
DRIVER_LOGS = Path(__file__).parents[1] / "driver_logs"
# Their state is in RocksDB's tables alone, which RocksDB reads.
IN_TABLES = ("3.5.7-dedup-rocksdb-sound", "4.2.0-dedup-rocksdb-sound")
SAMPLES = [pytest.param(name, marks=[pytest.mark.extras] * (name in IN_TABLES)) for name in sample_names()]


def commands(name: str, root: Path) -> list[list[str]]:
    """The commands that make sense for the sample; run where its paths come out the same on every machine."""
    checkpoint = about(name)["checkpoint"]
    batches = sorted(int(path.name) for path in (root / checkpoint / "offsets").glob("[0-9]*") if path.name.isdecimal())
    listed = [["inspect", checkpoint], ["inspect", checkpoint, "--timeline"], ["log", checkpoint]]
    if batches:
        listed.append(["inspect", checkpoint, "--batch", str(batches[-1])])
    sinks = [beside for beside in ("output", "table") if (root / beside).is_dir()]
    listed.append(["plan-recovery", checkpoint, *(part for sink in sinks for part in ("--sink", sink))])
    if len(batches) > 1:
        listed.append(["diff", f"{checkpoint}:{batches[0]}", f"{checkpoint}:{batches[-1]}"])
    if (root / checkpoint / "state" / "0").is_dir():
        listed += [["state", command, checkpoint] for command in ("list", "rows", "verify", "size")]
    return listed


@pytest.mark.parametrize("name", SAMPLES)
def test_text_is_as_reviewed(name: str, sample: Callable[[str], Path]) -> None:
    root = sample(name)
    said = []
    for command in commands(name, root):
        outcome = run_ckpt(*command, cwd=root)
        said.append(f"$ ckpt {' '.join(command)}\n{outcome.out}{outcome.err}(exit status {outcome.code})\n")
    compare(EXPECTED / f"{name}.txt", "\n".join(said))


@pytest.mark.parametrize("name", SAMPLES)
def test_json_is_as_reviewed(name: str, sample: Callable[[str], Path]) -> None:
    root = sample(name)
    said = {}
    for command in commands(name, root):
        if "--timeline" in command:
            continue
        outcome = run_ckpt(*command, "--format", "json", cwd=root)
        fields = json.loads(outcome.out) if outcome.out else None
        if fields:
            assert fields.pop("ckpt_version") == ckpttool.__version__
        said[" ".join(command)] = {"exit_code": outcome.code, "json": fields}
    compare(EXPECTED / f"{name}.json", json.dumps(said, indent=1) + "\n")


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json"), ("junit", "xml")])
def test_the_report_of_crash_tests_is_as_reviewed(form: str, suffix: str, tmp_path: Path) -> None:
    """A sound sweep, a control, and four that are not well."""
    for sink in ("delta", "foreachBatch"):
        several = [
            sound_history(Shape(sink=sink, window=window, crash_batch=batch)) for window in STEP_OF for batch in (0, 2)
        ]
        histories = Histories(several[0].run, tuple(history.case for history in several))
        (tmp_path / f"{sink}.jsonl").write_text(encode_histories(histories), encoding="utf-8")
    for name in ("batch-twice-in-ledger", "control-silent", "not-witnessed", "row-lost"):
        shutil.copy(KNOWN_BAD / f"{name}.jsonl", tmp_path / f"{name}.jsonl")
    outcome = run_ckpt("crash-test", "report", ".", "--format", form, cwd=tmp_path)
    assert outcome.code == 1
    actual = outcome.out.replace(f'"ckpt_version": "{ckpttool.__version__}"', '"ckpt_version": "X"')
    compare(EXPECTED / f"{CRASH_TESTS}.{suffix}", actual)


# What lies where: one and its copy, a broken one, one in its table, one too deep, and one where partitions would be.
FLEET = {
    "orders": "4.2.0-file-to-parquet-sound",
    "orders/copies/monday": "4.2.0-file-to-parquet-sound",
    "team/a/broken": "4.2.0-file-to-parquet-offset-file-cut",
    "lake": "4.2.0-kafka-to-delta-sound",
    "team/a/b/far": "4.2.0-windowed-agg-hdfs-sound",
    "plain/date=1": "4.2.0-windowed-agg-hdfs-sound",
}
NOW_S = 1_800_000_000


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_the_scan_of_a_fleet_is_as_reviewed(
    form: str, suffix: str, sample: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, name in FLEET.items():
        part = "table" if place == "lake" else about(name)["checkpoint"]
        shutil.copytree(sample(name) / part, tmp_path / "fleet" / place, dirs_exist_ok=True)
    monkeypatch.setattr(import_module("ckpttool.cli.scan"), "time", SimpleNamespace(time=lambda: NOW_S))
    arguments = ("scan", "fleet", "--depth", "3", "--stale-after", "30d")
    outcome = run_ckpt(*arguments, "--format", form, cwd=tmp_path)
    assert outcome.code == 1
    actual = outcome.out.replace(f'"ckpt_version": "{ckpttool.__version__}"', '"ckpt_version": "X"')
    compare(EXPECTED / f"{SCAN}.{suffix}", actual)


# Restarts that were recorded: the release, what was changed, and whether the query before is given.
CHANGED = (
    ("3.5.7", "count/key-added", False),
    ("3.5.7", "union/first-removed", False),
    ("3.5.7", "sums/values-swapped", True),
    ("3.5.7", "window/offset", True),
    ("4.2.0", "window/same", False),
    ("4.2.0", "session/to-stateless", True),
    ("4.2.0", "named/third", True),
    ("4.2.0", "variables-avro/added", True),
)


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_what_is_said_of_changed_queries_is_as_reviewed(form: str, suffix: str, tmp_path: Path) -> None:
    said = []
    for spark in dict.fromkeys(spark for spark, _, _ in CHANGED):
        (tmp_path / spark).mkdir()
        unpack(spark, tmp_path / spark)
    for spark, name, with_was in CHANGED:
        base, place = name.partition("/")[0], tmp_path / spark
        for case in (name, f"{base}/same"):
            saved = {"schema": "ckpt.query/1", **fields_of(described_as(spark, case))}
            (place / f"{case.replace('/', '-')}.json").write_text(json.dumps(saved))
        given = ["--query", f"{name.replace('/', '-')}.json", *(["--was", f"{base}-same.json"] if with_was else [])]
        command = ["check-change", f"{base}/checkpoint", *given, "--format", form]
        outcome = run_ckpt(*command, cwd=place)
        told = outcome.out.replace(f'"ckpt_version": "{ckpttool.__version__}"', '"ckpt_version": "X"')
        said.append(f"$ ckpt {' '.join(command)}\n{told}{outcome.err}(exit status {outcome.code})\n")
    compare(EXPECTED / f"{CHECKED}.{suffix}", "\n".join(said))


def described_as(spark: str, case: str) -> Description:
    return Description(DescribedFrom("job", "job.py"), spark, (query_of(read(spark)[case]["described"]),))


# A few of the checks, of each result one at least: others come with every law.
CHECKS = ("looks-alive", "offset-file-torn", "offset-aged-out", "state-directory-missing", "state-file-corrupt",
          "state-file-missing", "txn-expired", "commit-ahead-of-offset", "sink-unreadable")  # fmt: skip
CUT, ONLY = "4.2.0-file-to-parquet-offset-file-cut", tuple(word for id in CHECKS for word in ("--only", id))
CHECKED_UP = (
    ("4.2.0-file-to-parquet-sound", ("--sink", "output", "--now", "2030-01-01T00:00:00Z")),
    (CUT, ("--sink", "output", "--now", "2030-01-01T00:00:00Z")),
    (CUT, ("--now", "2030-01-01T00:00:00Z", "--ignore", "offset-file-torn@offsets/4", "--verbose")),
    ("4.2.0-windowed-agg-hdfs-sound", ("--profile", "quick", "--now", "2026-11-18T16:00:00Z")),
    ("4.2.0-windowed-agg-hdfs-state-directory-missing", ("--now", "2030-01-01T00:00:00Z")),
    ("4.2.0-file-to-parquet-commit-ahead-of-offset", ("--sink", "output", "--now", "2030-01-01T00:00:00Z")),
    ("2.4.8-dstreams-sound", ("--now", "2030-01-01T00:00:00Z")),
)


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json"), ("junit", "xml")])
def test_a_checkup_is_as_reviewed(form: str, suffix: str, sample: Callable[[str], Path]) -> None:
    said = []
    for name, given in CHECKED_UP:
        typed = ("doctor", "checkpoint", *given, *ONLY, "--format", form)
        outcome = run_ckpt(*typed, cwd=sample(name))
        said.append(f"$ ckpt {' '.join(typed)}\n{outcome.out}{outcome.err}(exit status {outcome.code})\n")
    actual = re.sub(r'"ckpt_version": "[^"]+"', '"ckpt_version": "X"', "\n".join(said))
    compare(EXPECTED / f"{DOCTOR}.{suffix}", re.sub(r'"ms": [0-9]+', '"ms": MS', actual))


QUIET = ("--yes", "--settle", "0s", "--accept", "query-stopped")
CARRIED_OUT = (
    ("plan-recovery", "checkpoint", "--sink", "output", "--to-batch", "2", "--spark-version", "4.2.0", "--out", PLAN),
    ("apply", PLAN, "--dry-run", "--accept", "query-stopped"),
    ("apply", PLAN, *QUIET),
    ("apply", PLAN, *QUIET),
    ("undo", "checkpoint", *QUIET),
    ("undo", "checkpoint", *QUIET),
)
# Of this run alone.
_OWN = {
    r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}": "ID",
    r'"ms": [0-9]+': '"ms": MS',
    r'"ckpt_version": "[^"]+"': '"ckpt_version": "X"',
    r'"(read|list|write|delete)": [0-9]+': r'"\1": N',
}


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_what_is_carried_out_and_taken_back_is_as_reviewed(form: str, suffix: str, tmp_path: Path) -> None:
    place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    said = []
    for words in CARRIED_OUT:
        outcome = run_ckpt(*words, "--format", form, cwd=tmp_path)
        shown = "" if words[0] == "plan-recovery" else outcome.out
        said.append(f"$ ckpt {' '.join(words)}\n{shown}{outcome.err}(exit status {outcome.code})\n")
    actual = "\n".join(said).replace(str(tmp_path), "/data")
    for pattern, name in _OWN.items():
        actual = re.sub(pattern, name, actual)
    compare(EXPECTED / f"{APPLY}.{suffix}", actual)


WHERE_IT_READ = "/tmp/ckpttool-samples/4.2.0-file-to-parquet-sound"
_READS = {"reads": f"file:{WHERE_IT_READ}/input"}
ACTED = {
    "old.py": {"step": 0} | _READS,
    "new.py": {"step": 1, "plan": ["Project [id + 1]"], "writes_more": 2} | _READS,
    "broken.py": {"step": 0, "fails_in": 5} | _READS,
}
REHEARSALS = (
    ("--job", "new.py", "--was-job", "old.py", "--identity", "id"),
    ("--job", "old.py", "--was-job", "old.py", "--batches", "2"),
    ("--job", "new.py", "--was-job", "old.py", "--identity", "id", "--sink", "run", "--yes"),
    ("--job", "broken.py", "--was-job", "old.py"),
    ("--job", "new.py"),
)


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_what_a_deploy_does_is_told_as_reviewed(form: str, suffix: str, tmp_path: Path) -> None:
    """With an actor in place of Spark: what it is asked is the same, and its rows are known."""
    place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    for name, job in ACTED.items():
        (tmp_path / name).write_text(json.dumps(job))
    said = []
    for words in REHEARSALS:
        typed = ("rehearse", "checkpoint", *words)
        outcome = run_ckpt(*typed, "--python", str(python_that_acts(tmp_path)), "--format", form, cwd=tmp_path)
        said.append(f"$ ckpt {' '.join(typed)}\n{outcome.out}{outcome.err}(exit status {outcome.code})\n")
    actual = re.sub(r'("seconds": |done +4.2.0.*?|failed +4.2.0.*?)\d+\.\d+(?=[,\n ])', r"\1S", "\n".join(said))
    actual = re.sub(r'"ckpt_version": "[^"]+"', '"ckpt_version": "X"', actual).replace(str(tmp_path), "/data")
    compare(EXPECTED / f"{REHEARSE}.{suffix}", actual)


# At another place, whose name is another on every machine: of these the text alone.
MOVES = (
    ("plan", "clone", "checkpoint", "copy", "--new-id", "--sink", "noop", "--out", "clone.json"),
    ("apply", "clone.json", "--dry-run", "--accept", "sink-of-its-own"),
    ("apply", "clone.json", *QUIET, "--accept", "sink-of-its-own"),
    ("undo", "copy", *QUIET),
    ("plan", "fork", "checkpoint", "forked", "--sink", "noop", "--out", "fork.json"),
    ("plan", "relocate", "checkpoint", "moved/q", "--sink", "moved/output", "--map", f"{WHERE_IT_READ}/input=/mnt/in",
     "--map", f"{WHERE_IT_READ}/output=moved/output", "--out", "relocate.json"),
    ("apply", "relocate.json", *QUIET),
    ("plan-recovery", "checkpoint", "--sink", "noop"),
    ("undo", "moved/q", *QUIET),
)  # fmt: skip


def test_what_comes_into_being_elsewhere_is_as_reviewed(tmp_path: Path) -> None:
    place_sample("4.2.0-file-to-parquet-sound", tmp_path)
    shutil.copytree(tmp_path / "output", tmp_path / "moved" / "output")
    said = []
    for words in MOVES:
        typed = [word.replace("=moved", f"={tmp_path}/moved") for word in words]
        release = ("--spark-version", "4.2.0") if words[0].startswith("plan") else ()
        outcome = run_ckpt(*typed, *release, cwd=tmp_path)
        said.append(f"$ ckpt {' '.join(typed)}\n{outcome.out}{outcome.err}(exit status {outcome.code})\n")
    actual = "\n".join(said).replace(str(tmp_path), "/data")
    for pattern, name in {
        **_OWN,
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UUID",
        r"[0-9,]+ bytes, SHA-256 \w+": "N bytes, SHA-256 X",
    }.items():
        actual = re.sub(pattern, name, actual)
    compare(EXPECTED / f"{MOVED}.txt", actual)


COPIED, TEMPORARY = "4.2.0-file-to-parquet", "{}/.4.6554e108-5af6-4130-8cbb-ae8efd57b47c.tmp"
# Each of one sample, with what the sink is that is looked at beside it.
WISHED = (
    (f"{COPIED}-sound", "output", ("rewind", "--to-batch", "2")),
    (f"{COPIED}-crashed-after-offset-log", "output", ("drop-batch",)),
    (f"{COPIED}-crashed-after-sink-commit", "output", ("skip-batch",)),
    ("4.2.0-two-sources-sound", "noop", ("source", "drop", "0")),
    ("4.2.0-two-sources-sound", "noop", ("source", "move", "0", "1", "--order", "1,0")),
    ("4.2.0-named-sources-sound", "noop", ("source", "rename", "nobody", "orders")),
    ("4.2.0-delta-to-delta-sound", "table", ("offsets", "--set", "0=version:2", "--option", "path=source")),
    ("4.2.0-delta-to-delta-sound", "table", ("offsets", "--set", "0=version:9", "--option", "path=source")),
    ("4.2.0-windowed-agg-hdfs-sound", "noop", ("fork", "/elsewhere/q")),
    (f"{COPIED}-sound", "noop", ("relocate", "/elsewhere/q")),
    (f"{COPIED}-sound", "output", ("query-id", "--set", "11111111-2222-4333-8444-555555555555")),
    (f"{COPIED}-sound", "output", ("renumber", "--above-sink")),
    ("3.5.7-delta-to-delta-sound", "table", ("sink-ledger", "--set", "1")),
    ("4.2.0-windowed-agg-hdfs-sound", "noop", ("watermark", "--set", "2026-01-01T00:00:00Z")),
    (f"{COPIED}-offset-file-cut", "output", ("restore-offsets", "4", "--progress", "progress.json")),
    (f"{COPIED}-sound", "output", ("rename-found",)),
    (f"{COPIED}-sound", "output", ("gc",)),
    (f"{COPIED}-sound", "output", ("reset-state",)),
)


def before_wish(verb: str, name: str, root: Path) -> None:
    """What the wish is there for, where no sample has it."""
    checkpoint = place_sample(name, root)
    if verb == "restore-offsets":
        told = [{"id": json.loads((checkpoint / "metadata").read_text())["id"], "durationMs": {"addBatch": 1}, **one}
                for one in about(name)["progress"]]  # fmt: skip
        (root / "progress.json").write_text(json.dumps(told))
    if verb == "rename-found":
        (checkpoint / "offsets" / "4").rename(checkpoint / TEMPORARY.format("offsets"))
    if verb == "gc":
        (checkpoint / TEMPORARY.format("commits")).write_bytes(b"v1")
        os.utime(checkpoint / TEMPORARY.format("commits"), (1, 1))


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_every_wish_is_as_reviewed(form: str, suffix: str, tmp_path: Path) -> None:
    said = []
    for number, (name, sink, (verb, *rest)) in enumerate(WISHED):
        before_wish(verb, name, tmp_path / str(number))
        words = ("plan", verb, "checkpoint", *rest, "--sink", sink, "--spark-version", "4.2.0")
        outcome = run_ckpt(*words, "--format", form, cwd=tmp_path / str(number))
        said.append(f"$ ckpt {' '.join(words)}\n{outcome.out}{outcome.err}(exit status {outcome.code})\n")
    actual = "\n".join(said).replace(f'"ckpt_version": "{ckpttool.__version__}"', '"ckpt_version": "X"')
    compare(EXPECTED / f"{WISHES}.{suffix}", actual)


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("json", "json")])
def test_what_is_said_of_logs_is_as_reviewed(form: str, suffix: str) -> None:
    said = []
    for log in sorted(DRIVER_LOGS.iterdir()):
        outcome = run_ckpt("explain", log.name, "--format", form, cwd=DRIVER_LOGS)
        shown = outcome.out.replace(f'"ckpt_version": "{ckpttool.__version__}"', '"ckpt_version": "X"')
        said.append(f"$ ckpt explain {log.name}\n{shown}{outcome.err}(exit status {outcome.code})\n")
    compare(EXPECTED / f"{EXPLAINED}.{suffix}", "\n".join(said))


def compare(path: Path, actual: str) -> None:
    if os.environ.get("REWRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(actual, encoding="utf-8")
    assert path.exists(), f"{path.name} is new: run `make golden` and review it"
    assert actual == path.read_text(encoding="utf-8")


def test_no_golden_file_outlives_its_sample() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {
        *sample_names(),
        CRASH_TESTS,
        SCAN,
        REHEARSE,
        APPLY,
        WISHES,
        MOVED,
        CHECKED,
        DOCTOR,
        EXPLAINED,
    }
