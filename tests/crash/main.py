"""The main tier: every scenario, all points of its batches, tears of each kind of state, real kills.

    python -m tests.crash.main [--spark 4.2.0 3.5.7] [SCENARIO…]

Prints the report of `ckpt crash-test` for each Spark and ends with its exit status; a known defect of Spark, found
where it is expected, is no failure.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from ckpttool.harness.campaign import try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.histories import load_histories
from ckpttool.harness.judge import Judged, judge
from ckpttool.harness.report import render_report
from ckpttool.harness.scenarios import SCENARIOS, Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import Settings
from ckpttool.releases import parse_release
from tests.parts.kafka import Broker
from tests.parts.spark import ensure_jars, ensure_python_state, ensure_spark

AT_ONCE = 4  # scenarios in one JVM
# One for each kind of state, and the sink whose log is compacted: also torn, crashed again, and repaired.
THOROUGH = (
    "file-to-files",
    "file-windows-hdfs-to-delta",
    "file-windows-to-delta",
    "file-windows-changelog-to-delta",
)
OLDER = (*THOROUGH, "file-to-append", "file-to-delta", "kafka-to-delta", "kafka-to-kafka")  # on a Spark before 4


def main() -> None:
    parser = argparse.ArgumentParser(description="Crash every scenario at every point.")
    parser.add_argument("names", nargs="*", default=["*"], metavar="SCENARIO")
    parser.add_argument("--spark", nargs="+", default=["4.2.0", "3.5.7"])
    parser.add_argument("--scratch", type=Path, help="an empty directory, which is kept")
    options = parser.parse_args()
    wrong = False
    for spark in options.spark:
        chosen = [one for one in SCENARIOS.values() if any(fnmatch.fnmatch(one.name, name) for name in options.names)]
        release = parse_release(spark)
        able = [one for one in chosen if release >= one.since and (release >= (4, 0, 0) or one.name in OLDER)]
        wrong |= not try_all(spark, able, options.scratch)
    sys.exit(1 if wrong else 0)


def try_all(spark: str, chosen: Sequence[Scenario], folder: Path | None) -> bool:
    began = time.monotonic()
    jars = [jar for what in ("delta", "kafka") for jar in ensure_jars(spark, what)]
    path = [ensure_python_state(spark)] if any(one.state_variable for one in chosen) else []
    needs_broker = any("kafka" in one.jars for one in chosen)
    with (
        Broker() if needs_broker else nullcontext() as broker,
        Scratch(folder / spark if folder else None, keep=folder is not None) as scratch,
    ):
        settings = Settings(
            Driver(ensure_spark(spark), jars, path=path), spark, broker=broker.address if broker else None
        )
        for thorough in (True, False):
            some = [one for one in chosen if (one.name in THOROUGH) == thorough]
            for first in range(0, len(some), AT_ONCE):
                for histories in try_scenarios(
                    scratch,
                    some[first : first + AT_ONCE],
                    settings,
                    kills=3 if thorough else 1,
                    torn=thorough,
                    again=thorough,
                    ways_out=thorough,
                    executors=1 if thorough else 0,
                ):
                    told(judge(histories), began)
        judged = [judge(one) for one in load_histories([str(scratch.root / "histories")])]
    print(render_report(judged))
    crashes = sum(len(one.judgements) for one in judged)
    print(f"Spark {spark}: {crashes} cases in {time.monotonic() - began:.0f} s", flush=True)
    return not list(failures(judged))


def failures(judged: Sequence[Judged]) -> Iterator[str]:
    for one in judged:
        for judgement in one.judgements:
            good = judgement.verdict == "valid" or judgement.defect is not None
            if not good or judgement.prediction.agreement == "differs":
                yield f"{one.run.scenario} {judgement.case.name}"
        yield from (f"{control.scenario}: silent" for control in one.controls if control.is_silent)


def told(judged: Judged, began: float) -> None:
    wrong = list(failures([judged]))
    print(
        f"[{time.monotonic() - began:5.0f} s] {judged.run.scenario}: {len(judged.judgements)} cases, "
        f"{len(wrong)} wrong",
        *wrong[:20],
        sep="\n    ",
        flush=True,
    )


if __name__ == "__main__":
    main()
