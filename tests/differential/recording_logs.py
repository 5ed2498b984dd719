"""Records what real Spark writes to its logs when queries fail, and keeps it small:

python -m tests.differential.recording_logs RAW 3.5.7 4.2.0          runs them, and keeps all in the directory RAW
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.parts.spark import ensure_java, ensure_python_state, ensure_spark, spark_home

JOB = Path(__file__).with_name("failing.py")
_APPENDER = """
appender.{name}.type = File
appender.{name}.name = {name}
appender.{name}.fileName = {root}/{name}.log
rootLogger.appenderRef.{name}.ref = {name}
"""
_TEXT = """appender.text.layout.type = PatternLayout
appender.text.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""
_JSON = """appender.json.layout.type = JsonTemplateLayout
appender.json.layout.eventTemplateUri = classpath:org/apache/spark/SparkLayout.json
"""


def record(release: str, raw: Path, names: list[str]) -> None:
    """In the pattern of Spark's own template, and where it has one for JSON in that too."""
    ensure_java()
    python = ensure_spark(release)
    root = Path(tempfile.mkdtemp(prefix="logs-"))
    has_json = any(spark_home(release).glob("jars/log4j-layout-template-json-*.jar"))
    config = "rootLogger.level = info\n" + _APPENDER.format(name="text", root=root) + _TEXT
    config += _APPENDER.format(name="json", root=root) + _JSON if has_json else ""
    (root / "log4j2.properties").write_text(config)
    (root / "events").mkdir()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={root}/log4j2.properties",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(root / "events"),
        "spark.eventLog.compress": "false",
        "spark.log.structuredLogging.enabled": "true",
        "spark.driver.host": "localhost",
    }
    confs = " ".join(f"--conf {key}={value}" for key, value in settings.items())
    environment = os.environ | {
        "PYTHONPATH": str(ensure_python_state(release)) if release >= "3.4" else "",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_SUBMIT_ARGS": f"--master local[2] {confs} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    raw.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, JOB, root, raw / f"{release}.jsonl", *names], env=environment, check=True)
    event_logs = [path for path in (root / "events").rglob("*") if path.is_file() and path.stat().st_size > 0]
    event_log = max(event_logs, key=lambda path: path.stat().st_size)
    (raw / f"{release}.events").write_bytes(event_log.read_bytes())
    for compressed in root.glob("events.*"):
        shutil.copy(compressed, raw / f"{release}.{compressed.name}")
    (raw / f"{release}.root").write_text(str(root))


# -- what is kept ------------------------------------------------------------------------------------------------------

RECORDED = Path(__file__).parents[1] / "recorded_logs"
OF_A_QUERY = re.compile(
    r"(?:INFO|WARN) (?:ResolveWriteToStream|MicroBatchExecution: (?:Starting|Resuming at|Using Source|Stream started))"
    r"|ERROR |WARN TaskSetManager: Lost"
)
RECORD = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:INFO|WARN|ERROR) ")
FRAME = re.compile(r"\s+at |\s+\.\.\. \d+ more")
STREAMING = re.compile(r"\.streaming\.|org\.apache\.hadoop\.fs\.RawLocal")
LONGEST, MOST_FRAMES = 1_500, 7
EVENTS = ("SparkListenerLogStart", "QueryStartedEvent", "QueryProgressEvent", "QueryTerminatedEvent")


def nowhere(text: str, root: str) -> str:
    """Without the machine: its directories, and where its Python is."""
    text = text.replace(f"{root}/runs/", "/data/").replace(root, "/data")
    text = re.sub(r"/[\w./-]*/tests/differential/failing\.py", "/app/orders.py", text)
    text = re.sub(r"/[\w./-]*/lib/python3[\d.]*/site-packages/", "/opt/spark/python/", text)
    return re.sub(r"/usr/(?:local/)?lib/python3[\d.]*/", "/usr/lib/python3/", text)


def with_few_frames(lines: Iterable[str]) -> Iterator[str]:
    kept = 0
    for line in lines:
        if not FRAME.match(line):
            kept = 0
            yield line[:LONGEST]
        elif kept < MOST_FRAMES and (kept < 2 or STREAMING.search(line)):
            kept += 1
            yield line[:LONGEST]


def records(text: str) -> Iterator[list[str]]:
    """Each with the lines that follow its head."""
    found: list[str] = []
    for line in text.split("\n"):
        if RECORD.match(line) and found:
            yield found
            found = []
        found.append(line)
    yield found


def text_log(first: str, text: str) -> str:
    started = [line for line in first.split("\n") if "Running Spark version" in line][:1]
    every = list(records(text))
    heads = [number for number, record in enumerate(every) if "Checkpoint root" in record[0]]
    before, last = every[: heads[-1]] if heads else [], every[heads[-1] :] if heads else every
    progress = [record for record in before if record[0].endswith("progress: {")][-1:]
    told: set[str] = set()
    kept = list(started)
    for record in (*progress, *last):
        error = re.sub(r"\d+", "0", "\n".join(record[1:4]))
        if record in progress or (
            OF_A_QUERY.search(record[0]) and (error not in told or " ERROR MicroBatch" in record[0])
        ):
            told.add(error if len(record) > 1 else "")
            kept += with_few_frames(record)
    return "\n".join(kept).rstrip() + "\n"


def json_log(first: str, text: str) -> str:
    """As `SparkLayout.json` has it; lists of frames are shorter."""
    started = [line for line in first.split("\n") if "Running Spark version" in line][:1]
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if "Checkpoint root" in line]
    kept = list(started)
    for line in lines[heads[-1] if heads else 0 :]:
        record = json.loads(line) if line.startswith("{") else {}
        if OF_A_QUERY.search(f"{record.get('level')} {record.get('logger')}: {record.get('msg')}"):
            kept.append(json.dumps(shorter(record), separators=(",", ":")))
    errors = [line for line in kept if '"level":"ERROR"' in line]
    return "\n".join(line for line in kept if line not in errors[:-2])[:60_000] + "\n"


def shorter(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shorter(one) for key, one in value.items()}
    if isinstance(value, list):
        few = [one for one in value if STREAMING.search(f"{one.get('class')}.")][:MOST_FRAMES]
        return (few or value[:2]) if value and "class" in value[0] else value
    return value[: 2 * LONGEST] if isinstance(value, str) else value


def event_log(events: str, id: str) -> str:
    kept = []
    for line in events.split("\n"):
        name = json.loads(line)["Event"].rpartition("$")[2] if line else ""
        if name.rpartition(".")[2] == EVENTS[0] or (name in EVENTS and id in line):
            kept.append(line)
    progress = [line for line in kept if EVENTS[2] in line]
    kept = [line for line in kept if line not in progress[:-1]]
    return "\n".join(shorter_event(line) for line in kept) + "\n"


def shorter_event(line: str) -> str:
    event = json.loads(line)
    if isinstance(event.get("exception"), str):
        event["exception"] = "\n".join(with_few_frames(event["exception"].split("\n")))
    return json.dumps(event, separators=(",", ":"))


def kept_forms(found: dict[str, Any], events: str, number: int) -> Iterator[tuple[str, str]]:
    """One log of each failure, in turn one form or the other; what a notebook shows, of every third."""
    logs, first = found["logs"], found["first"]
    in_log = " ERROR " in logs["text.log"]
    if in_log and "json.log" in logs and number % 2:
        yield "json", json_log(first["json.log"], logs["json.log"])
    elif in_log and number % 5 == 2 and found["id"] and found["id"] in events:
        yield "event-log", event_log(events, found["id"])
    elif in_log:
        yield "log", text_log(first["text.log"], logs["text.log"])
    if not in_log or number % 3 == 0:
        yield "txt", "\n".join(with_few_frames(found["trace"].split("\n"))).rstrip() + "\n"


def likeness(found: dict[str, Any], root: str) -> str:
    """The same for what two releases print alike."""
    raised = [
        line for line in nowhere(found["trace"], root).split("\n") if re.match(r"[\w.]+(?:Exception|Error)\b", line)
    ]
    return re.sub(r"[0-9a-f-]{36}|[\d/.]+", "0", (raised or [""])[-1])[:200]


def keep(raw: Path) -> None:
    """What several releases print alike is kept of one of them, and a few of each to be held against each other."""
    shutil.rmtree(RECORDED, ignore_errors=True)
    RECORDED.mkdir()
    facts: dict[str, Any] = {}
    known: set[tuple[str, str]] = set()
    releases = sorted((path.stem for path in raw.glob("*.jsonl")), key=lambda one: (one not in WHOLE, one))
    for turn, release in enumerate(releases):
        root, events = (raw / f"{release}.root").read_text(), (raw / f"{release}.events").read_text()
        lines = (raw / f"{release}.jsonl").read_text().splitlines()
        failed = [one for one in map(json.loads, lines) if "went_on" not in one]
        for number, found in enumerate(failed):
            of_turn = number % len(releases) == turn or release in WHOLE
            for form, text in kept_forms(found, events, number + turn):
                if (found["name"], likeness(found, root)) not in known or of_turn:
                    write(facts, found, root, form, nowhere(text, root).encode())
            known.add((found["name"], likeness(found, root)))
        for packed in raw.glob(f"{release}.events.*") if release == PACKED else ():
            write(facts, failed[0], "", packed.suffix[1:], packed.read_bytes())
    (RECORDED / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")


def write(facts: dict[str, Any], found: dict[str, Any], root: str, form: str, text: bytes) -> None:
    name = f"{found['release']}-{found['name']}.{form}"
    (RECORDED / name).write_bytes(text)
    facts[name] = {key: found[key] for key in ("id", "batches", "condition", "release")}
    facts[name]["checkpoint"] = nowhere(found["checkpoint"], root) if root else found["checkpoint"]


WHOLE, PACKED = ("3.5.7", "4.2.0"), "4.1.3"

if __name__ == "__main__":
    raw, *releases = sys.argv[1:]
    for release in releases:
        record(release, Path(raw), [])
    if not releases:
        keep(Path(raw))
