"""The recorded restarts of changed queries, and the checkpoints they are about, without Spark.

A case has `id` (base/change), `query` (an `Asked`), `conf`, `described` (what
`ckpt query describe` made of the new query, in the words of its Spark; None of one that Spark does not even analyse),
and `truth`:

outcome     error, or ran
batch_id    the batch in which it failed, or the first that it ran
phase       of an error: start, init or batch
error       of an error: the class and condition of its root, and the message
ran         the batches that it committed
rows        of each batch that wrote any, its rows: the values of each as JSON
conf        of what the restart was given, what the newest offsets pin
left        of an error: what the failed start wrote or changed in the checkpoint
back        of an error that left something: the same of the old query, started on what was left
scratch     else: the rows that the new query makes of the new input when it has run from the beginning, in this release
            or in another one, where these rows are the same or the restart made them too

What the change is called, and why its rows are right or wrong (`ids`, `kept`, `lost`), is the catalogue's.
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tests.differential.sweep.bases import TRUTHS
from tests.differential.sweep.changes.catalogue import SAME, changes

Json = dict[str, Any]
Became = Literal["accepted", "rows_differ", "refused"]


def recorded() -> list[str]:
    return sorted(path.parent.name for path in TRUTHS.glob("*/changes.jsonl.xz"))


def cases_file(spark: str) -> Path:
    return TRUTHS / spark / "changes.jsonl.xz"


def bases_file(spark: str) -> Path:
    """All bases of a release: they are much alike, and so they are little as one archive."""
    return TRUTHS / spark / "changes.tar.xz"


@cache
def read(spark: str) -> dict[str, Json]:
    with lzma.open(cases_file(spark), "rt", encoding="utf-8") as lines:
        kept = {case["id"]: case for case in map(json.loads, lines)}
    told = {one.id: {"ids": one.ids, "kept": one.kept, "lost": one.lost} for one in changes(spark)}
    return {key: case | told[key] for key, case in kept.items() if key in told}


def unpack(spark: str, folder: Path) -> None:
    """Every base, with its input and its output, below a folder of its own."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(bases_file(spark).read_bytes()))) as tar:
        tar.extractall(folder, filter="data")


def base_of(case: Json) -> str:
    return str(case["id"]).partition("/")[0]


def is_same(case: Json) -> bool:
    return str(case["id"]).endswith(f"/{SAME}")


def what_became(case: Json) -> Became:
    """What Spark throws on is refused. Else the rows from the next batch on are what the new query makes of the same
    input when it began with it; if not, rows differ, unless it is told why others are what it means with the state that
    is there (`kept`). They differ too where it is told why they are wrong, or others are missing, though these come
    (`lost`)."""
    if case["truth"]["outcome"] == "error":
        return "refused"
    if case.get("lost"):
        return "rows_differ"
    return "accepted" if case.get("kept") or is_as_meant(case) else "rows_differ"


def is_as_meant(case: Json) -> bool:
    """Also where it leaves no rows to be looked at."""
    truth = case["truth"]
    return truth["scratch"] is None or are_alike(truth["rows"], truth["scratch"])


def are_alike(rows: dict[str, list[str]], others: dict[str, list[str]]) -> bool:
    """In whatever batches they came."""
    one, other = (Counter(row for batch in of.values() for row in batch) for of in (rows, others))
    return one == other
