"""Steps taken for real, on copies only: as the shell commands take them, and never outside the scratch directory."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ckpttool import Restarted, parse_release, plan_restart
from ckpttool.errors import Refused
from ckpttool.harness.disk import DiskReader
from ckpttool.harness.judge.base import live_commits
from ckpttool.harness.place import JobPlace
from ckpttool.harness.scratch import Scratch
from ckpttool.harness.take_steps import take_steps
from ckpttool.plan.steps import Conf, DeltaRestore, DeltaTxn, Manual, SetAside, Step, Write, session_conf, write
from tests.builders import build
from tests.take_steps import files_below

QUERY = "the-query"
NOW_MS = 1_800_000_000_000


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(tmp_path / "scratch", keep=True) as made:
        yield made


@pytest.fixture
def checkpoint(scratch: Scratch) -> Path:
    return build(scratch.root / "image" / "checkpoint", "k0-10 c | k10-30 c | k30-60 c")


def aside(path: str) -> SetAside:
    return SetAside(path=path, why="because", shell="")


def planned(checkpoint: Path) -> list[Step]:
    _, plan = plan_restart(str(checkpoint), Restarted(release=parse_release("4.2.0")), {}, now_ms=NOW_MS)
    return list(plan.options[0].steps)


# -- the checkpoint's files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: (root / "offsets" / "2").write_text("v1\n{"),
        lambda root: (root / "commits" / "2").write_text(""),
        lambda root: (root / "metadata").unlink(),
        lambda root: (root / "offsets" / "1").unlink(),
    ],
    ids=["torn-offsets", "empty-commit", "no-metadata", "no-previous-offsets"],
)
def test_it_does_what_the_shell_commands_do(
    checkpoint: Path, scratch: Scratch, damage: Callable[[Path], object]
) -> None:
    """Both at the same place, one after the other."""
    damage(checkpoint)
    steps = planned(checkpoint)
    assert steps
    before, image = files_below(scratch.root / "image"), scratch.root / "image"
    for step in steps:
        subprocess.run(["bash", "-ec", step.shell], check=True)
    by_shell = files_below(image)
    by_shell.pop("checkpoint.set-aside/metadata", None)  # a copy, for whoever loses the list of steps
    image.rename(scratch.root / "by-shell")
    for path, content in before.items():
        (image / path).parent.mkdir(parents=True, exist_ok=True)
        (image / path).write_bytes(content)
    take_steps(steps, checkpoint, scratch)
    assert files_below(image) == by_shell
    assert by_shell != before


def test_settings_are_handed_on(checkpoint: Path, scratch: Scratch) -> None:
    before = files_below(checkpoint)
    taken = take_steps([session_conf("spark.x", "1", "it has to")], checkpoint, scratch)
    assert taken.conf == {"spark.x": "1"}
    assert taken.in_words == ["start with spark.x=1: it has to"]
    assert files_below(checkpoint) == before


def test_a_file_of_a_directory_that_goes_can_be_written_again(checkpoint: Path, scratch: Scratch) -> None:
    steps = [aside("commits"), write(str(checkpoint), "commits/7", b"v1\n{}", "anew")]
    take_steps(steps, checkpoint, scratch)
    assert [path.name for path in (checkpoint / "commits").iterdir()] == ["7"]
    assert (scratch.root / "image" / "checkpoint.set-aside" / "commits" / "2").exists()


def test_a_sinks_log_goes_beside_the_sink(checkpoint: Path, scratch: Scratch) -> None:
    log = scratch.root / "image" / "sink" / "_spark_metadata"
    log.mkdir(parents=True)
    (log / "2").write_text("v1")
    take_steps([aside(f"file://{log}/2")], checkpoint, scratch)
    assert not (log / "2").exists()
    assert (scratch.root / "image" / "sink.set-aside" / "_spark_metadata" / "2").read_text() == "v1"


# -- what is refused, with nothing changed -----------------------------------------------------------------------------


def good(checkpoint: Path) -> Write:
    return write(str(checkpoint), "commits/9", b"v1\n{}", "fits")


def refused(checkpoint: Path, outside: Path) -> dict[str, Step]:
    return {
        "a person": Manual(text="ask somebody", target="sink", why="", shell=""),
        "a file elsewhere": aside(str(outside / "offsets" / "2")),
        "a way out by dots": aside("../../../outside/offsets/2"),
        "a write elsewhere": replace(good(checkpoint), path=str(outside / "commits" / "9")),
        "a table elsewhere": DeltaRestore(table=str(outside), version=0, why="", shell=""),
        "a record elsewhere": DeltaTxn(table=str(outside), app_id=QUERY, version=0, why="", shell=""),
        "another system": aside("s3://lake/orders/_spark_metadata/2"),
        "a table that is none": DeltaTxn(table=str(checkpoint), app_id=QUERY, version=0, why="", shell=""),
        "what is not there": aside("offsets/77"),
        "what is in the way": replace(good(checkpoint), path="commits/1"),
        "nothing to replace": replace(good(checkpoint), path="commits/8", replaces=True),
        "another content": replace(good(checkpoint), path="commits/8", content="v1\n{ }"),
        "the same once more": good(checkpoint),
    }


@pytest.mark.parametrize("what", refused(Path("/x"), Path("/y")))
def test_it_is_refused_before_anything_is_changed(checkpoint: Path, scratch: Scratch, what: str) -> None:
    outside = build(scratch.root.parent / "outside", "k0-10 c | k10-30 c | k30-60 c")
    before = files_below(scratch.root.parent)
    with pytest.raises(Refused):
        take_steps([good(checkpoint), refused(checkpoint, outside)[what]], checkpoint, scratch)
    assert files_below(scratch.root.parent) == before


def test_a_link_that_leads_out_is_refused(checkpoint: Path, scratch: Scratch) -> None:
    outside = build(scratch.root.parent / "outside", "k0-10 c")
    (checkpoint / "sources").mkdir(exist_ok=True)
    (checkpoint / "sources" / "9").symlink_to(outside / "offsets")
    with pytest.raises(Refused, match="outside"):
        take_steps([aside("sources/9/0")], checkpoint, scratch)
    assert (outside / "offsets" / "0").exists()


def test_a_checkpoint_elsewhere_is_refused(scratch: Scratch) -> None:
    elsewhere = build(scratch.root.parent / "elsewhere", "k0-10 c")
    with pytest.raises(Refused, match="outside"):
        take_steps([Conf(k="a", v="b", why="", shell="")], elsewhere, scratch)


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(scratch: Scratch) -> Path:
    """Batches 0 to 3, one version and one row each."""
    import pyarrow
    from deltalake import CommitProperties, Transaction, write_deltalake

    path = scratch.root / "image" / "sink"
    for batch in range(4):
        record = CommitProperties(app_transactions=[Transaction(QUERY, batch, NOW_MS)])
        write_deltalake(str(path), pyarrow.table({"id": [batch]}), mode="append", commit_properties=record)
    return path


def delta(table: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(str(table))


def ids(table: Path) -> list[int]:
    return sorted(delta(table).to_pyarrow_table()["id"].to_pylist())


@pytest.mark.extras
def test_a_table_is_restored_and_its_record_lowered(checkpoint: Path, scratch: Scratch, table: Path) -> None:
    steps = [
        DeltaRestore(table=f"file://{table}", version=1, why="rows out", shell=""),
        DeltaTxn(table=str(table), app_id=QUERY, version=1, why="record down", shell=""),
    ]
    take_steps(steps, checkpoint, scratch)
    assert ids(table) == [0, 1]
    assert delta(table).transaction_version(QUERY) == 1
    log = DiskReader().read(JobPlace(table.parent), "delta").sink or ()
    assert [(one.version, one.batch_id, one.restored_to) for one in log[3:]] == [
        (3, 3, None),
        (4, None, 1),
        (5, 1, None),
    ]
    assert [row["id"] for commit in live_commits(log) for row in commit.rows or ()] == [0, 1]


@pytest.mark.extras
def test_a_record_changes_no_row_and_no_other_record(checkpoint: Path, scratch: Scratch, table: Path) -> None:
    take_steps([DeltaTxn(table=str(table), app_id="another", version=7, why="", shell="")], checkpoint, scratch)
    assert ids(table) == [0, 1, 2, 3]
    assert delta(table).transaction_version(QUERY) == 3
    assert delta(table).transaction_version("another") == 7
