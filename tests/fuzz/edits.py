"""What is done to a checkpoint before a command gets to see it. Each edit is a name and a seed, and does the same to
the same directory again; so a list of them can be cut down to those that matter."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ckpttool.connectors import ALL
from ckpttool.errors import MalformedFile
from ckpttool.formats.state.compression import decompress, sniff_compression
from ckpttool.formats.state.rocksdb import read_zip_entries
from ckpttool.formats.state.schema import parse_state_schema
from tests import state_builders
from tests.attacks import deep_json, lz4_of_gigabytes, sized, wide_json, zip_of, zstd_of_gigabytes
from tests.fuzz.parsers import mutate
from tests.property.strategies import java_chunks, java_utf

Chance = random.Random
TEXTS = (
    "", "x", "\x1b[31mred\x1b[0m", "\x07\x9b", "\u202egnp.exe", "a\nb\r\nc", "\ud800", "\x00", "=1+1", "@SUM(A1)", "|",
    "`", "$(touch /tmp/never)", "'; rm -rf x; '", "--help", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd",
    "http://192.0.2.1/x", "abfss://c@evil.invalid/x", "webhdfs://evil.invalid:1/x", "s3a://evil/x", "zip://a::http://b",
    "<a href='x'>", "]]>", "\u0663", "9" * 400, "x" * 5000, "\ufeff", "\ue000\U000e0041", "NaN", "spark.sql.x", "-1",
    "0", "4.2.0", "1970-01-01T00:00:00Z", "+292278994-08-17T07:12:55.807Z", "LEGACY", "null", "{}", "[1]",
    '{"t":{"0":1}}',
)  # fmt: skip
NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, 0.5,
           -0.0, 1e308, float("nan"), float("inf"), 253402300800000, -62135596800001)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, [None] * 9, {"a": [{"b": None}]})
NAMES = (
    "metadata", "offsets", "commits", "sources", "state", "0", "00", "-1", "1", "7", "9223372036854775807", "1" * 40,
    "x", ".1.crc", "1.tmp", "1.compact", "1.delta", "1.snapshot", "1.zip", "1.changelog", "1_x.zip", "1_2_x.snapshot",
    "_metadata", "_stateSchema", "default", "_spark_metadata", "_delta_log", "00000000000000000000.json",
    "_last_checkpoint", "00000000000000000001.checkpoint.parquet", "v1.metadata.json", "version-hint.text", "SSTs",
    "1.sst", "a\nb", "\x1b[2J", "\u202ex", "-rf", "$(x)", "'", '"', "`x`", "x" * 255, " ", "~", "*", "%2e%2e", "file:x",
    "checkpoint-1000", "v2",
)  # fmt: skip
CODECS: tuple[Callable[[bytes], bytes], ...] = (
    state_builders.lz4, state_builders.zstd, state_builders.snappy, state_builders.lzf,
)  # fmt: skip
BOMBS: tuple[Callable[[], bytes], ...] = (
    zstd_of_gigabytes, lambda: lz4_of_gigabytes()[: 2**22], lambda: zip_of(bytes(2**24)), lambda: deep_json(2**20),
    lambda: wide_json(2**21), lambda: bytes(2**24), lambda: b"v1\n" + b"{}\n" * 2**17, lambda: b"v1\n" + b"9" * 2**20,
)  # fmt: skip
SPECIAL = ("/dev/zero", "/dev/full", "/dev/stdin", "/dev/tty", "/proc/self/mem", "/proc/self/fd/0", "/proc/kmsg",
           "/etc/shadow", ".", "..", "/", "nowhere", "offsets", "../..")  # fmt: skip


OUTSIDE = "outside"  # of the checkpoint, and of its sinks


class Edit(NamedTuple):
    kind: str
    seed: int

    def apply(self, root: Path) -> None:
        """What the file system refuses is left out. Where nothing is of the kind that it changes, it changes JSON."""
        with suppress(OSError, ValueError, LookupError, RecursionError):
            try:
                EDITS[self.kind](root, Chance(self.seed))
            except LookupError:
                change_json(root, Chance(self.seed))


# -- where -------------------------------------------------------------------------------------------------------------


def entries_of(root: Path) -> list[Path]:
    """All below it, links not followed, in an order of their own."""
    found = []
    for directory, directories, files in os.walk(root):
        found += [Path(directory, name) for name in (*directories, *files)]
    return sorted(found)


def files_of(root: Path) -> list[Path]:
    """Regular ones, which are not too large to be changed."""
    found = ((one, one.lstat()) for one in entries_of(root))
    return [one for one, looked in found if stat.S_ISREG(looked.st_mode) and looked.st_size < 2**20]


def a_file(root: Path, chance: Chance) -> Path:
    """The small ones as often as the many."""
    files = files_of(root)
    kinds: dict[str, list[Path]] = {}
    for one in files:
        kinds.setdefault(f"{one.parent.name if one.name.isdecimal() else ''}{one.suffix}", []).append(one)
    return chance.choice(chance.choice([kinds[kind] for kind in sorted(kinds)]))


def an_entry(root: Path, chance: Chance) -> Path:
    return chance.choice(entries_of(root)[1:])


def write(path: Path, content: bytes) -> None:
    """Never through a link that an edit has put there, and never to a pipe that nobody reads."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for one in reversed(entries_of(path)):
            one.rmdir() if one.is_dir() and not one.is_symlink() else one.unlink()
        path.rmdir()
    elif os.path.lexists(path):
        path.unlink()


# -- contents ----------------------------------------------------------------------------------------------------------


def change_bytes(root: Path, chance: Chance) -> None:
    path = a_file(root, chance)
    write(path, mutate(chance, [path.read_bytes(), a_file(root, chance).read_bytes()]))


def change_json(root: Path, chance: Chance) -> None:
    """A value somewhere in a line of JSON becomes another, or twice there, or goes."""
    path = a_file(root, chance)
    lines = path.read_bytes().split(b"\n")
    numbers = [at for at, line in enumerate(lines) if line[:1] in (b"{", b"[")]
    at = chance.choice(numbers)
    lines[at] = changed_json(lines[at], chance)
    write(path, b"\n".join(lines))


def changed_json(text: bytes, chance: Chance) -> bytes:
    value = json.loads(text)
    for _ in range(chance.choice((1, 1, 2, 5))):
        places = list(_places(value))
        if places:
            inside, key = chance.choice(places)
            _change(inside, key, chance)
        else:
            value = hostile(chance)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=chance.random() < 0.5).encode(errors="surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where in it a value stands: what it stands in, and its key there."""
    waiting = [value]
    while waiting:
        inside = waiting.pop()
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ():
            yield inside, key
            waiting.append(inside[key])


def _change(inside: Any, key: Any, chance: Chance) -> None:
    kind = chance.randrange(6)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, dict):
        inside[chance.choice((*TEXTS, *NAMES))] = inside.pop(key)
    elif kind == 2 and isinstance(inside, list):
        inside.insert(key, deepcopy(inside[key]))
    elif kind == 3 and isinstance(inside[key], str) and inside[key][:1] in "{[":
        with suppress(ValueError):  # JSON in JSON, as offsets are in histories
            inside[key] = changed_json(inside[key].encode(), chance).decode(errors="surrogatepass")
    else:
        inside[key] = hostile(chance)


def hostile(chance: Chance) -> Any:
    return deepcopy(chance.choice(chance.choice((TEXTS, TEXTS, NUMBERS, OTHERS))))


def change_line(root: Path, chance: Chance) -> None:
    """A line of an offset log becomes an offset of another source, or comes thousands of times."""
    path = chance.choice([one for one in files_of(root) if one.parent.name in ("offsets", "commits")])
    lines = path.read_text(errors="surrogateescape").split("\n")
    at = chance.randrange(len(lines))
    lines[at : at + chance.randrange(2)] = [_offset(chance)] * chance.choice((1, 1, 1, 2, 5000))
    write(path, "\n".join(lines).encode(errors="surrogateescape"))


def _offset(chance: Chance) -> str:
    text = chance.choice([one for connector in ALL for one in connector.EXAMPLES])
    with suppress(ValueError):
        return changed_json(text.encode(), chance).decode(errors="surrogatepass") if chance.random() < 0.7 else text
    return text


def change_plan(root: Path, chance: Chance) -> None:
    """As somebody changes it who knows how it is sealed: another place, or any other value."""
    path = chance.choice([one for one in files_of(root) if one.name == "plan.json"])
    plan = json.loads(path.read_bytes())
    if chance.random() < 0.5:
        outside = root / OUTSIDE
        texts = (
            str(outside), f"{outside}/_spark_metadata/0", f"{outside}/_spark_metadata/../metadata", f"file://{outside}",
            f"../{OUTSIDE}/metadata", f"../../{OUTSIDE}/metadata", f"x/../../../{OUTSIDE}/x", "_ckpt/lock", "metadata",
            "s3a://evil/x", "hdfs://evil.invalid/x", str(root), f"{root}/at", "..", "/",
        )  # fmt: skip
        inside, key = chance.choice([one for one in _places(plan) if isinstance(one[0][one[1]], str | None)])
        inside[key] = chance.choice(texts)
    else:
        plan = json.loads(changed_json(json.dumps(plan).encode(), chance))
    rest = {name: value for name, value in plan.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    plan["sha256"] = sha256(text.encode()).hexdigest()
    write(path, json.dumps(plan).encode())


def bomb(root: Path, chance: Chance) -> None:
    write(a_file(root, chance), chance.choice(BOMBS)())


def swap(root: Path, chance: Chance) -> None:
    one, other = a_file(root, chance), a_file(root, chance)
    first, second = one.read_bytes(), other.read_bytes()
    write(one, second)
    write(other, first)


# -- state -------------------------------------------------------------------------------------------------------------


def pack_anew(root: Path, chance: Chance) -> None:
    """A state file's contents changed and compressed again, with this or another codec."""
    path = _of_state(root, chance, ".delta", ".snapshot", ".changelog")
    packed = path.read_bytes()
    codec = sniff_compression(packed)
    with suppress(MalformedFile):
        plain = b"".join(decompress(packed, codec)) if codec else packed
        write(path, chance.choice(CODECS)(mutate(chance, [plain])))


def change_zip(root: Path, chance: Chance) -> None:
    """An entry of a snapshot becomes another, or gets another name."""
    path = _of_state(root, chance, ".zip")
    with suppress(MalformedFile):
        entries = read_zip_entries(path.read_bytes())
        name = chance.choice(sorted(entries))
        if name == "metadata":
            head, _, body = entries[name].partition(b"\n")
            entries[name] = head + b"\n" + changed_json(body, chance)
        elif chance.random() < 0.5:
            entries[name] = mutate(chance, list(entries.values()))
        else:
            entries[chance.choice((*NAMES, "../x", "OPTIONS-000007", "CURRENT", "000009.log"))] = entries.pop(name)
        write(path, zip_file(entries))


def zip_file(entries: Mapping[str, bytes]) -> bytes:
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in entries.items():
            made.writestr(name.replace("\0", ""), content)
    return out.getvalue()


def change_schema(root: Path, chance: Chance) -> None:
    """One text of a schema file, which is JSON in Java's framing."""
    path = chance.choice([one for one in files_of(root) if "_stateSchema" in one.parts or one.name == "schema"])
    with suppress(MalformedFile):
        schema = parse_state_schema(path.read_bytes())
        families = [[one.key, one.value, one.encoder or {}, one.user_key or {}] for one in schema.column_families]
        family = chance.choice(families)
        at = chance.randrange(len(family))
        family[at] = json.loads(changed_json(json.dumps(family[at]).encode(), chance))
        names = [one.name for one in schema.column_families]
        write(path, _schema_file(schema.version, names, families))


def _schema_file(version: int, names: Sequence[str], families: Sequence[Sequence[Any]]) -> bytes:
    if version < 3:
        key, value = (json.dumps(one) for one in families[0][:2])
        framed = java_utf if version == 1 else java_chunks
        return java_utf(f"v{version}") + framed(key) + framed(value)
    bodies = [b"".join(java_chunks(json.dumps(one)) for one in family) for family in families]
    named = [java_utf(name) + body for name, body in zip(names, bodies, strict=True)]
    return java_utf("v3") + len(families).to_bytes(4, "big") + b"".join(named)


def _of_state(root: Path, chance: Chance, *suffixes: str) -> Path:
    return chance.choice([one for one in files_of(root) if one.suffix in suffixes])


# -- what is no file ---------------------------------------------------------------------------------------------------


def rename(root: Path, chance: Chance) -> None:
    path = an_entry(root, chance)
    path.rename(path.with_name(chance.choice(NAMES)))


def copy(root: Path, chance: Chance) -> None:
    target = an_entry(root, chance).with_name(chance.choice(NAMES))
    write(target, a_file(root, chance).read_bytes())


def remove(root: Path, chance: Chance) -> None:
    _remove(an_entry(root, chance))


def empty(root: Path, chance: Chance) -> None:
    write(a_file(root, chance), b"")


def turn(root: Path, chance: Chance) -> None:
    """A file into a directory, a directory into a file."""
    path = an_entry(root, chance)
    was_directory = path.is_dir()
    _remove(path)
    write(path, b"{}") if was_directory else path.mkdir()


def link(root: Path, chance: Chance) -> None:
    path = an_entry(root, chance)
    target = chance.choice((*SPECIAL, path.name, str(an_entry(root, chance))))
    _remove(path)
    path.symlink_to(target)


def special(root: Path, chance: Chance) -> None:
    """A pipe that nobody writes to, a socket, a device that never ends."""
    path = a_file(root, chance)
    path.unlink()
    kind = chance.randrange(3)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, chance.choice((5, 7))))


def holes(root: Path, chance: Chance) -> None:
    sized(a_file(root, chance), chance.choice((2**20, 2**31, 2**40)))


def many(root: Path, chance: Chance) -> None:
    """Names in a directory that has others."""
    directory, suffix = (
        an_entry(root, chance).parent,
        chance.choice(("", ".delta", ".crc", ".zip", ".json", "_x.changelog")),
    )
    for number in range(chance.choice((20, 300))):
        write(directory / f"{number}{suffix}", b"")


def shut(root: Path, chance: Chance) -> None:
    a_file(root, chance).chmod(chance.choice((0, 0o111, 0o444)))


def date(root: Path, chance: Chance) -> None:
    time_s = chance.choice((0, -1, -(2**31), 2**31, 2**33, 253402300800, 2**34 - 1))
    os.utime(an_entry(root, chance), (time_s, time_s), follow_symlinks=False)


EDITS: Mapping[str, Callable[[Path, Chance], None]] = {
    one.__name__: one
    for one in (
        change_bytes, change_json, change_line, change_plan, bomb, swap, pack_anew, change_zip, change_schema,
        rename, copy, remove, empty, turn, link, special, holes, many, shut, date,
    )
}  # fmt: skip
# Contents are what most is made of.
_WEIGHTS = {
    "change_bytes": 4,
    "change_json": 8,
    "change_line": 3,
    "pack_anew": 4,
    "change_zip": 3,
    "change_schema": 4,
    "bomb": 0.5,
}


def some_edits(chance: Chance, of_plans: bool = False) -> list[Edit]:
    weights = [_WEIGHTS.get(kind, 1) for kind in EDITS]
    weights[list(EDITS).index("change_plan")] = 8 if of_plans else 0
    count = chance.choice((1, 1, 2, 3, 5))
    return [Edit(kind, chance.randrange(2**32)) for kind in chance.choices(list(EDITS), weights, k=count)]
