"""docs/accuracy.md: how often the predictions were right about the recorded restarts.

python -m tests.differential.sweep.accuracy [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path

from tests.apply.figures import image_figures, store_figures
from tests.differential.sweep.changes.load import recorded as changes_recorded
from tests.differential.sweep.judge import (
    Score,
    Verdict,
    goes_on_with_sound_topics,
    judge,
    judge_iceberg,
    judge_kafka,
    score,
)
from tests.differential.sweep.judge_applied import applied_figures
from tests.differential.sweep.judge_changes import disagrees_with_itself
from tests.differential.sweep.judge_changes import judged as judged_changes
from tests.differential.sweep.judge_changes import score as score_changes
from tests.differential.sweep.judge_sinks import SinkVerdict, judge_sinks, score_sinks
from tests.differential.sweep.load import Json, recorded_versions

PAGE = Path(__file__).parents[3] / "docs" / "accuracy.md"
BEGIN, END = "<!-- figures -->\n", "<!-- /figures -->"
GROUPS = (
    "undamaged",
    "offsets",
    "commits",
    "metadata",
    "sources",
    "state",
    "sink",
    "input",
    "whole directories",
    "several",
)
CHANGED = ("nothing", "options", "offsets", "table or logs")
COLUMNS = ("cases", "outcome", "batch", "offsets", "error", "phase", "unknown", "wrongly fine")

# Cases in which a normal restart is promised and Spark fails, with the reason why the files do not tell. Each has a
# neighbour with the same files that goes on: `test_sweep` shows them. What is taken for granted is told beside each.
KNOWN_WRONGLY_FINE = {
    "file-one-batch/75d1b2c135": "a path in the source's log leads out of its directory, which no file names",
    "with-state-changelog-each/c084930bc5": "state/ is gone, and nothing else shows that the query had state",
    "count-hdfs-each/f51a9a567f": "state/ is gone, and nothing else shows that the query had state",
}


# The same of queries that read Iceberg, by the table. With the manifests beside the same metadata each is predicted.
ICEBERG_WRONGLY_FINE = {
    "data-lost": "which data files there have to be stands in the manifests, which are not recorded"
}


@cache
def judged(version: str) -> tuple[Verdict, ...]:
    return tuple(judge(version))


# Cases in which rows are missing without a word, with the reason why no file tells.
KNOWN_SILENT: dict[str, str] = {}


@cache
def judged_sinks(version: str) -> tuple[SinkVerdict, ...]:
    return tuple(judge_sinks(version))


@cache
def judged_kafka(version: str, asked: bool) -> tuple[Verdict, ...]:
    return tuple(judge_kafka(version, asked))


@cache
def judged_iceberg(version: str) -> tuple[Verdict, ...]:
    return tuple(judge_iceberg(version))


@cache
def judged_tables(version: str) -> tuple[Verdict, ...]:
    return tuple(judge(version, "tables"))


def group_of(verdict: Verdict) -> str:
    """Where the damage is, by the last part of the case's group."""
    place = str(verdict.case["group"]).rpartition("/")[2]
    if place == "nothing":
        return "undamaged"
    if " and " in place or place == "recipe":
        return "several"
    if place.startswith("directory"):
        return "whole directories"
    return "sink" if place.startswith("sink") else "state" if place.startswith("state") else place


def figures() -> str:
    return _by_group("damage to", recorded_versions(), judged, group_of, GROUPS)


def _by_group(
    unlike: str,
    versions: Sequence[str],
    verdicts_of: Callable[[str], Sequence[Verdict]],
    group: Callable[[Verdict], str],
    order: Sequence[str] | None = None,
) -> str:
    """Of each release a line for all, and one for each group: in this order, else by name."""
    lines = [f"| Spark | {unlike} | " + " | ".join(COLUMNS) + " |", "|---|---|" + "---:|" * len(COLUMNS)]
    for version in versions:
        groups: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in verdicts_of(version):
            groups[group(verdict)].append(verdict)
        lines.append(_row(f"**{version}**", "all", score(verdicts_of(version))))
        lines.extend(_row("", name, score(groups[name])) for name in order or sorted(groups) if groups[name])
    return "\n".join(lines) + "\n"


BROKERS_WORD = re.compile("--bootstrap-server|its broker tells")


@cache
def up_to_the_broker(version: str) -> frozenset[str]:
    """Cases in which an answer without the broker is not right, and by its word is: an unknown that names it, or what
    goes on where the topics have all that is read."""
    asked = {one.case["id"] for one in judged_kafka(version, asked=True) if one.right_outcome}
    return frozenset(
        one.case["id"]
        for one in judged_kafka(version, asked=False)
        if one.case["id"] in asked
        and (
            (one.unknown and BROKERS_WORD.search(" ".join(one.said.why)))
            or (one.wrongly_fine and goes_on_with_sound_topics(one))
        )
    )


def kafka_figures() -> str:
    """The same of restarts of Kafka sources: by what the checkpoint and the options say, and with the broker's word."""
    columns = (*COLUMNS, "the broker decides")
    lines = ["| Spark | the broker | " + " | ".join(columns) + " |", "|---|---|" + "---:|" * len(columns)]
    for version in recorded_versions("kafka"):
        alone, apart = judged_kafka(version, asked=False), up_to_the_broker(version)
        told = score([one for one in alone if one.case["id"] not in apart])
        told = replace(score(alone), unknown=told.unknown, wrongly_fine=told.wrongly_fine)
        lines.append(f"{_row(f'**{version}**', 'asked', score(judged_kafka(version, asked=True)))} 0 |")
        lines.append(f"{_row('', 'not named', told)} {len(apart)} |")
    return "\n".join(lines) + "\n"


def iceberg_figures() -> str:
    return _by_group("what is unlike", recorded_versions("iceberg"), judged_iceberg, group_of)


SINK_COLUMNS = ("cases", "batch that fails", "error", "readers", "missing rows", "unknown", "silent", "false alarms")


def sink_figures() -> str:
    """Of sinks over the next ten batches, by sink."""
    lines = ["| Spark | sink | " + " | ".join(SINK_COLUMNS) + " |", "|---|---|" + "---:|" * len(SINK_COLUMNS)]
    for version in recorded_versions("sinks"):
        groups: dict[str, list[SinkVerdict]] = defaultdict(list)
        for verdict in judged_sinks(version):
            groups[_sink_of(verdict.case)].append(verdict)
        lines.append(_sink_row(f"**{version}**", "all", judged_sinks(version)))
        lines.extend(_sink_row("", group, groups[group]) for group in sorted(groups))
    return "\n".join(lines) + "\n"


def _sink_of(case: Json) -> str:
    sink = str(case["group"]).partition("/")[2]
    return sink if case.get("to", "sink") == "sink" else f"{sink}, elsewhere"


def _sink_row(version: str, group: str, verdicts: Sequence[SinkVerdict]) -> str:
    told = score_sinks(verdicts)
    return f"| {version} | {group} | " + " | ".join(map(str, astuple(told))) + " |"


def table_figures() -> str:
    """The same of restarts of Delta sources."""
    return _by_group("changed", recorded_versions("tables"), judged_tables, changed_in, CHANGED)


@cache
def judged_twice(version: str) -> tuple[Verdict, ...]:
    return tuple(judge(version, "twice"))


FIRST_ENDED = {
    "start": "failed at the start",
    "init": "failed in init",
    "batch": "failed in its batch",
    None: "went on",
}


def twice_figures() -> str:
    """The same of restarts after a restart, by how the first one ended."""

    def first(verdict: Verdict) -> str:
        return FIRST_ENDED[verdict.case["first"]["phase"]]

    versions = recorded_versions("twice")
    return _by_group("the first restart", versions, judged_twice, first, list(FIRST_ENDED.values()))


@cache
def judged_places(version: str) -> tuple[Verdict, ...]:
    return tuple(judge(version, "places"))


def place_figures() -> str:
    """The same of file sources that are given another path."""
    lines = ["| Spark | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for version in recorded_versions("places"):
        told = " | ".join(map(str, _counts(score(judged_places(version)))))
        lines.append(f"| **{version}** | {told} |")
    return "\n".join(lines) + "\n"


CHANGE_COLUMNS = ("cases", "verdict", "class", "unknown", "as assumed", "wrongly fine", "same query", "false alarms")


def change_figures() -> str:
    """Of changed queries, with the one that wrote the checkpoint and without."""
    lines = ["| Spark | `--was` | " + " | ".join(CHANGE_COLUMNS) + " |", "|---|---|" + "---:|" * len(CHANGE_COLUMNS)]
    for version in changes_recorded():
        for with_was, told in ((True, "given"), (False, "not given")):
            name = f"**{version}**" if with_was else ""
            figures = " | ".join(map(str, astuple(score_changes(judged_changes(version, with_was)))))
            lines.append(f"| {name} | {told} | {figures} |")
    return "\n".join(lines) + "\n"


def itself_figures() -> str:
    """Of all recorded checkpoints, each held against what is described of it."""
    lines = ["| Spark | checkpoints | told to differ |", "|---|---:|---:|"]
    for version in recorded_versions():
        found = judged(version)
        lines.append(f"| **{version}** | {len(found)} | {sum(map(disagrees_with_itself, found))} |")
    return "\n".join(lines) + "\n"


def changed_in(verdict: Verdict) -> str:
    """What is otherwise than when the query ran."""
    place = group_of(verdict)
    if place == "undamaged":
        return "options" if "change" in verdict.case else "nothing"
    return "offsets" if place == "offsets" else "table or logs"


def _row(version: str, group: str, told: Score) -> str:
    return f"| {version} | {group} | " + " | ".join(map(str, _counts(told))) + " |"


def _counts(told: Score) -> tuple[int, ...]:
    return (
        told.cases,
        told.outcome,
        told.batch,
        told.offsets,
        told.error,
        told.phase,
        told.unknown,
        told.wrongly_fine,
    )


def refreshed(page: str) -> str:
    made = (
        (BEGIN, END, figures),
        ("<!-- kafka -->\n", "<!-- /kafka -->", kafka_figures),
        ("<!-- iceberg -->\n", "<!-- /iceberg -->", iceberg_figures),
        ("<!-- sinks -->\n", "<!-- /sinks -->", sink_figures),
        ("<!-- tables -->\n", "<!-- /tables -->", table_figures),
        ("<!-- places -->\n", "<!-- /places -->", place_figures),
        ("<!-- twice -->\n", "<!-- /twice -->", twice_figures),
        ("<!-- changes -->\n", "<!-- /changes -->", change_figures),
        ("<!-- itself -->\n", "<!-- /itself -->", itself_figures),
        ("<!-- applied -->\n", "<!-- /applied -->", applied_figures),
        ("<!-- images -->\n", "<!-- /images -->", image_figures),
        ("<!-- stores -->\n", "<!-- /stores -->", store_figures),
    )
    for begin, end, told in made:
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{told()}\n{end}{rest.partition(end)[2]}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the figures of docs/accuracy.md.")
    parser.add_argument("--check", action="store_true", help="fail if they are stale")
    options = parser.parse_args()
    page = PAGE.read_text()
    now = refreshed(page)
    if options.check:
        sys.exit(0 if now == page else f"{PAGE} is stale: run `make sweep`")
    PAGE.write_text(now)


if __name__ == "__main__":
    main()
