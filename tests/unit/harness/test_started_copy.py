"""`ckpt apply --verify-with-spark`: a copy is started before the fence falls, and what it does is held to the promise.

The commands are shell scripts, which write by hand what a Spark would leave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.conftest import Outcome, run_ckpt
from tests.samples.place import place_sample
from tests.unit.harness.waiting import wait_until_gone

pytestmark = pytest.mark.extras  # a Java: it is looked for before anything else

SAMPLE = "4.2.0-file-to-parquet-sound"
FROM = "file:///tmp/ckpttool-samples/4.2.0-file-to-parquet-sound"  # where the sample was made
BATCH = """echo 'v1
{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}
{"logOffset":%d}' > {scratch}/chk/offsets/%d; echo 'v1
{"nextBatchWatermarkMs":0}' > {scratch}/chk/commits/%d; """
AS_PROMISED = BATCH % (3, 3, 3)
EARLIER = "sed -i 's/Offset\":2/Offset\":1/' {scratch}/chk/offsets/2; "
FAILED = """cat << '.'
26/11/20 04:05:06 ERROR MicroBatchExecution: Query q [id = 1] terminated with error
java.lang.IllegalStateException: it is not there
\tat org.apache.spark.sql.Somewhere.get(Somewhere.scala:7)
.
exit 1"""


class Mended:
    """A checkpoint with a plan to go back to the end of batch 2, and what stands in the specification."""

    def __init__(self, folder: Path) -> None:
        place_sample(SAMPLE, folder)
        for path in (*folder.glob("checkpoint/sources/0/[0-9]*"), *folder.glob("output/_spark_metadata/[0-9]*")):
            path.write_text(path.read_text().replace(FROM, f"file://{folder}"))
        self.folder, self.checkpoint, self.plan = folder, folder / "checkpoint", folder.parent / "plan.json"
        planned = run_ckpt("plan-recovery", str(self.checkpoint), "--sink", str(folder / "output"), "--to-batch", "2",
                           "--out", str(self.plan))  # fmt: skip
        assert planned.code == 0, planned.err

    def apply(self, script: str, *options: str, **changes: Any) -> Outcome:
        spec = self.folder.parent / "orders.json"
        fields = {
            "command": ["sh", "-c", script],
            "checkpoint": "{scratch}/chk",
            "sink": {"kind": "file", "path": "{scratch}/out"},
            "identity": ["id"],
            "input": str(self.folder / "input"),
            "timeout_s": 20,
        }
        spec.write_text(json.dumps(fields | changes))
        words = ["apply", str(self.plan), "--yes", "--settle", "0s", "--accept", "query-stopped"]
        done = run_ckpt(*words, "--verify-with-spark", str(spec), "--format", "json", *options)
        assert "Traceback" not in done.err
        return done

    def told(self, script: str, *options: str, **changes: Any) -> dict[str, Any]:
        done = self.apply(script, *options, **changes)
        return {"exit": done.code, **json.loads(done.out)}

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def mended(tmp_path: Path) -> Mended:
    return Mended(tmp_path / "orders")


def is_fenced(mended: Mended, told: dict[str, Any], reason: str) -> None:
    assert (told["exit"], told["state"], told["fenced"]) == (1, "stopped", True), told
    assert [one["id"] for one in told["reasons"]] == [reason]
    assert "unfinished" in (mended.checkpoint / "metadata").read_text()
    undone = run_ckpt("undo", str(mended.checkpoint), "--yes", "--settle", "0s", "--format", "json")
    assert json.loads(undone.out)["identical"] is True


def test_a_copy_does_what_was_promised_and_the_originals_are_only_read(mended: Mended, tmp_path: Path) -> None:
    """What names files of checkpoint, sink and input names the copies of them. It is ended when it has committed."""
    seen = tmp_path / "seen"
    look = f"cp -r {{scratch}} {seen}; echo $$ > {tmp_path}/pid; "
    touch = "echo x > {scratch}/out/new; "
    done = mended.told(look + touch + AS_PROMISED + "exec sleep 600")
    assert (done["exit"], done["state"], done["kept"]) == (0, "applied", True), done["reasons"]
    assert done["in_spark"] == {
        "version": None,
        "batch_id": 3,
        "sources": [{"index": 0, "start": {"logOffset": 2}, "end": {"logOffset": 3}}],
        "error": None,
    }
    wait_until_gone(int((tmp_path / "pid").read_text()))

    assert json.loads((seen / "chk" / "metadata").read_text()) == json.loads(
        (mended.checkpoint / "metadata").read_text()
    )
    assert sorted(path.name for path in (seen / "chk" / "offsets").glob("[0-9]*")) == ["0", "1", "2"]
    assert not (seen / "chk" / "_ckpt").exists()
    scratch = json.loads((seen / "chk" / "sources" / "0" / "0").read_text().splitlines()[1])["path"]
    assert scratch.startswith("file:///")
    assert scratch.endswith("/work/orders/input/000.json")
    assert not (seen / "chk" / "sources" / "0" / ".0.crc").exists()
    listed = json.loads((seen / "out" / "_spark_metadata" / "0").read_text().splitlines()[1])["path"]
    assert (seen / "out" / listed.rpartition("/work/orders/out/")[2]).is_file()
    assert (seen / "input" / "004.json").is_file()

    assert not (mended.folder / "output" / "new").exists()
    assert not (mended.checkpoint / "offsets" / "3").exists()


@pytest.mark.parametrize(
    ("script", "what", "found"),
    [
        (BATCH % (4, 4, 4), "batch_id: Spark did otherwise on a copy", "4"),
        (EARLIER + AS_PROMISED, "start of source 0: Spark did otherwise on a copy", "{'logOffset': 1}"),
        (FAILED, "outcome: Spark did otherwise on a copy", "java.lang.IllegalStateException: it is not there"),
    ],
)
def test_another_end_than_the_promised_one_leaves_the_fence(mended: Mended, script: str, what: str, found: str) -> None:
    done = mended.told(script)
    is_fenced(mended, done, "promise-not-kept")
    assert (done["kept"], done["reasons"][0]["text"], done["reasons"][0]["found"]) == (False, what, found)


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo \"ModuleNotFoundError: No module named 'pyspark'\" >&2; exit 1",
         "exit status 1: ModuleNotFoundError: No module named 'pyspark'"),
        ("sleep 600", "no batch was committed within 1 s"),
        ("exec 3> {scratch}/spark-core_2.13-3.5.7.jar; " + AS_PROMISED + "sleep 600", "3.5.7"),
    ],
)  # fmt: skip
def test_what_tells_nothing_leaves_the_fence_too(mended: Mended, script: str, found: str) -> None:
    done = mended.told(script, timeout_s=1 if script == "sleep 600" else 20)
    is_fenced(mended, done, "not-verified")
    assert done["reasons"][0]["found"] == found


def test_nothing_to_read_is_no_broken_promise(mended: Mended) -> None:
    done = mended.told("true")
    assert (done["exit"], done["in_spark"]["batch_id"]) == (0, None)


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"sink": {"kind": "delta", "path": "{scratch}/out"}}, 6, "the sink is one of kind delta"),
        ({"checkpoint": "/data/orders"}, 6, "the checkpoint is to lie at /data/orders"),
        ({"input": "rows"}, 4, "the input rows is no directory"),
        ({"command": ["no-such-program"]}, 6, "no-such-program is not a command"),
    ],
)
def test_what_cannot_be_started_is_refused_before_anything_is_changed(
    mended: Mended, changes: dict[str, Any], code: int, said: str
) -> None:
    before = mended.files()
    done = mended.apply("true", **changes)
    assert (done.code, said in done.err) == (code, True), done.err
    assert mended.files() == before


def test_a_dry_run_starts_nothing(mended: Mended, tmp_path: Path) -> None:
    assert mended.told(f"touch {tmp_path}/started", "--dry-run")["state"] == "planned"
    assert not (tmp_path / "started").exists()


def test_a_setting_alone_is_tried_and_refused_where_it_does_not_help(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "b0 k0-10 c | b5 k10-60 c | b9 k60-90 c")
    spec = tmp_path / "orders.json"
    fields = {"checkpoint": "{scratch}/chk", "sink": {"kind": "file", "path": "{scratch}/out"}, "identity": ["id"]}
    words = ["apply", str(root), "--take", "restart-with-async-progress", "--yes", "--sink", "noop", "--trigger"]
    words += [
        "default",
        "--option",
        "asyncProgressTrackingEnabled=false",
        "--accept",
        "query-stopped",
        "--verify-with-spark",
        str(spec),
        "--format",
        "json",
    ]
    for script, code, state in (("exit 1", 6, "refused"), (BATCH % (90, 10, 10), 0, "applied")):
        spec.write_text(json.dumps(fields | {"command": ["sh", "-c", script]}))
        done = run_ckpt(*words)
        assert (done.code, json.loads(done.out)["state"]) == (code, state), done.out
        assert [one["id"] for one in json.loads(done.out)["reasons"]] == (["not-verified"] if code else [])
        assert not (root / "_ckpt").exists()
