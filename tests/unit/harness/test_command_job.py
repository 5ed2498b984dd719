"""`ckpt crash-test run --spec`: what cannot be put on trial is refused, in words, and leaves nothing running.

The commands are shell scripts. Where one has to be a Spark, it starts a real JVM under the debugger, with the name of
Spark's jar on its class path, and writes by hand what a query would leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome, run_ckpt
from tests.unit.harness.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.extras  # a Java: it is looked for before anything else

SPARK = "java $SPARK_SUBMIT_OPTS -cp spark-core_2.13-4.2.0.jar -version"
QUERY = "mkdir -p {scratch}/checkpoint/offsets {scratch}/out"
SPEC: dict[str, Any] = {
    "command": ["sh", "-c", "exit 1"],
    "checkpoint": "{scratch}/checkpoint",
    "sink": {"kind": "file", "path": "{scratch}/out"},
    "identity": ["id"],
    "timeout_s": 60,
}


def run(tmp_path: Path, script: str = "", **changes: Any) -> Outcome:
    spec = tmp_path / "orders.json"
    fields = SPEC | ({"command": ["sh", "-c", script]} if script else {}) | changes
    spec.write_text(json.dumps({name: value for name, value in fields.items() if value is not None}))
    outcome = run_ckpt("crash-test", "run", "--spec", str(spec), "--scratch", str(tmp_path / "scratch"))
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    return outcome


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"command": None}, "required field `command`"),
        ({"identity": []}, "an identity"),
        ({"sink": {"kind": "jdbc", "path": "{scratch}/out"}}, "'jdbc' - at `$.sink.kind`"),
        ({"checkpoint": "/data/checkpoints/orders"}, "the checkpoint is to lie at /data/checkpoints/orders"),
        ({"sink": {"kind": "file", "path": "{scratch}/../out"}}, "the sink is to lie at"),
        ({"sink": {"kind": "file", "path": "{scratch}/input/out"}}, "lies in {scratch}/input"),
        ({"command": ["no-such-program"]}, "no-such-program is not a command"),
    ],
)
def test_what_cannot_be_put_on_trial_is_refused(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    outcome = run(tmp_path, **changes)
    assert outcome.code == 6
    assert told in outcome.err


def test_an_input_that_is_not_there(tmp_path: Path) -> None:
    outcome = run(tmp_path, input="rows")
    assert outcome.code == 4
    assert "the input rows is no directory" in outcome.err


def test_what_is_missing_is_told_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    outcome = run(tmp_path)
    assert outcome.code == 6
    assert outcome.err.startswith("ckpt: no Java found")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo no credit >&2; exit 3", "ended with status 3 before it started a Spark: no credit"),
        ("java $SPARK_SUBMIT_OPTS -version", "a Java without a spark-core…jar"),
        (f"{SPARK}; echo out of ink >&2; exit 4", "fails by itself: exit status 4: out of ink"),
        (SPARK, "no query has left a checkpoint"),
        (f"{SPARK}; {QUERY}", "wrote no rows that can be read"),
        (
            f"""{SPARK}; {QUERY}; echo '{{"number": 1}}' > {{scratch}}/out/a.json""",
            "no column id, which IDENTITY names",
        ),
        (f"{SPARK}; {QUERY}; echo 1,ash > {{scratch}}/out/a.json", "is neither Parquet nor JSON"),
        (f"{SPARK}; {QUERY}; echo 1,ash > {{scratch}}/out/a.csv", "wrote no rows that can be read"),
    ],
)
def test_a_command_that_is_no_job_is_refused(tmp_path: Path, script: str, told: str) -> None:
    outcome = run(tmp_path, script)
    assert outcome.code == 6
    assert told in outcome.err


@pytest.mark.parametrize(
    ("script", "told"),
    [("sleep 600", "started no Spark within 1 s"), (f"{SPARK}; sleep 600", "does not end by itself")],
)
def test_a_command_that_never_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    monkeypatch.setattr("ckpttool.harness.victim.GRACE", 0.5)
    outcome = run(tmp_path, f"echo $$ > {{scratch}}/../pid; {script}", timeout_s=1 if "java" not in script else 3)
    assert outcome.code == 6
    assert told in outcome.err
    wait_until_gone(int((tmp_path / "scratch" / "work" / "pid").read_text()))


def test_a_table_that_is_read_wrongly_is_refused(tmp_path: Path) -> None:
    """Rows that a deletion vector takes out are still in their file."""
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    log = json.dumps({"add": add | {"deletionVector": {"storageType": "u"}}}, separators=(",", ":"))
    rows = tmp_path / "a.parquet"
    write_parquet(rows)
    script = f"{SPARK}; {QUERY}; mkdir -p {{scratch}}/out/_delta_log; cp {rows} {{scratch}}/out"
    script += f"; echo '{log}' > {{scratch}}/out/_delta_log/{0:020}.json"
    told = run(tmp_path, script, sink={"kind": "delta", "path": "{scratch}/out"})
    assert (told.code, "deletion vectors" in told.err) == (6, True)
    told = run(tmp_path, script)
    assert (told.code, "is a Delta table, and its kind is file" in told.err) == (6, True)


def write_parquet(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"id": [1]}), path)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_the_command_ends_with_us(tmp_path: Path, ending: signal.Signals) -> None:
    """With what it has started, however `ckpt` ends; and what it was given is gone."""
    spec = tmp_path / "orders.json"
    script = f"sleep 600 & echo $$ $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pids; wait"
    spec.write_text(json.dumps(SPEC | {"command": ["sh", "-c", script]}))
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from ckpttool.cli import main"
    program += f"; main(['crash-test', 'run', '--spec', {str(spec)!r}])"
    ckpt = subprocess.Popen(
        [sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path)},
    )
    assert ckpt.stderr
    scratch = Path(ckpt.stderr.readline().split()[-1])
    wait_until((tmp_path / "pids").exists)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    ckpt.send_signal(ending)
    status = ckpt.wait(timeout=20)
    assert "Traceback" not in ckpt.stderr.read()
    ckpt.stderr.close()
    assert status == (130 if ending == signal.SIGINT else -ending)
    wait_until_gone(*pids)
    wait_until(lambda: not scratch.exists())
