"""Writes the tables of docs/recovery-rules.md from `ckpttool.laws.book`.

`python docs/generate_rules.py` writes, `python docs/generate_rules.py --check` fails if a table is stale. A table
stands between `<!-- rules: start -->` and `<!-- /rules -->`, with the phase's name; the rest is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # run as a script, this file sees docs/ only

from ckpttool.laws.base import Law  # noqa: E402
from ckpttool.laws.book import BATCH, START, before_batches, stopping  # noqa: E402
from ckpttool.laws.sinks.verdict import STOPPING  # noqa: E402
from ckpttool.releases import NEWEST, OLDEST, spell_release  # noqa: E402

PAGE = ROOT / "docs" / "recovery-rules.md"
AT_SINKS = tuple(law for law in STOPPING if law.check and law.source)
BLOCK = re.compile(r"(<!-- rules: (?P<phase>\w+) -->\n).*?(<!-- /rules -->)", re.DOTALL)
PHASES: dict[str, tuple[Law, ...]] = {"start": START, "init": before_batches(NEWEST), "batch": (*BATCH, *AT_SINKS)}


def refreshed(page: str) -> str:
    """The page with every table as the rules are now."""
    present = [match["phase"] for match in BLOCK.finditer(page)]
    if sorted(present) != sorted(PHASES):
        raise SystemExit(f"{PAGE.name} has tables for {present}, and the phases are {list(PHASES)}")
    if lacking := {rule.id for rule in stopping(NEWEST)} - {rule.id for rules in PHASES.values() for rule in rules}:
        raise SystemExit(f"in no phase: {', '.join(sorted(lacking))}")
    return BLOCK.sub(lambda match: f"{match[1]}\n{table(PHASES[match['phase']])}\n\n{match[3]}", page)


def table(rules: Iterable[Law]) -> str:
    head = ["| rule | what it says | releases | where in Spark |", "|---|---|---|---|"]
    rows = [f"| `{rule.id}` | {cell(rule.title)} | {releases(rule)} | {cell(rule.source)} |" for rule in rules]
    return "\n".join([*head, *rows])


def releases(rule: Law) -> str:
    since = "all" if rule.since <= OLDEST else f"since {spell_release(rule.since)}"
    if rule.until is None:
        return since
    before = f"before {spell_release(rule.until)}"
    return before if since == "all" else f"{since}, {before}"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"usage: {Path(__file__).name} [--check]", file=sys.stderr)
        return 2
    old = PAGE.read_text(encoding="utf-8")
    current = refreshed(old)
    if current != old and arguments:
        print(f"{PAGE} is stale: run `python docs/generate_rules.py`", file=sys.stderr)
        return 1
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
