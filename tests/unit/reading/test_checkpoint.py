"""Whatever lies in a directory: findings or one line of error, the documented exit code, and the rest of the report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckpttool.api import inspect_checkpoint
from ckpttool.formats import limits
from ckpttool.reading import checkpoint as loader
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.storage.store import LocalStore
from tests import state_builders
from tests.builders import QUERY_ID, build
from tests.conftest import run_ckpt
from tests.encoders import encode_hadoop_crc
from tests.state_builders import DELTA
from tests.unit.reading.inspected import SOUND, found, inspect_json, is_printable, still_reports

CKPT = str(Path(sys.executable).parent / "ckpt")


NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(tmp_path / "ck", SOUND)


def run_installed(*arguments: str | bytes, seconds: float = 20) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([CKPT, *arguments], capture_output=True, timeout=seconds, check=False)


def test_the_builder_makes_a_sound_checkpoint(root: Path) -> None:
    code, fields = inspect_json(root)
    assert code == 0
    assert found(fields) == {}
    assert (fields["next_batch"]["outcome"], fields["next_batch"]["batch_id"]) == ("replay", 2)


@pytest.mark.parametrize(
    ("spark", "offsets_version", "commits_version"),
    [("2.3.4", 1, 1), ("3.5.7", 1, 1), ("4.0.0", 1, 2), ("4.2.0", 2, 3)],
)
def test_the_builder_writes_what_each_spark_writes(
    tmp_path: Path, spark: str, offsets_version: int, commits_version: int
) -> None:
    story = "k0-10 f0 r1 - c | k10-20 f1 r2 k0-1 c"
    build(tmp_path, story, spark=spark, offsets_version=offsets_version, commits_version=commits_version)
    _, fields = inspect_json(tmp_path)
    assert {entry["version"] for entry in fields["offsets"]} == {offsets_version}
    assert {entry["version"] for entry in fields["commits"]} == {commits_version}
    assert fields["written_by"]["min"][:3] == spark[:3] or spark == "3.5.7"
    assert {source["kind"] for source in fields["offsets"][1]["sources"]} == {"kafka", "file", "rate"}


# -- the wrong kind of thing in a place --------------------------------------------------------------------------------


def replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # like /dev/zero, which never ends


KINDS: dict[str, Callable[[Path], object]] = {"directory": Path.mkdir, "fifo": make_fifo, "device": make_device}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["offsets/2", "offsets/1", "commits/1", "metadata", "sources/0/0"])
def test_something_else_where_a_file_belongs(root: Path, kind: str, path: str) -> None:
    replace(root / path, KINDS[kind])
    code, fields = inspect_json(root)
    assert still_reports(fields) or path == "metadata"
    assert path in found(fields).values() or (path, kind) == ("commits/1", "directory")
    assert code == (0 if path == "sources/0/0" else 1 if (path, kind) == ("offsets/2", "directory") else code)
    assert code in (0, 1)


def test_a_directory_does_not_count_as_the_newest_batch(root: Path) -> None:
    replace(root / "offsets/2", Path.mkdir)
    _, fields = inspect_json(root)
    assert found(fields) == {"directory-in-log": "offsets/2"}
    assert fields["last_offset_batch"] == 1


@pytest.mark.parametrize("path", ["offsets", "commits", "sources", "state"])
def test_a_file_where_a_directory_belongs(root: Path, path: str) -> None:
    shutil.rmtree(root / path, ignore_errors=True)
    (root / path).write_bytes(b"v1\n")
    code, fields = inspect_json(root)
    assert code == 1
    assert found(fields)["not-a-directory"] == path
    assert fields["query"]["id"] == QUERY_ID
    if path in ("offsets", "commits"):
        assert fields["next_batch"]["outcome"] == "error"


def test_many_directories_as_batches_are_counted_in_no_time(root: Path) -> None:
    for batch in range(3, 3000):
        (root / "offsets" / str(batch)).mkdir()
    _, fields = inspect_json(root)
    assert fields["last_offset_batch"] == 2


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["offsets/2", "commits/1", "metadata", "offsets", "commits"])
def test_a_link_out_of_the_checkpoint_is_not_followed_and_nothing_is_claimed(root: Path, path: str) -> None:
    (root / path).rename(root.parent / "outside")
    (root / path).symlink_to(root.parent / "outside")
    code, fields = inspect_json(root)
    assert code == 3
    assert found(fields) == {"unreadable": path} or path == "metadata"
    assert found(fields)["unreadable"] == path
    assert fields["next_batch"]["outcome"] == "unknown"


def test_a_link_within_the_checkpoint_is_followed(root: Path) -> None:
    (root / "offsets/2").rename(root / "elsewhere")
    (root / "offsets/2").symlink_to("../elsewhere")
    assert inspect_json(root)[0] == 0


@pytest.mark.parametrize("path", ["offsets/2", "offsets", "state", "sources/0"])
def test_a_link_to_itself_ends(root: Path, path: str) -> None:
    if (root / path).is_dir():
        shutil.rmtree(root / path)
    (root / path).unlink(missing_ok=True)
    (root / path).symlink_to(root / path)
    code, fields = inspect_json(root)
    assert code in ((5,) if path == "state" else (0, 1, 3))
    assert fields["query"]["id"] == QUERY_ID


def test_a_link_to_a_parent_ends(root: Path) -> None:
    (root / "state").mkdir()
    (root / "state/0").symlink_to("..")
    assert inspect_json(root)[0] in (0, 1)


def test_a_dangling_link_is_told(root: Path) -> None:
    replace(root / "offsets/2", lambda path: path.symlink_to("nowhere"))
    code, fields = inspect_json(root)
    assert code == 3
    assert found(fields)["file-vanished"] == "offsets/2"


# -- things that change under us ---------------------------------------------------------------------------------------


class Vanishing(LocalStore):
    """Between the listing of one directory and whatever comes next, a path disappears."""

    def __init__(self, root: Path, after: str, path: str) -> None:
        super().__init__(str(root))
        self.after, self.path = after, root / path

    def list(self, path: str = "") -> list[str]:
        names = super().list(path)
        if path == self.after:
            shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink()
        return names


@pytest.mark.parametrize(
    ("after", "path"),
    [
        ("", "metadata"),
        ("", "offsets"),
        ("", "commits"),
        ("offsets", "offsets/2"),
        ("offsets", "offsets/1"),
        ("commits", "commits/1"),
        ("sources/0", "sources/0/0"),
    ],
)
def test_what_vanishes_between_listing_and_reading_is_told(root: Path, after: str, path: str) -> None:
    inspection = inspect_checkpoint(load_checkpoint(Vanishing(root, after, path)))
    assert path in [finding.path for finding in inspection.findings if finding.id == "file-vanished"]
    assert inspection.prediction.outcome == ("replay" if path == "sources/0/0" else "unknown")
    assert inspection.exit_code == (0 if path == "sources/0/0" else 3)


def test_a_purged_old_batch_does_not_spoil_the_answer(tmp_path: Path) -> None:
    root = build(tmp_path, " | ".join(f"k{n}-{n + 1} c" for n in range(5)))
    inspection = inspect_checkpoint(load_checkpoint(Vanishing(root, "offsets", "offsets/0")))
    assert (inspection.prediction.outcome, inspection.prediction.batch_id) == ("new_batch", 5)
    assert [finding.id for finding in inspection.findings] == ["file-vanished"]


def test_a_fresh_copy_is_not_taken_for_real_time_mode(root: Path) -> None:
    """Its files are hours younger than its batches, and offsets and commits of one age."""
    (root / "commits/2").write_bytes((root / "commits/1").read_bytes())
    copied_s = 1_700_010_000
    for path in root.rglob("*"):
        os.utime(path, (copied_s, copied_s))
    assert inspect_json(root)[1]["mode"] == "microbatch"


# -- permissions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A place that every user may enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


AS_NOBODY = f"""
import os, sys
sys.path[:0] = {[path for path in sys.path if path]!r}
from ckpttool.cli import main
from ckpttool.cli import inspect, log, diff
import ckpttool.reading.checkpoint, ckpttool.api, ckpttool.reading.ledger, ckpttool.causes.book
import ckpttool.report.json, ckpttool.report.text, ckpttool.laws.kafka.judge
import ckpttool.report.views.inspect, ckpttool.report.views.log, ckpttool.report.views.diff
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
main()
"""


def run_as_nobody(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """As a user whom permissions bind: for root there are none."""
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *arguments], capture_output=True, timeout=20, check=False, cwd="/"
    )


@pytest.mark.parametrize(
    "path", ["offsets/2", "offsets/1", "commits/1", "metadata", "offsets", "commits", "sources", "sources/0/0"]
)
def test_what_may_not_be_read_is_exit_5_and_the_rest_is_shown(open_to_all: Path, path: str) -> None:
    root = build(open_to_all / "ck", SOUND)
    (root / path).chmod(0)
    ran = run_as_nobody("inspect", str(root), "--format", "json")
    fields = json.loads(ran.stdout)
    assert ran.returncode == (1 if path == "metadata-missing" else 5)
    assert found(fields)["unreadable"] == path
    assert {finding["severity"] for finding in fields["findings"]} == {"warning"}
    assert fields["next_batch"]["outcome"] == ("replay" if path.startswith("sources") else "unknown")
    assert fields["offsets"] or path == "offsets"


def test_a_root_that_may_not_be_entered_is_exit_5(open_to_all: Path) -> None:
    root = build(open_to_all / "ck", SOUND)
    root.chmod(0)
    ran = run_as_nobody("inspect", str(root))
    assert ran.returncode == 5
    assert b"run as a user who may read it" in ran.stderr


def test_not_being_allowed_to_look_is_not_being_no_checkpoint(open_to_all: Path) -> None:
    """Without `metadata` only the listing of the logs could tell."""
    root = build(open_to_all / "ck", SOUND)
    (root / "metadata").unlink()
    for log in ("offsets", "commits"):
        (root / log).chmod(0)
    assert run_as_nobody("inspect", str(root)).returncode == 5


# -- numbers, nesting and sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        '{"t":{"0":' + "9" * 10_000_000 + "}}",
        "9" * 10_000_000,
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"t":{"0":' + "[" * 900 + "]" * 900 + "}}",
        '{"t":{"0":1e999999999}}',
        '{"t":{"0":-9223372036854775808}}',
        '{"t":{"' + "9" * 5000 + '":1}}',
        '"\\ud800"',
        "\x1b[31mred\x07\x00\u202e\u2028",
        '{"logOffset":9223372036854775807}',
        "9223372036854775807",
        "",
    ],
    ids=range(14),
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_hostile_offsets_are_shown_or_told(root: Path, line: str, form: str) -> None:
    head, _, _ = (root / "offsets/2").read_text().rpartition("\n")
    (root / "offsets/2").write_text(f"{head}\n{line}")
    outcomes = [
        run_ckpt("inspect", str(root), "--format", form),
        run_ckpt("inspect", str(root), "--format", form, "--batch", "2"),
        run_ckpt("log", str(root), "--format", form),
        run_ckpt("diff", f"{root}:1", f"{root}:2", "--format", form),
    ]
    assert {outcome.code for outcome in outcomes} <= {0, 1, 3}
    assert all(is_printable((outcome.out + outcome.err).encode()) for outcome in outcomes)


@pytest.mark.parametrize(
    "metadata",
    [
        '{"batchWatermarkMs":9223372036854775807,"batchTimestampMs":-9223372036854775808,"conf":{}}',
        '{"batchWatermarkMs":-9223372036854775808,"batchTimestampMs":9223372036854775807,"conf":{}}',
        '{"batchWatermarkMs":1e5,"batchTimestampMs":0}',
        '{"conf":{"\\u001b[2J":"\\u0007","\\ud800":"x","spark.sql.shuffle.partitions":"\\u0661"}}',
        '{"conf":{"spark.sql.shuffle.partitions":"' + "9" * 100_000 + '"}}',
        '{"conf":{"spark.sql.streaming.stateStore.providerClass":"a.\\u001b"}}',
        '{"conf":[]}',
        "[]",
        "{}",
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_hostile_metadata_of_a_batch(root: Path, metadata: str, form: str) -> None:
    (root / "state/0/0").mkdir(parents=True)
    (root / "offsets/2").write_text(f'v1\n{metadata}\n{{"t":{{"0":30}}}}')
    for arguments in (["inspect", str(root)], ["inspect", str(root), "--timeline"], ["log", str(root)]):
        outcome = run_ckpt(*arguments, "--format", form)
        assert outcome.code in (0, 1, 3)
        assert is_printable((outcome.out + outcome.err).encode())


def test_a_huge_file_is_not_read_and_no_verdict_is_given(root: Path) -> None:
    os.truncate(root / "offsets/2", 200 * 2**20)
    code, fields = inspect_json(root)
    assert code == 3
    assert found(fields) == {"unreadable": "offsets/2"}
    assert fields["next_batch"]["outcome"] == "unknown"


def test_many_large_files_are_read_only_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = build(tmp_path, " | ".join(f"k{n}-{n + 1} c" for n in range(50)))
    monkeypatch.setattr(loader, "_BATCHES_BYTES", 5_000)
    code, fields = inspect_json(root)
    assert code == 0
    assert fields["truncated"]
    assert 2 <= len(fields["offsets"]) < 10
    assert fields["offsets"][-1]["batch_id"] == 49
    assert len(inspect_json(root, "--batches", "all")[1]["offsets"]) == 50  # asked for is asked for
    assert 3 in [entry["batch_id"] for entry in inspect_json(root, "--batch", "3")[1]["offsets"]]


# -- names -------------------------------------------------------------------------------------------------------------


NAMES = [
    b"\xff\xfe",
    b"\x1b[31mred\x1b]0;title\x07",
    b"new\nline\rreturn",
    b"\xe2\x80\xaebidi\xe2\x80\xa8\xc2\x85",
    b"%00",
    b"9" * 200,
    b"99999999999999999999",
    b"9223372036854775807",
    b"-5",
    b"+7",
    b"007",
    "\u0663".encode(),
    b"-9223372036854775808",
    b" 5",
    b"5 ",
    b"1.compact",
    b"9223372036854775807.compact",
    b"99999999999999999999999.compact",
    b".9.crc",
    b".\xff.crc",
    b"..3.0a1b.tmp.crc",
    b"checkpoint-5",
    b"_metadata",
    b"..5",
    b"a\\b",
    b"x" * 255,
]


@pytest.mark.parametrize(
    "directory", ["", "offsets", "commits", "sources", "sources/0", "state", "state/0", "state/0/0"]
)
def test_no_name_of_a_file_does_harm(tmp_path: Path, directory: str) -> None:
    for number, name in enumerate(NAMES):
        for is_directory in (False, True):
            root = build(tmp_path / f"{number}-{is_directory}", SOUND)
            place = os.path.join(os.fsencode(root), directory.encode())
            os.makedirs(place, exist_ok=True)
            path = os.path.join(place, name)
            os.mkdir(path) if is_directory else Path(os.fsdecode(path)).write_bytes(b"v1\n{}")
            for form in ("json", "text"):
                outcome = run_ckpt("inspect", str(root), "--format", form)
                assert outcome.code in (0, 1, 3), name
                assert is_printable((outcome.out + outcome.err).encode()), name


def test_all_odd_names_at_once_through_the_installed_command(root: Path) -> None:
    for directory in (b"", b"offsets", b"commits", b"sources", b"sources/0", b"state/0/0"):
        place = os.path.join(os.fsencode(root), directory)
        os.makedirs(place, exist_ok=True)
        for name in NAMES:
            Path(os.fsdecode(os.path.join(place, name))).write_bytes(b"v1\n\x1b[0m")
    for form in ("json", "text"):
        ran = run_installed("inspect", str(root), "--format", form)
        assert ran.returncode == 1
        assert is_printable(ran.stdout + ran.stderr)


@pytest.mark.parametrize("name", NAMES[:6])
def test_the_name_of_the_checkpoint_itself_is_harmless(tmp_path: Path, name: bytes) -> None:
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
    build(Path(path), SOUND)
    for arguments in (["inspect", path], ["log", path], ["diff", path, path], ["inspect", f"{path}/offsets"]):
        for form in ("json", "text"):
            outcome = run_ckpt(*arguments, "--format", form)
            assert outcome.code == (4 if arguments[-1].endswith("offsets") else 0)
            assert is_printable((outcome.out + outcome.err).encode())


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_name_of_the_checkpoint_is_harmless_to_a_terminal(tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    build(Path(os.fsdecode(path)), SOUND)
    for inspected, code in ((path, 0), (path + b"/offsets", 4)):
        ran = run_installed("inspect", inspected)
        assert ran.returncode == code
        assert is_printable(ran.stdout + ran.stderr)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_few_characters_is_no_crash(root: Path, encoding: str) -> None:
    environment = {"PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    ran = subprocess.run([CKPT, "inspect", str(root)], capture_output=True, check=False, env=environment)
    assert ran.returncode == 0
    assert ran.stdout


# -- several damages, and nothing written ------------------------------------------------------------------------------


def test_unreadable_source_logs_are_told_when_nothing_else_tells_their_kind(tmp_path: Path) -> None:
    root = build(tmp_path, "b5 f5 c | b6 f6 c | b7 f7 c")
    for name in ("5", "6", "7"):
        os.truncate(root / "sources/0" / name, 200 * 2**20)
    _, fields = inspect_json(root)
    assert [finding["path"] for finding in fields["findings"] if finding["id"] == "unreadable"] == [
        "sources/0/5",
        "sources/0/6",
        "sources/0/7",
    ]


def test_several_damages_are_all_told(root: Path) -> None:
    (root / "metadata").write_bytes(b"{")
    (root / "offsets/2").write_bytes(b"")
    (root / "commits/1").write_bytes(b"v9\n{}")
    (root / "offsets/x").write_bytes(b"")
    (root / "offsets/.7.crc").write_bytes(encode_hadoop_crc(b""))
    code, fields = inspect_json(root)
    assert code == 1
    assert {"metadata-corrupt", "offset-file-torn", "log-version-too-new", "foreign-file", "orphan-crc"} <= set(
        found(fields)
    )


def test_no_command_writes_anything(root: Path) -> None:
    (root / "offsets/2").write_bytes(b"torn")
    before = everything_below(root.parent)
    for arguments in (["inspect", str(root)], ["log", str(root)], ["diff", f"{root}:0", f"{root}:1"]):
        run_ckpt(*arguments)
    assert everything_below(root.parent) == before


def everything_below(root: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in root.rglob("*")
    }


def test_operators_and_partitions_are_looked_at_up_to_a_number(tmp_path: Path) -> None:
    state = {f"{operator}/{partition}/1.delta": DELTA for operator in range(3) for partition in range(3)}
    root = state_builders.checkpoint(tmp_path, state, batch=0, partitions=3)
    assert {one for one in found(inspect_json(root)[1]) if "unreadable" in one} == set()
    with limits.changed({"operators": 2, "partitions": 2}):
        checkpoint = load_checkpoint(LocalStore(str(root)))
        inspected = run_ckpt("inspect", str(root), "--format", "json")
    assert [one.id for one in checkpoint.operators] == [0, 1]
    told = {one.path: one.message for one in checkpoint.faults if one.id == "unreadable"}
    assert told.keys() == {"state", "state/0", "state/1"}
    assert "--read-limit operators=3" in told["state"]
    assert "--read-limit partitions=3" in told["state/0"]
    assert json.loads(inspected.out)["next_batch"]["outcome"] == "unknown"


def test_of_very_many_sources_the_first_are_looked_at(tmp_path: Path) -> None:
    root = build(tmp_path / "ck", "f0 c | f1 c")
    for number in range(1, 5):
        (root / "sources" / str(number)).mkdir()
    with limits.changed({"source-logs": 2}):
        read = load_checkpoint(LocalStore(str(root)))
    (told,) = read.faults
    assert [log.name for log in read.source_logs] == ["0", "1"]
    assert (told.path, told.message.split(": ")[1]) == ("sources", "--read-limit source-logs=5 would read it")
