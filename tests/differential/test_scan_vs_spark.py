"""`ckpt scan --engine spark`: what the workers of a cluster tell is what this process tells."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.conftest import run_ckpt
from tests.differential.on_spark import HERE, WORKERS, run_on_spark
from tests.parts.proxy import Proxy
from tests.parts.spark import ensure_spark
from tests.parts.stores import ObjectServer
from tests.samples.place import place_sample, sample_names

pytestmark = pytest.mark.spark

VERSION = "4.2.0"
KEY, SECRET = "GIVENKEY", "planted/secret+key="


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every sample, one whose newest offsets are a link that leads out, and one that looks like a checkpoint."""
    root = tmp_path_factory.mktemp("fleet")
    for name in sample_names():
        place_sample(name, root / name)
    place_sample("4.2.0-file-to-parquet-sound", root / "linked")
    newest = root / "linked/checkpoint/offsets/4"
    outside = tmp_path_factory.mktemp("elsewhere") / "4"
    newest.rename(outside)
    newest.symlink_to(outside)
    (root / "hollow").mkdir()
    for name in ("metadata", "offsets", "commits"):
        (root / "hollow" / name).write_text("{}")
    return root


def told(out: str) -> dict[str, Any]:
    """All but what the clock says; the ages of all checkpoints are counted from one moment."""
    whole: dict[str, Any] = json.loads(out)
    ages = [(one["newest_ms"], one.pop("age_ms")) for one in whole["checkpoints"]]
    assert len({newest + age for newest, age in ages if age}) == 1
    assert all(age is None for newest, age in ages if newest is None)
    return whole


def check_alike(fleet: Path, version: str, master: str) -> None:
    """By a relative path: workers do not stand where the driver does."""
    arguments = ["scan", fleet.name, "--format", "json"]
    here = run_ckpt(*arguments, cwd=fleet.parent)
    there = run_on_spark(version, master, *arguments, "--engine", "spark", cwd=fleet.parent)
    assert there.code == here.code == 1, there.err[-3000:]
    assert told(there.out) == told(here.out)
    verdicts = {one["verdict"] for one in told(here.out)["checkpoints"]}
    assert verdicts >= {"error", "unknown", "warning", "sound"}


def test_the_workers_tell_what_we_tell(fleet: Path) -> None:
    check_alike(fleet, VERSION, HERE)


@pytest.mark.at_length
@pytest.mark.parametrize("version", ["3.5.7", VERSION])
def test_workers_that_stand_elsewhere_tell_what_we_tell(fleet: Path, version: str) -> None:
    check_alike(fleet, version, WORKERS)


@pytest.fixture
def s3(object_server: Callable[[str], ObjectServer], fleet: Path, tmp_path: Path) -> Iterator[tuple[Proxy, str]]:
    server = object_server("s3")
    names = [name for name in sample_names() if name.startswith("4.2.0-file-to-parquet")]
    for name in names:
        shutil.copytree(fleet / name / "checkpoint", tmp_path / "few" / name)
    with Proxy(server) as proxy:
        yield proxy, server.put(tmp_path / "few", f"b{uuid4().hex}")


@pytest.mark.at_length
@pytest.mark.parametrize("master", [HERE, WORKERS])
def test_the_workers_ask_a_store_in_the_name_that_was_given(s3: tuple[Proxy, str], tmp_path: Path, master: str) -> None:
    proxy, url = s3
    file = tmp_path / "options.json"
    file.write_text(json.dumps({"key": KEY, "secret": SECRET, "endpoint_url": proxy.address}))
    file.chmod(0o600)
    arguments = ["--debug", "scan", url, "--format", "json", "--storage-options-file", str(file)]
    proxy.requests.clear()
    here = run_ckpt(*arguments)
    alone = proxy.kinds()
    proxy.requests.clear()
    there = run_on_spark(VERSION, master, *arguments, "--engine", "spark")
    assert there.code == here.code == 1, there.err[-3000:]
    assert told(there.out) == told(here.out)
    assert {f"Credential={KEY}/" in one.headers.get("authorization", "") for one in proxy.requests} == {True}
    checkpoints = len(told(here.out)["checkpoints"])
    assert proxy.kinds() == {**alone, "LIST": alone["LIST"] + checkpoints}
    assert KEY not in there.out + there.err
    assert SECRET not in there.out + there.err


def test_the_workers_read_under_the_limits_that_were_given(fleet: Path) -> None:
    arguments = ["scan", str(fleet), "--format", "json", "--read-limit", "offsets=10"]
    here = run_ckpt(*arguments)
    there = run_on_spark(VERSION, HERE, *arguments, "--engine", "spark")
    assert there.code == here.code
    assert told(there.out) == told(here.out)
    shown = json.loads(there.out)["checkpoints"]
    assert sum("unreadable" in {found["id"] for found in one["findings"]} for one in shown) > len(shown) / 2


@pytest.mark.at_length
def test_workers_without_ckpttool_are_told_in_a_line(fleet: Path, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {ensure_spark(VERSION)} "$@"\n')
    bare.chmod(0o755)
    arguments = ["scan", str(fleet), "--engine", "spark", "--format", "json"]
    outcome = run_on_spark(VERSION, HERE, *arguments, cwd=tmp_path, environment={"PYSPARK_PYTHON": str(bare)})
    assert outcome.code == 5
    assert json.loads(outcome.out)["error"]["message"] == (
        "Spark gave up: ModuleNotFoundError: No module named 'ckpttool'"
    )
    assert outcome.err.rstrip().splitlines()[-2].startswith("ckpt: Spark gave up: ModuleNotFoundError")
