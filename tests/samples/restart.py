"""Start the query of a sample again with real Spark, and see what happens.

    python -m tests.samples.restart [NAME…]

puts each sample back where it was made, gives its source something new, starts the query, and compares what Spark
does with what the sample's `about.json` expects.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.samples.place import about, sample_at_home, sample_names
from tests.samples.process import SparkProcess


@dataclass(frozen=True)
class Restart:
    """What Spark did: the first batch that it finished, and the failure, if it failed."""

    name: str
    outcome: str
    batch_id: int | None
    error: dict[str, str] | None

    def agrees(self, expected: dict[str, Any]) -> bool:
        """A batch that fails is not told by Spark, so its number is compared for batches that ran."""
        return self.outcome == expected["outcome"] and (self.error is not None or self.batch_id == expected["batch_id"])


def restart_all(names: Iterable[str], spark: str | None = None) -> Iterator[Restart]:
    """Restart these samples, on the Spark that made each or on the one given."""
    facts = {name: about(name) for name in names}

    def process(name: str) -> tuple[str, list[str]]:
        return spark or facts[name]["restart"]["spark"], facts[name]["restart"]["needs"]

    startable = sorted((name for name in facts if facts[name]["restart"]), key=process)
    for (version, needs), group in groupby(startable, key=process):
        with SparkProcess(version, needs) as running:
            for name in group:
                yield restart(name, facts[name], running)


def restart(name: str, facts: dict[str, Any], running: SparkProcess) -> Restart:
    with sample_at_home(name) as checkpoint:
        return _restart_at(checkpoint, name, facts, running)


def _restart_at(checkpoint: Path, name: str, facts: dict[str, Any], running: SparkProcess) -> Restart:
    planned, committed = _written(checkpoint / "offsets"), _written(checkpoint / "commits")
    again = facts["restart"]
    result = running.run(
        {
            "name": name,
            "workload": again["job"],
            "root": facts["root"],
            "checkpoint": facts["checkpoint"],
            "conf": again["conf"],
            "args": again["args"],
        }
    )
    # Continuous processing reports no progress; there the disk tells which epoch came next.
    finished = sorted(_written(checkpoint / "commits").keys() - committed.keys())
    ran = [batch["batchId"] for batch in result["progress"]] or finished
    if result["error"]:
        return Restart(name, "error", ran[0] if ran else None, result["error"])
    if not ran:
        return Restart(name, "unknown", None, None)
    # A replay takes the offsets as they are; real-time mode removes them and writes others.
    replayed = ran[0] in planned and planned[ran[0]] == _written(checkpoint / "offsets").get(ran[0])
    return Restart(name, "fresh_start" if not planned else "replay" if replayed else "new_batch", ran[0], None)


def _written(log: Path) -> dict[int, int]:
    """The batches of a log, and when each file was written."""
    return {int(path.name): path.stat().st_mtime_ns for path in log.glob("*") if path.name.isdecimal()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Restart samples with real Spark.")
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    parser.add_argument("--spark", help="the Spark to restart on, if not the one that made the sample")
    options = parser.parse_args()
    chosen = [name for name in sample_names() if any(fnmatch.fnmatch(name, pattern) for pattern in options.names)]
    disagreements = 0
    for done in restart_all(chosen, options.spark):
        expected = about(done.name)["expect"]["next_batch"]
        verdict = "as expected" if done.agrees(expected) else f"EXPECTED {expected}"
        disagreements += not done.agrees(expected)
        cause = f" {done.error['cause']}: {done.error['message'][:160]!r}" if done.error else ""
        print(f"{done.name}: {done.outcome} {done.batch_id} {verdict}{cause}", flush=True)
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
