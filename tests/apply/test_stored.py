"""Plans in stores of objects: what they cost, and what is particular there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from ckpttool.apply.changes import FileChanges
from ckpttool.apply.look import seconds_quiet
from ckpttool.apply.outcome import Outcome
from ckpttool.apply.run import exit_code_of
from ckpttool.apply.stores.opening import open_tree
from ckpttool.apply.work import ApplySettings
from tests.apply.far_proxy import FarProxy
from tests.apply.stages import EVERY, STAGES, Stage
from tests.apply.trials import StoredTrial, before
from tests.conftest import run_ckpt
from tests.parts.proxy import Proxy, Request
from tests.parts.stores import ObjectServer

Server = Callable[[str], ObjectServer]
(DELTA,) = (stage for stage in EVERY if stage.name == "rewind-delta")


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_a_plan_costs_four_requests_for_each_file_and_some(object_server: Server, stage: Stage, tmp_path: Path) -> None:
    """And one for each that is only read, of the restart that it promises and of the sink. At each of the four looks
    checkpoint and sink are listed once, one that no step changes twice at the second; then there is what is around."""
    server = object_server("s3")
    with before(server) as proxy:
        trial = StoredTrial(stage, server, proxy, tmp_path)
        outcome = trial.carry_out()
        assert outcome.state == "applied", outcome.reasons
        assert len(ours(trial, proxy.requests)) <= most_requests(trial, outcome, proxy.requests)
        assert proxy.kinds()["LIST"] <= 4 * len(trial.roots) + 5
        if not trial.roots[1:]:
            assert sum(outcome.requests.values()) == pytest.approx(len(proxy.requests), abs=4)


def ours(trial: StoredTrial, requests: Sequence[Request]) -> list[Request]:
    """Without what a sink is asked of which no file is changed."""
    sinks = [root.rpartition("/")[2] for root in trial.roots[1:] if root not in FileChanges(trial.plan).roots]
    asked = [(one, f"{one.path}/{one.query.get('prefix', '')}") for one in requests]
    return [one for one, path in asked if not any(f"/{sink}/" in path for sink in sinks)]


def most_requests(trial: StoredTrial, outcome: Outcome, requests: Sequence[Request]) -> int:
    steps = {step.path for step in trial.plan.steps if step.path}
    kept = outcome.backup["files"] if outcome.backup else 0
    touched = max(len(steps | {"metadata"}), kept) + len(trial.plan.wires)
    changed = {one.path for one in requests if one.method in ("PUT", "DELETE")}
    read = {one.path for one in ours(trial, requests) if one.kind == "GET"} - changed
    return 4 * touched + len(read) + 25


def test_a_table_is_opened_once_before_anything_is_changed(object_server: Server, tmp_path: Path) -> None:
    """To restore it delta-rs opens it once more by itself. All else of it costs no more than other files, and a listing
    at the first look, at the second, and at the last."""
    with FarProxy(object_server("s3")) as proxy:
        trial = StoredTrial(DELTA, object_server("s3"), proxy, tmp_path)
        began = proxy.count
        outcome = trial.carry_out()
        assert outcome.state == "applied", outcome.reasons
        asked = proxy.requests[began:]
    counted = sum(outcome.requests.values())
    opened = [number for number, one in enumerate(asked) if one.path.endswith("/_last_checkpoint")]
    assert len(opened) == 2
    assert opened[0] < [one.method for one in asked].index("PUT")
    of_delta_rs, to_find_out = 10 + 11, 2  # of four commits; whether the store looks at the condition of a DELETE
    assert len(asked) <= counted + of_delta_rs + to_find_out
    changed = {one.path for one in asked if one.method in ("PUT", "DELETE") and "/_ckpt/" not in one.path}
    assert counted <= 4 * len(changed) + 25
    assert outcome.requests["list"] == 7


def test_a_checkpoint_alone_in_its_bucket_is_listed_at_most_six_times(object_server: Server, tmp_path: Path) -> None:
    server = object_server("s3")
    with before(server) as proxy:
        trial = StoredTrial(STAGES[0], server, proxy, tmp_path)
        trial.carry_out()
        assert proxy.kinds()["LIST"] <= 6


def test_a_store_that_looks_at_no_condition_is_refused(object_server: Server, tmp_path: Path) -> None:
    """The emulator of Google's takes an exclusive create twice."""
    server = object_server("gcs")
    trial = StoredTrial(STAGES[0], server, None, tmp_path)
    outcome = trial.carry_out()
    assert [reason.id for reason in outcome.reasons] == ["no-exclusive-create"]
    assert exit_code_of(outcome) == 6
    assert trial.contents() == trial.old


@pytest.mark.parametrize("kind", ["s3", "azure"])
def test_whether_it_is_alive_is_told_by_the_clock_of_the_store(
    object_server: Server, kind: str, tmp_path: Path
) -> None:
    trial = StoredTrial(STAGES[0], object_server(kind), None, tmp_path)
    store = open_tree(trial.url, "_ckpt/staging", trial.options)
    with patch("time.time", return_value=10**9):  # this machine's is years off
        quiet = seconds_quiet(store)
    assert quiet is not None
    assert 0 <= quiet + 2 < 300


def test_between_two_looks_a_store_of_objects_is_given_more_time(object_server: Server, tmp_path: Path) -> None:
    trial = StoredTrial(STAGES[0], object_server("s3"), None, tmp_path)
    assert ApplySettings().settle is None
    assert open_tree(trial.url, "s", trial.options).settle_s == 10
    assert open_tree(str(tmp_path), "s", {}).settle_s == 2


def test_all_commands_take_the_storage_options(object_server: Server, tmp_path: Path) -> None:
    server = object_server("s3")
    trial = StoredTrial(STAGES[0], server, None, tmp_path)
    given = [part for pair in trial.options.items() for part in ("--storage-option", "=".join(pair))]
    plan = tmp_path / "plan.json"
    looked = run_ckpt("plan-recovery", trial.url, "--sink", "noop", "--to-batch", "1", "--out", str(plan), *given)
    assert looked.code == 0, looked.err
    common = ("--yes", "--settle", "0s", *given)
    applied = run_ckpt("apply", str(plan), "--accept", "query-stopped", *common)
    assert applied.code == 0, applied.err
    listed = run_ckpt("undo", trial.url, "--list", *given)
    assert "applied" in listed.out
    assert run_ckpt("apply", "--resume", trial.url, *common).code == 0  # and says that all was done
    assert run_ckpt("unlock", trial.url, "nobody", *given).code == 4
    undone = run_ckpt("undo", trial.url, *common)
    assert undone.code == 0, undone.err
    assert trial.contents() == trial.old
    plan_id = json.loads(plan.read_text())["id"]
    assert run_ckpt("undo", trial.url, "--forget", plan_id, *given).code == 0
    assert trial.kept() == "[]"


def test_nothing_is_done_behind_a_proxy_that_answers_nothing(object_server: Server, tmp_path: Path) -> None:
    server = object_server("s3")
    with Proxy(server) as proxy:
        trial = StoredTrial(STAGES[0], server, proxy, tmp_path)
    outcome = trial.carry_out()
    assert (outcome.state, exit_code_of(outcome)) == ("refused", 6)
    assert trial.contents() == trial.old
