"""Stands in for the Python that has Spark: `python JOB` acts a query that adds `step` to each number of a batch, and
tells what the job `says` wherever a job may say something.
What it is offered, and by which process it is acted, it notes in the work directory."""

from __future__ import annotations

import sys
from pathlib import Path

PROGRAM = """
import json, os, sys
from pathlib import Path

asked = json.loads(sys.stdin.readline())
job = json.loads(Path(asked["job"]).read_text())
says = job.get("says", "")
function = {"name": "write" + says, "file": "orders.py", "line": 9, "sha256": None}
nothing = dict.fromkeys(("where", "checkpoint", "place", "output_schema", "spark_says"))
none = {key: [] for key in ("watermarks", "operators")} | {"plan": job.get("plan", [])}
read = {"index": 0, "name": None, "provider": job.get("provider", "json"), "api": "v1", "schema": None}
read["shared_with"] = None
sources = [read | {"options": {"path": job.get("reads", "/in")}}]
query = {"name": "orders", "format": "foreachBatch", "function": function, "output_mode": "append"}
query |= {"place": job.get("writes"), "options": {}}
described = query | nothing | none | {"sources": sources, "options": {}, "conf": {}, "files": {}}
described |= {"trigger": {"given": {}, "interval_ms": None}}
reached = {"spark_version": "4.2.0", "failed": None, "queries": ["orders"], "query": query, "described": described}
reached |= {"another": False, "offer": None if "keeps" in job else asked["job"]} | job.get("reached", {})
if asked["offer"] and "alone" in job:
    reached = {"another": True}
work = Path(os.environ["TMPDIR"]).parent
with open(work / "offers", "a") as offers:
    print(json.dumps(asked["offer"]), file=offers)
(work / "pids").mkdir(exist_ok=True)
(work / "pids" / str(os.getpid())).touch()


def tell(answer, request):
    print(json.dumps(answer | {"request": request["request"]}), flush=True)


runs = 0


def run(request):
    global runs
    runs += 1
    if "dies" in job:
        sys.exit("java.lang.OutOfMemoryError: heap")
    checkpoint, done = Path(request["checkpoint"]), []
    numbers = ([int(one.name) for one in (checkpoint / log).glob("[0-9]*")] for log in ("offsets", "commits"))
    newest, committed = map(max, numbers)
    last = newest if newest == committed else newest - 1
    for batch in range(last + 1, min(request["until"], job.get("ends_with", 99)) + 1):
        offsets = checkpoint / "offsets" / str(batch)
        if not offsets.exists():
            offsets.write_text((checkpoint / "offsets" / str(last)).read_text())
        if batch == job.get("fails_in"):
            thrown = {"class": "java.lang.ArithmeticException", "condition": "DIVIDE_BY_ZERO", "message": "by 0"}
            return {"failed": [thrown | {"in": ["runBatch"]}], "committed": False}
        rows = Path(request["rows"], str(batch))
        rows.mkdir(parents=True)
        more = {says: says} if says else {}
        rows_of = [{"id": one, "sum": one + job["step"] + ("random" in job) * runs} | more for one in (batch, 1)]
        lines = map(json.dumps, rows_of)
        (rows / "part-0.txt").write_text("\\n".join(lines))
        if (checkpoint / "commits" / str(batch)).exists():
            thrown = {"class": "java.lang.IllegalStateException", "condition": None, "message": "Concurrent update"}
            return {"failed": [thrown | {"in": ["markMicroBatchEnd"]}], "committed": False}
        commit = json.dumps({"nextBatchWatermarkMs": 1000 * batch + job["step"]})
        (checkpoint / "commits" / str(batch)).write_text(f"v1\\n{commit}")
        done.append({"batchId": batch, "numInputRows": 2, "state_rows": []})
    answer = {"failed": None, "committed": (checkpoint / "commits" / str(request["until"])).exists(), "progress": done}
    return answer | (written(Path(request["rows"], "written")) if request["clones"] else {})


def written(folder):
    # By its function, into a table: the sum of 1 has become another.
    told = [{"id": 1, "sum": 7 + job.get("writes_more", 0) + ("at_random" in job) * runs}], [{"id": 1, "sum": 6}]
    for number, rows in enumerate(told):
        (folder / str(number)).mkdir(parents=True, exist_ok=True)
        (folder / str(number) / "part-0.txt").write_text("\\n".join(map(json.dumps, rows)))
    place = says or "/lake/sums"
    places = [{"place": place, "which": which, "number": n} for n, which in enumerate(("added", "removed"))]
    return {"written": places, "left_out": [f"a write to jdbc{says} in its function"]}


if "waits" in job:
    import threading
    threading.Event().wait()
tell(reached, asked)
for line in sys.stdin:
    request = json.loads(line)
    if "hangs" in job:
        import threading
        threading.Event().wait()
    tell(run(request), request)
"""


def python_that_acts(folder: Path) -> Path:
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\n{PROGRAM}")
    path.chmod(0o700)
    return path
