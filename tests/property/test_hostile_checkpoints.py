"""Laws over whole checkpoints: whatever happens to a file of one, the commands answer, and never silently otherwise."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ckpttool.api import inspect_checkpoint
from ckpttool.reading.checkpoint import load_checkpoint
from ckpttool.report.views.inspect import inspection_document
from ckpttool.storage.store import LocalStore
from tests.conftest import Outcome, run_ckpt
from tests.samples.place import place_sample

pytestmark = pytest.mark.property

SAMPLES = (
    "2.4.8-kafka-to-console-crashed-after-offset-log",
    "2.4.8-dstreams-sound",
    "3.5.7-file-compacted-sound",
    "4.2.0-two-sources-sound",
    "4.2.0-join-hdfs-sound",  # two directories of sources, four stores
    "4.2.0-dedup-rocksdb-sound",
    "4.2.0-continuous-to-noop-sound",
)
Edit = Callable[[bytes], bytes]


QUERIES = tuple(name for name in SAMPLES if "dstreams" not in name)


@pytest.fixture(scope="module", params=QUERIES)
def query(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return place_sample(request.param, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module", params=SAMPLES)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of this module's own: each example damages it and puts it back."""
    return place_sample(request.param, tmp_path_factory.mktemp("hostile"))


def files_of(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def opened_by_spark(root: Path) -> list[str]:
    """The newest offsets, those before, and the newest commit; Spark never falls back to older ones."""

    def newest(log: str, count: int) -> list[str]:
        batches = sorted(int(path.name) for path in (root / log).glob("*") if path.name.isdecimal())
        return [f"{log}/{batch}" for batch in batches[-count:]]

    return newest("offsets", 2) + newest("commits", 1)


@contextmanager
def damaged(root: Path, name: str, edit: Edit) -> Iterator[None]:
    path = root / name
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(edit(before))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@contextmanager
def renamed(path: Path, target: bytes) -> Iterator[None]:
    os.rename(os.fsencode(path), target)
    try:
        yield
    finally:
        os.rename(target, os.fsencode(path))


def answers(root: Path) -> dict[str, Any]:
    """Every command answers in both its voices; returns what `inspect` says as JSON."""
    said = check_json(run_ckpt("inspect", str(root), "--format", "json"), "ckpt.inspect/1")
    check_text(run_ckpt("inspect", str(root)))
    check_text(run_ckpt("inspect", str(root), "--timeline"))
    check_json(run_ckpt("log", str(root), "--format", "json"), "ckpt.log/1")
    check_text(run_ckpt("log", str(root)))
    check_text(run_ckpt("diff", str(root), str(root)))
    return said


def check_json(outcome: Outcome, schema: str) -> dict[str, Any]:
    check_text(outcome)
    fields: dict[str, Any] = json.loads(outcome.out)
    assert fields["schema"] == schema
    return fields


def check_text(outcome: Outcome) -> None:
    assert outcome.code in (0, 1, 3, 4, 5), outcome.err
    assert all(line.isprintable() for line in (outcome.out + outcome.err).split("\n"))


def verdict(fields: dict[str, Any]) -> tuple[str, int | None]:
    return fields["next_batch"]["outcome"], fields["next_batch"]["batch_id"]


def findings(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["id"], finding["path"]) for finding in fields["findings"]]


def check_not_silently_another_verdict(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert verdict(after) == verdict(before) or findings(after) != findings(before)


def draw_edit(data: st.DataObject, size: int) -> Edit:
    """Cut anywhere, flip any bits of any byte, or put any bytes in place of all, or in between."""
    at = data.draw(st.integers(0, max(0, size - 1)), label="at")
    flip = data.draw(st.integers(1, 255), label="flip")
    noise = data.draw(st.binary(max_size=40), label="noise")
    edits: dict[str, Edit] = {
        "cut": lambda body: body[:at],
        "flip": lambda body: body[:at] + bytes(byte ^ flip for byte in body[at : at + 1]) + body[at + 1 :],
        "replace": lambda _body: noise,
        "insert": lambda body: body[:at] + noise + body[at:],
        "repeat": lambda body: body + body[at:],
    }
    return edits[data.draw(st.sampled_from(sorted(edits)), label="edit")]


@given(data=st.data())
def test_any_damage_to_any_file_is_answered(root: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(files_of(root)))
    with damaged(root, name, draw_edit(data, (root / name).stat().st_size)):
        answers(root)


@given(data=st.data())
def test_damage_to_what_spark_opens_never_changes_the_verdict_silently(query: Path, data: st.DataObject) -> None:
    before = json.loads(run_ckpt("inspect", str(query), "--format", "json").out)
    name = data.draw(st.sampled_from(opened_by_spark(query)))
    with damaged(query, name, draw_edit(data, (query / name).stat().st_size)):
        check_not_silently_another_verdict(before, answers(query))


def test_every_cut_of_what_spark_opens_is_told_or_harmless(query: Path) -> None:
    before = json.loads(run_ckpt("inspect", str(query), "--format", "json").out)
    for name in opened_by_spark(query):
        body = (query / name).read_bytes()
        for length in sorted({*range(0, len(body), max(1, len(body) // 40)), len(body) - 1}):
            with damaged(query, name, lambda whole, length=length: whole[:length]):  # type: ignore[misc]
                outcome = run_ckpt("inspect", str(query), "--format", "json")
            check_not_silently_another_verdict(before, check_json(outcome, "ckpt.inspect/1"))
            # A commit may lack its JSON, and a number that was cut is a number still.
            assert outcome.code == 1 or name.startswith("commits") or is_json(body[:length].rpartition(b"\n")[2])


def is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@given(data=st.data())
def test_any_file_may_be_gone(root: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(files_of(root)))
    with renamed(root / name, os.fsencode(root.parent / "aside")):
        answers(root)


file_names = (
    st.binary(min_size=1, max_size=40).filter(lambda name: b"/" not in name and b"\0" not in name)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=20).map(
        str.encode
    )
    | st.integers(-(2**70), 2**70).map(lambda number: str(number).encode())
    | st.from_regex(rb"\.?[+-]?0*[0-9]{1,19}(\.compact|\.crc|\.tmp|\.delta)?", fullmatch=True)
    | st.sampled_from([b"metadata", b"offsets", b"commits", b"sources", b"state", b"_delta_log", b"checkpoint-1"])
)


@given(data=st.data(), name=file_names)
def test_any_file_may_have_any_name(root: Path, data: st.DataObject, name: bytes) -> None:
    path = root / data.draw(st.sampled_from(files_of(root)))
    target = os.path.join(os.fsencode(path.parent), name)
    assume(not os.path.lexists(target))
    with renamed(path, target):
        answers(root)


@given(data=st.data(), name=file_names)
def test_any_directory_may_have_any_name(root: Path, data: st.DataObject, name: bytes) -> None:
    path = root / data.draw(
        st.sampled_from(sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()) or ["."])
    )
    target = os.path.join(os.fsencode(path.parent), name)
    assume(path != root and not os.path.lexists(target))
    with renamed(path, target):
        answers(root)


class Shuffled(LocalStore):
    """Lists every directory in an order of its own."""

    def __init__(self, root: str, seed: int) -> None:
        super().__init__(root)
        self.seed = seed

    def list(self, path: str = "") -> list[str]:
        names = sorted(super().list(path))
        random.Random(self.seed).shuffle(names)
        return names

    def at(self, path: str) -> LocalStore:
        return Shuffled(os.path.normpath(os.path.join(self.url, path)), self.seed)


@given(seed=st.integers(0, 2**32))
def test_the_order_of_a_listing_means_nothing(root: Path, seed: int) -> None:
    shuffled, plain = (
        inspection_document(inspect_checkpoint(load_checkpoint(store))).fields()
        for store in (Shuffled(str(root), seed), LocalStore(str(root)))
    )
    assert shuffled == plain
