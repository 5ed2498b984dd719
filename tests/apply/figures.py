"""How many images were tried: python -m tests.apply.figures [STAGE …] [--store s3 …] [--rounds 5]

Walks every plan of `stages.EVERY` at every operation, as the tests at length do, or in stores every request of a
rewind, with a Delta table and without; and keeps the numbers beside this file, from where docs/accuracy.md has them. An
image that does not lead out stops it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.apply.stages import EVERY, Stage
from tests.apply.test_killed import Trial, failing, in_any_order, twice, walk
from tests.apply.test_power import RECORDED, WALKS
from tests.apply.test_requests import DELTA, REWIND, each, make_impatient, sweep
from tests.apply.troubles import Trouble
from tests.conftest import CHANGEABLE, HEAVY

KEPT, OF_STORES = (Path(__file__).with_name(name) for name in ("figures.json", "figures_stores.json"))
COLUMNS = ("kill", "torn", "EIO", "ENOSPC", "power", "twice")
FAILURES = {
    "never": "never sent",
    "lost": "answer lost",
    "busy": "503, 500, 429",
    "late": "late",
    "expired": "expired",
}
TABLES = ("s3", "versity", "azure", "generations")
STORES = {
    "s3": "S3 (moto)",
    "versity": "S3 (versitygw)",
    "azure": "Azure (azurite)",
    "generations": "Google (a stub that obeys generations)",
    "hdfs": "HDFS (WebHDFS)",
}
TITLES = ("killed", "killed in a write", "EIO", "ENOSPC", "power lost", "killed twice")


def figures_of(stage: Stage, folder: Path) -> Iterator[Counter[str]]:
    yield walk(stage, folder / "killed", in_any_order)
    trial = Trial(stage, folder / "failing")
    for error in ("EIO", "ENOSPC"):
        tried = range(1, len(trial.calls) + 1)
        for at in tried:
            failing(trial, at, error, for_good=at % 2 == 0, looks=False)
        yield Counter({error: len(tried)})
    for lost in WALKS if stage in RECORDED else ():
        yield Counter(power=lost(stage, folder / lost.__name__, None))
    yield Counter(twice=twice(stage, folder / "twice", 4, 24))


def share(kind: str, stage: str, rounds: int, shares: int, number: int) -> Counter[str]:
    """One of so many shares of what is tried in a store, with a server of its own."""
    (of_that_name,) = (one for one in (REWIND, DELTA) if one.name == stage)

    def choose(requests: int) -> Iterable[Trouble]:
        return islice(each(requests, rounds), number, None, shares)

    with ExitStack() as running:
        make_impatient(running.enter_context(pytest.MonkeyPatch.context()))
        folder = running.enter_context(tempfile.TemporaryDirectory(prefix="ckpttool-images-"))
        server = running.enter_context({**CHANGEABLE, **HEAVY}[kind]())
        return sweep(of_that_name, server, Path(folder), choose)


def read(path: Path = KEPT) -> dict[str, dict[str, int]]:
    kept: dict[str, dict[str, int]] = json.loads(path.read_text()) if path.exists() else {}
    return kept


def keep(path: Path, kept: dict[str, dict[str, int]], order: Iterable[str]) -> None:
    path.write_text(json.dumps({name: kept[name] for name in order if name in kept}, indent=1) + "\n")


def image_figures() -> str:
    return _table("plan", dict(zip(COLUMNS, TITLES, strict=True)), read())


def store_figures() -> str:
    return _table("store, plan", FAILURES, read(OF_STORES))


def _table(first: str, columns: Mapping[str, str], told: Mapping[str, Mapping[str, int]]) -> str:
    lines = [f"| {first} | " + " | ".join(columns.values()) + " |", "|---|" + "---:|" * len(columns)]
    total = Counter[str]()
    for counts in told.values():
        total.update(counts)
    for name, counts in {**told, "**all**": total}.items():
        lines.append(f"| {name} | {' | '.join(f'{counts.get(one, 0):,}' for one in columns)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", help="only these")
    parser.add_argument("--store", action="append", choices=STORES, default=[], help="not on the local disk, but here")
    told = "each tries every request in another way; all five, which takes hours, in every way"
    parser.add_argument("--rounds", type=int, choices=range(1, 6), default=1, help=told)
    parser.add_argument("--at-once", type=int, default=4, help="processes; what one trial does is to wait")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpttool-images-") as folder:
        for kind in given.store:
            there = (REWIND, DELTA) if kind in TABLES else (REWIND,)
            stages = [one for one in there if not given.stages or one.name in given.stages]
            count_store(kind, stages, given.rounds, given.at_once)
        for stage in [] if given.store else EVERY:
            if not given.stages or stage.name in given.stages:
                count(stage, Path(folder))


def count(stage: Stage, folder: Path) -> None:
    total = Counter[str]()
    for counts in figures_of(stage, folder / stage.name):
        total.update(counts)
        keep(KEPT, read() | {stage.name: dict(total)}, [one.name for one in EVERY])
        print(stage.name, dict(total), flush=True)


def count_store(kind: str, stages: Iterable[Stage], rounds: int, at_once: int) -> None:
    rows = [f"{told}, {stage.name}" for told in STORES.values() for stage in (REWIND, DELTA)]
    with ProcessPoolExecutor(at_once, mp_context=get_context("spawn")) as pool:
        for stage in stages:
            shares = pool.map(partial(share, kind, stage.name, rounds, at_once), range(at_once))
            counts = sum(shares, Counter[str]())
            keep(OF_STORES, read(OF_STORES) | {f"{STORES[kind]}, {stage.name}": dict(counts)}, rows)
            print(kind, stage.name, dict(counts), flush=True)


if __name__ == "__main__":
    main()
