"""Make the samples anew: `python -m tests.samples.make [NAME…]` (all without a name; shell patterns are understood).

Real queries run below a fixed root, because offsets and logs hold absolute paths; what they leave is copied into the
repository with an `about.json` that says what it is. One Spark process makes all samples of one release that need
the same connectors.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.samples.catalogue import Sample, samples
from tests.samples.crash import kill_at, spell
from tests.samples.damage import DAMAGES
from tests.samples.place import REPOSITORY, about, sample_at_home
from tests.samples.process import SparkProcess

ROOT = Path("/tmp/ckpttool-samples")


# -- making ------------------------------------------------------------------------------------------------------------


def request(sample: Sample) -> dict[str, Any]:
    """What `jobs.py` is asked to run for this sample."""
    return {
        "name": sample.name,
        "workload": sample.run,
        "root": str(root_of(sample)),
        "checkpoint": sample.checkpoint,
        "conf": sample.conf,
        "args": sample.args,
    }


def root_of(sample: Sample) -> Path:
    """A damaged copy stays at home where its original was made: its files say so."""
    return ROOT / (sample.damage.of if sample.damage else sample.name)


def make_sound(chosen: Iterable[Sample]) -> None:
    def process(sample: Sample) -> tuple[str, tuple[str, ...]]:
        return sample.spark, sample.needs

    for (spark, needs), group in groupby(sorted(chosen, key=process), key=process):
        with SparkProcess(spark, needs) as running:
            for sample in group:
                shutil.rmtree(root_of(sample), ignore_errors=True)
                root_of(sample).mkdir(parents=True)
                result = running.run(request(sample))
                if result["error"]:
                    sys.exit(f"{sample.name}: {result['error']['cause']}: {result['error']['message']}")
                store(sample, [f"Ran the query {sample.run} on Spark {spark}."], result["progress"])


def make_killed(sample: Sample) -> None:
    assert sample.kill
    shutil.rmtree(root_of(sample), ignore_errors=True)
    root_of(sample).mkdir(parents=True)
    hit = kill_at(sample.kill, sample.spark, sample.needs, request(sample))
    store(
        sample,
        [
            f"Ran the query {sample.run} on Spark {sample.spark}.",
            f"Killed its process group with SIGKILL at the {spell(sample.kill)}"
            + ("." if hit.batch_id is None else f", in batch {hit.batch_id}."),
        ],
        [],
    )


def make_damaged(sample: Sample) -> None:
    assert sample.damage
    original = about(sample.damage.of)
    with sample_at_home(sample.damage.of) as checkpoint:
        step = DAMAGES[sample.damage.edit](checkpoint, *sample.damage.args)
        store(sample, [*original["steps"], step], original["progress"])


def store(sample: Sample, steps: list[str], progress: list[dict[str, Any]]) -> None:
    """Copy what lies at the root into the repository, and say what it is."""
    root = root_of(sample)
    next_batch = {"outcome": sample.outcome, "batch_id": sample.batch_id}
    if sample.outcome == "new_batch" and sample.batch_id is None:
        next_batch["batch_id"] = _last_committed(root / sample.checkpoint) + 1
    made_by = "An edit of files" if sample.damage else "A SIGKILL at an exact point" if sample.kill else "A run"
    restart = (
        None
        if sample.more is None
        else {
            "job": sample.run,
            "args": sample.args | sample.more,
            "conf": sample.conf,
            "needs": list(sample.needs),
            "spark": sample.spark,
        }
    )
    store_tree(
        sample.name,
        root,
        {
            "spark": sample.spark,
            "workload": sample.workload,
            "defect": sample.defect,
            "made_by": f"{made_by} of real Spark {sample.spark}.",
            "told": sample.told,
            "steps": steps,
            "root": str(root),
            "checkpoint": sample.checkpoint,
            "expect": {"next_batch": next_batch, "finds": list(sample.finds), "mode": sample.mode},
            "restart": restart,
            "progress": progress,
        },
    )


def store_tree(name: str, root: Path, facts: dict[str, Any]) -> None:
    target = REPOSITORY / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root, target)
    paths = sorted(path.relative_to(root) for path in root.rglob("*"))
    facts["directories"] = [str(path) for path in paths if (root / path).is_dir() and not any((root / path).iterdir())]
    facts["modified_ms"] = {
        str(path): (root / path).stat().st_mtime_ns // 1_000_000 for path in paths if (root / path).is_file()
    }
    (target / "about.json").write_text(_rendered(facts), encoding="utf-8")
    print(name)


def _rendered(facts: dict[str, Any]) -> str:
    """JSON with one line per fact, and one per batch of the progress."""

    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def lines(value: Any) -> str:
        if isinstance(value, list) and value:
            return "[\n    " + ",\n    ".join(map(dump, value)) + "\n  ]"
        return dump(value)

    return "{\n" + ",\n".join(f"  {dump(key)}: {lines(value)}" for key, value in facts.items()) + "\n}\n"


def _last_committed(checkpoint: Path) -> int:
    return max((int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")), default=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make sample checkpoints.")
    parser.add_argument("names", nargs="*", default=["*"], metavar="NAME")
    patterns = parser.parse_args().names
    chosen = [
        sample for name, sample in samples().items() if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]
    if not chosen:
        sys.exit(f"no sample is called {' or '.join(patterns)}")
    try:
        make_sound(sample for sample in chosen if not sample.damage and not sample.kill)
        for sample in chosen:
            if sample.kill:
                make_killed(sample)
            elif sample.damage:
                make_damaged(sample)
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)


if __name__ == "__main__":
    main()
