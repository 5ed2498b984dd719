"""Inputs that were built to cost much are answered, each in bounded memory and work, through every door to them.

The command runs in a child whose memory is measured, and whose processor time ends if its work has no bound."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests import attacks
from tests.attacks import ATTACKS, INSPECT, PLAN, SCAN, TO_SINK, VERIFY, Attack, cost_of
from tests.conftest import run_ckpt
from tests.samples.place import place_sample

pytestmark = pytest.mark.extras

BY_NAME = {attack.name: attack for attack in ATTACKS}
# What takes minutes to write is left to benchmarks/budgets.py.
LONG = ("300,000", "becomes 2 GB", "20 commits")
QUICK = [attack for attack in ATTACKS if not any(words in attack.name for words in LONG)]
# Of each, what opens the thing and what opens most.
CHOSEN = (INSPECT, PLAN, TO_SINK, VERIFY, attacks.COUNT)
TOLD = {
    "60 MB of zeros as offsets": "offsets=62914560",
    "offsets of 200,000 lines": "lines=",
    "half a million settings": "settings=500000",
    "12 MB of small arrays as an offset": "values=",
    "a table of 1 TB that its snapshot names": "state=1099511627776",
    "zstd that becomes 500 MB": "unpacked=",
    "LZ4 that becomes 1 GB": "unpacked=",
    "a gigantic line in a Delta log": "values=",
}


@pytest.mark.parametrize("attack", QUICK, ids=[attack.name for attack in QUICK])
def test_it_is_answered_in_bounded_memory_and_work(attack: Attack, tmp_path: Path) -> None:
    checkpoint = attack.build(tmp_path)
    for command in attack.commands:
        if command in CHOSEN:
            cost = cost_of(command, checkpoint)
            assert cost.is_answered, (command, cost)


@pytest.mark.parametrize("name", TOLD)
def test_the_limit_is_named_with_the_option_that_lifts_it(name: str, tmp_path: Path) -> None:
    attack = BY_NAME[name]
    checkpoint = attack.build(tmp_path)
    shown = [run_ckpt(*(word.replace("{}", str(checkpoint)) for word in command)) for command in attack.commands[:4]]
    assert any(f"--read-limit {TOLD[name]}" in one.out + one.err for one in shown)


def test_a_directory_of_300_000_names(tmp_path: Path) -> None:
    checkpoint = BY_NAME["300,000 names in offsets"].build(tmp_path)
    cost = cost_of(INSPECT, checkpoint)
    assert cost.is_answered
    beyond = run_ckpt("inspect", str(checkpoint), "--read-limit", "names=1000", "--format", "json")
    assert beyond.code == 3
    (told,) = [one for one in json.loads(beyond.out)["findings"] if one["path"] == "offsets"]
    assert "--read-limit names=" in told["message"]


IN_AVRO = list(attacks.in_avro())
OF_ROWS = list(attacks.rows())
# What is more than is read of it. Two rows of lists are, of which a table looks at both before it shows one.
TOO_MUCH = {
    ("62 MB", "text"): "--read-limit row=629145",
    ("62 MB", "csv"): "--read-limit row=629145",
    ("4 MB of empty lists", "text"): "--read-limit items=4000000",
    ("4 MB of flags", "text"): "--read-limit items=4000000",
    ("4 MB of flags", "csv"): "--read-limit items=4000000",
}


@pytest.mark.parametrize("attack", IN_AVRO, ids=[attack.name for attack in IN_AVRO])
def test_lengths_in_avro_that_nothing_stands_behind_are_findings(attack: Attack, tmp_path: Path) -> None:
    checkpoint = attack.build(tmp_path)
    cost = cost_of((*attacks.ROWS, "--format", "json"), checkpoint)
    assert cost.peak_bytes < 64 * 2**20
    shown = run_ckpt("state", "rows", str(checkpoint), "--format", "json")
    assert (cost.code, shown.code) == (1, 1)
    (told,) = json.loads(shown.out)["findings"]
    assert told["path"] == "state/0/0"


@pytest.mark.parametrize("attack", OF_ROWS, ids=[attack.name for attack in OF_ROWS])
def test_rows_are_shown_up_to_the_size_that_they_may_have(attack: Attack, tmp_path: Path) -> None:
    checkpoint = attack.build(tmp_path)
    for form in ("text", "csv"):
        cost = cost_of((*attacks.ROWS[:-1], "1", "--format", form), checkpoint)
        told = ((option, of) for (name, of), option in TOO_MUCH.items() if attack.name.startswith(name))
        over = next((option for option, of in told if of == form), None)
        assert cost.is_answered
        assert (cost.code, over is None or over in cost.said) == (int(over is not None), True), form


def test_no_plan_is_made_of_a_step_for_each_of_very_many_files(tmp_path: Path) -> None:
    checkpoint = attacks.many(attacks.FILE, "../output/_spark_metadata", count=12_000)(tmp_path)
    planned = run_ckpt("plan-recovery", str(checkpoint), "--sink", f"{checkpoint}/../output")
    assert planned.code == 1
    assert "entries of its log would have to go" in planned.out
    assert len(planned.out) < 20_000


def test_one_bad_checkpoint_leaves_the_others_answered(tmp_path: Path) -> None:
    for name in ("60 MB of small arrays as a commit", "offsets of 2 million lines", "1 TB of holes as metadata"):
        BY_NAME[name].build(tmp_path / name)
    place_sample(attacks.FILE, tmp_path / "sound")
    cost = cost_of((*SCAN, "--format", "jsonl"), tmp_path / "sound")
    assert cost.is_answered
    codes = {Path(one["checkpoint"]).parent.name: one["exit_code"] for one in sightings(cost.said)}
    assert codes.pop("sound") == 0
    assert len(codes) == 3
    assert 0 not in codes.values()


def sightings(lines: str) -> list[dict[str, Any]]:
    return [one for one in map(json.loads, lines.splitlines()) if "checkpoint" in one]


def test_an_option_lifts_a_limit_and_says_which_there_are(tmp_path: Path) -> None:
    root = place_sample(attacks.FILE, tmp_path)
    low = run_ckpt("inspect", str(root), "--read-limit", "offsets=10", "--format", "json")
    assert low.code == 3
    assert {one["id"] for one in json.loads(low.out)["findings"]} == {"unreadable"}
    assert run_ckpt("inspect", str(root), "--read-limit", "offsets=100000").code == 0
    assert run_ckpt("inspect", str(root)).code == 0
    unknown = run_ckpt("inspect", str(root), "--read-limit", "ofsets=1")
    assert unknown.code == 2
    assert "sink-log" in unknown.err
    assert run_ckpt("inspect", str(root), "--read-limit", "offsets=-1").code == 2


# -- an endpoint that lists for ever -----------------------------------------------------------------------------------


class ListsForEver(BaseHTTPRequestHandler):
    """Of S3: each page has another one after it. `per_page`: how many names."""

    per_page = 1000
    asked = 0

    def do_GET(self) -> None:
        kind = type(self)
        kind.asked += 1
        first = kind.asked * kind.per_page
        keys = "".join(
            f"<Contents><Key>ck/offsets/{first + number}</Key><Size>1</Size><ETag>x</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for number in range(kind.per_page)
        )
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{kind.asked}</NextContinuationToken>"
        body = f"<ListBucketResult><Name>b</Name>{more}{keys}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Tests have nothing to say."""


@pytest.fixture(params=[1000, 0])
def for_ever(request: pytest.FixtureRequest) -> Iterator[tuple[str, type[ListsForEver]]]:
    handler = type("Handler", (ListsForEver,), {"per_page": request.param})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_that_lists_for_ever_is_left(for_ever: tuple[str, type[ListsForEver]]) -> None:
    address, handler = for_ever
    given = (f"endpoint_url={address}", "key=k", "secret=s")
    options = [word for one in given for word in ("--storage-option", one)]
    limits = ("--read-limit", "names=20000", "--read-limit", "pages=50")
    cost = cost_of(("inspect", "s3://b/ck", "--listing", "full", *options, *limits), "")
    assert cost.is_answered
    assert cost.code == 3
    assert "--read-limit names=" in cost.said or "--read-limit pages=" in cost.said
    assert handler.asked < 300
