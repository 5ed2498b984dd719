"""Each request to a store fails once, or it and all after it: never sent, its answer lost, refused for a while,
arriving after it was given up, or with credentials that have expired. What is there then is old, new or fenced off;
going on ends in new, taking back in old, byte for byte."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpttool.apply.outcome import Outcome
from ckpttool.apply.run import exit_code_of
from ckpttool.errors import CkptError
from tests.apply.stages import STAGES, Stage
from tests.apply.trials import FATES, StoredTrial, Trouble, before
from tests.conftest import AT_LENGTH, CHANGEABLE
from tests.parts.stores import ObjectServer

SEED = 18
SERVERS = [*CHANGEABLE, pytest.param("versity", marks=AT_LENGTH), pytest.param("hdfs", marks=AT_LENGTH)]
IN_GATE = {"s3": 8, "azure": 8, "generations": 8}
AT_MOST = 60  # requests of a plan at which something fails, at length

Server = Callable[[str], ObjectServer]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients wait for seconds before they ask again: that they ask is what matters here."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0.001)
    monkeypatch.setattr(
        "azure.storage.blob._shared.policies_async.ExponentialRetry.get_backoff_time", lambda _self, _settings: 0.001
    )
    monkeypatch.setattr("gcsfs.retry.min", lambda *_: 0.001, raising=False)
    monkeypatch.setattr("ckpttool.apply.stores.objects._FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("ckpttool.apply.stores.hdfs._FIRST_PAUSE_S", 0.001)


def requests_of(stage: Stage, server: ObjectServer, folder: Path) -> tuple[int, dict[str, bytes]]:
    """How many a plan takes, and what the checkpoint is after it; its paths without the place."""
    with before(server) as proxy:
        trial = StoredTrial(stage, server, proxy, folder)
        outcome = trial.carry_out()
        assert outcome.state == "applied", outcome.reasons
        return len(proxy.requests), inside(trial)


def inside(trial: StoredTrial) -> dict[str, bytes]:
    above = trial.url.rpartition("/")[0]
    return {path.removeprefix(above): body for path, body in trial.contents().items()}


def check(stage: Stage, server: ObjectServer, folder: Path, trouble: Trouble, new: dict[str, bytes]) -> None:
    with before(server) as proxy:
        trial = StoredTrial(stage, server, proxy, folder)
        with trial.troubled(trouble):
            outcome = trial.carry_out()
        told_as_it_is(trial, outcome)
        assert trial.is_fenced() or inside(trial) == new or trial.contents() == trial.old
        if trouble.at % 2:
            gone_on = trial.go_on()
            assert gone_on.state in ("applied", "nothing_to_do"), gone_on.reasons
            assert inside(trial) == new
        taken_back = trial.take_back()
        assert taken_back is None or taken_back.state in ("undone", "nothing_to_do"), taken_back.reasons
        assert trial.contents() == trial.old
        assert "SECRET" not in trial.kept()


def told_as_it_is(trial: StoredTrial, outcome: Outcome) -> None:
    """Whatever it was, it is told in one line, and the fence is where it is said to be."""
    assert outcome.error is None or isinstance(outcome.error, CkptError), outcome.error
    assert "SECRET" not in repr(outcome.reasons)
    assert exit_code_of(outcome) in (0, 1, 5, 6)
    if outcome.state == "refused":
        assert trial.contents() == trial.old
    if outcome.state == "applied":
        assert not trial.is_fenced()


def troubles(requests: int, seed: int) -> Iterator[Trouble]:
    """In any order, of each kind, once and for good; what expired stays so until it is renewed."""
    every = [Trouble(at, fate, stays or fate == "expired")
             for at in range(1, requests + 1) for fate in FATES for stays in (False, True)]  # fmt: skip
    yield from random.Random(seed).sample(list(dict.fromkeys(every)), len(set(every)))


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_a_request_that_fails_leaves_old_or_new_or_a_fence(object_server: Server, kind: str, tmp_path: Path) -> None:
    server, stage = object_server(kind), STAGES[0]
    requests, new = requests_of(stage, server, tmp_path)
    for trouble, _ in zip(troubles(requests, SEED), range(IN_GATE[kind]), strict=False):
        check(stage, server, tmp_path, trouble, new)


@pytest.mark.at_length
@pytest.mark.parametrize("stage", STAGES[:4], ids=str)
@pytest.mark.parametrize("kind", SERVERS)
def test_so_does_every_request(object_server: Server, kind: str, stage: Stage, tmp_path: Path) -> None:
    server = object_server(kind)
    requests, new = requests_of(stage, server, tmp_path)
    for trouble, _ in zip(troubles(requests, SEED), range(AT_MOST), strict=False):
        check(stage, server, tmp_path, trouble, new)


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_credentials_that_expire_half_way_stop_behind_the_fence(
    object_server: Server, kind: str, tmp_path: Path
) -> None:
    server, stage = object_server(kind), STAGES[0]
    requests, new = requests_of(stage, server, tmp_path)
    with before(server) as proxy:
        trial = StoredTrial(stage, server, proxy, tmp_path)
        with trial.troubled(Trouble(requests * 3 // 4, "expired", stays=True)):
            outcome = trial.carry_out()
        assert (outcome.state, outcome.fenced, exit_code_of(outcome)) == ("stopped", True, 5)
        assert trial.is_fenced()
        assert trial.go_on().state == "applied"
        assert inside(trial) == new
