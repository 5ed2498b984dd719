"""What the texts of Spark's plans mean: the names of stateful nodes, columns by number, the arithmetic of windows.

Writers: `toString` of plans and expressions. Imports nothing of ours, since `ckpttool.spark.planned` needs it
in the user's Python: what a job's Spark plans and what `explain` printed are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# What Spark's metadata calls the operators, by their nodes in the physical plan.
OPERATOR_NAMES = {
    "StateStoreSaveExec": "stateStoreSave",
    "SessionWindowStateStoreSaveExec": "sessionWindowStateStoreSaveExec",
    "StreamingDeduplicateExec": "dedupe",
    "StreamingDeduplicateWithinWatermarkExec": "dedupeWithinWatermark",
    "StreamingGlobalLimitExec": "globalLimit",
    "StreamingSymmetricHashJoinExec": "symmetricHashJoin",
    "FlatMapGroupsWithStateExec": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithStateExec": "applyInPandasWithState",
    "TransformWithStateExec": "transformWithStateExec",
    "TransformWithStateInPandasExec": "transformWithStateInPandasExec",
    "TransformWithStateInPySparkExec": "transformWithStateInPySparkExec",
}
STATEFUL = (  # nodes of the analysed plan that become stateful operators, if their rows stream
    "Aggregate",
    "Distinct",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Join",
    "GlobalLimit",
    "FlatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState",
    "TransformWithState",
    "TransformWithStateInPandas",
    "TransformWithStateInPySpark",
)
REFERENCE = re.compile(r"#(\d+)L?(?:-T\d+ms)?")
# Columns made of columns, before it is taken for a circle; and the characters of them, whatever a text says.
_DEEPEST, _MOST = 20, 1_000_000
_LONGEST_WINDOW = 20_000
_FORK = re.compile(r"(?:[ :]  )*[+:]- ")
_SOURCE = re.compile(r"((?:(?:[ :]  )*[+:]- )?~?)StreamingRelation(?:V2)? ")
_WATERMARK = r"EventTimeWatermark [0-9a-f]{8}-[0-9a-f-]{27}, "

_TIME = r"precisetimestampconversion\((?P<ts>(?:(?!precisetimestampconversion).)+?), Timestamp(?:NTZ)?Type, LongType\)"
_WINDOW = re.compile(
    r"named_struct\(start, .*?" + _TIME + r" - (?P<start>-?\d+)\)(?: \+ \d+\))? % (?P<slide>\d+)\)"
    r".*\+ (?P<length>\d+)\), LongType, Timestamp(?:NTZ)?Type\)\)?\)"
)
_SESSION = re.compile(
    r"named_struct\(start, .*?" + _TIME + r", LongType, Timestamp(?:NTZ)?Type\)"
    r".*? \+ cast\((?P<gap>-?\d[^,()]*) as interval\)"
)


def spell(expression: str, names: Mapping[str, str], made_of: Mapping[str, str]) -> str:
    """With what a column was computed from in its place, and without numbers, which no two plans have alike. `names`,
    `made_of`: by the numbers that Spark gave to columns."""
    left = _MOST

    def spelled(text: str, depth: int) -> str:
        nonlocal left
        found: list[str] = []
        at = 0
        for match in REFERENCE.finditer(text):
            before, number = text[at : match.start()], match[1]
            name = names.get(number)
            if name and before.endswith(name) and number in made_of and depth < _DEEPEST and left > 0:
                left -= 1 + len(made_of[number])
                before = before[: -len(name)] + spelled(made_of[number], depth + 1)
            found.append(before)
            at = match.end()
        return "".join([*found, text[at:]])

    return spelled(expression, 0)


def window_of(text: str) -> dict[str, str | int]:
    """Spark computes windows from time stamps: their lengths are in the arithmetic."""
    if len(text) > _LONGEST_WINDOW or "named_struct(start, " not in text:
        return {"key": text}
    if match := _WINDOW.search(text):
        length, slide, start = (int(match[name]) // 1000 for name in ("length", "slide", "start"))
        shifted = f", {start} ms" if start else ""
        key = f"window({match['ts']}, {length} ms, {slide} ms{shifted})"
        return {"key": key, "window_ms": length, "slide_ms": slide}
    if match := _SESSION.search(text):
        return {"key": f"session_window({match['ts']}, {match['gap']})", "gap": match["gap"]}
    return {"key": text}


def plan_lines(tree: str) -> list[str]:
    """A plan as it is compared: of sources only that they are there, since they are told apart, and no numbers. What a
    source's options print over several lines may be a secret."""
    found: list[str] = []
    of_source = False
    for line in tree.rstrip().split("\n"):
        if of_source and not _FORK.match(line):
            continue
        source = _SOURCE.match(line)
        of_source = source is not None
        line = f"{source[1]}source" if source else re.sub(_WATERMARK, "EventTimeWatermark ", line)
        found.append(re.sub(r"@[0-9a-f]{4,16}\b", "", REFERENCE.sub("", line)))
    return found
