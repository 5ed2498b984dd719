"""`ckpt plan-recovery` as values, the output of a file sink for it to look at, and the contract of its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.builders import EPOCH_MS, MINUTE_MS, write
from tests.conftest import Outcome, run_ckpt
from tests.take_steps import steps_of, within_fence


def plan(root: Path | str, *options: str) -> tuple[Outcome, dict[str, Any]]:
    outcome = run_ckpt("plan-recovery", str(root), *options, "--format", "json")
    return outcome, json.loads(outcome.out)


def file_sink(root: Path, *batches: int) -> Path:
    """The output of a file sink that has these batches, and the rows that its log tells of."""
    log = root / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in batches:
        part = root / f"part-{batch}.parquet"
        part.write_bytes(b"PAR1")
        time_ms = EPOCH_MS + batch * MINUTE_MS + 300
        action = {"path": str(part), "size": 4, "isDir": False, "modificationTime": time_ms, "blockReplication": 1,
                  "blockSize": 1, "action": "add"}  # fmt: skip
        write(log / str(batch), f"v1\n{json.dumps(action)}".encode(), time_ms)
    return root


# -- the contract: what each field is ----------------------------------------------------------------------------------

KINDS = {"delta", "file", "iceberg", "kafka", "jdbc", "foreachBatch", "memory", "noop", "unknown"}
VERDICTS = {"written", "skipped_already_written", "skipped_rows_lost", "duplicated", "unknown"}
OUTCOMES = {"replay", "new_batch", "fresh_start", "error", "unknown"}
STEPS: Mapping[str, Mapping[str, type]] = {
    "set_aside": {"path": str},
    "write": {"path": str, "content": str, "sha256": str},
    "delta_restore": {"table": str, "version": int},
    "delta_txn": {"table": str, "app_id": str, "version": int},
    "conf": {"k": str, "v": str},
    "manual": {"text": str},
    "spark": {"program": str, "check": dict},
}


def of(value: Any, *kinds: type | None) -> None:
    """Of one of these types, and `bool` is no `int`."""
    found = None if value is None else type(value)
    assert found in kinds, f"{value!r} is none of {kinds}"


def has(fields: Any, **kinds: tuple[type | None, ...]) -> None:
    assert set(kinds) <= set(fields), f"{set(kinds) - set(fields)} lacking"
    for name, allowed in kinds.items():
        of(fields[name], *allowed)


def assert_contract(fields: Mapping[str, Any]) -> None:
    has(fields, schema=(str,), ckpt_version=(str,), checkpoint=(str,), spark_version=(dict,), restart=(dict,),
        sinks=(list,), findings=(list,), options=(list,))  # fmt: skip
    assert fields["schema"] == "ckpt.plan-recovery/1"
    has(fields["spark_version"], assumed=(str,), why=(str,), possible=(list,))
    assert fields["spark_version"]["why"] in ("given", "inferred", "default")
    assert all(len(release.split(".")) == 2 for release in fields["spark_version"]["possible"])
    assert len(fields["spark_version"]["assumed"].split(".")) == 3
    assert_restart(fields["restart"])
    for sink in fields["sinks"]:
        has(sink, kind=(str,), path=(str,), verdict=(str,), why=(str,))
        assert sink["kind"] in KINDS
        assert sink["verdict"] in VERDICTS
    for finding in fields["findings"]:
        assert_finding(finding)
    for option in fields["options"]:
        assert_option(option)
    has(fields, refused=(list,), reach=(dict, None))  # ours


def assert_restart(restart: Mapping[str, Any]) -> None:
    has(restart, outcome=(str,), batch_id=(int, None), sources=(list,), watermark_ms=(int, None), error=(dict, None),
        why=(list,), assumes=(list,))  # fmt: skip
    assert restart["outcome"] in OUTCOMES
    assert (restart["error"] is not None) == (restart["outcome"] == "error")
    assert restart["why"]
    assert (restart["batch_id"] is None) <= (restart["outcome"] in ("error", "unknown"))
    for text in (*restart["why"], *restart["assumes"]):
        of(text, str)
    for source in restart["sources"]:
        has(source, index=(int,), kind=(str, None), rows=(int, None))
        assert {"start", "end"} <= set(source)
    if restart["error"]:
        has(restart["error"], phase=(str,), condition=(str, None), message=(str,), sink_written_first=(bool,))
        of(restart["error"]["class"], str)
        assert restart["error"]["condition"] != ""
        assert restart["error"]["phase"] in ("start", "init", "batch")
        assert (restart["batch_id"] is not None) == (restart["error"]["phase"] == "batch")


def assert_finding(finding: Mapping[str, Any]) -> None:
    has(finding, id=(str,), severity=(str,), path=(str,), position=(dict, None), message=(str,), expected=(str, None),
        next_step=(str, None), spark=(dict, None))  # fmt: skip
    assert finding["severity"] in ("error", "warning", "info")
    if finding["position"]:
        has(finding["position"], line=(int, None), byte=(int, None))
    if finding["spark"]:
        has(finding["spark"], condition=(str, None))
        of(finding["spark"]["class"], str)


def assert_option(option: Mapping[str, Any]) -> None:
    has(option, id=(str,), guarantee=(str,), rows_replayed=(int, None), rows_lost=(int, None),
        rows_duplicated=(int, None), steps=(list,), preconditions=(list,))  # fmt: skip
    for step in option["steps"]:
        has(step, kind=(str,), why=(str,), shell=(str,))
        has(step, **{name: (kind,) for name, kind in STEPS[step["kind"]].items()})
    if any(step["kind"] != "conf" for step in option["steps"]):
        within_fence(steps_of(option))
