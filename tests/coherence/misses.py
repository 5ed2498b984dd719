"""Which places break which law, and which of them are known to.

    python -m tests.coherence.misses

takes out of `misses.json` what holds by now. It puts nothing in: a law that held is to hold.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from tests.coherence.laws import LAWS, every_command_answers
from tests.coherence.places import SAMPLES, places
from tests.differential.sweep.load import recorded_versions

FILE = Path(__file__).with_name("misses.json")
KINDS = (SAMPLES, *recorded_versions())
Misses = dict[str, dict[str, str]]


@cache
def misses(kind: str, every: int = 1) -> tuple[list[str], Misses]:
    """The places looked at; and for each law those that break it, and how."""
    seen: list[str] = []
    broken: Misses = {law.__name__: {} for law in LAWS}
    for name, told in places(kind, every):
        seen.append(name)
        for law in LAWS:
            if found := list(law(told)):
                broken[law.__name__][name] = "; ".join(found)
                if law is every_command_answers:
                    break
    return seen, broken


@cache
def known() -> dict[str, dict[str, list[str]]]:
    """Law → kind of place → the names of those that break it."""
    loaded: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text())
    return loaded


def known_of(law: str, kind: str) -> set[str]:
    return set(known().get(law, {}).get(kind, ()))


def main() -> None:
    new, left = 0, {}
    for law in (law.__name__ for law in LAWS):
        now = {kind: misses(kind)[1][law] for kind in KINDS}
        for kind, broken in now.items():
            unknown = broken.keys() - known_of(law, kind)
            new += len(unknown)
            print(*(f"new: {law}: {kind}: {name}: {broken[name]}" for name in sorted(unknown)), sep="\n", end="")
        left[law] = {kind: sorted(broken.keys() & known_of(law, kind)) for kind, broken in now.items()}
        print(law, *(f"{kind} {len(names)}" for kind, names in left[law].items()), sep="  ")
    kept = {law: {kind: names for kind, names in kinds.items() if names} for law, kinds in left.items()}
    FILE.write_text(json.dumps({law: kinds for law, kinds in kept.items() if kinds}, indent=1) + "\n")
    sys.exit(new > 0)


if __name__ == "__main__":
    main()
