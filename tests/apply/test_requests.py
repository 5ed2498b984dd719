"""Each request to a store fails once, or it and all after it: never sent, its answer lost, refused for a while,
arriving after it was given up, or with credentials that have expired. What is there then is old, new or fenced off;
going on ends in new, taking back in old, byte for byte, and of a Delta table row for row."""

from __future__ import annotations

import gc
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckpttool.apply.outcome import Outcome
from ckpttool.apply.run import exit_code_of
from ckpttool.errors import CkptError
from tests.apply.far_proxy import FarProxy
from tests.apply.stages import EVERY, STAGES, Stage
from tests.apply.trials import AnyProxy, StoredTrial, as_delta_rs_wants, before
from tests.apply.troubles import FATES, Trouble
from tests.conftest import AT_LENGTH, CHANGEABLE
from tests.parts.stores import ObjectServer

SEED = 18
REWIND, DELTA = (stage for stage in EVERY if stage.name in ("rewind", "rewind-delta"))
SERVERS = [*CHANGEABLE, pytest.param("versity", marks=AT_LENGTH), pytest.param("hdfs", marks=AT_LENGTH)]
WITH_TABLES = [*CHANGEABLE, pytest.param("versity", marks=AT_LENGTH)]
IN_GATE = {"s3": 8, "azure": 8, "generations": 8}
IN_GATE_WITH_TABLES = {"s3": 1, "azure": 2, "generations": 2}
AT_MOST = 60  # requests of a plan at which something fails, at length

Server = Callable[[str], ObjectServer]


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        make_impatient(monkeypatch)
        yield


def make_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clients wait for seconds before they ask again: that they ask is what matters here."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0.001)
    monkeypatch.setattr(
        "azure.storage.blob._shared.policies_async.ExponentialRetry.get_backoff_time", lambda _self, _settings: 0.001
    )
    for module in ("s3fs.core", "gcsfs.retry"):
        monkeypatch.setattr(f"{module}.min", lambda *_: 0.001, raising=False)
    for module in ("buckets", "hdfs"):
        monkeypatch.setattr(f"ckpttool.storage.{module}.random", SimpleNamespace(uniform=lambda *_: 0.001))
    monkeypatch.setattr("urllib3.util.retry.Retry.get_backoff_time", lambda _self: 0.001)
    monkeypatch.setattr("ckpttool.apply.stores.objects._FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("ckpttool.apply.stores.hdfs._FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr("ckpttool.apply.sinks.delta.for_delta_rs", hasty)


def hasty(url: str, storage: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    target, options = as_delta_rs_wants(url, storage)
    return target, options | HASTE


HASTE = {"max_retries": "2", "backoff_config.init_backoff": "1ms", "backoff_config.max_backoff": "2ms"}


class Sweep:
    """A plan in a store behind a proxy, tried from its beginning again and again. `requests`: how many it takes; `new`:
    what is there after it."""

    def __init__(self, stage: Stage, server: ObjectServer, proxy: AnyProxy, folder: Path) -> None:
        self._given = stage, server, proxy, folder
        trial = self.trial()
        began = proxy.count
        outcome = trial.carry_out()
        assert outcome.state == "applied", outcome.reasons
        self.requests, self.new = proxy.count - began, inside(trial)

    def trial(self) -> StoredTrial:
        return StoredTrial(*self._given)

    def check(self, trouble: Trouble) -> None:
        trial = self.trial()
        with trial.troubled(trouble):
            outcome = trial.carry_out()
        told_as_it_is(trial, outcome)
        assert trial.is_fenced() or inside(trial) == self.new or trial.contents() == trial.old
        if trouble.at % 2:
            gone_on = trial.go_on()
            assert gone_on.state in ("applied", "nothing_to_do"), gone_on.reasons
            assert inside(trial) == self.new
        taken_back = trial.take_back()
        assert taken_back is None or taken_back.state in ("undone", "nothing_to_do"), taken_back.reasons
        assert trial.contents() == trial.old
        assert "SECRET" not in trial.kept()


@contextmanager
def swept(stage: Stage, server: ObjectServer, folder: Path) -> Iterator[Sweep]:
    proxy = FarProxy(server) if stage is DELTA else before(server)
    with proxy:
        yield Sweep(stage, server, proxy, folder)


def sweep(stage: Stage, server: ObjectServer, folder: Path, choose: Callable[[int], Iterable[Trouble]]) -> Counter[str]:
    """How often each kind of failure was tried. All are, before the first that does not lead out is told."""
    tried, failed = Counter[str](), list[Exception]()
    with swept(stage, server, folder) as trials:
        for trouble in choose(trials.requests):
            try:
                trials.check(trouble)
            except Exception as error:
                error.add_note(repr(trouble))
                failed.append(error)
            tried[trouble.fate] += 1
            server.forget()
            gc.collect()  # clients, each with a model of all that its store can do
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {tried.total()} did not lead out", failed)
    return tried


def inside(trial: StoredTrial) -> dict[str, bytes]:
    above = trial.url.rpartition("/")[0]
    return {path.removeprefix(above): body for path, body in trial.contents().items()}


def told_as_it_is(trial: StoredTrial, outcome: Outcome) -> None:
    """Whatever it was, it is told in one line, and the fence is where it is said to be."""
    assert outcome.error is None or isinstance(outcome.error, CkptError), outcome.error
    assert "SECRET" not in repr(outcome.reasons)
    assert exit_code_of(outcome) in (0, 1, 5, 6)
    if outcome.state == "refused":
        assert trial.contents() == trial.old
    if outcome.state == "applied":
        assert not trial.is_fenced()


def some(most: int) -> Callable[[int], Iterable[Trouble]]:
    """In any order, of each kind, once and for good; what expired stays so until it is renewed."""

    def choose(requests: int) -> Iterable[Trouble]:
        every = [Trouble(at, fate, stays or fate == "expired")
                 for at in range(1, requests + 1) for fate in FATES for stays in (False, True)]  # fmt: skip
        return islice(random.Random(SEED).sample(list(dict.fromkeys(every)), len(set(every))), most)

    return choose


def each(requests: int, rounds: int = len(FATES)) -> Iterator[Trouble]:
    """In each round every request, and of every plan another kind of failure, so that each kind comes to each part of
    it; after all rounds every request in every way. In turns once and for good."""
    for turn in range(rounds):
        for at in range(1, requests + 1):
            fate = FATES[(at + turn) % len(FATES)]
            yield Trouble(at, fate, fate == "expired" or (at // len(FATES) + turn) % 2 == 0)


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_a_request_that_fails_leaves_old_or_new_or_a_fence(object_server: Server, kind: str, tmp_path: Path) -> None:
    sweep(REWIND, object_server(kind), tmp_path, some(IN_GATE[kind]))


@pytest.mark.parametrize("kind", IN_GATE_WITH_TABLES)
def test_so_does_one_of_a_plan_with_a_table(object_server: Server, kind: str, tmp_path: Path) -> None:
    sweep(DELTA, object_server(kind), tmp_path, some(IN_GATE_WITH_TABLES[kind]))


@pytest.mark.at_length
@pytest.mark.parametrize("stage", STAGES[:4], ids=str)
@pytest.mark.parametrize("kind", SERVERS)
def test_so_does_each_kind_of_failure(object_server: Server, kind: str, stage: Stage, tmp_path: Path) -> None:
    sweep(stage, object_server(kind), tmp_path, some(AT_MOST))


@pytest.mark.at_length
@pytest.mark.parametrize("kind", SERVERS)
def test_so_does_every_request(object_server: Server, kind: str, tmp_path: Path) -> None:
    sweep(REWIND, object_server(kind), tmp_path, each)


@pytest.mark.at_length
@pytest.mark.parametrize("kind", WITH_TABLES)
def test_so_does_every_request_of_a_plan_with_a_table(object_server: Server, kind: str, tmp_path: Path) -> None:
    sweep(DELTA, object_server(kind), tmp_path, each)


@pytest.mark.parametrize("kind", CHANGEABLE)
def test_credentials_that_expire_half_way_stop_behind_the_fence(
    object_server: Server, kind: str, tmp_path: Path
) -> None:
    with swept(REWIND, object_server(kind), tmp_path) as trials:
        trial = trials.trial()
        with trial.troubled(Trouble(trials.requests * 3 // 4, "expired", stays=True)):
            outcome = trial.carry_out()
        assert (outcome.state, outcome.fenced, exit_code_of(outcome)) == ("stopped", True, 5)
        assert trial.is_fenced()
        assert trial.go_on().state == "applied"
        assert inside(trial) == trials.new
