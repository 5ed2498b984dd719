"""What is seen around a checkpoint; nothing that goes wrong there ends the look."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ckpttool import open_store
from ckpttool.errors import Unavailable
from ckpttool.formats.bucket_rules import Expiry
from ckpttool.reading import around
from ckpttool.reading.around import look_around
from ckpttool.reading.needed_state import load_state_at
from ckpttool.scene.around import Around, Backups
from ckpttool.storage import objects
from ckpttool.storage.doors import Doors
from tests.builders import EPOCH_MS, build
from tests.encoders import encode_hadoop_crc
from tests.samples.place import place_sample
from tests.unit.laws.scenes import SOUND, scene_of
from tests.unit.reading.loaded_state import sidecar


def look(root: Path) -> Around:
    return look_around(open_store(str(root)), scene_of(root))


def test_checksums_of_what_was_there(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    for batch in (2, 3):
        path = tmp_path / "offsets" / str(batch)
        path.with_name(f".{batch}.crc").write_bytes(encode_hadoop_crc(path.read_bytes()))
    assert look(tmp_path).stale_checksums == ()
    path.write_text(path.read_text().replace('"0":40', '"0":41'))
    (tmp_path / "offsets" / ".1.crc").write_bytes(b"none")
    assert look(tmp_path).stale_checksums == ("offsets/3",)


def test_whose_files_they_are_and_which_are_the_oldest(tmp_path: Path) -> None:
    seen = look(build(tmp_path, SOUND))
    assert list(seen.owners) == [(tmp_path / "metadata").stat().st_uid]
    assert seen.oldest == {"metadata": EPOCH_MS, "sources/0/0": EPOCH_MS}


def test_what_was_kept(tmp_path: Path) -> None:
    build(tmp_path, SOUND)
    assert look(tmp_path).backups is None
    backup = tmp_path / "_ckpt" / "applies" / "one" / "backup" / "offsets" / "3"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(bytes(1_000))
    assert look(tmp_path).backups == Backups(1, 1_000)


def test_how_long_a_log_is(tmp_path: Path) -> None:
    build(tmp_path, "f0 c | f1 c")
    (tmp_path / "sources" / "0" / "9.compact").write_bytes(b"v1\n" + bytes(500))
    assert look(tmp_path).log_bytes == {"sources/0/9.compact": 503}


def test_files_that_the_log_does_not_have(tmp_path: Path) -> None:
    root, inputs = build(tmp_path / "checkpoint", "f0 c | f1 c"), tmp_path / "in"
    (inputs / "day=1").mkdir(parents=True)
    for name in ("0.json", "1.json", "late.json", "day=1/late.json", "_temporary", ".hidden"):
        (inputs / name).touch()
    scene = scene_of(root)
    scene = replace(scene, start=replace(scene.start, options={"path": str(inputs)}))
    seen = look_around(open_store(str(root)), scene, doors=Doors([str(inputs)]))
    assert sorted(seen.unread_files) == ["day=1/late.json", "late.json"]
    gone = replace(scene, start=replace(scene.start, options={"path": f"{inputs}/gone"}))
    assert list(look_around(open_store(str(root)), gone, doors=Doors([str(inputs)])).unseen) == ["source-files-too-old"]


def test_how_large_whole_copies_are_and_who_wrote_them(tmp_path: Path) -> None:
    root = place_sample("4.2.0-windowed-agg-hdfs-sound", tmp_path)
    store, scene = open_store(str(root)), scene_of(root)
    files = load_state_at(store, scene, scene.next_id, "quick")
    first = root / files.stores[0].path
    for version, size in ((1, 100), (2, 300)):
        (first / f"{version}.snapshot").write_bytes(bytes(size))
        (first / f"{version}.snapshot.crc").write_bytes(sidecar(b""))
    files = load_state_at(store, scene, scene.next_id, "quick")
    seen = look_around(store, replace(scene, states={scene.next_id: files}))
    assert seen.state_bytes == (100, 300)
    assert seen.executors == {"driver"}


class _Store:
    """An object store, as far as it tells of itself."""

    url, prefix = "s3://lake/ckpt/orders", "ckpt/orders/"

    def __init__(self, *rules: Expiry, versioned: bool | None = True, refuses: bool = False) -> None:
        self.rules, self.versioned, self.refuses = rules, versioned, refuses

    def expiries(self) -> tuple[Expiry, ...]:
        if self.refuses:
            raise Unavailable("s3://lake cannot be read: AccessDenied", "ask for the permission")
        return self.rules

    def is_versioned(self) -> bool | None:
        if self.refuses:
            raise Unavailable("s3://lake cannot be read: AccessDenied", "ask for the permission")
        return self.versioned


@pytest.mark.parametrize(
    ("prefix", "counts"),
    [("", True), ("ckpt/", True), ("ckpt/orders/offsets/", True), ("tmp/", False), ("ckpt/b", False)],
)
def test_rules_that_are_for_this_place(monkeypatch: pytest.MonkeyPatch, prefix: str, counts: bool) -> None:
    monkeypatch.setattr(objects, "ObjectStore", _Store)
    rule, unseen = Expiry("r", prefix, 3), dict[str, str]()
    found = around._bucket(cast("Any", _Store(rule)), unseen)
    assert found.expiries == ((rule,) if counts else ())
    assert (found.versioned, unseen) == (True, {})


def test_what_one_may_not_ask_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "ObjectStore", _Store)
    unseen: dict[str, str] = {}
    found = around._bucket(cast("Any", _Store(refuses=True)), unseen)
    assert (found.expiries, found.versioned) == ((), None)
    assert list(unseen) == ["bucket-lifecycle", "bucket-unversioned"]
    assert all("AccessDenied" in why for why in unseen.values())


def given_to(root: Path, user: int) -> int:
    """All of it, where the tests may do that; whoever runs them else."""
    if os.geteuid() != 0:
        return os.geteuid()
    for path in (root, *root.rglob("*")):
        os.chown(path, user, user)
    return user


@pytest.mark.parametrize(
    ("path", "mode", "barred"),
    [
        ("offsets", 0o500, [("offsets", "write")]),
        ("commits", 0o555, [("commits", "write")]),
        ("metadata", 0o200, [("metadata", "read")]),
        ("offsets", 0o700, []),
        ("offsets/2", 0o400, []),
    ],
)
def test_what_its_user_may_not(tmp_path: Path, path: str, mode: int, barred: list[tuple[str, str]]) -> None:
    user = given_to(build(tmp_path, SOUND), 1234)
    scene, seen = scene_of(tmp_path), tmp_path / path
    seen.chmod(mode)
    try:
        found = look_around(open_store(str(tmp_path)), scene).barred
    finally:
        seen.chmod(0o700)
    assert [(one.path, one.need) for one in found] == barred
    assert all((one.user, one.mode) == (user, mode) for one in found)


def test_a_group_may_be_its_user_s(tmp_path: Path) -> None:
    user = given_to(build(tmp_path, SOUND), 1234)
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(tmp_path / "offsets", 4321, 4321)
    for mode, barred in ((0o755, True), (0o775, False), (0o757, False)):
        (tmp_path / "offsets").chmod(mode)
        found = look_around(open_store(str(tmp_path)), scene_of(tmp_path)).barred
        assert [(one.path, one.user) for one in found] == ([("offsets", user)] if barred else [])
