"""`ckpt scan`: which directories are checkpoints, and in what order they are told."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ckpttool.fleet.scan import Scan, Sighting
from tests.conftest import run_ckpt
from tests.parts.proxy import Proxy
from tests.parts.stores import SERVERS, ObjectServer

PLACED = {
    "orders": "4.2.0-file-to-parquet-sound",
    "deep/er/clicks": "4.2.0-windowed-agg-hdfs-sound",
    "broken": "4.2.0-file-to-parquet-offset-file-cut",
    "table/_checkpoints/q": "4.2.0-kafka-to-kafka-sound",
}


@pytest.fixture(scope="module")
def fleet(sample: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fleet")
    for place, name in PLACED.items():
        shutil.copytree(sample(name) / "checkpoint", root / place)
    for path in ("table/_delta_log/0.json", "table/date=1/offsets/0", "table/date=1/metadata", "docs/readme", "file"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("{}")
    return root


def scanned(url: str, *arguments: str) -> list[dict[str, Any]]:
    outcome = run_ckpt("scan", url, "--format", "jsonl", *arguments)
    assert outcome.code == 1, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_every_checkpoint_has_a_line_and_the_worst_comes_first(fleet: Path) -> None:
    lines = scanned(str(fleet))
    assert {str(line["checkpoint"]).removeprefix(f"{fleet}/") for line in lines} == set(PLACED)
    assert [line["verdict"] for line in lines] == ["error", "sound", "sound", "sound"]
    assert lines[0]["checkpoint"] == f"{fleet}/broken"


@pytest.mark.parametrize("place", PLACED)
def test_a_line_says_what_inspect_says(fleet: Path, place: str) -> None:
    (line,) = (line for line in scanned(str(fleet)) if line["checkpoint"] == f"{fleet}/{place}")
    inspected = run_ckpt("inspect", f"{fleet}/{place}", "--format", "json")
    told = json.loads(inspected.out)
    assert line["query_id"] == told["query"]["id"]
    assert line["exit_code"] == inspected.code
    assert line["last_offset_batch"] == told["last_offset_batch"]
    assert line["last_commit_batch"] == told["last_commit_batch"]
    assert line["next_batch"] == {
        **{key: told["next_batch"][key] for key in ("outcome", "batch_id")},
        "not_looked_at": [one["part"] for one in told["next_batch"]["not_looked_at"]],
    }
    assert [one["id"] for one in line["findings"]] == [one["id"] for one in told["findings"]]


def test_depth_ends_the_search(fleet: Path) -> None:
    outcome = run_ckpt("scan", str(fleet), "--depth", "1", "--format", "json")
    found = {one["checkpoint"] for one in json.loads(outcome.out)["checkpoints"]}
    assert found == {f"{fleet}/orders", f"{fleet}/broken"}


def test_a_checkpoint_itself_is_found(fleet: Path) -> None:
    outcome = run_ckpt("scan", f"{fleet}/orders", "--depth", "0")
    assert outcome.code == 0
    assert "1 checkpoint: 1 sound." in outcome.out


def test_nothing_found_and_nothing_there_are_not_found(fleet: Path) -> None:
    assert run_ckpt("scan", f"{fleet}/docs").code == 4
    assert run_ckpt("scan", f"{fleet}/nowhere").code == 4


@pytest.mark.parametrize(
    ("codes", "whole"), [((), 4), ((0, 0), 0), ((0, 3), 3), ((3, 5), 5), ((0, 4), 5), ((6, 3), 5), ((5, 1, 0), 1)]
)
def test_the_worst_decides_the_exit_status(codes: tuple[int, ...], whole: int) -> None:
    """A checkpoint that is gone when it is looked at was not reached."""
    assert Scan("x", [Sighting(f"x/{number}", code) for number, code in enumerate(codes)]).exit_code == whole


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_without_pyspark_the_spark_engine_is_refused(fleet: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    for name in [name for name in sys.modules if name.startswith("pyspark.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "ckpttool.spark.scan", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    outcome = run_ckpt("scan", str(fleet), "--engine", "spark", "--format", form)
    assert outcome.code == 6
    assert "--engine spark needs pyspark" in outcome.err
    assert "pip install pyspark" in outcome.err
    assert form != "json" or json.loads(outcome.out)["error"]["exit_code"] == 6


@pytest.mark.extras
@pytest.mark.parametrize("kind", SERVERS)
def test_stores_of_objects_tell_the_same_in_few_requests(
    object_server: Callable[[str], ObjectServer], fleet: Path, kind: str
) -> None:
    server = object_server(kind)
    with Proxy(server) as proxy:
        url = server.put(fleet, f"b{uuid4().hex}")
        options = [part for pair in proxy.options.items() for part in ("--storage-option", "=".join(pair))]
        there = scanned(url, *options)
        assert proxy.kinds()["LIST"] <= 8 + 2 * len(PLACED)
        assert set(proxy.kinds()) == {"LIST", "GET"}
    assert timeless(there, url) == timeless(scanned(str(fleet)), str(fleet))


def timeless(lines: list[dict[str, object]], root: str) -> dict[str, dict[str, object]]:
    """A store has times of its own: what was just put there looks alive."""
    found = {}
    for line in lines:
        findings = [one for one in line["findings"] if one["id"] != "looks-alive"]  # type: ignore[attr-defined]
        kept = {key: line[key] for key in ("query_id", "mode", "last_offset_batch", "last_commit_batch", "next_batch")}
        found[str(line["checkpoint"]).removeprefix(root)] = {**kept, "code": line["exit_code"], "findings": findings}
    return found


@pytest.mark.parametrize("target", ["checkpoint", "nothing"])
def test_a_link_that_leads_out_is_told_and_not_followed(
    sample: Callable[[str], Path], tmp_path: Path, target: str
) -> None:
    shutil.copytree(sample("4.2.0-kafka-to-kafka-sound") / "checkpoint", tmp_path / "elsewhere" / "checkpoint")
    shutil.copytree(tmp_path / "elsewhere" / "checkpoint", tmp_path / "scanned" / "real")
    (tmp_path / "scanned" / "link").symlink_to(tmp_path / "elsewhere" / target)
    (tmp_path / "scanned" / "same").symlink_to("real")
    outcome = run_ckpt("scan", str(tmp_path / "scanned"), "--format", "json")
    told = {Path(one["checkpoint"]).name: one for one in json.loads(outcome.out)["checkpoints"]}
    assert {name: one["verdict"] for name, one in told.items()} == {"link": "unknown", "real": "sound", "same": "sound"}
    assert outcome.code == 3
    assert "not followed" in told["link"]["error"]["message"]
