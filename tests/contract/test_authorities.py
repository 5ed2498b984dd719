"""Whatever a file says of a place: no name is resolved and no byte sent to anybody whom the user did not type.

Every place of every format that can hold a URL gets one of every kind, and every command is run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ckpttool.model import FileLogEntry, SinkFileEntry
from tests.builders import build
from tests.conftest import run_ckpt
from tests.encoders import encode_sink_log, encode_source_log
from tests.parts.recorder import recorded
from tests.samples.place import place_sample
from tests.test_docs import ROOT
from tests.unit.laws.inputs.places import Place, offset
from tests.unit.report.test_renderers import FORMS, named

KINDS = (
    "webhdfs://{}.invalid:9870/x",
    "hdfs://{}.invalid:8020/x",
    "swebhdfs://{}.invalid/x",
    "abfss://c@{}.dfs.core.windows.net/x",
    "wasbs://c@{}.blob.core.windows.net/x",
    "s3a://{}/x",
    "gs://{}/x",
    "http://{}.invalid/x",
    "https://user:word@{}.invalid/x",
    "ftp://{}.invalid/x",
    "sftp://{}.invalid/x",
    "smb://{}.invalid/share/x",
    "dbfs://{}.invalid/x",
    "github://o:{}@main/x",
    "file://{}.invalid/share/x",
    "//{}.invalid/share/x",
    r"\\{}.invalid\share\x",
    "zip://x::http://{}.invalid/a.zip",
    "simplecache::https://{}.invalid/x",
    "jar:http://{}.invalid/a.jar!/x",
)
# Unprefixed ones would do for every protocol, and the others say that their stores may be asked.
OPTIONS = ("token=TOKEN", "user=spark", "s3:anon=true", "abfs:anon=true", "gs:token=anon", "ftp:timeout=1")


def urls(place: str, suffix: str = "") -> list[str]:
    return [kind.format(f"{place}-{number}") + suffix for number, kind in enumerate(KINDS)]


# -- checkpoints and what lies beside them -----------------------------------------------------------------------------


def file_query(root: Path) -> tuple[str, ...]:
    """A batch of a file source that runs again, into a file sink."""
    checkpoint = build(root / "ck", "f0 c | f1 c | f2")
    named = [FileLogEntry(url, 1, 2) for url in urls("source", "/f.json")]
    (checkpoint / "sources/0/2").write_bytes(encode_source_log(named))
    (checkpoint / "sources/0/9.compact").write_bytes(encode_source_log(named))
    written = [SinkFileEntry(url, 1, 1) for url in urls("sink", "/f.json")]
    for name in ("0", "1", "2.compact"):
        (root / "out/_spark_metadata").mkdir(parents=True, exist_ok=True)
        (root / "out/_spark_metadata" / name).write_bytes(encode_sink_log(written))
    return "--sink", str(root / "out")


def delta_query(root: Path) -> tuple[str, ...]:
    """A batch of a Delta source that runs again, into itself: logs, checkpoints, the pointer name files elsewhere."""
    place = Place(root)
    place.checkpoint.rename(root / "ck")
    place.checkpoint = root / "ck"
    place.ran()
    (root / "ck/commits/1").unlink()
    vectors = [{"storageType": "p", "pathOrInlineDv": url} for url in urls("vector")]
    adds = [
        {"add": {"path": url, "dataChange": True, "deletionVector": vector}}
        for url, vector in zip(urls("add", "/f.parquet"), vectors, strict=True)
    ]
    clone = {"location": urls("location")[0], "path": urls("location")[7]}
    others = [{"cdc": {"path": url}} for url in urls("cdc")] + [{"remove": {"path": url}} for url in urls("remove")]
    place.commit(4, {"metaData": {"id": "x", **clone}}, *adds, operation="CLONE")
    place.commit(5, *others)
    place.checkpoint_log(3, *({"sidecar": {"path": url, "sizeInBytes": 1}} for url in urls("sidecar")), *adds)
    (place.log / "_last_checkpoint").write_text(
        json.dumps(
            {"version": 3, "v2Checkpoint": {"path": urls("last")[0], "sidecarFiles": [{"path": urls("last")[7]}]}}
        )
    )
    return "--sink", str(place.table), "--option", f"path={place.table}"


def iceberg_query(root: Path) -> tuple[str, ...]:
    build(root / "ck", "k0-10 c | k10-20")
    metadata = root / "table/metadata"
    metadata.mkdir(parents=True)
    snapshots = [
        {"snapshot-id": number, "timestamp-ms": number, "manifest-list": url, "manifests": [url], "summary": {"x": url}}
        for number, url in enumerate(urls("manifest"), 1)
    ]
    log = [{"metadata-file": url, "timestamp-ms": 1} for url in urls("log")]
    told = {"format-version": 2, "location": urls("table")[7], "current-snapshot-id": 1, "snapshots": snapshots}
    (metadata / "v1.metadata.json").write_text(json.dumps({**told, "metadata-log": log}))
    (metadata / "version-hint.text").write_text(urls("hint")[7])
    return "--sink", str(root / "table")


def state_query(root: Path) -> tuple[str, ...]:
    """RocksDB: what a snapshot names, what operators say of their schemas, and the newest offsets' settings."""
    place_sample("4.2.0-dedup-rocksdb-sound", root / "sample")
    checkpoint = (root / "sample/checkpoint").rename(root / "ck")
    for number, url in enumerate(urls("schema")):
        path = checkpoint / "state/0/_metadata/v2" / str(number)
        path.parent.mkdir(exist_ok=True)
        told = {
            "operatorName": url,
            "operatorPropertiesJson": "{}",
            "stateStoreInfo": [{"stateSchemaFilePaths": [url]}],
        }
        path.write_text(f"v2\n{json.dumps(told)}")
    for path in checkpoint.glob("state/0/*/4.zip"):
        _edit_zip(path, lambda body: body.replace(b'"localFileName":"', b'"localFileName":"' + urls("zip")[7].encode()))
    lines = (checkpoint / "offsets/3").read_text().split("\n")
    settings = {f"spark.hadoop.{number}": url for number, url in enumerate(urls("conf"))}
    said = json.loads(lines[1])
    said["conf"] |= settings | {"spark.sql.streaming.checkpointLocation": urls("conf")[0]}
    lines[1] = json.dumps(said)
    (checkpoint / "offsets/3").write_text("\n".join(lines))
    return ()


def linked_query(root: Path) -> tuple[str, ...]:
    """Links and names that are URLs."""
    checkpoint = build(root / "ck", "k0-10 c | k10-20 c | k20-30")
    for number, url in enumerate(urls("link")):
        (checkpoint / "offsets" / str(number + 3)).symlink_to(url)
        (checkpoint / "sources" / str(number + 3)).symlink_to(url)
    (checkpoint / "state").symlink_to(urls("link")[0])
    (root / "beside").symlink_to(urls("link")[7])
    (checkpoint / "s3a:").mkdir()
    return ()


QUERIES: Mapping[str, Callable[[Path], tuple[str, ...]]] = {
    "files": file_query,
    "delta": delta_query,
    "iceberg": iceberg_query,
    "state": state_query,
    "links": linked_query,
}


def _edit_zip(path: Path, edit: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        bodies = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, body in bodies.items():
            archive.writestr(name, edit(body) if name == "metadata" else body)


WISHES = (
    ("rewind", "--to-batch", "0"),
    ("drop-batch",),
    ("skip-batch",),
    ("query-id", "--new"),
    ("renumber", "--above-sink"),
    ("sink-ledger", "--set", "1"),
    ("watermark", "--set", "2026-11-18T14:00:00Z"),
    ("restore-offsets", "1", "--progress", "{root}/ck/metadata"),
    ("rename-found",),
    ("gc",),
    ("offsets", "--set", "orders=1", "--bootstrap-server", "127.0.0.1:1", "--timeout", "0.1"),
    ("source", "add", "1"),
    ("clone", "{root}/elsewhere", "--new-id"),
    ("fork", "{root}/elsewhere"),
    ("relocate", "{root}/elsewhere"),
)
# `apply` follows a plan, which test_found_plans.py has; the others have histories.
ELSEWHERE = {"apply", "crash-test list", "crash-test replay", "crash-test report", "crash-test run"}


def commands(root: Path, given: tuple[str, ...]) -> Iterator[list[str]]:
    path = str(root / "ck")
    yield from (["plan-recovery", path, *given, *more] for more in ([], ["--state", "full"], ["--to-batch", "0"]))
    yield from (["inspect", path, *more] for more in ([], ["--timeline"], ["--batch", "2"], ["--format", "json"]))
    yield from (["log", path], ["scan", str(root)], ["diff", path, path])
    yield from (["state", one, path] for one in ("list", "size", "verify", "count", "rows"))
    yield ["state", "diff", path, "--batch", "1", "--batch", "2"]
    yield ["state", "get", path, '{"key": "1"}']
    yield ["state", "export", path, str(root / "exported"), "--to", "jsonl"]
    yield ["kafka", "starting-offsets", path]
    yield ["kafka", "diff", path, "--bootstrap-server", "127.0.0.1:1", "--timeout", "0.1"]
    yield ["files", path, "f.json"]
    yield ["check-change", path, "--query", path]
    yield from (["doctor", path, "--profile", profile, *given] for profile in ("quick", "full"))
    yield ["explain", str(root / "checkpoint" / "metadata"), "--checkpoint", path, *given]
    yield ["query", "describe", path]
    yield ["rehearse", path, "--job", str(root / "checkpoint" / "metadata"), "--python", "false"]
    yield from (["undo", path, *more] for more in (["--list"], ["--dry-run"]))
    yield ["unlock", path, "id"]
    for verb, *more in WISHES:
        yield ["plan", verb, path, *(word.format(root=root) for word in more), *given]


def asked_by(words: list[str]) -> list[str]:
    options = [part for option in OPTIONS for part in ("--storage-option", option)]
    asked: list[str] = []
    with recorded(asked.append):
        outcome = run_ckpt(*words, *options)
    assert outcome.code != 70, outcome.err
    assert "Usage:" not in outcome.err, outcome.err
    return asked


@pytest.fixture(autouse=True)
def without_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clouds' clients would ask the machine that they are on for credentials: the user's environment says not to."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")


@pytest.mark.parametrize("query", QUERIES)
def test_nobody_is_asked_but_whom_the_user_typed(tmp_path: Path, query: str) -> None:
    given = QUERIES[query](tmp_path)
    told = {" ".join(words[:2]): asked_by(words) for words in commands(tmp_path, given)}
    assert {words: asked for words, asked in told.items() if asked} == {}


def test_every_command_is_tried(tmp_path: Path) -> None:
    assert {named(words) for words in commands(tmp_path, ())} == FORMS.keys() - ELSEWHERE


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a text in a JSON: what holds it, and under what."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        if isinstance(one, str):
            yield value, key
        else:
            yield from leaves(one)


def planted(body: str, number: int, url: str) -> str | None:
    """The URL in place of text `number` of each line that is JSON; None: no line has so many."""
    lines, found = body.split("\n"), False
    for at, line in enumerate(lines):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        places = list(leaves(told))
        if number < len(places):
            holder, key = places[number]
            holder[key], found = url, True
            lines[at] = json.dumps(told)
    return "\n".join(lines) if found else None


@pytest.mark.parametrize("query", ["files", "delta", "iceberg", "state"])
def test_no_text_of_any_file_leads_anywhere(tmp_path: Path, query: str) -> None:
    """Whatever it is that a text says, a URL stands in its place: one text of every line at a time."""
    given = QUERIES[query](tmp_path)
    for path in [one for one in tmp_path.rglob("*") if one.is_file()]:
        before = path.read_bytes()
        try:
            text = before.decode()
        except UnicodeDecodeError:
            continue
        for number in range(12):
            changed = planted(text, number, urls("planted")[number % 2 * 7])
            if changed is None:
                break
            path.write_text(changed)
            assert asked_by(["plan-recovery", str(tmp_path / "ck"), *given]) == [], path
        path.write_bytes(before)


def test_who_is_pointed_at_is_asked_and_nobody_else(tmp_path: Path) -> None:
    """The recorder sees what there is to be seen."""
    given = file_query(tmp_path)
    asked = asked_by(["plan-recovery", str(tmp_path / "ck"), *given, "--look-at", "webhdfs://source-0.invalid:9870"])
    assert set(asked) == {"source-0.invalid"}


def test_an_installed_command_asks_nobody(tmp_path: Path) -> None:
    """In a process of its own: libraries that were there before the recorder would have their sockets elsewhere."""
    given = file_query(tmp_path)
    (tmp_path / "early").mkdir()
    (tmp_path / "early/sitecustomize.py").write_text(
        "from tests.parts.recorder import recorded\n"
        f"kept = recorded(lambda host: open({str(tmp_path / 'asked')!r}, 'a').write(host + '\\n'))\n"
        "kept.__enter__()\n"
    )
    program = "import sys; from ckpttool.cli import main; main(sys.argv[1:])"
    words = ["plan-recovery", str(tmp_path / "ck"), *given]
    options = [part for option in OPTIONS for part in ("--storage-option", option)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'early'}:{ROOT}"}
    for look_at, hosts in ([], None), (["--look-at", "http://source-7.invalid"], {"source-7.invalid"}):
        ran = subprocess.run(
            [sys.executable, "-c", program, *words, *look_at, *options],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "source-7" in ran.stdout, ran.stderr
        asked = tmp_path / "asked"
        assert (set(asked.read_text().split()) if asked.exists() else None) == hosts


# -- what is sent ------------------------------------------------------------------------------------------------------


@pytest.fixture
def name_node() -> Iterator[tuple[str, list[str]]]:
    """It has nothing, and keeps what it was asked, with the headers."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers}")
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"webhdfs://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("arguments", "is_asked", "gets_it"),
    [
        (["--storage-option", "token=TOKEN"], False, False),
        (["--storage-option", "webhdfs:token=TOKEN"], False, False),
        (["--look-at", "{}"], True, False),
        (["--look-at", "{}", "--storage-option", "token=TOKEN"], True, False),
        (["--look-at", "{}", "--storage-option", "webhdfs:token=TOKEN"], True, True),
    ],
)
def test_credentials_go_where_they_were_meant_for(
    tmp_path: Path, name_node: tuple[str, list[str]], arguments: list[str], is_asked: bool, gets_it: bool
) -> None:
    url, asked = name_node
    checkpoint = build(tmp_path / "ck", "f0 c | f1 c | f2")
    named = [FileLogEntry(f"{url}/in/f.json", 1, 2), FileLogEntry(f"{url}/in/g.json", 1, 2)]
    (checkpoint / "sources/0/2").write_bytes(encode_source_log(named))
    outcome = run_ckpt("plan-recovery", str(checkpoint), *(one.format(url) for one in arguments))
    assert "TOKEN" not in outcome.out + outcome.err
    assert bool(asked) == is_asked
    assert any("TOKEN" in one for one in asked) == gets_it
    assert not any("authorization" in one.lower() for one in asked)


def test_offsets_of_other_kinds_of_sources_are_text(tmp_path: Path) -> None:
    checkpoint = build(tmp_path / "ck", "k0-10 c | k10-20")
    for number, url in enumerate(urls("offset")):
        body = (checkpoint / "offsets/1").read_text().split("\n")
        (checkpoint / f"offsets/{number + 2}").write_text("\n".join([*body[:2], json.dumps({"url": url}), offset(3)]))
    assert asked_by(["plan-recovery", str(checkpoint)]) == asked_by(["inspect", str(checkpoint)]) == []


@pytest.fixture
def leading_on(name_node: tuple[str, list[str]]) -> Iterator[str]:
    """A web server that sends everybody to the one above."""
    there = name_node[0].replace("webhdfs", "http")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            onward = self.path.removeprefix("/own") if self.path.startswith("/own") else f"{there}{self.path}"
            self.send_response(302)
            self.send_header("Location", onward)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://user:TOKEN@127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/ck", "/own/ck", "/own/own/ck"])
def test_a_web_server_leads_on_to_nobody_else(leading_on: str, name_node: tuple[str, list[str]], path: str) -> None:
    outcome = run_ckpt("inspect", f"{leading_on}{path}")
    assert outcome.code == 6
    assert "the server leads on to" in outcome.err
    assert name_node[1] == []
