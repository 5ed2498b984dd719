"""How many requests each answer costs. They cost time and money, so the numbers are exact.

Counted by a proxy before real servers; logs of 100,000 files by a bucket in memory that gives out the same pages.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from uuid import uuid4

import pytest

from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.storage.buckets import BUCKETS
from ckpttool.storage.objects import ObjectStore
from ckpttool.storage.remote import Backend
from ckpttool.storage.store import Store, open_store
from tests.conftest import Outcome, run_ckpt
from tests.parts.bucket import ManyObjects
from tests.parts.proxy import Proxy
from tests.parts.stores import SERVERS, ObjectServer

STATELESS = "4.2.0-kafka-to-kafka-sound"
ROUND = ["metadata", "offsets/999", "offsets/1000", "commits/999", "commits/1000", "sources/0/0"]

# -- through a proxy before real servers -------------------------------------------------------------------------------


class Counted:
    """A tree on a server, and what the commands on it cost."""

    def __init__(self, proxy: Proxy, url: str) -> None:
        self.proxy = proxy
        self.url = url

    def run(self, command: str, path: str, *arguments: str) -> Outcome:
        self.proxy.requests.clear()
        options = [part for pair in self.proxy.options.items() for part in ("--storage-option", "=".join(pair))]
        return run_ckpt(command, f"{self.url}/{path}", *arguments, *options)

    def run_words(self, command: Sequence[str], path: str) -> Outcome:
        """Options before the path."""
        self.proxy.requests.clear()
        options = [part for pair in self.proxy.options.items() for part in ("--storage-option", "=".join(pair))]
        return run_ckpt(*command, f"{self.url}/{path}", *options)

    def store(self, path: str) -> Store:
        self.proxy.requests.clear()
        return open_store(f"{self.url}/{path}", self.proxy.options)


@pytest.fixture(params=SERVERS)
def counted(
    request: pytest.FixtureRequest, object_server: Callable[[str], ObjectServer]
) -> Iterator[Callable[[Path], Counted]]:
    server = object_server(request.param)
    with Proxy(server) as proxy:
        yield lambda tree: Counted(proxy, server.put(tree, f"b{uuid4().hex}"))


@pytest.fixture(scope="module")
def retained(sample: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stateless query at batch 1000, with the 101 batches that Spark keeps by default."""
    root = tmp_path_factory.mktemp("retained")
    shutil.copytree(sample(STATELESS) / "checkpoint", root / "ck", ignore=shutil.ignore_patterns("*.crc"))
    for log in ("offsets", "commits"):
        body = (root / "ck" / log / "2").read_bytes()
        shutil.rmtree(root / "ck" / log)
        (root / "ck" / log).mkdir()
        for batch in range(900, 1001):
            (root / "ck" / log / str(batch)).write_bytes(body)
    return root


def test_what_a_restart_does_costs_two_listings_and_six_files(
    counted: Callable[[Path], Counted], retained: Path
) -> None:
    tree = counted(retained)
    outcome = tree.run("plan-recovery", "ck", "--format", "json")
    assert outcome.code == 0, outcome.err
    assert tree.proxy.kinds() == {"LIST": 2, "GET": len(ROUND)}
    assert sorted(one.path.rpartition("/ck/")[2] for one in tree.proxy.requests if one.kind == "GET") == sorted(ROUND)


def test_inspect_asks_for_each_file_once_and_for_nothing_else(
    counted: Callable[[Path], Counted], retained: Path
) -> None:
    tree = counted(retained)
    assert tree.run("inspect", "ck", "--format", "json").code == 0
    bodies = [request.path for request in tree.proxy.requests if request.kind == "GET"]
    assert len(bodies) == len(set(bodies)) == 2 + 2 * 100
    assert set(tree.proxy.kinds()) == {"LIST", "GET"}
    assert tree.run("inspect", "ck", "--batches", "2").code == 0
    assert tree.proxy.kinds()["GET"] == len(ROUND)


class OnDisk:
    """What a checkpoint is made of, counted on the local disk: from this follows what each command must ask for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.metadata = 1
        self.offsets = self._files("offsets/*")
        self.commits = self._files("commits/*")
        self.sources = [self._files(f"sources/{one.name}/*") for one in root.glob("sources/*")]
        self.operators = self._files("state/*/_metadata/metadata") + self._files("state/*/0/**/_metadata/schema")
        self.beside = sum(path.is_dir() for path in root.parent.iterdir() if path != root) + 2

    def opened(self) -> int:
        """By a restart: two offsets and their commits, and the newest two of each source's log."""
        newest = min(2, self.offsets) + min(2, self.commits)
        return self.metadata + newest + sum(min(2, one) for one in self.sources) + self.operators

    def all(self) -> int:
        return self.metadata + self.offsets + self.commits + sum(self.sources) + self.operators

    def changes(self) -> int:
        """Deltas of HDFS-backed stores that were never snapshotted: a version needs them all."""
        return self._files("state/*/[0-9]*/**/[0-9]*.delta")

    def _files(self, pattern: str) -> int:
        return sum(path.is_file() and not path.name.startswith(".") for path in self.root.glob(pattern))


WINDOWED = "4.2.0-windowed-agg-hdfs-sound"
OTHERS = ["4.2.0-file-to-parquet-sound", "4.2.0-join-hdfs-sound", "4.2.0-session-window-hdfs-sound"]


@pytest.mark.parametrize(
    "name", [STATELESS, WINDOWED, *(pytest.param(name, marks=pytest.mark.storage) for name in OTHERS)]
)
def test_each_command_asks_for_what_it_needs_and_no_more(
    counted: Callable[[Path], Counted], sample: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    """Names come with two listings. Where tables of rows are read, each file that a version needs is read once. A
    query that is held against a checkpoint, as a guard does, costs what its restart does."""
    disk = OnDisk(sample(name) / "checkpoint")
    tree = counted(sample(name))
    described = tmp_path / "query.json"
    described.write_text(run_ckpt("query", "describe", str(disk.root), "--format", "json").out)
    costs = {
        ("plan-recovery", "--state", "quick"): (2, disk.opened()),
        ("check-change", "--query", str(described), "--state", "quick"): (2, disk.opened()),
        ("inspect",): (2 + glances(disk), disk.all()),
        ("inspect", "--batches", "1"): (2 + glances(disk), disk.all() - later(disk.offsets) - later(disk.commits)),
        ("log",): (2, disk.all()),
        ("kafka", "diff", "--bootstrap-server", "127.0.0.1:1", "--timeout", "0.1"): (2, disk.opened()),
    }
    if disk.operators:
        costs["state", "list"] = costs["state", "count"] = (2, disk.opened() + disk.changes())
        costs["state", "size"] = (2, disk.opened())
        costs["state", "verify"] = (2, disk.all() + 2 * disk.changes())
    for command, (lists, gets) in costs.items():
        tree.run_words(command, "checkpoint")
        assert tree.proxy.kinds() == {"LIST": lists, "GET": gets}, command
    tree.run_words(("diff", f"{tree.url}/checkpoint"), "checkpoint")
    assert tree.proxy.kinds() == {"LIST": 4, "GET": 2 * disk.opened()}


def later(files: int) -> int:
    """Beyond the two that a restart opens."""
    return max(0, files - 2)


def glances(disk: OnDisk) -> int:
    """Into the directories above and beside, for sinks' records; nothing is above the top of a bucket."""
    return disk.beside - 1


def test_a_delta_sink_costs_a_listing_and_its_commits(
    counted: Callable[[Path], Counted], sample: Callable[[str], Path]
) -> None:
    root = sample("3.5.7-delta-to-delta-sound")
    disk = OnDisk(root / "checkpoint")
    commits = len(list((root / "table" / "_delta_log").glob("*.json")))
    tree = counted(root)
    assert tree.run("plan-recovery", "checkpoint", "--state", "quick", "--sink", f"{tree.url}/table").code in (0, 1, 3)
    kinds = tree.proxy.kinds()
    assert kinds["LIST"] == 2 + 1
    assert kinds["GET"] - disk.opened() <= commits


def test_what_was_listed_is_not_asked_for_again(counted: Callable[[Path], Counted], retained: Path) -> None:
    tree = counted(retained)
    store = tree.store("ck")
    store.survey()
    tree.proxy.requests.clear()
    assert len(store.list("offsets")) == 101
    assert store.stat("commits/1000") is not None
    assert store.stat("commits/1001") is None
    assert not tree.proxy.requests


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 50, *(pytest.param(size, marks=pytest.mark.storage) for size in (10, 250))])
@pytest.mark.parametrize("kind", SERVERS)
def test_pages_of_any_size_tell_the_same(
    object_server: Callable[[str], ObjectServer],
    sample: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    size: int,
) -> None:
    server = object_server(kind)
    root = sample("4.2.0-join-hdfs-sound")
    url = f"{server.put(root, f'b{uuid4().hex}')}/checkpoint"
    monkeypatch.setattr(BUCKETS[server.protocol], "page_size", size)
    store = open_store(url, server.options)
    store.survey()
    directories = [path.relative_to(root / "checkpoint") for path in (root / "checkpoint").rglob("*") if path.is_dir()]
    for path in (Path(), *directories):
        listed = store.list("" if path == Path() else path.as_posix())
        assert sorted(listed) == sorted(one.name for one in (root / "checkpoint" / path).iterdir())
    again = open_store(url, server.options)
    again.survey()
    again.survey("state")
    for path in directories:
        if path.parts[0] == "state":
            assert sorted(again.list(path.as_posix())) == sorted(store.list(path.as_posix()))


# -- logs that nobody purged -------------------------------------------------------------------------------------------


def unpurged(sample: Callable[[str], Path], offsets: range, commits: range) -> ManyObjects:
    root = sample(STATELESS) / "checkpoint"
    logs = {"offsets": offsets, "commits": commits}
    newest = {log: (root / log / "2").read_bytes() for log in logs}
    bodies = {f"ck/{log}/{batch}": newest[log] for log, ids in logs.items() for batch in ids}
    return ManyObjects(
        {
            **bodies,
            "ck/metadata": (root / "metadata").read_bytes(),
            "ck/sources/0/0": (root / "sources/0/0").read_bytes(),
        }
    )


def many(bucket: ManyObjects) -> ObjectStore:
    return ObjectStore("s3://bucket/ck", Backend(), bucket, ["ck"])


@pytest.mark.parametrize(
    ("batches", "requests", "rounds"), [(100_000, 35, 7), (123_457, 45, 7), (1_000_000, 45, 7)], ids=str
)
def test_very_long_logs_are_probed(sample: Callable[[str], Path], batches: int, requests: int, rounds: int) -> None:
    bucket = unpurged(sample, range(batches), range(batches - 1))
    checkpoint = load_checkpoint(many(bucket), batches=ONLY_OPENED)
    assert (checkpoint.last_offset_batch, checkpoint.last_commit_batch) == (batches - 1, batches - 2)
    assert checkpoint.offset_names.unlisted_below is not None
    assert len(checkpoint.offset_names.ids) >= 100
    assert len(bucket.asked) <= requests, Counter(bucket.asked)
    assert bucket.rounds <= rounds


@pytest.mark.parametrize(("batches", "requests"), [(100_000, 35), (1_000_000, 45)], ids=str)
def test_a_command_on_very_long_logs_asks_little_and_says_what_it_takes_for_granted(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, batches: int, requests: int
) -> None:
    """All that `plan-recovery` asks for: listings, probes and bodies."""
    bucket = unpurged(sample, range(batches), range(batches))
    monkeypatch.setitem(BUCKETS, "s3", lambda _fs, _name: bucket)
    outcome = run_ckpt("plan-recovery", "s3://bucket/ck", "--format", "json", "--storage-option", "anon=true")
    assert outcome.code == 0, outcome.err
    restart = json.loads(outcome.out)["restart"]
    assert (restart["outcome"], restart["batch_id"]) == ("new_batch", batches)
    assert f"no log file above id {batches - 1}" in " ".join(restart["assumes"])
    assert len(bucket.asked) <= requests, Counter(bucket.asked)
    assert bucket.rounds <= 7


def _one(bucket: ManyObjects) -> Callable[[object, str], ManyObjects]:
    return lambda _fs, _name: bucket


@pytest.mark.parametrize("batches", [2000, 100_000], ids=str)
def test_the_doctor_asks_hardly_more_than_a_plan_of_recovery(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    asked = []
    for command in ("plan-recovery", "doctor"):
        bucket = unpurged(sample, range(batches), range(batches - 1))
        monkeypatch.setitem(BUCKETS, "s3", _one(bucket))
        outcome = run_ckpt(command, "s3://bucket/ck", "--format", "json", "--storage-option", "anon=true")
        assert outcome.code == 0, outcome.err
        asked.append(Counter(bucket.asked))
    more = asked[1] - asked[0]
    assert set(more) <= {"LIST", "HEAD"}, "no body beside those that a restart opens"
    assert more.total() <= 5


def test_the_doctor_of_much_state_lists_it_page_by_page(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is there by name, and no file of the state is opened."""
    root = sample(WINDOWED) / "checkpoint"
    bodies = {f"ck/{path.relative_to(root)}": path.read_bytes() for path in root.rglob("*") if path.is_file()}
    bodies = {name: body for name, body in bodies.items() if not name.endswith(".crc")}
    more = {f"ck/state/0/{number % 2}/old{number}.delta": b"x" for number in range(200_000)}
    bucket = ManyObjects({**more, **bodies})
    monkeypatch.setitem(BUCKETS, "s3", lambda _fs, _name: bucket)
    outcome = run_ckpt("doctor", "s3://bucket/ck", "--format", "json", "--storage-option", "anon=true")
    assert json.loads(outcome.out)["verdict"] == "fit", outcome.err
    assert Counter(bucket.asked)["LIST"] <= ceil((len(more) + len(bodies)) / 1000) + 5
    assert Counter(bucket.asked)["GET"] <= OnDisk(root).opened()


def test_a_restart_is_told_in_three_rounds(sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = unpurged(sample, range(900, 1001), range(900, 1001))
    monkeypatch.setitem(BUCKETS, "s3", lambda _fs, _name: bucket)
    assert run_ckpt("plan-recovery", "s3://bucket/ck", "--storage-option", "anon=true").code == 0
    assert Counter(bucket.asked) == {"LIST": 2, "GET": 6}
    assert bucket.rounds <= 3


def test_full_listing_lists_every_page(sample: Callable[[str], Path]) -> None:
    bucket = unpurged(sample, range(100_000), range(99_999))
    checkpoint = load_checkpoint(many(bucket), batches=ONLY_OPENED, full_listing=True)
    assert checkpoint.offset_names.unlisted_below is None
    assert checkpoint.offset_names.ids == range(100_000)
    pages, surveys = 100, 3  # of the top, of the first names anywhere, of the source
    assert Counter(bucket.asked)["LIST"] == 2 * pages + surveys


@pytest.mark.parametrize(
    ("offsets", "commits"),
    [
        (range(9_990), range(9_989)),
        (range(10_000, 12_000), range(10_000, 12_000)),
        (range(95_000, 100_001), range(95_000, 100_000)),
        (range(98_765, 123_456), range(98_765, 123_455)),
        (range(123_456, 125_456), range(123_456, 125_456)),
        (range(100_000), range(900)),
        (range(30_000), range(30_001)),
        (range(110_999), range(111_000)),
    ],
)
def test_the_newest_ids_are_found_wherever_the_log_begins_and_ends(
    sample: Callable[[str], Path], offsets: range, commits: range
) -> None:
    checkpoint = load_checkpoint(many(unpurged(sample, offsets, commits)), batches=ONLY_OPENED)
    assert checkpoint.last_offset_batch == offsets[-1]
    assert checkpoint.last_commit_batch == commits[-1]
    assert list(checkpoint.offset_names.ids) == list(offsets)[-len(checkpoint.offset_names.ids) :]
