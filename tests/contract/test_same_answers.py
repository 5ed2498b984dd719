"""A checkpoint in a store of objects gets the same answers as on local disk: byte for byte, but for its path."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.conftest import AT_LENGTH, HEAVY, Outcome, run_ckpt
from tests.parts.stores import SERVERS, ObjectServer, S3Server
from tests.samples.place import about, place_sample, sample_names

COMMANDS = [["inspect"], ["plan-recovery", "--state", "quick"], ["log"]]
OF_STATE = [["plan-recovery", "--state", "full"], ["state", "list"], ["state", "verify"], ["state", "count"]]
STATEFUL = ("windowed-agg", "dedup", "join")
CHOSEN = [
    "2.3.1-file-to-json-sound",
    "2.4.8-dstreams-sound",
    "3.5.7-continuous-to-noop-sound",
    "3.5.7-delta-to-delta-sound",
    "3.5.7-file-compacted-sound",
    "4.2.0-dedup-rocksdb-sound",
    "4.2.0-file-to-parquet-crashed-after-offset-log",
    "4.2.0-file-to-parquet-metadata-missing",
    "4.2.0-file-to-parquet-offset-file-empty",
    "4.2.0-file-to-parquet-offset-log-hole",
    "4.2.0-join-hdfs-sound",
    "4.2.0-real-time-kafka-to-kafka-sound",
    "4.2.0-windowed-agg-to-parquet-crashed-between-state-commits",
]
# Hadoop's checksums matter on a local disk only.
LOCAL_MATTER = {"4.2.0-file-to-parquet-orphan-crc"}
NAMES = sorted(set(sample_names()) - LOCAL_MATTER) if os.environ.get("ALL_SAMPLES") else CHOSEN
GATING = {
    "3.5.7-delta-to-delta-sound",
    "4.2.0-dedup-rocksdb-sound",
    "4.2.0-file-to-parquet-offset-log-hole",
}


def cases() -> Iterator[Any]:
    for kind in (*SERVERS, *HEAVY):
        for name in NAMES:
            gates = kind in SERVERS and name in GATING
            marks = () if gates else (pytest.mark.storage,) if kind in SERVERS else AT_LENGTH
            yield pytest.param(kind, name, marks=marks, id=f"{kind}-{name}")


def without_the_place(outcome: Outcome, root: str) -> str:
    """What else follows from the path: commands for the shell, ids made up from it, checksums beside local files.
    And what follows from the second in which one looks."""
    answer = json.loads(re.sub(r"is \d+ s old", "is some seconds old", outcome.out.replace(root, "ROOT")))
    for option in answer.get("options", ()):
        option["steps"] = [step for step in option["steps"] if not (step.get("path") or "").endswith(".crc")]
        for step in option["steps"]:
            step.pop("shell", None)
            if step.get("path") == "metadata" and "content" in step:
                step["content"] = re.sub(r"[0-9a-f-]{36}", "an id", step["content"])
                del step["sha256"]
    return json.dumps(answer, indent=1)


@pytest.mark.parametrize(("kind", "name"), [*cases()])
def test_every_command_answers_as_on_the_local_disk(
    object_server: Callable[[str], ObjectServer], tmp_path: Path, kind: str, name: str
) -> None:
    server = object_server(kind)
    place_sample(name, tmp_path / name)
    bucket = f"b{uuid4().hex}"
    url = server.put(tmp_path / name, bucket)
    for key, modified_ms in server.times(bucket).items():  # a store has times of its own
        if (tmp_path / name / key).is_file():
            os.utime(tmp_path / name / key, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))
    options = [part for pair in server.options.items() for part in ("--storage-option", "=".join(pair))]
    checkpoint = about(name)["checkpoint"]
    for command in [*COMMANDS, *(OF_STATE if any(one in name for one in STATEFUL) else [])]:
        local = run_ckpt(*command, f"{tmp_path / name}/{checkpoint}", "--format", "json")
        there = run_ckpt(*command, f"{url}/{checkpoint}", "--format", "json", *options)
        assert there.code == local.code, there.err
        assert without_the_place(there, url) == without_the_place(local, str(tmp_path / name)), command


RUBBISH = {
    "checkpoint/offsets/.3.0a1b.tmp": b"v1",
    "checkpoint/commits/.2.0a1b.tmp": b"",
    "checkpoint/_temporary/0/_temporary/attempt_1/part-0": b"x",
    "checkpoint/__magic/job-1/tasks/attempt_1/__base/part-0.pending": b"{}",
}
MARKS = ["checkpoint/", "checkpoint/offsets/", "checkpoint/commits/", "checkpoint/sources/0/"]


@pytest.mark.parametrize("kind", SERVERS)
def test_what_clients_leave_behind_changes_no_answer(
    object_server: Callable[[str], ObjectServer], tmp_path: Path, kind: str
) -> None:
    """Temporary files of renames and committers, marks of directories, and on S3 older versions of objects."""
    server = object_server(kind)
    name, bucket = "4.2.0-kafka-to-kafka-sound", f"b{uuid4().hex}"
    place_sample(name, tmp_path / name)
    for path, body in RUBBISH.items():
        (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / path).write_bytes(body)
    url = server.put(tmp_path / name, bucket)
    if isinstance(server, S3Server):
        client = server.client()
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        for key in ("checkpoint/offsets/3", "checkpoint/commits/3"):
            client.put_object(Bucket=bucket, Key=key, Body=b"an older version")
            client.delete_object(Bucket=bucket, Key=key)
    if server.protocol != "abfs":  # there a mark has the name of the directory, and azurite has no other
        server.put_objects(bucket, [(mark, b"") for mark in MARKS])
    options = [part for pair in server.options.items() for part in ("--storage-option", "=".join(pair))]
    for command in COMMANDS:
        local = run_ckpt(*command, f"{tmp_path / name}/checkpoint", "--format", "json")
        there = run_ckpt(*command, f"{url}/checkpoint", "--format", "json", *options)
        assert (there.code, timeless(there, url)) == (local.code, timeless(local, str(tmp_path / name))), command


def timeless(outcome: Outcome, root: str) -> str:
    """Without what follows from when the objects were put there."""
    return re.sub(r'"(modified|committed|planned)_ms": \d+', "", without_the_place(outcome, root))
