"""What the commands tell of one checkpoint: their JSON, their text and their exit status, asked for as it is needed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.conftest import run_ckpt

GOES_ON = ("replay", "new_batch", "fresh_start")
HARMFUL = ("skipped_rows_lost", "duplicated")
OWN_BUG = 70
PATIENCE_S = 5  # of work, not by the clock: a hundred times what the longest of them takes
Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """`json`: the document; empty if the command printed none."""

    code: int
    json: Json

    @property
    def findings(self) -> list[Json]:
        found: list[Json] = self.json.get("findings", [])
        return found

    @property
    def accusations(self) -> list[Json]:
        """Findings of severity error that name an exception of Spark."""
        return [one for one in self.findings if one["severity"] == "error" and one["spark"]]


def say(command: str, path: Path, *options: str) -> Said:
    with _patience():
        outcome = run_ckpt(command, str(path), *options, "--format", "json")
    return Said(outcome.code, json.loads(outcome.out) if outcome.out else {})


class NeverEnds(Exception):
    """Raised inside the command, which takes it for a bug of its own."""


@contextmanager
def _patience() -> Iterator[None]:
    def lose_it(*_: object) -> None:
        raise NeverEnds

    before = signal.signal(signal.SIGVTALRM, lose_it)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


class Told:
    """`options`: how `plan-recovery` is told that the query starts. `truth`: what Spark did, where that is recorded."""

    def __init__(self, path: Path, options: Sequence[str] = (), truth: Json | None = None) -> None:
        self.path, self.options, self.truth = path, options, truth

    @cached_property
    def inspect(self) -> Said:
        return say("inspect", self.path)

    @cached_property
    def plan(self) -> Said:
        return say("plan-recovery", self.path, *self.options, "--state", "full")

    @cached_property
    def doctor(self) -> Said:
        return say("doctor", self.path, *self.options, "--profile", "full")

    @cached_property
    def log(self) -> Said:
        return say("log", self.path)

    @cached_property
    def scan(self) -> Said:
        """Of the place around the checkpoint."""
        return say("scan", self.path.parent)

    @cached_property
    def quick_plan(self) -> Said:
        """The same, but for the bodies of state files."""
        return say("plan-recovery", self.path, *self.options, "--state", "quick")

    def text(self, command: str, *options: str) -> str:
        path = self.path.parent if command == "scan" else self.path
        return run_ckpt(*command.split(), str(path), *options).out

    @property
    def all(self) -> dict[str, Said]:
        looked = {"inspect": self.inspect, "plan-recovery": self.plan, "doctor": self.doctor}
        return {**looked, "log": self.log, "scan": self.scan}

    @property
    def is_opened(self) -> bool:
        """Whether `inspect` takes it for a checkpoint."""
        return "next_batch" in self.inspect.json

    @property
    def sighting(self) -> Json | None:
        """What the scan says of this checkpoint, if it found it."""
        seen = self.scan.json.get("checkpoints", [])
        return next((one for one in seen if one["checkpoint"] == str(self.path) and one["next_batch"]), None)

    @property
    def restart(self) -> Json:
        restart: Json = self.plan.json["restart"]
        return restart

    @property
    def verdicts(self) -> list[str]:
        return [sink["verdict"] for sink in self.plan.json["sinks"]]


def predicted(document: object) -> Iterator[str]:
    """The outcome of each restart that a document tells of, wherever that stands in it."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key in ("next_batch", "restart") and isinstance(value, dict):
                yield value["outcome"]
            else:
                yield from predicted(value)
    elif isinstance(document, list):
        for value in document:
            yield from predicted(value)
