"""Restart a query on a damaged checkpoint under real Spark, and say what happened in the words of a prediction.

How the phase of a failure is known: Spark's log of the driver is captured (`queries.py` asks log4j for the streaming
package at INFO into a file). `start`: `start()` threw. `batch`: the log has "Resuming at batch N", or, for a query
that starts anew ("Starting new streaming query"), `offsets/0` was written. `init`: the query failed and neither holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import select
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.differential.sweep import observe
from tests.differential.sweep.bases import Base, Sparks, request
from tests.differential.sweep.load import materialise
from tests.differential.sweep.surgery import Edit, Surgery
from tests.samples.process import SparkDied, SparkProcess

Json = dict[str, Any]
# Wrappers say that something failed, never what.
WRAPPERS = {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"}
SECONDS = 90  # for one answer of the process
GIVEN = ("tables", "places")  # suites whose restarts have options of the source


class Inapplicable(Exception):
    """Edits that undo each other's ground: the file is gone that the next one changes."""


class Restarter:
    """Runs cases of one version; the Spark process is replaced when it dies, and when other connectors are needed."""

    def __init__(self, spark: str, sparks: Sparks) -> None:
        self.spark, self.sparks = spark, sparks
        self._running: SparkProcess | None = None
        self._needs: tuple[str, ...] = ()

    def __enter__(self) -> Restarter:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._running:
            self._running.__exit__(None, None, None)
        self._running = None

    def kill(self) -> None:
        if self._running:
            self._running.kill()
        self.stop()

    def ask(self, needs: tuple[str, ...], asked: Json) -> Json | None:
        """The answer, or None if there was none in time."""
        if self._running is None or needs != self._needs:
            self.stop()
            self._running, self._needs = self.sparks.process(needs), needs
        self._running.ask(asked)
        out = self._running.process.stdout
        if out and select.select([out], [], [], SECONDS)[0]:
            try:
                return self._running.answer()
            except SparkDied:
                pass
        self.kill()
        return None

    def case(self, base: Base, surgery: Surgery, change: Json | None = None) -> Json:
        root = self.lay_out(base, surgery.edits)
        truth = self.restart(base, change)
        given: Json = {"reader": reader_of(base, change), "root": str(root)} if base.suite in GIVEN else {}
        if path := given.get("reader", {}).get("path"):
            given["there"] = Path(path.replace("{root}", str(root)).removeprefix("file:")).exists()
        return {
            "id": case_id(base.name, surgery, change),
            "base": base.name,
            "surgery": list(surgery.edits),
            "told": surgery.name if change is None else f"{surgery.name} + restart {json.dumps(change)}",
            "group": f"{base.group}/{surgery.area}",
            "kind": [surgery.area, surgery.role, surgery.what],
            **({} if change is None else {"change": change}),
            "restart": {"trigger": base.drive, "more_files": base.more, "conf": base.conf, **given},
            "truth": truth,
        }

    def lay_out(self, base: Base, edits: Iterable[Edit]) -> Path:
        root = base.root(self.spark)
        shutil.rmtree(root, ignore_errors=True)
        try:
            materialise(self.spark, base.name, list(edits), root)
        except (OSError, LookupError, ValueError, TypeError) as error:
            raise Inapplicable(f"{type(error).__name__}: {error}") from None
        return root

    def restart(self, base: Base, change: Json | None = None) -> Json:
        root = base.root(self.spark)
        checkpoint = root / base.checkpoint
        asked = request(base, self.spark, self.sparks.log, first=base.files, more=base.more)
        asked["commits"] = 1
        if base.is_ahead:
            asked["files"] = [0, 0]  # all is there but what was taken away
        asked["query"] = {key: value for key, value in base.query.items() if key != "fail_in"}
        if base.suite in GIVEN:
            reader = reader_of(base, change)
            asked["query"]["reader"] = {key: value.replace("{root}", str(root)) for key, value in reader.items()}
            make_places(root, (change or {}).get("made", {}))
        before = Seen(base, root, self.rows_in_delta(base))
        answer = self.ask(base.needs, asked)
        after = Seen(base, root, self.rows_in_delta(base))
        if answer is None or answer["timeout"]:
            self.kill()  # what hangs may hold locks that the next case needs
            return {"outcome": "timeout", "batch_id": None, "phase": None, "error": None, "ran": []}
        return shortened(truth_of(base, answer, before, after), str(root), str(checkpoint))

    def rows_in_delta(self, base: Base) -> list[Json] | None:
        output = base.root(self.spark) / "output"
        if base.query["sink"] != "delta" or not output.exists():
            return None
        answer = self.ask(base.needs, {"read": str(output)})
        return answer["rows"] if answer else None


class Seen:
    """The disk at one moment."""

    def __init__(self, base: Base, root: Path, rows: list[Json] | None) -> None:
        self.checkpoint = root / base.checkpoint
        self.offsets = observe.written(self.checkpoint / "offsets")
        self.commits = observe.written(self.checkpoint / "commits")
        self.sink = observe.sink(base.query["sink"], root / "output")
        if rows is not None:
            self.sink["rows"] = rows

    def planned(self, batch: int | None) -> Json | None:
        """A batch that failed, as the log has it: the lines of the sources before and after it."""
        if batch is None or batch not in self.offsets:
            return None
        lines = observe.source_lines
        return {"start": lines(self.checkpoint, batch - 1), "end": lines(self.checkpoint, batch)}


def case_id(base: str, surgery: Surgery, change: Json | None = None) -> str:
    made = [surgery.edits, change] if change else surgery.edits
    return f"{base}/{hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:10]}"


def make_places(root: Path, made: dict[str, str]) -> None:
    for name, kind in made.items():
        if (root / name).exists():
            return  # by the restart before
        if kind == "copy":
            shutil.copytree(root / "input", root / name)
        elif kind == "link":
            (root / name).symlink_to(root / "input")
        else:
            (root / name).mkdir()


def reader_of(base: Base, change: Json | None) -> dict[str, str]:
    """The options of the source at the restart."""
    reader = base.query.get("reader", {}) | (change or {}).get("reader", {})
    return {key: value for key, value in reader.items() if value is not None}


# -- what happened -----------------------------------------------------------------------------------------------------


def truth_of(base: Base, answer: Json, before: Seen, after: Seen) -> Json:
    chain = answer["start"] or answer["error"] or []
    committed = [batch for batch, file in sorted(after.commits.items()) if before.commits.get(batch) != file]
    progressed = [one["batch"] for one in answer["progress"]]
    ran = committed if base.drive == "available-now" else committed[:1] or progressed[:1]
    batch, fresh = first_batch(answer["log"])
    if batch is None and base.drive == "continuous":  # which says nothing when it resumes
        planned = [epoch for epoch, file in sorted(after.offsets.items()) if before.offsets.get(epoch) != file]
        batch = min(ran + planned[:1], default=None)
    failed = bool(chain or answer["said"]) and batch not in ran
    truth: Json = {"outcome": "error", "batch_id": batch, "phase": None, "error": None}
    if failed:
        truth["phase"] = phase_of(answer, batch, fresh, before, after)
        truth["batch_id"] = batch if truth["phase"] == "batch" else None
    elif batch is None or not ran:  # no data to be found, so it stays open what a batch would have done
        truth["outcome"] = "nothing"
    else:
        truth["outcome"] = outcome_of(base, batch, fresh, before, after)
    if chain or answer["said"]:
        truth["error" if failed else "later_error"] = error_of(chain, answer["said"])
    truth["first"] = next((one for one in answer["progress"] if one["batch"] == batch and batch in ran), None)
    if truth["phase"] == "batch":
        truth["planned"] = after.planned(batch)
    truth["ran"] = ran
    truth["in"] = sorted({name for one in chain for name in one["in"]})
    truth["sink"] = sink_of(base, before, after)
    if truth["phase"] == "batch":
        truth["sink_written_first"] = reached_sink(truth, before, after)
    return truth


def first_batch(log: list[str]) -> tuple[int | None, bool]:
    """The batch that Spark settles on, and whether the query starts anew."""
    for line in log:
        if found := re.search(r"Resuming at (?:batch|epoch) (-?\d+)", line):
            return int(found[1]), False
        if "Starting new streaming query" in line:
            return 0, True
    return None, False


def phase_of(answer: Json, batch: int | None, fresh: bool, before: Seen, after: Seen) -> str:
    if answer["start"] or answer["said"]:
        return "start"
    planned = 0 in after.offsets and after.offsets[0] != before.offsets.get(0)
    return "batch" if batch is not None and (not fresh or planned) else "init"


def outcome_of(base: Base, batch: int, fresh: bool, before: Seen, after: Seen) -> str:
    if fresh:
        return "fresh_start"
    if base.drive == "continuous":  # which decides anew how far an epoch goes, and leaves the old file as it is
        return "new_batch"
    same = batch in before.offsets and before.offsets[batch] == after.offsets.get(batch)
    return "replay" if same else "new_batch"


def error_of(chain: list[Json], said: str | None) -> Json:
    """The root cause, and the condition nearest to it that is no wrapper's."""
    if not chain:
        return {"class": None, "condition": None, "message": said, "chain": []}
    conditions = [one["condition"] for one in chain if one["condition"] and one["condition"] not in WRAPPERS]
    return {
        "class": chain[-1]["class"],
        "condition": conditions[-1] if conditions else None,
        "message": chain[-1]["message"],
        "chain": [[one["class"].rpartition(".")[2], one["condition"]] for one in chain],
    }


def sink_of(base: Base, before: Seen, after: Seen) -> Json:
    rows, earlier = observe.identities(after.sink["rows"]), observe.identities(before.sink["rows"])
    told: Json = {"ledger_before": before.sink["ledger"], "ledger_after": after.sink["ledger"]}
    if rows is not None:
        added = rows - (earlier or Counter())
        told["added"] = [json.loads(row) for row in sorted(added.elements())]
        told |= observe.lost_and_repeated(base.query, base.files + base.more, after.sink["rows"])
    elif earlier is not None or after.sink["ledger"] is not None:
        told["unreadable"] = True
    return told


def reached_sink(truth: Json, before: Seen, after: Seen) -> bool:
    """Whether the sink had its turn before the failure: its ledger grew, or Spark was past it, at the commit log."""
    grown = before.sink["ledger"] != after.sink["ledger"]
    in_commit_log = "HDFSMetadataLog.add" in truth["in"] and not {"constructNextBatch", "addBatch"} & set(truth["in"])
    return grown or in_commit_log or "markMicroBatchEnd" in truth["in"] or _said_at_commit(truth["error"])


def _said_at_commit(error: Json) -> bool:
    """Spark notices another commit of the same batch when it writes its own."""
    return error["condition"] == "CONCURRENT_STREAM_LOG_UPDATE" or "update to the commit log" in (
        error["message"] or ""
    )


def shortened(truth: Json, root: str, checkpoint: str) -> Json:
    """Without the places of this machine."""
    for key in ("error", "later_error"):
        if truth.get(key):
            message = truth[key]["message"] or ""
            truth[key]["message"] = message.replace(checkpoint, "<checkpoint>").replace(root, "<root>")[:300]
    text = json.dumps(truth)
    loaded: Json = json.loads(text.replace(f"file:{root}", "<root>").replace(root, "<root>"))
    return loaded
