"""`ckpt doctor`: options, exit statuses, baselines, and entries of the book."""

from __future__ import annotations

import itertools
import json
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpttool.laws.base import Law
from ckpttool.laws.book import every
from tests.builders import EPOCH_MS, build
from tests.conftest import Outcome, run_ckpt

pytestmark = pytest.mark.usefixtures("in_a_place_that_lasts")

BROKEN = "k0-10 c | k10-20 c | lost c"
SOUND = "k0-10 c | k10-20 c | k20-30 c"
ALIVE = ("--now", "2023-11-14T22:16:00Z")  # a few seconds after the newest batch of SOUND
SAMPLE = "4.2.0-file-to-parquet-sound"


def told(*arguments: str) -> dict[str, Any]:
    outcome = run_ckpt("doctor", *arguments, "--format", "json")
    fields: dict[str, Any] = json.loads(outcome.out)
    return {**fields, "code": outcome.code}


def alive(root: Path, *arguments: str) -> Outcome:
    return run_ckpt("doctor", str(build(root, SOUND) if not root.exists() else root), *ALIVE, *arguments)


def test_the_time_is_an_argument(tmp_path: Path) -> None:
    assert EPOCH_MS == 1_700_000_000_000
    root = str(build(tmp_path, SOUND))
    assert (told(root, *ALIVE)["verdict"], told(root)["verdict"]) == ("attention", "fit")


def test_the_exit_status_is_that_of_the_verdict_and_of_what_is_to_fail(tmp_path: Path) -> None:
    assert alive(tmp_path / "a").code == 0
    assert alive(tmp_path / "a", "--fail-on", "warning").code == 1
    broken = str(build(tmp_path / "b", BROKEN))
    assert [run_ckpt("doctor", broken, *more).code for more in ((), ("--fail-on", "never"))] == [1, 0]
    assert run_ckpt("doctor", str(tmp_path / "nowhere")).code == 4
    assert run_ckpt("doctor").code == 2


def test_a_broker_that_does_not_answer_leaves_it_open_and_the_rest_answers(tmp_path: Path) -> None:
    given = ("--bootstrap-server", "127.0.0.1:1", "--timeout", "0.2")
    found = told(str(build(tmp_path, SOUND)), *given)
    assert (found["verdict"], found["code"]) in (("unknown", 5), ("unknown", 3), ("unknown", 6))
    results = {one["id"]: one["result"] for one in found["checks"]}
    assert results["offset-aged-out"] == "could_not"
    assert results["previous-offset-missing"] == "passed"


def test_a_sink_that_was_named_is_named_again_in_the_command(sample: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(sample("4.2.0-file-to-parquet-offset-file-cut"), tmp_path / "q")
    sink = str(tmp_path / "q" / "output")
    found = told(str(tmp_path / "q" / "checkpoint"), "--sink", sink, "--option", "kafka.ssl.key.password=hunter2")
    commands = [one["fix"]["command"] for one in found["findings"] if one["fix"] and "command" in one["fix"]]
    assert commands
    assert all(f"--sink {sink}" in one and "hunter2" not in one for one in commands)


def test_the_command_that_it_tells_mends_it(sample: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(sample("4.2.0-file-to-parquet-previous-offset-missing"), tmp_path / "q")
    root, sink = str(tmp_path / "q" / "checkpoint"), str(tmp_path / "q" / "output")
    before = told(root, "--sink", sink)
    assert before["verdict"] == "unfit"
    command = before["findings"][0]["fix"]["command"].split()[1:]
    accepted = [word for id in ("query-stopped", "rows-lost", "rows-twice") for word in ("--accept", id)]
    applied = run_ckpt(*command, "--yes", "--settle", "0s", *accepted)
    assert applied.code == 0, applied.err
    assert told(root, "--sink", sink)["verdict"] in ("fit", "attention")


# -- what is known -----------------------------------------------------------------------------------------------------


def test_what_a_baseline_knows_does_not_count_tomorrow_either(tmp_path: Path) -> None:
    baseline = str(tmp_path / "known.json")
    assert alive(tmp_path / "a", "--write-baseline", baseline, "--fail-on", "warning").code == 1
    assert alive(tmp_path / "a", "--baseline", baseline, "--fail-on", "warning").code == 0
    found = told(str(tmp_path / "a"), *ALIVE, "--baseline", baseline)
    assert [one["by"] for one in found["suppressed"]] == ["baseline"]
    later = told(str(tmp_path / "a"), "--baseline", baseline)
    assert [one["id"] for one in later["not_found"]] == ["looks-alive"]


def test_the_json_is_a_baseline_too(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(alive(tmp_path / "a", "--format", "json").out)
    assert alive(tmp_path / "a", "--baseline", str(tmp_path / "known.json"), "--fail-on", "warning").code == 0


def test_a_baseline_does_not_hide_what_costs_rows(tmp_path: Path) -> None:
    root = str(build(tmp_path / "a", BROKEN))
    (tmp_path / "known.json").write_text(run_ckpt("doctor", root, "--sink", "kafka", "--format", "json").out)
    found = json.loads((tmp_path / "known.json").read_text())
    silent = [one for one in found["findings"] if one["severity"] == "error" and one["spark"] is None]
    again = told(root, "--sink", "kafka", "--baseline", str(tmp_path / "known.json"))
    known = {(one["id"], one["path"]) for one in again["suppressed"]}
    assert not {(one["id"], one["path"]) for one in silent} & known
    named = [word for one in found["findings"] for word in ("--ignore", f"{one['id']}@{one['path']}")]
    assert told(root, "--sink", "kafka", *named)["verdict"] != "unfit"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('{"schema": "ckpt.doctor-baseline/1", "query_id": "another", "findings": []}', "of another checkpoint"),
        ('{"schema": "ckpt.doctor-baseline/1", "findings": [', "no JSON"),
        (
            '{"schema": "ckpt.doctor/1", "findings": [{"id": "nonsense", "path": ".", "fingerprint": "x"}]}',
            "no check has the id",
        ),
    ],
)
def test_what_is_no_baseline_of_this_is_refused(tmp_path: Path, body: str, why: str) -> None:
    (tmp_path / "known.json").write_text(body)
    refused = alive(tmp_path / "a", "--baseline", str(tmp_path / "known.json"))
    assert (refused.code, refused.out) == (2, "")
    assert why in refused.err


def test_ids_that_there_are_not_are_refused(tmp_path: Path) -> None:
    for option in ("--only", "--ignore"):
        refused = alive(tmp_path / "a", option, "nonsense")
        assert (refused.code, "nonsense" in refused.err) == (2, True)


def test_a_baseline_that_cannot_be_written_is_no_bug(tmp_path: Path) -> None:
    refused = alive(tmp_path / "a", "--write-baseline", str(tmp_path / "no" / "where"))
    assert (refused.code, "cannot be written" in refused.err) == (5, True)


# -- the book ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", every(), ids=lambda law: law.id)
def test_every_check_is_explained(law: Law) -> None:
    outcome = run_ckpt("doctor", "--explain", law.id)
    assert (outcome.code, outcome.out.split("\n")[0]) == (0, law.id)
    assert "**Meaning**" in outcome.out or law.title in outcome.out


def test_what_is_no_check_is_not_explained() -> None:
    assert run_ckpt("doctor", "--explain", "nonsense").code == 4


def test_all_checks_are_listed() -> None:
    listed = json.loads(run_ckpt("doctor", "--list-checks", "--format", "json").out)["checks"]
    assert [one["id"] for one in listed] == [law.id for law in every()]
    assert {one["profile"] for one in listed} == {"quick", "full"}


# -- what does not stand still -----------------------------------------------------------------------------------------


def test_a_query_that_goes_on_meanwhile_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    """Batches come and go between one look and the next."""
    root = build(tmp_path / "q", " | ".join(["k0-10 c"] * 30))
    stopped = threading.Event()

    def run() -> None:
        for number in itertools.count(30):
            for log in ("offsets", "commits"):
                body = (root / log / str(number - 1)).read_bytes()
                (root / log / f".{number}.tmp").write_bytes(body)
                (root / log / f".{number}.tmp").rename(root / log / str(number))
                (root / log / str(number - 30)).unlink()
            if stopped.is_set():
                return

    writer = threading.Thread(target=run)
    writer.start()
    try:
        codes = {run_ckpt("doctor", str(root), "--format", "json").code for _ in range(5)}
    finally:
        stopped.set()
        writer.join()
    assert codes <= {0, 1, 3, 5}


def test_a_broker_that_takes_the_call_and_says_nothing_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given = ("--bootstrap-server", f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "0.5")
        found = told(str(build(tmp_path, SOUND)), *given)
    results = {one["id"]: one["result"] for one in found["checks"]}
    assert found["verdict"] == "unknown"
    assert (results["offset-aged-out"], results["metadata-corrupt"]) == ("could_not", "passed")
