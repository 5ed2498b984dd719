"""Where a job's input comes from: the same rows as files, as records of a Kafka topic, or as a Delta table.

Each kind makes the input once, says how the job's source reads it, one batch after the other, and where each row
stands in the source's own terms.
"""

from __future__ import annotations

import json
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from ckpttool.errors import Refused
from ckpttool.harness.disk import as_fields
from ckpttool.harness.history import Record
from ckpttool.harness.place import JobPlace
from ckpttool.harness.session import Ask

SourceKind = Literal["file", "kafka", "delta", "rate-micro-batch"]
Rows = Sequence[Sequence[Mapping[str, Any]]]  # by batch
PARTITIONS = 2
SECONDS = 120.0  # to make an input
RATE = ["value AS id"]
# Of each format that a reader may have.
_OPTIONS = {
    "json": {"maxFilesPerTrigger"},
    "delta": {"maxFilesPerTrigger"},
    "kafka": {"kafka.bootstrap.servers", "subscribe", "startingOffsets", "maxOffsetsPerTrigger"},
    "rate-micro-batch": {"rowsPerBatch", "numPartitions", "startTimestamp"},
}


class Input(Struct, frozen=True):
    """One source of a job at its place. `rows`: by batch; `schema`: their columns, None: to be found out."""

    place: JobPlace
    rows: Rows
    schema: str | None

    @abstractmethod
    def make(self, ask: Ask) -> None:
        """Put the rows where the source finds them; `ask` sends requests to the Spark."""

    @abstractmethod
    def reader(self) -> dict[str, Any]:
        """For the request that runs the job."""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Every row, in the source's own terms."""


class InputFiles(Input, frozen=True):
    def make(self, ask: Ask) -> None:  # noqa: ARG002
        self.place.write_input(self.rows)

    def reader(self) -> dict[str, Any]:
        options = {"maxFilesPerTrigger": "1"}
        return {"format": "json", "schema": self.schema, "options": options, "path": str(self.place.input)}

    def records(self) -> Iterator[Record]:
        for number, rows in enumerate(self.rows):
            for line, row in enumerate(rows):
                yield Record(source=0, place=f"{number:05}.json", position=line, fields=as_fields(row))


class TopicInput(Input, frozen=True):
    """Rows as JSON, in turn over the partitions; so many per batch as the first batch has."""

    broker: str
    name: str

    def make(self, ask: Ask) -> None:
        rows = [[number % PARTITIONS, json.dumps(row)] for number, row in enumerate(self._all())]
        request = {"do": "produce", "broker": self.broker, "topic": self.name, "partitions": PARTITIONS, "rows": rows}
        if error := ask(request, SECONDS)["error"]:
            raise Refused(f"the topic {self.name} cannot be made at {self.broker}: {error[-1]['message'][:200]}")

    def reader(self) -> dict[str, Any]:
        options = {
            "kafka.bootstrap.servers": self.broker,
            "subscribe": self.name,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": str(len(self.rows[0])),
        }
        return {"format": "kafka", "options": options, "parse": self.schema}

    def records(self) -> Iterator[Record]:
        for number, row in enumerate(self._all()):
            partition, offset = number % PARTITIONS, number // PARTITIONS
            yield Record(source=0, place=f"{self.name}/{partition}", position=offset, fields=as_fields(row))

    def _all(self) -> Iterator[Mapping[str, Any]]:
        return (row for rows in self.rows for row in rows)


class TableInput(Input, frozen=True):
    """A Delta table of one file per version, read one file per batch."""

    def make(self, ask: Ask) -> None:
        self.place.write_input(self.rows)
        files = [str(path) for path in sorted(self.place.input.glob("*.json"))]
        request = {"do": "table", "path": str(self.place.root / "source"), "schema": self.schema, "files": files}
        if error := ask(request, SECONDS)["error"]:
            raise Refused(f"the source's table cannot be made: {error[-1]['message'][:200]}")

    def reader(self) -> dict[str, Any]:
        options = {"maxFilesPerTrigger": "1"}
        return {"format": "delta", "options": options, "path": str(self.place.root / "source")}

    def records(self) -> Iterator[Record]:
        for version, rows in enumerate(self.rows):
            for row in rows:
                yield Record(source=0, place=str(version), position=0, fields=as_fields(row))


class RateInput(Input, frozen=True):
    """The source `rate-micro-batch`, which makes its rows itself: numbers from zero, so many per batch. It gives one
    batch per start, and never ends."""

    def make(self, ask: Ask) -> None:
        pass

    def reader(self) -> dict[str, Any]:
        options = {"rowsPerBatch": str(len(self.rows[0])), "numPartitions": "1", "startTimestamp": "1700000000000"}
        return {
            "format": "rate-micro-batch",
            "options": options,
            "select": RATE,
            "last_batch": len(self.rows) - 1,
        }

    def records(self) -> Iterator[Record]:
        for number in range(sum(map(len, self.rows))):
            yield Record(source=0, place="", position=number, fields={"id": number})


def given_input(folder: Path) -> Rows:
    """A file of JSON lines for each batch, in the order of their names."""
    try:
        texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("[!._]*.json"))]
        rows = [[json.loads(line) for line in text.splitlines() if line.strip()] for text in texts]
    except (OSError, ValueError) as error:
        raise Refused(f"the input in {folder} cannot be read: {error}", "give files of JSON lines") from None
    if len(rows) < 2:
        raise Refused(f"{folder} has {len(rows)} files *.json", "give one for each batch, three or more")
    return rows


def input_of(kind: SourceKind, place: JobPlace, rows: Rows, schema: str | None, broker: str | None) -> Input:
    if kind == "kafka":
        if broker is None:
            raise Refused("the job reads from Kafka, and no broker is given", "give --bootstrap-server")
        return TopicInput(place, rows, schema, broker, f"ckpt-crash-{uuid.uuid4().hex[:12]}")
    kinds: dict[str, type[Input]] = {"file": InputFiles, "delta": TableInput, "rate-micro-batch": RateInput}
    return kinds[kind](place, rows, schema)


def reader_of(place: JobPlace, text: bytes, broker: str | None) -> dict[str, Any]:
    """What `Input.reader` gave, read back. It may come from somewhere else: options of a source can name classes, an
    expression can call them, and an address may be anybody's."""
    try:
        source: dict[str, Any] = json.loads(text)
        free = {"format", "options", "schema", "parse", "last_batch"}  # a schema is parsed, and nothing more
        fixed = {"path": (str(place.input), str(place.root / "source")), "select": (RATE,)}
        fits = set(source["options"]) <= _OPTIONS[source["format"]]
        fits &= all(key in free or value in fixed[key] for key, value in source.items())
        fits &= source["options"].get("kafka.bootstrap.servers", broker) == broker
    except (ValueError, LookupError, TypeError, AttributeError):
        fits = False
    if not fits:
        raise Refused(f"{place.root} does not say how the job reads its input", "give the broker of the trial, if any")
    return source
