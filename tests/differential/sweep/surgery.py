"""Damage to a checkpoint, as data: what an edit is, which edits a base offers, and a spread-out choice of them.

An edit is `{"op": …, "path": …, …}`; paths are relative to the checkpoint, so the sink is `../output/…`. A surgery is
a list of edits. Hadoop's side file `.N.crc` goes with the file `N` that an edit changes, unless `"crc": "keep"`.
Everything here is pure: the same edits of the same files make the same files.
"""

from __future__ import annotations

import base64
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Edit = dict[str, Any]
Other = Callable[[str], Path]  # name of another base → its checkpoint, unpacked


@dataclass(frozen=True)
class Surgery:
    """Edits with their kind: `area` is what is hit, `role` how new it is, `what` what is done to it."""

    edits: tuple[Edit, ...]
    area: str
    role: str
    what: str

    @property
    def name(self) -> str:
        return " + ".join(map(told, self.edits)) or "nothing"


def told(edit: Edit) -> str:
    more = [f"{key}={json.dumps(edit[key], ensure_ascii=False)}" for key in edit if key not in ("op", "path")]
    return f"{edit['op']} {edit['path']}{' ' if more else ''}{' '.join(more)}"


# -- doing it ----------------------------------------------------------------------------------------------------------


def apply(checkpoint: Path, edits: Iterable[Edit], other: Other) -> None:
    for edit in edits:
        OPERATIONS[edit["op"]](checkpoint, edit, other)


def _change(change: Callable[[bytes, Edit], bytes]) -> Callable[[Path, Edit, Other], None]:
    def operation(checkpoint: Path, edit: Edit, _: Other) -> None:
        path = checkpoint / edit["path"]
        _write(path, change(path.read_bytes(), edit), edit)

    return operation


def _write(path: Path, data: bytes, edit: Edit) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    _drop_side_file(path, edit)


def _drop_side_file(path: Path, edit: Edit) -> None:
    if edit.get("crc") != "keep":
        side_file(path).unlink(missing_ok=True)


def side_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def _delete(checkpoint: Path, edit: Edit, _: Other) -> None:
    path = checkpoint / edit["path"]
    path.unlink(missing_ok=True)
    _drop_side_file(path, edit)


def _copy(checkpoint: Path, edit: Edit, _: Other) -> None:
    _write(checkpoint / edit["to"], (checkpoint / edit["path"]).read_bytes(), edit)


def _rename(checkpoint: Path, edit: Edit, other: Other) -> None:
    _copy(checkpoint, edit, other)
    _delete(checkpoint, edit, other)


def _swap(checkpoint: Path, edit: Edit, _: Other) -> None:
    left, right = checkpoint / edit["path"], checkpoint / edit["with"]
    data = left.read_bytes()
    _write(left, right.read_bytes(), edit)
    _write(right, data, edit)


def _foreign(checkpoint: Path, edit: Edit, other: Other) -> None:
    _write(checkpoint / edit["path"], (other(edit["base"]) / edit["from"]).read_bytes(), edit)


def _remove_directory(checkpoint: Path, edit: Edit, _: Other) -> None:
    shutil.rmtree(checkpoint / edit["path"], ignore_errors=True)


def _clear(checkpoint: Path, edit: Edit, other: Other) -> None:
    _remove_directory(checkpoint, edit, other)
    (checkpoint / edit["path"]).mkdir(parents=True)


def _make_directory(checkpoint: Path, edit: Edit, _: Other) -> None:
    path = checkpoint / edit["path"]
    if path.is_file():
        path.unlink()
    path.mkdir(parents=True, exist_ok=True)
    _drop_side_file(path, edit)


def _left(checkpoint: Path, edit: Edit, _: Other) -> None:
    """What a restart has left, by `observe.unlike`: also of input and output."""
    root = checkpoint.parent
    for name in (name for name, what in edit["files"].items() if what is False):
        shutil.rmtree(root / name) if (root / name).is_dir() else (root / name).unlink()
    for name, what in edit["files"].items():
        if what is None:
            (root / name).mkdir(parents=True)
        elif what is not False:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(what.encode() if isinstance(what, str) else base64.b64decode(what["base64"]))


def _orphan_side_file(checkpoint: Path, edit: Edit, _: Other) -> None:
    """A side file of a file that is not there."""
    path = checkpoint / edit["path"]
    side_file(path).write_bytes(side_file(checkpoint / edit["like"]).read_bytes())


def _flip(data: bytes, edit: Edit) -> bytes:
    return data[: edit["at"]] + bytes([data[edit["at"]] ^ 0x55]) + data[edit["at"] + 1 :]


def _line(data: bytes, edit: Edit) -> bytes:
    """Another line number `at`; None removes it."""
    lines = data.decode().split("\n")
    lines[edit["at"] : edit["at"] + 1] = [] if edit["to"] is None else [edit["to"]]
    return "\n".join(lines).encode()


def _json(data: bytes, edit: Edit) -> bytes:
    """Another value below the keys `at` of the JSON in line `line`; without `to` the key goes."""
    lines = data.decode().split("\n")
    value = json.loads(lines[edit["line"]])
    *keys, key = edit["at"]
    inner = value
    for one in keys:
        inner = inner[one]
    if "to" in edit:
        inner[key] = edit["to"]
    else:
        inner.pop(key, None)
    lines[edit["line"]] = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "\n".join(lines).encode()


CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "bom": lambda data: b"\xef\xbb\xbf" + data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "newline": lambda data: data + b"\n",
    "newlines": lambda data: data + b"\n\n",
    "leading newline": lambda data: b"\n" + data,
    "leading space": lambda data: b" " + data,
    "trailing garbage": lambda data: data + b"garbage",
    "garbage": lambda data: b"no such thing as this\n",  # noqa: ARG005
    "zeros": lambda data: bytes(len(data)),
    "page of a proxy": lambda data: b"<html><body>503</body></html>\n",  # noqa: ARG005
    "twice": lambda data: data + data,
    "latin-1": lambda data: data.replace(b"{", b"{ \xe9", 1),
    "spaces in the JSON": lambda data: data.replace(b'":', b'" : '),
    "a field more": lambda data: data.replace(b"{", b'{"another":{"a":[1,2]},', 1),
    "single quotes": lambda data: data.replace(b'"', b"'"),
}

OPERATIONS: dict[str, Callable[[Path, Edit, Other], None]] = {
    "empty": _change(lambda data, edit: b""),  # noqa: ARG005
    "cut": _change(lambda data, edit: data[: edit["length"]]),
    "flip": _change(_flip),
    "line": _change(_line),
    "json": _change(_json),
    "content": _change(lambda data, edit: CONTENTS[edit["kind"]](data)),
    "write": lambda checkpoint, edit, _: _write(checkpoint / edit["path"], edit["text"].encode(), edit),
    "delete": _delete,
    "copy": _copy,
    "rename": _rename,
    "swap": _swap,
    "foreign": _foreign,
    "remove directory": _remove_directory,
    "clear directory": _clear,
    "make directory": _make_directory,
    "orphan crc": _orphan_side_file,
    "left": _left,
}


# -- what can be done to a base ----------------------------------------------------------------------------------------


def single_surgeries(checkpoint: Path, foreign: Sequence[str], other: Other) -> list[Surgery]:
    """Every file of a base and every edit that applies to it; `foreign` are the bases to take files from."""
    found: list[Surgery] = []
    root = checkpoint.parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and not _is_side_file(path.name) and path.name != "calls.jsonl":
            found += _of_file(checkpoint, path, foreign, other)
    return found + _of_directories(checkpoint) + _recipes(checkpoint)


def _is_side_file(name: str) -> bool:
    return name.startswith(".") and name.endswith(".crc")


def relative(checkpoint: Path, path: Path) -> str:
    if path.is_relative_to(checkpoint):
        return str(path.relative_to(checkpoint))
    return str(Path("..") / path.relative_to(checkpoint.parent))


def area_of(path: str) -> str:
    parts = path.split("/")
    if parts[0] == "..":
        if parts[1] == "output":
            ledger = any(part in ("_spark_metadata", "_delta_log") for part in parts)
            return "sink log" if ledger else "sink data"
        return "input"
    if parts[0] == "state":
        if "_metadata" in parts or "_stateSchema" in parts:
            return "state metadata"
        return "state"
    return parts[0]


def role_of(path: Path) -> str:
    """How new a numbered file is among its siblings."""
    own = _number(path.name)
    if own is None:
        return "only"
    numbers = sorted({n for n in (_number(one.name) for one in path.parent.iterdir()) if n is not None})
    behind = len(numbers) - 1 - numbers.index(own)
    return ("last", "previous")[behind] if behind < 2 else "older"


def _number(name: str) -> int | None:
    found = re.match(r"(\d+)", name)
    return int(found[1]) if found else None


def _of_file(checkpoint: Path, path: Path, foreign: Sequence[str], other: Other) -> Iterator[Surgery]:
    name = relative(checkpoint, path)
    area, role = area_of(name), role_of(path)
    if area in ("sink data", "input"):
        edits: Iterator[tuple[str, Edit]] = _of_data(name)
    elif name.startswith("../output/_delta_log"):
        edits = _of_delta_log(name, path)
    else:
        edits = _of_log_or_state(name, path, area, foreign, other)
    for what, edit in edits:
        yield Surgery((edit,), area, role, what)


def _of_data(name: str) -> Iterator[tuple[str, Edit]]:
    yield "delete", {"op": "delete", "path": name}
    yield "empty", {"op": "empty", "path": name}
    yield "garbage", {"op": "content", "path": name, "kind": "garbage"}
    yield "stale crc", {"op": "content", "path": name, "kind": "twice", "crc": "keep"}


def _of_delta_log(name: str, path: Path) -> Iterator[tuple[str, Edit]]:
    yield "delete", {"op": "delete", "path": name}
    yield "empty", {"op": "empty", "path": name}
    version = _number(path.name)
    if path.suffix != ".json" or version is None:
        return
    yield "cut", {"op": "cut", "path": name, "length": path.stat().st_size // 2}
    for number, line in enumerate(path.read_text().split("\n")):
        if line.startswith('{"txn"'):
            batch = json.loads(line)["txn"]["version"]
            for to in (batch + 1, batch + 9, batch - 1):
                yield f"txn {to - batch:+}", _set(name, number, ["txn", "version"], to)
            yield "txn of another", _set(name, number, ["txn", "appId"], "00000000-0000-0000-0000-000000000000")
            yield "txn gone", {"op": "line", "path": name, "at": number, "to": None}


def _of_log_or_state(
    name: str, path: Path, area: str, foreign: Sequence[str], other: Other
) -> Iterator[tuple[str, Edit]]:
    data = path.read_bytes()
    yield from _of_any(name, path, data)
    yield from _names(name, path)
    for base in foreign:
        for there in _counterparts(other(base), name):
            yield "foreign", {"op": "foreign", "path": name, "base": base, "from": there}
    text = _text(data)
    if text is not None and area != "state":
        yield from _of_text(name, text)
    if text is not None and area == "offsets":
        yield from _of_offsets(name, text)
    if text is not None and area == "commits":
        yield from _of_commit(name, text)
    if area == "metadata":
        yield from _of_query_id(name)
    if text is not None and area == "state metadata":
        yield from _of_operator_metadata(name, text)


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _of_any(name: str, path: Path, data: bytes) -> Iterator[tuple[str, Edit]]:
    yield "delete", {"op": "delete", "path": name}
    yield "empty", {"op": "empty", "path": name}
    for length in _lengths(data):
        yield "cut", {"op": "cut", "path": name, "length": length}
    if len(data) > 2:
        for at in sorted({0, len(data) // 2, len(data) - 1}):
            yield "flip", {"op": "flip", "path": name, "at": at}
    for kind in ("garbage", "zeros", "trailing garbage", "twice"):
        yield kind, {"op": "content", "path": name, "kind": kind}
    if side_file(path).exists():
        yield "crc deleted", {"op": "delete", "path": str(Path(name).with_name(f".{path.name}.crc"))}
        yield "file deleted, crc kept", {"op": "delete", "path": name, "crc": "keep"}
        yield "empty, crc kept", {"op": "empty", "path": name, "crc": "keep"}
        yield "flip, crc kept", {"op": "flip", "path": name, "at": len(data) // 2, "crc": "keep"}
        yield "cut, crc kept", {"op": "cut", "path": name, "length": len(data) // 2, "crc": "keep"}
        yield (
            "crc damaged",
            {
                "op": "content",
                "path": str(Path(name).with_name(f".{path.name}.crc")),
                "kind": "garbage",
            },
        )


def _lengths(data: bytes) -> list[int]:
    """Where a cut may matter: in the header, at the ends of lines and inside them, before the end."""
    size = len(data)
    lengths = {1, 2, 3, 4, 5, size // 2, size - 1, size - 4, size - 8, size - 16}
    end = -1
    for _ in range(3):
        following = data.find(b"\n", end + 1)
        if following < 0:
            break
        lengths |= {following, following + 1, following + 2, (end + following) // 2}
        end = following
    return sorted(length for length in lengths if 0 < length < size)


def _names(name: str, path: Path) -> Iterator[tuple[str, Edit]]:
    number = _number(path.name)
    if number is None:
        yield "renamed", {"op": "rename", "path": name, "to": f"{name}.bak"}
        return
    rest = path.name[len(str(number)) :]

    def named(text: object) -> str:
        return str(Path(name).with_name(f"{text}{rest}"))

    siblings = {_number(one.name) for one in path.parent.iterdir() if one.name.endswith(rest)}
    newest = max(one for one in siblings if one is not None)
    for ahead in (1, 2):
        yield f"copied {ahead} ahead", {"op": "copy", "path": name, "to": named(newest + ahead)}
    yield "renamed one ahead", {"op": "rename", "path": name, "to": named(newest + 1)}
    if number > 0:
        yield "copied one behind", {"op": "copy", "path": name, "to": named(number - 1)}
        yield "renamed one behind", {"op": "rename", "path": name, "to": named(number - 1)}
    if path.with_name(f"{number - 1}{rest}").exists():
        yield "swapped", {"op": "swap", "path": name, "with": named(number - 1)}
        yield "as the one before", {"op": "copy", "path": named(number - 1), "to": name}
    yield "renamed with zeros", {"op": "rename", "path": name, "to": named(f"00{number}")}
    yield "copied with zeros", {"op": "copy", "path": name, "to": named(f"00{newest + 1}")}
    yield "renamed with a sign", {"op": "rename", "path": name, "to": named(f"+{number}")}
    yield "copied as -1", {"op": "copy", "path": name, "to": named("-1")}
    yield "copied far ahead", {"op": "copy", "path": name, "to": named(2**63 - 1)}
    yield "copied beyond a long", {"op": "copy", "path": name, "to": named(2**63)}
    yield "renamed", {"op": "rename", "path": name, "to": f"{name}.bak"}
    yield (
        "temporary name",
        {
            "op": "rename",
            "path": name,
            "to": str(Path(name).with_name(f".{path.name}.00000000-0000-0000-0000-000000000000.tmp")),
        },
    )
    yield "a directory instead", {"op": "make directory", "path": name}
    yield "a directory ahead", {"op": "make directory", "path": named(newest + 1)}
    if side_file(path).exists():
        yield "orphan crc", {"op": "orphan crc", "path": named(newest + 1), "like": name}


def _counterparts(there: Path, name: str) -> Iterator[str]:
    if (there / name).is_file():
        yield name


def _of_text(name: str, text: str) -> Iterator[tuple[str, Edit]]:
    for kind in CONTENTS:
        if kind not in ("garbage", "zeros", "trailing garbage", "twice"):
            yield kind, {"op": "content", "path": name, "kind": kind}
    lines = text.split("\n")
    if lines[0].startswith("v"):
        for version in ("v0", "v1", "v2", "v3", "v9", "v99999999999", "v-1", "v01", "v", "v1 ", "V1", "1", "", "v1.0"):
            if version != lines[0]:
                yield f"version {version!r}", {"op": "line", "path": name, "at": 0, "to": version}
        yield "version line gone", {"op": "line", "path": name, "at": 0, "to": None}
    if len(lines) > 1:
        for second in ("", "{}", "null", "[]", "{", "0", '"text"', '{"a":1}'):
            yield f"second line {second!r}", {"op": "line", "path": name, "at": 1, "to": second}
        yield "second line gone", {"op": "line", "path": name, "at": 1, "to": None}


def _set(name: str, line: int, at: list[Any], to: Any) -> Edit:
    return {"op": "json", "path": name, "line": line, "at": at, "to": to}


def _unset(name: str, line: int, at: list[Any]) -> Edit:
    return {"op": "json", "path": name, "line": line, "at": at}


def _of_offsets(name: str, text: str) -> Iterator[tuple[str, Edit]]:
    lines = text.split("\n")
    for at in range(2, len(lines)):
        for to in ("-", "", "{}", "null", "0", "7", "{", '{"logOffset":"x"}', None):
            yield f"source line {to!r}", {"op": "line", "path": name, "at": at, "to": to}
        yield from _of_source(name, at, lines[at])
    extra = lines[-1]
    yield "source line added", {"op": "line", "path": name, "at": len(lines) - 1, "to": f"{extra}\n{extra}"}
    yield "dash added", {"op": "line", "path": name, "at": len(lines) - 1, "to": f"{extra}\n-"}
    if len(lines) < 2 or not lines[1].startswith("{"):
        return
    metadata = json.loads(lines[1])
    for key in ("batchWatermarkMs", "batchTimestampMs"):
        for value in (0, -5, 1_700_000_009_000, 4_000_000_000_000, "17", None, 1.5):
            yield f"{key} {value!r}", _set(name, 1, [key], value)
        yield f"{key} gone", _unset(name, 1, [key])
    yield "conf gone", _unset(name, 1, ["conf"])
    yield "conf empty", _set(name, 1, ["conf"], {})
    for key in metadata.get("conf", {}):
        yield f"conf {short(key)} gone", _unset(name, 1, ["conf", key])
        for to in OTHER_CONF.get(short(key), ()):
            yield f"conf {short(key)} {to}", _set(name, 1, ["conf", key], to)
    yield "conf unknown", _set(name, 1, ["conf", "spark.sql.no.such.thing"], "1")


def short(key: str) -> str:
    return key.removeprefix("spark.sql.").removeprefix("streaming.")


PROVIDERS = "org.apache.spark.sql.execution.streaming.state."
OTHER_CONF: dict[str, tuple[str, ...]] = {
    "shuffle.partitions": ("1", "3", "5", "0", "-1", "two", ""),
    "stateStore.providerClass": (
        f"{PROVIDERS}HDFSBackedStateStoreProvider",
        f"{PROVIDERS}RocksDBStateStoreProvider",
        "no.such.Provider",
    ),
    "aggregation.stateFormatVersion": ("1", "2", "3"),
    "join.stateFormatVersion": ("1", "2", "3", "9"),
    "sessionWindow.merge.sessions.in.local.partition": ("true",),
    "sessionWindow.stateFormatVersion": ("2",),
    "multipleWatermarkPolicy": ("max", "none"),
    "stateStore.rocksdb.formatVersion": ("3", "4", "9"),
    "stateStore.compression.codec": ("zstd", "snappy", "none-such"),
    "stateful.operator.useStrictDistribution": ("false",),
    "statefulOperator.useStrictDistribution": ("false",),
    "flatMapGroupsWithState.stateFormatVersion": ("1",),
    "stateStore.encodingFormat": ("avro",),
}


def _of_source(name: str, at: int, line: str) -> Iterator[tuple[str, Edit]]:
    """Offsets moved forwards and back, whatever the numbers in them are called."""
    try:
        value = json.loads(line)
    except ValueError:
        return
    if isinstance(value, int):
        for to in (value - 1, value + 1, value + 50, -1):
            yield "offset moved", {"op": "line", "path": name, "at": at, "to": str(to)}
    for key, number in value.items() if isinstance(value, dict) else ():
        if isinstance(number, int) and not isinstance(number, bool):
            for moved in (number - 1, number + 1, number + 50, -1, 0, str(number)):
                yield f"offset {key} moved", _set(name, at, [key], moved)
        yield f"offset {key} gone", _unset(name, at, [key])
        if isinstance(number, bool):
            yield f"offset {key} turned", _set(name, at, [key], not number)
        if key == "reservoirId":
            yield "another table", _set(name, at, [key], "00000000-0000-0000-0000-000000000000")
            yield from _of_delta(name, at)


def _of_delta(name: str, at: int) -> Iterator[tuple[str, Edit]]:
    """What Jackson makes of values that Delta never writes."""
    values: dict[str, tuple[Any, ...]] = {
        "sourceVersion": (None, 1.9, "one", 2**70),
        "reservoirId": (None, 7),
        "reservoirVersion": (None, 1.9, "", "one", True, [], 2**63),
        "index": (None, -100, -20, -19, 2**63 - 101),
        "isStartingVersion": (None, 1, "true", "yes"),
        "another": ("field",),
    }
    for key, several in values.items():
        for value in several:
            yield f"offset {key} {json.dumps(value)}", _set(name, at, [key], value)


def _of_commit(name: str, text: str) -> Iterator[tuple[str, Edit]]:
    lines = text.split("\n")
    try:
        fields = json.loads(lines[1])
    except (ValueError, IndexError):
        return
    for to in (0, -5, 1_700_000_009_000, 4_000_000_000_000, "17", None):
        yield f"nextBatchWatermarkMs {to!r}", _set(name, 1, ["nextBatchWatermarkMs"], to)
    for key in fields:
        yield f"{key} gone", _unset(name, 1, [key])
    for operator, partitions in (fields.get("stateUniqueIds") or {}).items():
        at = ["stateUniqueIds", operator]
        yield "ids of an operator gone", _unset(name, 1, at)
        yield "ids of a partition gone", _set(name, 1, at, partitions[:1])
        yield "another id", _set(name, 1, [*at, 0, 0], "00000000-0000-0000-0000-000000000000")
        yield "ids swapped", _set(name, 1, at, partitions[::-1])
        yield "no ids", _set(name, 1, ["stateUniqueIds"], {})


def _of_query_id(name: str) -> Iterator[tuple[str, Edit]]:
    for text in (
        '{"id":"00000000-0000-0000-0000-000000000000"}',
        '{"id":"00000000-0000-0000-0000-000000000000"}\n',
        '{"id":"no uuid"}',
        '{"id":null}',
        "{}",
        '{"id":"00000000-0000-0000-0000-000000000000","name":"q"}',
        '{"ID":"00000000-0000-0000-0000-000000000000"}',
        "[]",
        "\n",
        "null",
        '{"id":5}',
        '{"id":"0-0-0-0-0"}',
    ):
        yield f"content {text!r}", {"op": "write", "path": name, "text": text}


def _of_operator_metadata(name: str, text: str) -> Iterator[tuple[str, Edit]]:
    lines = text.split("\n")
    try:
        fields = json.loads(lines[1])
    except (ValueError, IndexError):
        return
    info = fields.get("operatorInfo", {})
    if "operatorName" in info:
        yield "another operator", _set(name, 1, ["operatorInfo", "operatorName"], "dedupe")
        yield "another operator id", _set(name, 1, ["operatorInfo", "operatorId"], 7)
    for number, store in enumerate(fields.get("stateStoreInfo", [])):
        at = ["stateStoreInfo", number]
        yield "another number of partitions", _set(name, 1, [*at, "numPartitions"], store["numPartitions"] + 3)
        yield "another store name", _set(name, 1, [*at, "storeName"], "another")
    yield "no stores", _set(name, 1, ["stateStoreInfo"], [])


def _of_directories(checkpoint: Path) -> list[Surgery]:
    found = []
    for path in sorted(checkpoint.parent.rglob("*")):
        name = relative(checkpoint, path)
        if path.is_dir() and not path.match("source") and not (path / "calls.jsonl").exists():
            area = {"..": "directory of sink"}.get(name.split("/")[0], f"directory {name.split('/')[0]}")
            ops = ("remove directory", "clear directory")
            found += [Surgery(({"op": op, "path": name},), area, f"depth {name.count('/')}", op) for op in ops]
    found.append(Surgery(({"op": "clear directory", "path": "."},), "directory .", "depth 0", "clear directory"))
    return found


def _recipes(checkpoint: Path) -> list[Surgery]:
    """What people do to checkpoints: several files at once."""

    def batches(log: str) -> list[int]:
        return sorted(int(path.name) for path in (checkpoint / log).glob("*") if path.name.isdecimal())

    def without(*paths: str) -> tuple[Edit, ...]:
        return tuple({"op": "delete", "path": path} for path in paths)

    offsets, commits = batches("offsets"), batches("commits")
    both = [f"{log}/{batch}" for log, found in (("offsets", offsets), ("commits", commits)) for batch in found]
    newest = max(offsets, default=-1)
    recipes: dict[str, tuple[Edit, ...]] = {"nothing": ()}
    for back in (1, 2, 3):
        beyond = [path for path in both if int(path.split("/")[1]) > newest - back]
        recipes[f"rewound by {back}"] = without(*beyond)
        recipes[f"commits rewound by {back}"] = without(*(path for path in beyond if path.startswith("commits")))
        recipes[f"offsets rewound by {back}"] = without(*(path for path in beyond if path.startswith("offsets")))
        ledger = checkpoint.parent / "output" / "_spark_metadata"
        if ledger.is_dir():
            names = [one.name for one in ledger.iterdir() if (_number(one.name) or 0) > newest - back]
            recipes[f"rewound by {back} with the sink"] = without(
                *beyond, *(f"../output/_spark_metadata/{name}" for name in sorted(names))
            )
    recipes["only the last offsets and commit"] = without(*(path for path in both if path.split("/")[1] != str(newest)))
    recipes["only the last two"] = without(*(path for path in both if int(path.split("/")[1]) < newest - 1))
    recipes["no commits"] = without(*(path for path in both if path.startswith("commits")))
    recipes["no offsets"] = without(*(path for path in both if path.startswith("offsets")))
    recipes["neither"] = without(*both)
    recipes["neither, and no metadata"] = without(*both, "metadata")
    recipes["nothing but the metadata"] = tuple(
        {"op": "remove directory", "path": path} for path in ("offsets", "commits", "sources", "state")
    )
    recipes["no offsets directory, no metadata"] = (
        {"op": "remove directory", "path": "offsets"},
        {"op": "delete", "path": "metadata"},
    )
    recipes["no metadata, last commit gone"] = without("metadata", *([f"commits/{commits[-1]}"] if commits else []))
    if newest >= 0:
        ahead = {"op": "copy", "path": f"offsets/{newest}", "to": f"offsets/{newest + 1}"}
        recipes["planned the same twice"] = (ahead,)
        recipes["committed the same twice"] = (ahead, *_ahead(commits, newest))
    sources = sorted((checkpoint / "sources").glob("*/*"))
    recipes["no source logs, last commit gone"] = (
        *without(*(relative(checkpoint, path) for path in sources if path.is_file() and path.name[0] != ".")),
        *without(*([f"commits/{commits[-1]}"] if commits else [])),
    )
    recipes |= _of_source_table(checkpoint.parent / "source")
    return [Surgery(edits, "recipe", "several", what) for what, edits in recipes.items() if edits or what == "nothing"]


def _of_source_table(table: Path) -> dict[str, tuple[Edit, ...]]:
    """What happens to a table that a query reads: old commits go, files are vacuumed, a backup is put back."""
    log = sorted(path for path in (table / "_delta_log").glob("*.json") if path.stem.isdecimal())
    if not log:
        return {}

    def without(*paths: Path) -> tuple[Edit, ...]:
        return tuple({"op": "delete", "path": f"../{path.relative_to(table.parent)}"} for path in paths)

    newest = int(log[-1].stem)
    last = table / "_delta_log" / "_last_checkpoint"
    found: dict[str, tuple[Edit, ...]] = {}
    for count in range(1, len(log)):
        found[f"commits expired up to {count - 1}"] = without(*log[:count])
        found[f"put back to version {newest - count}"] = without(*log[-count:], *([last] if last.exists() else []))
    for path in log[1:-1]:
        found[f"commit {int(path.stem)} gone"] = without(path)
    data = sorted(path for path in table.glob("*.parquet"))
    found["all files gone"] = without(*data)
    found["table gone"] = ({"op": "remove directory", "path": "../source"},)
    found["log gone"] = ({"op": "remove directory", "path": "../source/_delta_log"},)
    return found


def _ahead(commits: Sequence[int], newest: int) -> tuple[Edit, ...]:
    return ({"op": "copy", "path": f"commits/{commits[-1]}", "to": f"commits/{newest + 1}"},) if commits else ()


# -- a choice ----------------------------------------------------------------------------------------------------------

# How much of a choice goes to each area and to each role, relative to the others. Spark reads the newest files.
WEIGHTS = {
    "offsets": 8.0,
    "commits": 5.0,
    "recipe": 4.0,
    "state": 5.0,
    "sources": 3.5,
    "metadata": 2.0,
    "sink log": 2.5,
}
SELDOM = 0.8
ROLES = {"last": 4.0, "previous": 2.0, "older": 1.0}


def choose(offered: dict[str, list[Surgery]], count: int, seed: int, pairs: float = 0.12) -> list[tuple[str, Surgery]]:
    """`count` surgeries, each with its base, spread over bases, areas, roles and kinds; some of them are pairs.

    The choice for a smaller count is the beginning of the choice for a larger one.
    """
    dice = random.Random(seed)
    left = {base: dice.sample(surgeries, len(surgeries)) for base, surgeries in offered.items()}
    used: Counter[Any] = Counter()
    chosen: list[tuple[str, Surgery]] = []
    while len(chosen) < count and any(left.values()):
        for base in sorted(left):
            if not left[base]:
                continue
            best = min(left[base], key=lambda one: _crowding(used, base, one))
            left[base].remove(best)
            partner = dice.choice(left[base]) if left[base] and dice.random() < pairs else None
            for key in _keys(base, best):
                used[key] += 1
            chosen.append((base, _pair(best, partner) if partner else best))
    return chosen[:count]


def _crowding(used: Counter[Any], base: str, one: Surgery) -> tuple[float, int, int]:
    area, role, what, exact, local = _keys(base, one)
    share = WEIGHTS.get(one.area, SELDOM)
    in_area = used[area] / share + 3 * used[local] / share
    return in_area + used[role] / share / ROLES.get(one.role, 2.0), used[exact], used[what]


def _keys(base: str, one: Surgery) -> tuple[Any, ...]:
    """What a choice should not have too much of: area, role in it, kind in it, the same exactly, area in this base."""
    return (
        one.area,
        (one.area, one.role),
        (one.area, one.what),
        (one.area, one.what, one.role),
        (base, one.area),
    )


def _pair(one: Surgery, two: Surgery) -> Surgery:
    return Surgery((*one.edits, *two.edits), f"{one.area} and {two.area}", "pair", f"{one.what} and {two.what}")
