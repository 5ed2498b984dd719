"""Histories of imagined crashes, as a sound Spark would leave them: what the judge has to find valid.

The query's results are written out here by definition (a running count is the number of rows so far), not by the fold
of the code under test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from ckpttool.harness.history import (
    Case,
    Crash,
    Disk,
    ObservedCommit,
    ObservedRestart,
    Prediction,
    Proof,
    QuerySource,
    Record,
    Released,
    Run,
    Sink,
    StateRow,
    Transformation,
    Window,
)

Row = dict[str, Any]
QUERY_ID = "2abd3c3e-3179-4a4c-8fdc-0a4cd3a6a0a1"
STEP_MS, SPAN_MS = 1_000, 4_000
KEYS = "abc"
STEP_OF: dict[Window, int] = {"rebuilt": 2, "replayed": 4, "in-effect": 7, "doubled": 7, "done": 8}


class Shape(Struct, frozen=True):
    """A query and its crash. `sizes`: rows per batch. A window that closes needs the event times of the rows, which
    are their numbers in seconds."""

    sizes: tuple[int, ...] = (3, 2, 4, 1)
    operator: Literal["map", "count", "window", "job"] = "map"
    source: Literal["kafka", "file", "rate-micro-batch", "delta"] = "kafka"
    sink: Literal["delta", "file", "foreachBatch", "kafka"] = "delta"
    partitions: int = 2
    crash_batch: int = 2
    window: Window = "doubled"

    @property
    def has_ledger(self) -> bool:
        return self.sink in ("delta", "file")

    @property
    def batches(self) -> range:
        return range(len(self.sizes))


class History(Struct, frozen=True):
    """The parts that a test may replace."""

    run: Run
    case: Case
    shape: Shape = Shape()


def sound_history(shape: Shape) -> History:
    query = _Query(shape)
    run = Run(
        scenario=f"{shape.source} → {shape.operator} → {shape.sink}",
        seed=7,
        spark_version="4.2.0",
        sources=(QuerySource(index=0, kind=shape.source),),
        operator=query.operator(),
        sink=Sink(kind=shape.sink, path="/scratch/sink", ledger=shape.has_ledger),
        guarantee="exactly-once" if shape.has_ledger else "at-least-once",
        control=None if shape.has_ledger or shape.operator == "job" else "duplicates",
        identity=query.identity(),
        records=tuple(record for batch in query.records for record in batch),
        undisturbed=tuple(row for rows in query.rows for row in rows) if shape.operator == "job" else None,
    )
    return History(run, query.case(), shape)


class _Query:
    """What a sound Spark makes of the shape's input."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.records = self._records()
        self.watermarks = self._watermarks()
        self.rows = [self._rows(batch) for batch in shape.batches]

    # -- the input

    def _records(self) -> list[list[Record]]:
        found: list[list[Record]] = []
        counts = [0] * self.shape.partitions
        number = 0
        for batch, size in enumerate(self.shape.sizes):
            records = []
            for line in range(size):
                fields = {"id": number, "k": KEYS[number % len(KEYS)], "v": number * 10, "at": number * STEP_MS}
                partition = number % self.shape.partitions
                place, position = {
                    "kafka": (f"orders/{partition}", counts[partition]),
                    "file": (f"{batch:03}.json", line),
                    "rate-micro-batch": ("", number),
                    "delta": (str(batch), 0),
                }[self.shape.source]
                records.append(Record(source=0, place=place, position=position, fields=fields))
                counts[partition] += 1
                number += 1
            found.append(records)
        return found

    def offset(self, batch: int) -> str:
        ends = [0] * self.shape.partitions
        so_far = [record for records in self.records[: batch + 1] for record in records]
        for record in so_far:
            ends[record.fields["id"] % self.shape.partitions] += 1
        values: dict[str, dict[str, Any]] = {
            "kafka": {"orders": {str(partition): end for partition, end in enumerate(ends)}},
            "file": {"logOffset": batch},
            "rate-micro-batch": {"offset": len(so_far), "timestamp": 1000 * batch},
            "delta": {
                "sourceVersion": 1,
                "reservoirId": "0b2a2c5e-9c1f-4f0e-8a53-6f6bd1a3c1d7",
                "reservoirVersion": batch + 1,
                "index": -1,
                "isStartingVersion": False,
            },
        }
        return json.dumps(values[self.shape.source])

    # -- the results

    def operator(self) -> Transformation:
        settings: dict[str, dict[str, Any]] = {
            "map": {},
            "job": {},
            "count": {"keys": ["k"], "value": "v"},
            "window": {"event_time": "at", "delay_ms": 0, "window_ms": SPAN_MS, "keys": ["k"]},
        }
        return Transformation(kind=self.shape.operator, settings=settings[self.shape.operator])

    def identity(self) -> tuple[str, ...]:
        return {"count": ("k", "count"), "window": ("window_start", "k")}.get(self.shape.operator, ("id",))

    def _watermarks(self) -> list[int]:
        if self.shape.operator != "window":
            return [0] * len(self.shape.sizes)
        latest = [max((record.fields["at"] for record in records), default=0) for records in self.records]
        return [max([0, *latest[:batch]]) for batch in self.shape.batches]

    def _rows(self, batch: int) -> list[Row]:
        if self.shape.operator == "count":
            return [
                {"k": key, "count": len(found), "sum": sum(found)}
                for key, found in self._values_by_key(batch).items()
                if any(record.fields["k"] == key for record in self.records[batch])
            ]
        if self.shape.operator == "window":
            return [
                {"window_start": start, "window_end": start + SPAN_MS, "k": key, "count": count}
                for (start, key), count in self._windows(batch).items()
                if start + SPAN_MS <= self.watermarks[batch]
                and (batch == 0 or start + SPAN_MS > self.watermarks[batch - 1])
            ]
        return [dict(record.fields) for record in self.records[batch]]

    def _values_by_key(self, batch: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for record in (record for records in self.records[: batch + 1] for record in records):
            found.setdefault(record.fields["k"], []).append(record.fields["v"])
        return found

    def _windows(self, batch: int) -> dict[tuple[int, str], int]:
        found: dict[tuple[int, str], int] = {}
        for record in (record for records in self.records[: batch + 1] for record in records):
            key = (record.fields["at"] // SPAN_MS * SPAN_MS, record.fields["k"])
            found[key] = found.get(key, 0) + 1
        return found

    def state(self) -> Mapping[int, tuple[StateRow, ...]] | None:
        if self.shape.operator in ("map", "job"):
            return None
        return {batch: tuple(self._state_rows(batch)) for batch in self.shape.batches}

    def _state_rows(self, batch: int) -> list[StateRow]:
        if self.shape.operator == "count":
            pairs: list[tuple[Any, Any]] = [
                ({"k": key}, {"count": len(found), "sum": sum(found)})
                for key, found in self._values_by_key(batch).items()
            ]
        else:
            pairs = [
                ({"window": {"start": _iso(start), "end": _iso(start + SPAN_MS)}, "k": key}, {"count": count})
                for (start, key), count in self._windows(batch).items()
                if start + SPAN_MS > self.watermarks[batch]
            ]
        return [
            StateRow(operator=0, store="default", partition=number % 2, key=key, value=value)
            for number, (key, value) in enumerate(pairs)
        ]

    # -- the disks

    def disk(self, planned: int, committed: int, written: int, visible: list[Row]) -> Disk:
        """The batches below `planned` have offsets, and so on."""
        return Disk(
            metadata=json.dumps({"id": QUERY_ID}),
            offsets={batch: self._offset_file(batch) for batch in range(planned)},
            commits={batch: self._commit_file(batch) for batch in range(committed)},
            source_logs={"0": self._source_log(planned)} if self.shape.source == "file" else {},
            sink=self._sink_log(written) if self.shape.has_ledger else None,
            visible=tuple(visible),
            garbage=(),
        )

    def _offset_file(self, batch: int) -> str:
        metadata = {"batchWatermarkMs": self.watermarks[batch], "batchTimestampMs": 1_700_000_000_000, "conf": {}}
        return f"v1\n{json.dumps(metadata)}\n{self.offset(batch)}"

    def _commit_file(self, batch: int) -> str:
        following = [*self.watermarks, max((r.fields["at"] for rs in self.records for r in rs), default=0)]
        watermark = following[batch + 1] if self.shape.operator == "window" else 0
        return f'v1\n{{"nextBatchWatermarkMs":{watermark}}}'

    def _source_log(self, entries: int) -> dict[int, str]:
        return {
            entry: f'v1\n{{"path":"file:///scratch/in/{entry:03}.json","timestamp":1,"batchId":{entry}}}'
            for entry in range(entries)
        }

    def _sink_log(self, batches: int) -> tuple[ObservedCommit, ...]:
        named = self.shape.sink == "delta"
        return tuple(
            ObservedCommit(
                version=batch,
                app_id=QUERY_ID if named else None,
                batch_id=batch,
                operation="STREAMING UPDATE" if named else None,
                files=(f"part-{batch:05}.parquet",),
                rows=tuple(self.rows[batch]),
            )
            for batch in range(batches)
        )

    # -- the crash

    def case(self) -> Case:
        shape, batch = self.shape, self.shape.crash_batch
        planned = batch + (shape.window != "rebuilt")
        committed = batch + (shape.window == "done")
        written = batch + (shape.window in ("doubled", "done"))
        seen = [row for rows in self.rows[:written] for row in rows]
        if shape.window == "in-effect" and not shape.has_ledger:
            seen += self.rows[batch][:1]
        doubled = [] if shape.has_ledger else seen[sum(len(rows) for rows in self.rows[:committed]) :]
        count = len(shape.sizes)
        every = [row for rows in self.rows for row in rows]
        first = batch if shape.window != "done" else batch + 1
        crash = Crash(
            point=f"point in {shape.window}",
            step=STEP_OF[shape.window],
            batch_id=batch,
            nth=1,
            mode="image",
            window=shape.window,
            proof=Proof(armed=True, hit=True, dead=None, witness=True),
            disk=self.disk(planned, committed, written, seen),
        )
        return Case(
            name=f"{shape.window}-{batch}",
            crashes=(crash,),
            run_ids=("run-0",),
            restarts=(ObservedRestart(run_id="run-1", first_batch=first if first < count else None, failure=None),),
            drained=True,
            after=self.disk(count, count, count, every + doubled),
            state=self.state(),
            released=tuple(Released(source=0, batch_id=one, committed=one) for one in range(count)),
            prediction=self._prediction(planned, committed, written, doubled),
            replay="ckpt crash-test replay image-1",
            seconds=0.9,
        )

    def _prediction(self, planned: int, committed: int, written: int, doubled: list[Row]) -> Prediction:
        if planned == committed:
            return Prediction(outcome="new_batch" if planned else "fresh_start", batch_id=planned, sinks=("written",))
        skips = self.shape.has_ledger and written == planned and self.rows[planned - 1]
        word = "duplicated" if doubled else "skipped_already_written" if skips else "written"
        return Prediction(outcome="replay", batch_id=planned - 1, sinks=(word,))


def _iso(time_ms: int) -> str:
    return f"1970-01-01T00:{time_ms // 60_000:02}:{time_ms // 1000 % 60:02}.000Z"
