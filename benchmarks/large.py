"""What tables and logs cost that are as large as they get: memory and seconds of `plan-recovery`, and whether what was
not read is said, with the option that has it read.

    python -m benchmarks.large [WORD…]      those whose names have one of these words

Some gigabytes of files are written, one after the other, to where `TMPDIR` points.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Gate
from tests.attacks import MOST_BYTES, Cost, cost_of
from tests.differential.sweep.load import lay, read_cases, tables_file

SAMPLES = Path(__file__).parents[1] / "sample_checkpoints"
MILLION, GIB, METADATA_BYTES = 1_000_000, 2**30, 200 * 2**20
SECONDS = 60.0
UNREAD = "--read-limit"  # what has more of it read


class Large(NamedTuple):
    """`build` writes into an empty directory, and returns the words of a command. `unread`: there is too much of it."""

    name: str
    build: Callable[[Path], Sequence[str]]
    unread: bool


def measure(words: Sequence[str] = ()) -> Iterator[Gate]:
    for large in LARGE:
        if words and not any(word in large.name for word in words):
            continue
        with tempfile.TemporaryDirectory() as place:
            cost = cost_of(large.build(Path(place)), place, given_up_s=int(2 * SECONDS))
        yield Gate(f"peak memory: {large.name}", cost.peak_bytes / 2**20, MOST_BYTES / 2**20, "MiB")
        yield Gate(f"seconds: {large.name}", cost.seconds, SECONDS, "s")
        yield Gate(f"answers without their reason: {large.name}", 0 if _is_said(large, cost) else 1, 0, "")


def _is_said(large: Large, cost: Cost) -> bool:
    """What of it is left unread may be nothing that the answer needs, such as a log whose names tell."""
    return cost.is_answered and (cost.code in (0, 3) and UNREAD in cost.said if large.unread else cost.code in (0, 1))


# -- a Delta table -----------------------------------------------------------------------------------------------------


def sink_of_a_million(place: Path) -> Sequence[str]:
    checkpoint = _copied("4.2.0-delta-to-delta-sound", place)
    _compacted(place / "table" / "_delta_log")
    return "plan-recovery", str(checkpoint), "--sink", str(place / "table")


def source_of_a_million(place: Path) -> Sequence[str]:
    checkpoint = _copied("4.2.0-delta-to-delta-sound", place)
    _compacted(place / "source" / "_delta_log")
    return "plan-recovery", str(checkpoint), "--option", f"path={place / 'source'}"


def first_snapshot_of_a_million(place: Path) -> Sequence[str]:
    """The query is within the files that the table had when it began."""
    words = source_of_a_million(place)
    newest = max((Path(words[1]) / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    *head, line = newest.read_text().split("\n")
    version = _last(place / "source" / "_delta_log")
    inside = json.loads(line) | {"reservoirVersion": version, "index": 10, "isStartingVersion": True}
    newest.write_text("\n".join([*head, json.dumps(inside)]))
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    return words


def commit_of_a_million(place: Path) -> Sequence[str]:
    words = source_of_a_million(place)
    log = place / "source" / "_delta_log"
    with (log / f"{_last(log) + 1:020}.json").open("w") as commit:
        commit.writelines(json.dumps({"add": _file(number)}) + "\n" for number in range(MILLION))
    return words


def _last(log: Path) -> int:
    return max(int(path.stem) for path in log.glob("*.json") if path.stem.isdecimal())


def _file(number: int) -> dict[str, Any]:
    return {
        "path": f"part-{number:07}-6f1d4f1e-0000-4000-8000-000000000000-c000.snappy.parquet",
        "size": 1000,
        "modificationTime": 1_700_000_000_000 + number,
        "dataChange": True,
        "stats": json.dumps({"numRecords": 3, "minValues": {"id": number}, "maxValues": {"id": number + 3}}),
    }


def _compacted(log: Path) -> None:
    """A checkpoint of the log at its newest version, with a million files more."""
    import pyarrow as arrow
    from pyarrow import parquet

    version = _last(log)
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    table = next(line["metaData"]["id"] for line in first if "metaData" in line)
    files = arrow.struct(
        {
            "path": arrow.string(),
            "size": arrow.int64(),
            "modificationTime": arrow.int64(),
            "dataChange": arrow.bool_(),
            "stats": arrow.string(),
        }
    )
    metadata = arrow.struct({"id": arrow.string(), "schemaString": arrow.string()})
    schema = arrow.schema({"add": files, "metaData": metadata})
    with parquet.ParquetWriter(log / f"{version:020}.checkpoint.parquet", schema) as writer:
        head = [{"metaData": {"id": table, "schemaString": '{"type":"struct","fields":[]}'}}]
        writer.write_table(arrow.Table.from_pylist(head, schema))
        for begin in range(0, MILLION, 50_000):
            rows = [{"add": _file(number)} for number in range(begin, begin + 50_000)]
            writer.write_table(arrow.Table.from_pylist(rows, schema))


# -- logs, and Iceberg -------------------------------------------------------------------------------------------------


def source_log_of_a_gigabyte(place: Path) -> Sequence[str]:
    checkpoint = _copied("4.2.0-file-compacted-sound", place)
    for log in (checkpoint / "sources" / "0").glob("*.compact"):
        _grown(log)
    return "plan-recovery", str(checkpoint)


def sink_log_of_a_gigabyte(place: Path) -> Sequence[str]:
    checkpoint = _copied("4.2.0-file-compacted-sound", place)
    for log in (place / "output" / "_spark_metadata").glob("*.compact"):
        _grown(log)
    return "plan-recovery", str(checkpoint), "--sink", str(place / "output")


def iceberg_source(place: Path) -> Sequence[str]:
    checkpoint, table = _iceberg(place)
    return "plan-recovery", str(checkpoint), "--option", f"path={table}"


def iceberg_sink(place: Path) -> Sequence[str]:
    checkpoint, table = _iceberg(place)
    return "plan-recovery", str(checkpoint), "--sink", str(table)


def _iceberg(place: Path) -> tuple[Path, Path]:
    """As its runtime left them, but for snapshots that nobody expired."""
    case = next(one for one in read_cases("3.5.7", "iceberg") if one["table"] == "data-lost")
    lay(case["files"], place / "checkpoint")
    files = json.loads(tables_file("3.5.7").read_text())[case["table"]]["files"]
    lay({f"metadata/{name}": text for name, text in files.items()}, place / "table")
    newest = max((place / "table" / "metadata").glob("*.metadata.json"))
    metadata = json.loads(newest.read_text())
    one = metadata["snapshots"][0]
    numbers = count(one["snapshot-id"] + 1)
    more = [one | {"snapshot-id": next(numbers)} for _ in range(METADATA_BYTES // len(json.dumps(one)))]
    newest.write_text(json.dumps(metadata | {"snapshots": [*more, *metadata["snapshots"]]}))
    return place / "checkpoint", place / "table"


def _copied(sample: str, place: Path) -> Path:
    shutil.copytree(SAMPLES / sample, place, dirs_exist_ok=True)
    return place / "checkpoint"


def _grown(log: Path) -> None:
    line = "\n" + log.read_text().splitlines()[-1]
    with log.open("a") as file:
        for _ in range(GIB // (1000 * len(line))):
            file.write(1000 * line)
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)


LARGE = (
    Large("a Delta sink of a million files", sink_of_a_million, unread=False),
    Large("a Delta source of a million files", source_of_a_million, unread=False),
    Large("a first snapshot of a million files", first_snapshot_of_a_million, unread=False),
    Large("a commit of a million files", commit_of_a_million, unread=True),
    Large("a source's log of a gigabyte", source_log_of_a_gigabyte, unread=True),
    Large("a sink's log of a gigabyte", sink_log_of_a_gigabyte, unread=True),
    Large("an Iceberg source with metadata of 200 MB", iceberg_source, unread=True),
    Large("an Iceberg sink with metadata of 200 MB", iceberg_sink, unread=True),
)


if __name__ == "__main__":
    gates = []
    for gate in measure(sys.argv[1:]):
        gates.append(gate)
        print(gate, flush=True)
    sys.exit(0 if all(gate.holds for gate in gates) else 1)
