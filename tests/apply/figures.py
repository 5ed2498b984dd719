"""How many images were tried: python -m tests.apply.figures [STAGE …]

Walks every plan of `stages.EVERY` at every operation, as the tests at length do, and keeps the numbers beside this
file, from where docs/accuracy.md has them. An image that does not lead out stops it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.apply.stages import EVERY, Stage
from tests.apply.test_killed import Trial, failing, in_any_order, twice, walk
from tests.apply.test_power import RECORDED, WALKS

KEPT = Path(__file__).with_name("figures.json")
COLUMNS = ("kill", "torn", "EIO", "ENOSPC", "power", "twice")
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


def read() -> dict[str, dict[str, int]]:
    kept: dict[str, dict[str, int]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return kept


def image_figures() -> str:
    lines = ["| plan | " + " | ".join(TITLES) + " |", "|---|" + "---:|" * len(COLUMNS)]
    told = read()
    total = Counter[str]()
    for counts in told.values():
        total.update(counts)
    for name, counts in {**told, "**all**": total}.items():
        lines.append(f"| {name} | {' | '.join(f'{counts.get(one, 0):,}' for one in COLUMNS)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", help="only these")
    given = parser.parse_args()
    for stage in EVERY:
        if given.stages and stage.name not in given.stages:
            continue
        folder, total = Path(tempfile.mkdtemp(prefix="ckpttool-images-")), Counter[str]()
        for counts in figures_of(stage, folder / "at"):
            total.update(counts)
            kept = read() | {stage.name: dict(total)}
            KEPT.write_text(
                json.dumps({one.name: kept[one.name] for one in EVERY if one.name in kept}, indent=1) + "\n"
            )
            print(stage.name, dict(total), flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
