"""Spark writes into the stores itself, through Hadoop's own clients; what we say there is what we say of a copy on the
local disk, and what Spark did."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from tests.conftest import run_ckpt
from tests.contract.test_same_answers import without_the_place
from tests.parts import pins
from tests.parts.hdfs import HdfsServer
from tests.parts.spark import resolve
from tests.parts.stores import ObjectServer, S3Server
from tests.samples.process import JOBS, SparkProcess

pytestmark = [pytest.mark.storage, pytest.mark.spark]

SCRIPT = Path(__file__).with_name("store_queries.py")
COMMANDS = [
    ["inspect"],
    ["plan-recovery", "--state", "quick"],
    ["plan-recovery", "--state", "full"],
    ["log"],
    ["state", "list"],
    ["state", "verify"],
]


def s3a(server: ObjectServer) -> dict[str, str]:
    """What Hadoop's client needs to find the emulator."""
    jars = resolve(f"3.5.7-s3a-{pins.S3A.rpartition(':')[2]}", [pins.S3A], spark="3.5.7")
    told = {"endpoint": server.address, "access.key": "testing", "secret.key": "testing", "path.style.access": "true"}
    return {"spark.jars": ",".join(map(str, jars)), **{f"spark.hadoop.fs.s3a.{key}": told[key] for key in told}}


@pytest.mark.parametrize(("kind", "spark"), [("s3", "3.5.7"), ("hdfs", "4.2.0")])
def test_what_spark_wrote_there_is_told_as_on_the_local_disk(
    object_server: Callable[[str], ObjectServer], tmp_path: Path, kind: str, spark: str
) -> None:
    server = object_server(kind)
    server.put_objects("lake", [("begun", b"x")])
    by_spark = f"{server.url}/lake" if isinstance(server, HdfsServer) else "s3a://lake"
    conf = {} if isinstance(server, HdfsServer) else s3a(server)
    with SparkProcess(spark, script=SCRIPT, path=[JOBS.parent], conf=conf) as process:
        done = process.run({"workload": "", "root": str(tmp_path / "in"), "url": by_spark, "batches": 4})
    assert done["error"] is None, done["error"]
    local = tmp_path / "copy"
    copied(server, "lake", local)
    options = [part for pair in server.options.items() for part in ("--storage-option", "=".join(pair))]
    for command in COMMANDS:
        here = run_ckpt(*command, f"{local}/checkpoint", "--format", "json")
        there = run_ckpt(*command, f"{by_spark}/checkpoint", "--format", "json", *options)
        assert there.code == here.code, there.err
        assert without_the_place(there, by_spark) == without_the_place(here, str(local)), command
    told = json.loads(run_ckpt("inspect", f"{by_spark}/checkpoint", "--format", "json", *options).out)
    assert told["query"]["id"] == done["id"]
    assert told["last_commit_batch"] == max(done["batches"])
    sink = run_ckpt(
        "plan-recovery", f"{by_spark}/checkpoint", "--sink", f"{by_spark}/output", "--format", "json", *options
    )
    assert json.loads(sink.out)["restart"]["batch_id"] == max(done["batches"]) + 1


def copied(server: ObjectServer, bucket: str, target: Path) -> None:
    """All files, with the times that the store gave them."""
    for name, modified_ms in server.times(bucket).items():
        path = target / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body_of(server, bucket, name))
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))


def body_of(server: ObjectServer, bucket: str, name: str) -> bytes:
    """By the plainest of means, which are not ours."""
    if isinstance(server, S3Server):
        found: bytes = server.client().get_object(Bucket=bucket, Key=name)["Body"].read()
        return found
    answer = requests.get(f"{server.address}/webhdfs/v1/{bucket}/{name}?op=OPEN", timeout=60)
    answer.raise_for_status()
    return answer.content
