"""What ways out promised, held against what Spark did after `ckpt apply` had carried them out. Without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.differential.sweep.applied import SUITE, recorded_in
from tests.differential.sweep.load import recorded_versions
from tests.differential.sweep.run import read, verdict

Json = dict[str, Any]
# What rows were lost or doubled before anybody carried out anything.
DAMAGED_ROWS = ("sink", "input", "recipe")
COLUMNS = ("cases", "restart as promised", "rows compared", "rows as promised", "taken back", "byte for byte")


@dataclass(frozen=True)
class Promised:
    """One case: what the plan promised, and what came."""

    case: Json

    @property
    def was_carried_out(self) -> bool:
        return "refused" not in self.case

    @property
    def kept(self) -> bool:
        return not list(self.broken())

    def broken(self) -> Iterator[str]:
        """In which respects the restart is not the promised one. A new batch comes as soon as there is data."""
        said, truth = self.case["promise"]["restart"], self.case["truth"]
        waits = said["outcome"] == "new_batch" and truth["outcome"] == "nothing"
        if said["outcome"] != truth["outcome"] and not waits:
            yield f"outcome: {said['outcome']} was promised, {truth['outcome']} came"
        elif not waits and said["batch_id"] != truth["batch_id"]:
            yield f"batch: {said['batch_id']} was promised, {truth['batch_id']} came"
        elif said["error"] is not None:
            theirs = truth["error"] or {}
            if (said["error"]["class"], said["error"]["condition"]) != (theirs.get("class"), theirs.get("condition")):
                yield f"error: {said['error']['class']} was promised, {theirs.get('class')} came"
        elif truth.get("first") and said["outcome"] in ("replay", "new_batch"):
            yield from _ranges(said["sources"], truth["first"]["sources"])

    @property
    def has_rows(self) -> bool:
        """Whether the sink tells what became of the promise about rows."""
        undamaged = not any(area in self.case["kind"][0] for area in DAMAGED_ROWS)
        ended_well = not self.case["truth"]["error"] and not self.case["truth"].get("later_error")
        return bool(self.case.get("rows")) and undamaged and ended_well and self.case["lost"] == 0

    @property
    def rows_kept(self) -> bool:
        """Nothing is missing; and, where that was promised, nothing there twice."""
        rows = self.case["rows"]
        if self.case["twice"] == 0:
            return not rows["missing"] and not rows["more"]
        return not rows["gone"]

    @property
    def twin(self) -> Json | None:
        twin: Json | None = self.case.get("twin")
        return twin


def _ranges(said: Sequence[Json], came: Sequence[Json]) -> Iterator[str]:
    if len(said) != len(came):
        yield f"sources: {len(said)} were promised, {len(came)} came"
        return
    for ours, theirs in zip(said, came, strict=True):
        if ours["start"] != theirs["start"]:
            yield f"start {ours['index']}: {json.dumps(ours['start'])} was promised, {json.dumps(theirs['start'])} came"
        if ours["end"] is not None and ours["end"] != theirs["end"]:
            yield f"end {ours['index']}: {json.dumps(ours['end'])} was promised, {json.dumps(theirs['end'])} came"


@cache
def judged_applied(version: str) -> tuple[Promised, ...]:
    return tuple(Promised(case) for _, case in sorted(read(version, SUITE).items()))


def started_otherwise(version: str) -> list[str]:
    """Twins that start otherwise than the checkpoint that nobody ever touched."""
    recorded = recorded_in(version)
    twins = ((one.case, one.twin) for one in judged_applied(version) if one.twin is not None)
    return [case["id"] for case, twin in twins if twin["starts"] != verdict(recorded[case["of"]])]


def applied_figures() -> str:
    """By release, and by the way out over all of them."""
    versions = recorded_versions(SUITE)
    every = [one for version in versions for one in judged_applied(version)]
    ways = sorted({one.case["way"] for one in every})
    rows = [(f"**{version}**", "all", [*judged_applied(version)]) for version in versions]
    for number, way in enumerate(ways):
        rows.append(("" if number else "**all**", way, [one for one in every if one.case["way"] == way]))
    lines = ["| Spark | way out | " + " | ".join(COLUMNS) + " |", "|---|---|" + "---:|" * len(COLUMNS)]
    lines += [f"| {name} | {way} | {' | '.join(map(str, _counts(some)))} |" for name, way, some in rows]
    return "\n".join(lines) + "\n"


def _counts(some: Sequence[Promised]) -> tuple[int, ...]:
    done = [one for one in some if one.was_carried_out]
    rows, twins = [one for one in done if one.has_rows], [one.twin for one in done if one.twin is not None]
    kept, told = sum(one.kept for one in done), sum(one.rows_kept for one in rows)
    return len(done), kept, len(rows), told, len(twins), sum(twin["identical"] for twin in twins)


def main() -> None:
    for version in recorded_versions(SUITE):
        wrong = [one for one in judged_applied(version) if one.was_carried_out]
        for one in wrong:
            told = [*one.broken(), *(["rows"] if one.has_rows and not one.rows_kept else [])]
            if told:
                print(version, one.case["id"], one.case["told"], *told, one.case.get("rows"), sep="\n    ")
        refused = [one.case for one in judged_applied(version) if not one.was_carried_out]
        print(version, len(wrong), "carried out,", len(refused), "refused:")
        print(*(f"  {one['id']} {one['refused']}" for one in refused), sep="\n")
        print("started otherwise:", started_otherwise(version))
    print(applied_figures())


if __name__ == "__main__":
    main()
