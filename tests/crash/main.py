"""The main tier: every scenario, all points of its batches, tears of each kind of state, real kills.

    python -m tests.crash.main [SCENARIO…] [--spark 4.2.0 3.5.7]

Prints what `ckpt crash-test` reports for each Spark, and a table of all; ends with 1 if anything is wrong. A known
defect of Spark, found where it is expected, is not.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from ckpttool.errors import CkptError
from ckpttool.harness.campaign import Extras, try_scenarios
from ckpttool.harness.driver import Driver
from ckpttool.harness.judge import Judged, judge
from ckpttool.harness.report import report_document
from ckpttool.harness.scenarios import SCENARIOS, Scenario
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.settings import TrialSettings
from ckpttool.releases import parse_release
from ckpttool.report.layout import table
from ckpttool.report.style import plain
from tests.documents import shown
from tests.parts.kafka import Broker
from tests.parts.spark import ensure_jars, ensure_python_state, ensure_spark

AT_ONCE = 2  # JVMs: a recovery keeps about one core busy
IN_ONE = 3  # scenarios in one JVM
# One for each kind of state, and the sink whose log is compacted: also torn, crashed again, and repaired.
THOROUGH = (
    "file-to-files",
    "file-windows-hdfs-to-delta",
    "file-windows-to-delta",
    "file-windows-changelog-to-delta",
    "file-windows-format2-to-delta",
)
# Those that have a JVM to themselves. A topic is in no image, so more of its crashes are real.
ALONE = {name: Extras(torn=True, kills=3, again=True, ways_out=True, executors=1) for name in THOROUGH} | {
    "kafka-to-kafka": Extras(kills=3)
}
OLDER = (
    *THOROUGH,
    "file-to-append",
    "file-to-delta",
    "file-counts-to-delta-by-txn",
    "kafka-to-delta",
    "kafka-to-kafka",
)  # on a Spark before 4


@dataclass
class Tier:
    """One Spark, and what came of its scenarios."""

    settings: TrialSettings
    folder: Path | None
    began: float
    judged: list[Judged]
    broken: list[str]

    def try_some(self, number: int, scenarios: Sequence[Scenario]) -> None:
        """Those that were not tried are broken, whatever the reason."""
        left = [one.name for one in scenarios]
        extras = ALONE.get(scenarios[0].name, Extras(kills=1))
        folder = self.folder / f"{self.settings.release}-{number}" if self.folder else None
        try:
            with Scratch(folder, keep=folder is not None) as scratch:
                for histories in try_scenarios(scratch, scenarios, self.settings, extras=extras):
                    left.remove(histories.run.scenario)
                    self.judged.append(judge(histories))
                    self.tell(self.judged[-1])
        except CkptError as error:
            print(f"[{self.seconds:5.0f} s] {', '.join(left)}: {error.message}", flush=True)
            self.broken += left

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def tell(self, judged: Judged) -> None:
        wrong = list(failures([judged]))
        print(
            f"[{self.seconds:5.0f} s] {judged.run.scenario}: {len(judged.judgements)} cases, {len(wrong)} wrong",
            *wrong[:20],
            sep="\n    ",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Crash every scenario at every point.")
    parser.add_argument("names", nargs="*", default=["*"], metavar="SCENARIO")
    parser.add_argument("--spark", nargs="+", default=["4.2.0", "3.5.7"])
    parser.add_argument("--scratch", type=Path, help="a directory, which is kept")
    options = parser.parse_args()
    tiers = []
    for spark in options.spark:
        release = parse_release(spark)
        chosen = [
            one
            for one in SCENARIOS.values()
            if any(fnmatch.fnmatch(one.name, name) for name in options.names)
            and release >= one.since
            and (release >= (4, 0, 0) or one.name in OLDER)
        ]
        if chosen:
            tiers.append(try_all(spark, chosen, options.scratch))
    for tier in tiers:
        print(shown(report_document(tier.judged)))
    print("\n".join(summary(tiers)))
    sys.exit(1 if any(tier.broken or list(failures(tier.judged)) for tier in tiers) else 0)


def try_all(spark: str, chosen: Sequence[Scenario], folder: Path | None) -> Tier:
    jars = [jar for what in ("delta", "kafka") for jar in ensure_jars(spark, what)]
    path = [ensure_python_state(spark)] if any(one.packages for one in chosen) else []
    with Broker() if any("kafka" in one.jars for one in chosen) else nullcontext() as broker:
        driver = Driver(ensure_spark(spark), jars, path=path)
        settings = TrialSettings(driver, spark, broker=broker.address if broker else None)
        tier = Tier(settings, folder, time.monotonic(), [], [])
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for each in [pool.submit(tier.try_some, *some) for some in enumerate(portions(chosen))]:
                each.result()
    crashes = sum(len(one.judgements) for one in tier.judged)
    print(f"Spark {spark}: {crashes} cases in {tier.seconds:.0f} s", flush=True)
    return tier


def portions(chosen: Sequence[Scenario]) -> Iterator[Sequence[Scenario]]:
    """Those that take longest first, each alone."""
    yield from ([one] for one in chosen if one.name in ALONE)
    rest = [one for one in chosen if one.name not in ALONE]
    yield from (rest[first : first + IN_ONE] for first in range(0, len(rest), IN_ONE))


def summary(tiers: Iterable[Tier]) -> Iterator[str]:
    rows, crashes = [], 0
    for tier in tiers:
        for one in tier.judged:
            seconds = [each.case.seconds for each in one.judgements if each.case.seconds is not None]
            said = Counter(each.prediction.agreement for each in one.judgements)
            defects = sum(each.defect is not None for each in one.judgements)
            crashes += sum(bool(each.case.crashes) for each in one.judgements)
            rows.append(
                (
                    tier.settings.release,
                    one.run.scenario,
                    str(len(one.judgements)),
                    f"{sum(seconds) / max(1, len(seconds)):.1f}",
                    str(one.count("valid")),
                    str(defects),
                    str(one.count("invalid") + one.count("unknown") - defects),
                    f"{said['agrees']}/{said['differs']}/{said['unknown']}",
                )
            )
    yield from table(
        ["Spark", "Scenario", "Cases", "s each", "Valid", "Defects", "Else", "Predicted: right/wrong/unknown"],
        rows,
        plain,
    )
    yield f"{crashes} crashes in {sum(tier.seconds for tier in tiers):.0f} s"


def failures(judged: Iterable[Judged]) -> Iterator[str]:
    """Of files that were edited by hand it may be that nobody can tell what batches were made of."""
    for one in judged:
        for judgement in one.judgements:
            by_hand = judgement.case.way_out or any(crash.edit for crash in judgement.case.crashes)
            good = judgement.verdict == "valid" or judgement.defect is not None
            good |= judgement.verdict == "unknown" and bool(by_hand) and not judgement.void
            if not good or judgement.prediction.agreement == "differs":
                yield f"{one.run.scenario} {judgement.case.name}"
        yield from unlike_their_images(one)
        yield from (f"{control.scenario}: silent" for control in one.controls if control.is_silent)


def unlike_their_images(judged: Judged) -> Iterator[str]:
    """A real kill has to come to what its image comes to."""
    images = {one.case.name: one for one in judged.judgements}
    for killed in judged.judgements:
        image = images.get(killed.case.name.replace("kill-", "image-", 1))
        if image and (killed.verdict, killed.prediction.observed) != (image.verdict, image.prediction.observed):
            yield f"{judged.run.scenario} {killed.case.name} is {killed.verdict}, and its image {image.verdict}"


if __name__ == "__main__":
    main()
