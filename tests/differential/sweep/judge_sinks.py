"""What is said of a sink over the next ten batches, held against what Spark and its readers then did.

    python -m tests.differential.sweep.judge_sinks [4.2.0 …] [--show]

prints, per version, in how many cases the batch that fails is right, its error, what readers see now, after a batch and
after all, and the batches whose rows are missing; in how many nothing was said of harm, and in how many of harm that
did not come.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ckpttool.api import Restarted, plan_restart
from ckpttool.diagnosis import Diagnosis
from ckpttool.plan import Plan
from ckpttool.releases import parse_release
from tests.differential.sweep.judge import NOW_MS
from tests.differential.sweep.load import lay_sink, read_cases, recorded_versions
from tests.differential.sweep.sinks_sweep import AHEAD, APP_ID

Json = dict[str, Any]
ROWS = 2  # in each file, and so in each batch
MEANT = {"a row deleted": {4}}  # taken out by name, which is nobody's loss


@dataclass(frozen=True)
class SinkVerdict:
    """One case: what Spark did, what we said, and in which respects the two agree."""

    case: Json
    said: Diagnosis
    plan: Plan

    @property
    def truth(self) -> Json:
        truth: Json = self.case["truth"]
        return truth

    @property
    def is_file_sink(self) -> bool:
        return self.case["group"] in ("sinks/file", "sinks/partitioned")

    @property
    def horizon(self) -> Any:
        seen = getattr(self.said.sinks[0], "horizon", None)
        if seen is None or not seen.if_files or self.is_file_sink:
            return seen
        return replace(seen, failure=None, unreadable=None)  # it was said to be so of a file sink

    # -- the batch that fails --

    @property
    def our_failure(self) -> Any:
        if self.said.prediction.error:
            return self.said.prediction.error
        return self.horizon.failure if self.horizon else None

    @property
    def right_failure(self) -> bool:
        ours = self.our_failure
        batch = None if ours is None else self.said.prediction.batch_id if ours.batch_id is None else ours.batch_id
        return bool(batch == self.truth["failed"])

    @property
    def right_error(self) -> bool:
        ours, theirs = self.our_failure, self.truth["error"]
        if ours is None or theirs is None:
            return ours is None and theirs is None
        return (ours.class_name, ours.condition) == (theirs["class"], theirs["condition"])

    # -- readers --

    @property
    def readers(self) -> list[bool]:
        """Whether they fail: now, after a batch, after all. Where nothing is yet there is nothing to fail at."""
        now, *later = ["error" in seen for seen in self.truth["seen"]]
        return [now and self.said.scene.sinks[0].exists, *later]

    @property
    def our_readers(self) -> list[bool]:
        seen = self.horizon
        if seen is None or seen.unreadable is None:
            return [False, False, False]
        after = seen.unreadable.after
        return [after is None, after is None or after <= seen.first, True]

    @property
    def right_readers(self) -> bool:
        return self.our_readers == self.readers

    # -- rows --

    @property
    def finally_seen(self) -> list[int] | None:
        ids: list[int] | None = self.truth["seen"][-1].get("ids")
        return ids

    @property
    def lost(self) -> set[int]:
        """The batches, by the files they were of, whose rows no reader gets in the end."""
        if self.finally_seen is None:
            return set()
        files = self.case["batches"] + (AHEAD if self.truth["error"] is None else 0)
        missing = set(range(files * ROWS)) - set(self.finally_seen) - MEANT.get(self.case["told"], set())
        return {number // ROWS for number in missing}

    @property
    def repeated(self) -> set[int]:
        ids = self.finally_seen or []
        return {number // ROWS for number in ids if ids.count(number) > 1}

    @property
    def our_missing(self) -> set[int]:
        return {batch for one in self.horizon.missing for batch in one.batches} if self.horizon else set()

    @property
    def right_missing(self) -> bool:
        """Of the batches that are done; what becomes of later ones is the verdict's."""
        if self.finally_seen is None:
            return True
        return self.our_missing == {batch for batch in self.lost if batch < self.case["batches"]} & self.done

    @property
    def done(self) -> set[int]:
        return set(self.said.scene.logs.commits)

    # -- harm --

    @property
    def harm(self) -> bool:
        return bool(self.truth["error"] or any(self.readers) or self.lost or self.repeated)

    @property
    def silent(self) -> bool:
        """Not even a warning."""
        told = any(finding.severity != "info" for finding in self.said.findings)
        return self.harm and self.said.exit_code == 0 and not told

    @property
    def alarm(self) -> bool:
        return not self.harm and self.said.exit_code == 1

    @property
    def unknown(self) -> bool:
        return self.said.exit_code == 3

    @property
    def right(self) -> bool:
        about = self.right_failure and self.right_error and self.right_readers and self.right_missing
        return about and not self.silent and not self.alarm


def judge_sinks(version: str) -> Iterator[SinkVerdict]:
    kept = {case["id"]: case for case in read_cases(version, "sinks")}
    with tempfile.TemporaryDirectory() as folder:
        for case in kept.values():
            root = Path(folder) / case["id"].replace("/", "-")
            path = lay_sink(case, kept, root)
            yield SinkVerdict(case, *asked(version, case, root, path))


def asked(version: str, case: Json, root: Path, path: Path) -> tuple[Diagnosis, Plan]:
    numbered = APP_ID if case["group"] == "sinks/delta-numbered" else None
    to = str(root / case.get("to", "sink"))
    given = Restarted(parse_release(version), conf=case["conf"], sinks=[to], txn_app_id=numbered)
    return plan_restart(str(path), given, now_ms=NOW_MS)


@dataclass(frozen=True)
class Score:
    cases: int
    failure: int
    error: int
    readers: int
    missing: int
    unknown: int
    silent: int
    alarm: int


def score_sinks(verdicts: Sequence[SinkVerdict]) -> Score:
    return Score(
        cases=len(verdicts),
        failure=sum(one.right_failure for one in verdicts),
        error=sum(one.right_error for one in verdicts),
        readers=sum(one.right_readers for one in verdicts),
        missing=sum(one.right_missing for one in verdicts),
        unknown=sum(one.unknown for one in verdicts),
        silent=sum(one.silent for one in verdicts),
        alarm=sum(one.alarm for one in verdicts),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge what is said of sinks by the recorded truths.")
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--show", action="store_true", help="print the cases that are not right")
    options = parser.parse_args()
    for version in options.versions or recorded_versions("sinks"):
        verdicts = list(judge_sinks(version))
        print(version, *(f"{name} {count}" for name, count in asdict(score_sinks(verdicts)).items()), sep="  ")
        if options.show:
            print(*(_spell(one) for one in verdicts if not one.right), sep="\n")


def _spell(one: SinkVerdict) -> str:
    mark = "SILENT" if one.silent else "ALARM" if one.alarm else "differs"
    ours, theirs, said = one.our_failure, one.truth["error"], one.said.sinks[0]
    why = (ours.batch_id, ours.class_name, ours.condition) if ours else None
    was = (one.truth["failed"], theirs["class"], theirs["condition"], theirs["message"][:120]) if theirs else None
    findings = "; ".join(f"{finding.id} {finding.severity}: {finding.message}" for finding in one.said.findings)
    reader_errors = [seen["error"]["message"][:90] for seen in one.truth["seen"] if "error" in seen][:1]
    return (
        f"  {mark} {one.case['id']}: {said.kind} {said.verdict}, exit {one.said.exit_code}\n"
        f"     fails {why} was {was}\n"
        f"     readers {one.our_readers} were {one.readers} {reader_errors}\n"
        f"     missing {sorted(one.our_missing)} lost {sorted(one.lost)} repeated {sorted(one.repeated)}\n"
        f"     {said.why}; {findings}"
    )


if __name__ == "__main__":
    main()
