"""What native code can do to us when it meets bytes that were built: it dies, and everything else is answered."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckpttool.errors import Deadly, MalformedFile
from ckpttool.formats.delta_log import (
    CAN_TELL,
    RETENTION,
    DeltaMetadata,
    DeltaState,
    DeltaTransaction,
    parse_checkpoint,
)
from ckpttool.formats.state.native import unpack_here
from ckpttool.jail import unpack, warden
from ckpttool.jail.warden import JAIL, Child, Jail, parquet_lines
from tests.conftest import run_ckpt
from tests.state_builders import ROCKSDB, checkpoint
from tests.unit.state.made import rocks_snapshot, schema_file

ENDINGS = {
    "SIGSEGV": "was ended by SIGSEGV",
    "SIGABRT": "was ended by SIGABRT",
    "SIGKILL": "was ended by SIGKILL",
    "memory": "needed more memory than it may have",
    "loop": "seconds",
    "silence": "seconds",
    "nonsense": "was ended by SIGKILL",
    "exit": "ended with 3",
}

# Stands before the real one, and ends as the database's file `IDENTITY` says.
DEADLY_ROCKSDICT = """
import importlib, os, signal, sys, time

def endless():
    while True:
        pass

ENDINGS = {
    "SIGSEGV": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "SIGABRT": os.abort,
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "memory": lambda: [bytearray(2**26) for _ in range(2**10)],
    "loop": endless,
    "silence": lambda: time.sleep(10**6),
    "nonsense": lambda: [os.write(descriptor, bytes([255]) * 64) for descriptor in (3, 4)],
    "exit": lambda: os._exit(3),
}

sys.path.remove(os.path.dirname(__file__))
own = sys.modules.pop("rocksdict")
real = importlib.import_module("rocksdict")
sys.modules["rocksdict"] = own
AccessType = real.AccessType

def Rdict(directory, **more):
    if os.path.exists(f"{directory}/IDENTITY"):
        with open(f"{directory}/IDENTITY") as file:
            ENDINGS.get(file.read(), int)()
    return real.Rdict(directory, **more)
"""


@pytest.fixture(autouse=True)
def _own_child() -> Iterator[None]:
    JAIL.close()
    yield
    JAIL.close()


@pytest.fixture
def _deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rocksdict  # noqa: F401 - the real one, for those who build

    place = tmp_path / "modules"
    place.mkdir()
    (place / "rocksdict.py").write_text(DEADLY_ROCKSDICT)
    monkeypatch.syspath_prepend(str(place))


def deadly_snapshot(ending: str) -> dict[str, bytes]:
    files = rocks_snapshot(3, {ending: 1})
    out = io.BytesIO(files["3.zip"])
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("IDENTITY", ending)
    return files | {"3.zip": out.getvalue()}


def of_partitions(root: Path, *partitions: dict[str, bytes]) -> Path:
    files = {f"0/{number}/{name}": body for number, one in enumerate(partitions) for name, body in one.items()}
    return checkpoint(root, {"0/0/_metadata/schema": schema_file(), **files}, 2, ROCKSDB, partitions=len(partitions))


@pytest.mark.extras
@pytest.mark.usefixtures("_deadly")
@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_a_database_does_the_other_partitions_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    if ending in ("loop", "silence"):
        monkeypatch.setattr(warden, "_SECONDS", 1)
    before, after = rocks_snapshot(3, {"before": 1}), rocks_snapshot(3, {"after": 2})
    root = of_partitions(tmp_path / "checkpoint", before, deadly_snapshot(ending), after)
    told = run_ckpt("state", "rows", str(root), "--format", "json")
    answer = json.loads(told.out)
    assert [row["key"]["k"] for row in answer["rows"]] == ["before", "after"]
    assert [(one["id"], one["severity"], one["path"]) for one in answer["findings"]] == [
        ("state-file-corrupt", "error", "state/0/1/3.zip")
    ]
    assert ENDINGS[ending] in answer["findings"][0]["message"]
    assert told.code == 1


@pytest.mark.extras
@pytest.mark.usefixtures("_deadly")
def test_what_a_restart_does_with_it_is_left_open(tmp_path: Path) -> None:
    """Not Spark has died over it."""
    root = of_partitions(tmp_path / "checkpoint", rocks_snapshot(3, {"a": 1}), deadly_snapshot("SIGSEGV"))
    told = json.loads(run_ckpt("plan-recovery", str(root), "--format", "json").out)
    assert told["restart"]["outcome"] == "unknown"
    (found,) = [one for one in told["findings"] if one["severity"] == "error"]
    assert (found["id"], found["path"], found.get("spark")) == ("state-file-corrupt", "state/0/1/3.zip", None)


def test_what_is_unpacked_there_is_what_is_unpacked_here() -> None:
    import cramjam

    texts = [b"abc" * 100, bytes(3_000_000), os.urandom(2**16), b""]
    blocks = [bytes(cramjam.snappy.compress_raw(text)) for text in texts]
    for some in (slice(0, 1), slice(0, 4), slice(2, 3)):
        sizes = [len(text) for text in texts[some]]
        assert list(map(bytes, unpack("snappy", blocks[some], sizes))) == texts[some]
        assert list(map(bytes, unpack_here("snappy", blocks[some], sizes))) == texts[some]
    place = memoryview(bytearray(2**16))
    assert list(map(bytes, unpack("snappy", blocks[2:3], [2**16], place))) == [bytes(place)] == texts[2:3]
    assert list(map(bytes, unpack("snappy", [blocks[0], b"\xff", blocks[0]], [300] * 3))) == [texts[0]]


def test_a_child_that_was_ended_by_somebody_is_replaced() -> None:
    jail = Jail()
    ask = [b"lz4", b""]
    first = jail.talk(lambda child: (child, child.ask("unpack", *ask))[0])
    os.kill(first.process, signal.SIGKILL)
    assert jail.talk(lambda child: (child, child.ask("unpack", *ask))[0]) is not first
    jail.close()


def test_who_dies_again_alone_has_died_over_this() -> None:
    jail = Jail()
    seen: list[Child] = []

    def fatal(child: Child) -> None:
        seen.append(child)
        os.kill(child.process, signal.SIGKILL)
        child.ask("unpack", b"lz4", b"")

    with pytest.raises(Deadly, match="SIGKILL"):
        jail.talk(fatal)
    assert len(set(map(id, seen))) == 2
    jail.close()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_child_knows_nothing_of_us(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with open(tmp_path / "open", "w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        jail = Jail()
        process = jail.talk(lambda child: (child.process, child.ask("unpack", b"lz4", b""))[0])
        assert "secret" not in Path(f"/proc/{process}/environ").read_text("utf-8")
        opened = [os.readlink(one) for one in Path(f"/proc/{process}/fd").iterdir()]
        assert str(tmp_path / "open") not in opened
        assert len(opened) == 4
        jail.close()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_child_ends_with_us() -> None:
    """Also when it is busy, and does not see that nobody is asking any more."""
    program = (
        "import os\nfrom ckpttool.jail.warden import Jail\n"
        "child = Jail().talk(lambda child: (child, child.ask('unpack', b'lz4', b''))[0])\n"
        "print(child.process, flush=True)\nos.kill(child.process, 19)\nos.kill(os.getpid(), 9)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL
    try:
        ended = os.pidfd_open(int(ran.stdout))
    except ProcessLookupError:
        return
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    assert waiting.poll(60_000)
    os.close(ended)


def test_a_process_that_is_forked_has_a_child_of_its_own() -> None:
    jail = Jail()
    ours = jail.talk(lambda child: (child.process, child.ask("unpack", b"lz4", b""))[0])
    reading, writing = os.pipe()
    fork = os.fork()
    if not fork:
        os.write(writing, str(jail.talk(lambda child: (child.process, child.ask("unpack", b"lz4", b""))[0])).encode())
        os._exit(0)
    os.waitpid(fork, 0)
    assert int(os.read(reading, 100)) != ours
    os.close(reading)
    os.close(writing)
    jail.close()


def parquet_of(rows: list[dict[str, Any]], columns: tuple[str, ...] = ("txn", "add", "metaData")) -> bytes:
    import pyarrow
    from pyarrow import parquet

    types = {
        "txn": pyarrow.struct(
            {"appId": pyarrow.string(), "version": pyarrow.int64(), "lastUpdated": pyarrow.int64()}.items()
        ),
        "add": pyarrow.struct([("path", pyarrow.string())]),
        "metaData": pyarrow.struct([("configuration", pyarrow.map_(pyarrow.string(), pyarrow.string()))]),
    }
    schema = pyarrow.schema([(name, types[name]) for name in columns])
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), sink)
    return bytes(sink.getvalue())


def of_parquet(rows: list[dict[str, Any]], columns: tuple[str, ...] = ("txn", "add", "metaData")) -> DeltaState:
    return parse_checkpoint(parquet_lines(parquet_of(rows, columns), CAN_TELL))


@pytest.mark.extras
def test_a_classic_checkpoint_of_delta() -> None:
    rows: list[dict[str, Any]] = [
        {"add": {"path": "a"}},
        {"txn": {"appId": "q", "version": 5, "lastUpdated": None}},
        {"metaData": {"configuration": [(RETENTION, "1 day")]}},
    ]
    assert of_parquet(rows) == DeltaState(
        (DeltaTransaction("q", 5),), DeltaMetadata(None, configuration={RETENTION: "1 day"})
    )
    assert of_parquet([{"add": {"path": "a"}}], ("add",)) == DeltaState((), None)


@pytest.mark.extras
@pytest.mark.parametrize("body", [b"PAR1", b"PAR1" + b"\0" * 50 + b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_damaged_parquet_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedFile, match="not Parquet"):
        parquet_lines(body, ["txn"])
