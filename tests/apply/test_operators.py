"""Two at once, on the local disk and in stores of objects: one gets the lock, the other is told so, and from what is
there in the end the way leads back."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from threading import Barrier, Event
from uuid import uuid4

import pytest

from ckpttool.apply.outcome import NotApplied, Outcome
from ckpttool.apply.run import apply_plan, plan_to_resume, plan_to_undo, take_back_plan
from ckpttool.errors import CkptError, NotFound
from tests.apply.stages import STAGES
from tests.apply.trials import StoredTrial, before
from tests.apply.troubles import Trouble
from tests.parts.stores import ObjectServer

IN_GATE = {"local": 10, "s3": 4, "azure": 4}
AT_LENGTH = 200
PAIRS = (("apply", "apply"), ("apply", "undo"), ("resume", "undo"), ("resume", "resume"))
LATEST_S = 0.05

Server = Callable[[str], ObjectServer]


class Disk(ObjectServer):
    """The local disk, where no request can fail."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.options = folder, {}

    def put(self, tree: Path, bucket: str) -> str:
        return str(shutil.copytree(tree, self.folder / bucket))


def one(trial: StoredTrial, does: str) -> Outcome | None:
    """None: it was refused before it had a plan."""
    try:
        if does == "apply":
            return apply_plan(trial.plan, trial.settings)
        if does == "resume":
            return apply_plan(plan_to_resume(trial.url, trial.options), trial.settings, resumes=True)
        plan = plan_to_undo(trial.url, None, trial.options)
        return take_back_plan(plan, trial.settings) if plan else None
    except (NotFound, NotApplied):
        return None


def both(trial: StoredTrial, pair: tuple[str, str], seed: random.Random) -> list[Outcome | None]:
    delays, together = [seed.uniform(0, LATEST_S) * seed.randrange(2) for _ in pair], Barrier(2)

    def run(number: int) -> Outcome | None:
        together.wait()
        Event().wait(delays[number])
        return one(trial, pair[number])

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, range(2)))


def contest(server: ObjectServer, folder: Path, number: int) -> None:
    seed = random.Random(number)
    is_disk = isinstance(server, Disk)
    pair = PAIRS[number % (2 if is_disk else len(PAIRS))]
    with nullcontext() if is_disk else before(server) as proxy:
        trial = StoredTrial(STAGES[0], server, proxy, folder / uuid4().hex)
        if "resume" in pair:
            with trial.troubled(Trouble(seed.randrange(25, 50), "expired", stays=True)):
                trial.carry_out()
            trial.unlock()
        outcomes = both(trial, pair, seed)
        for outcome in filter(None, outcomes):
            assert outcome.error is None or isinstance(outcome.error, CkptError), outcome.error
        states = [outcome.state if outcome else "refused" for outcome in outcomes]
        if pair == ("apply", "apply"):
            assert sorted(states) in (["applied", "refused"], ["applied", "nothing_to_do"]), states
        if pair == ("resume", "resume"):
            assert states.count("stopped") == 0, states
        trial.take_back()
        assert trial.contents() == trial.old


@pytest.mark.parametrize("kind", IN_GATE)
def test_one_of_two_gets_the_lock(object_server: Server, kind: str, tmp_path: Path) -> None:
    server = Disk(tmp_path / "disk") if kind == "local" else object_server(kind)
    for number in range(IN_GATE[kind]):
        contest(server, tmp_path, number)


@pytest.mark.at_length
@pytest.mark.parametrize("kind", IN_GATE)
def test_so_does_one_of_two_every_time(object_server: Server, kind: str, tmp_path: Path) -> None:
    server = Disk(tmp_path / "disk") if kind == "local" else object_server(kind)
    for number in range(IN_GATE[kind], AT_LENGTH):
        contest(server, tmp_path, number)
