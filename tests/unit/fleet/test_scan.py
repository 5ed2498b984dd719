"""Which directories are looked into, which are checkpoints, and in what order they are told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ckpttool.fleet.scan import Scan, Sighting, scan_checkpoints
from ckpttool.formats.layout import OWN_DIRECTORY
from ckpttool.storage.objects import ObjectStore
from ckpttool.storage.remote import Backend
from ckpttool.storage.store import open_store
from tests.builders import build
from tests.conftest import run_ckpt
from tests.parts.bucket import ManyObjects
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


@pytest.mark.parametrize(
    ("codes", "whole"), [((), 4), ((0, 0), 0), ((0, 3), 3), ((3, 5), 5), ((0, 4), 5), ((6, 3), 5), ((5, 1, 0), 1)]
)
def test_the_worst_decides_the_exit_status(codes: tuple[int, ...], whole: int) -> None:
    """A checkpoint that is gone when it is looked at was not reached."""
    assert Scan("x", [Sighting(f"x/{number}", code) for number, code in enumerate(codes)]).exit_code == whole


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


def found_below(root: Path, *arguments: str) -> tuple[set[str], dict[str, Any]]:
    """The checkpoints that were found, and where nobody looked."""
    told = json.loads(run_ckpt("scan", str(root), "--format", "json", *arguments).out)
    found = {one["checkpoint"].removeprefix(f"{root}").lstrip("/") for one in told["checkpoints"]}
    return found, told["not_looked_into"]


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    def put(*paths: str) -> Path:
        for path in paths:
            build(tmp_path / path, "k0-10 c")
        return tmp_path

    return put


def test_checkpoints_lie_in_checkpoints_too(place: Callable[..., Path]) -> None:
    root = place("", "orders", "orders/late", "orders/a/b/c")
    assert found_below(root)[0] == {"", "orders", "orders/late", "orders/a/b/c"}
    assert found_below(root / "orders")[0] == {"", "late", "a/b/c"}


def test_the_parts_of_a_checkpoint_are_its_own(place: Callable[..., Path]) -> None:
    root = place("orders", "orders/sources/0/q", "orders/state/0/q")
    found, left = found_below(root)
    assert found == {"orders"}
    assert left["beyond_depth_count"] == 0


def test_hidden_directories_hold_checkpoints_but_for_those_of_tables_and_what_was_deleted(
    place: Callable[..., Path],
) -> None:
    hidden = (".checkpoints/q", "_queries/q", "table/_ck/q", "table/.ck/q", "table/checkpoint")
    root = place(
        *hidden,
        ".Trash/q",
        f"{hidden[0]}/{OWN_DIRECTORY}/applies/1",
        "_temporary/q",
        "table/_delta_log/q",
        "table/_change_data/q",
        "table/data/q",
    )
    assert found_below(root)[0] == set(hidden)


def test_what_the_depth_cuts_off_is_named(place: Callable[..., Path]) -> None:
    root = place("near", "a/b/far", "a/c/far", "near/x/y")
    found, left = found_below(root, "--depth", "1")
    assert found == {"near"}
    assert (left["depth"], left["beyond_depth_count"]) == (1, 3)
    assert {url.removeprefix(f"{root}/") for url in left["beyond_depth"]} == {"a/b", "a/c", "near/x"}
    assert found_below(root, "--depth", "2")[1]["beyond_depth_count"] == 3
    assert found_below(root, "--depth", "3")[0] == {"near", "a/b/far", "a/c/far", "near/x/y"}


def test_partitions_are_passed_over_and_it_is_said_where(place: Callable[..., Path]) -> None:
    root = place("plain/date=1/q", "plain/date=2/q", "env/team=x/q", "table/_delta_log", "table/date=1/q", "ok")
    found, left = found_below(root)
    assert "ok" in found
    assert not any("=" in path for path in found)
    assert left["with_partitions_count"] == 2
    assert set(left["with_partitions"]) == {f"{root}/plain", f"{root}/env"}, "what a table holds is no riddle"
    assert found_below(root / "env" / "team=x")[0] == {"q"}


def test_a_checkpoint_of_dstreams_is_not_looked_into(sample: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(sample("2.4.8-dstreams-sound") / "checkpoint", tmp_path / "dstreams")
    build(tmp_path / "dstreams" / "receivedData" / "q", "k0-10 c")
    assert found_below(tmp_path)[0] == {"dstreams"}


def test_of_each_is_told_what_it_reads_and_the_table_that_it_lies_in(sample: Callable[[str], Path]) -> None:
    root = sample("4.2.0-kafka-to-delta-sound")
    (one,) = scan_checkpoints(open_store(str(root)), 4, 0, lambda *_: None).sightings
    assert [kind for kind, _ in one.sources] == ["kafka"]
    assert one.sink == ("delta", f"{root}/table")


def test_the_nearest_table_around_counts(place: Callable[..., Path]) -> None:
    root = place("out/_spark_metadata", "out/_ck/t/_delta_log", "out/_ck/t/_q", "out/_ck/q", "beside")
    scan = scan_checkpoints(open_store(str(root)), 4, 0, lambda *_: None)
    assert {one.url.removeprefix(f"{root}/"): one.sink for one in scan.sightings} == {
        "out/_ck/t/_q": ("delta", f"{root}/out/_ck/t"),
        "out/_ck/q": ("file", f"{root}/out"),
        "beside": None,
    }


@pytest.mark.parametrize(("more", "listings"), [((), 2), (("kept/here",), 4)])
def test_a_checkpoint_costs_no_request_for_what_is_not_in_it(
    sample: Callable[[str], Path], more: tuple[str, ...], listings: int
) -> None:
    """`more`: directories in it that are none of its parts; each is looked into, and what it leads to."""
    files = files_of(sample("4.2.0-file-to-parquet-sound") / "checkpoint")
    fleet = 20
    bodies = {f"ck/q{number}/{path}": body for number in range(fleet) for path, body in files.items()}
    bodies |= {f"ck/q{number}/{path}/file": b"" for number in range(fleet) for path in more}
    bucket = ManyObjects(bodies)
    scan = scan_checkpoints(ObjectStore("s3://b/ck", Backend(), bucket, ["ck"]), 4, 0, lambda *_: None)
    assert len(scan.sightings) == fleet
    assert bucket.asked.count("LIST") == 1 + listings * fleet


def files_of(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
