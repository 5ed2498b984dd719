"""A checkpoint that goes on at another place."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.formats.metadata import moved_to
from ckpttool.plan import Plan, Write
from ckpttool.plan.wishes import Relocate
from tests.builders import EPOCH_MS, QUERY_ID, build
from tests.unit.plan.wishes.test_places import TARGET, way

STORY = "f0 k0-10 c | f1 k10-30 c"
STAYS = (("/in", "/in"),)


def wished(root: Path, wish: Relocate, sink: str = "noop", **options: str) -> Plan:
    build(root, STORY)
    return planned(root, Restarted(wish=wish, sinks=[sink], options=options))


def planned(root: Path, restarted: Restarted) -> Plan:
    return plan_restart(str(root), restarted, now_ms=EPOCH_MS * 2)[1]


def written(plan: Plan) -> dict[str, str]:
    return {step.path: step.content for step in way(plan).steps if isinstance(step, Write)}


def test_it_goes_on_there_under_its_id_and_here_no_more(tmp_path: Path) -> None:
    plan = wished(tmp_path / "q", Relocate(TARGET, (("/in", "/mnt/in"),)))
    after, steps = way(plan).after, written(plan)
    assert (after.checkpoint.url, after.next_id) == (TARGET, 2)
    assert after.checkpoint.metadata is not None
    assert after.checkpoint.metadata.id == QUERY_ID
    assert [entry.path for entry in after.checkpoint.source_logs[0].entries[1]] == ["file:///mnt/in/1.json"]
    last = [step.path for step in way(plan).steps[-2:] if isinstance(step, Write)]
    assert last == [f"{tmp_path}/q/metadata", "metadata"]
    assert moved_to(steps[f"{tmp_path}/q/metadata"].encode()) == TARGET
    assert QUERY_ID in steps["metadata"]


def test_what_stays_is_written_no_more(tmp_path: Path) -> None:
    assert not [path for path in written(wished(tmp_path / "q", Relocate(TARGET, STAYS))) if "sources" in path]


@pytest.mark.parametrize(
    ("maps", "why"),
    [
        ((), "no --map covers that"),
        ((("/other", "/mnt"),), "no --map covers that"),
        ((("/in/0.json", "/mnt/x"), ("/in/1.json", "/mnt/x")), "would have one name"),
        ((("/in", "s3a://b/in"),), "say which the query uses then"),
        ((("/in", "memory://in"),), "no file system for memory:"),
        ((("/in", "abfss://c/in"),), "CONTAINER@ACCOUNT"),
        ((("/in", "in"),), "no whole URL"),
    ],
)
def test_a_file_that_nobody_accounts_for(maps: tuple[tuple[str, str], ...], why: str, tmp_path: Path) -> None:
    plan = wished(tmp_path / "q", Relocate(TARGET, maps))
    assert not plan.options
    assert why in plan.refused[0].why


def test_another_kind_of_storage_has_to_be_the_querys(tmp_path: Path) -> None:
    wish = Relocate(TARGET, (("/in", "s3a://b/in"),))
    assert wished(tmp_path / "one", wish, path="s3a://b/in").options
    assert not wished(tmp_path / "other", wish, path="s3://b/in").options


def test_no_place_within_another(tmp_path: Path) -> None:
    assert "lies in the checkpoint" in wished(tmp_path / "q", Relocate(f"{tmp_path}/q/new", STAYS)).refused[0].why


def test_an_output_that_was_moved_has_entries_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    entry = (
        'v1\n{"path":"file:///old/out/part-0.parquet","size":1,"isDir":false,"modificationTime":1,"blockReplication":1,'
        '"blockSize":1,"action":"add"}'
    )
    (log / "0").write_text(entry)
    sink = str(tmp_path / "out")
    plan = wished(tmp_path / "q", Relocate(TARGET, (*STAYS, ("/old/out", f"{tmp_path}/out"))), sink)
    assert written(plan)[str(log / "0")] == entry.replace("/old/out", f"{tmp_path}/out")
    refused = wished(tmp_path / "r", Relocate(TARGET, STAYS), sink).refused[0].why
    assert "no --map leads there" in refused


def test_who_has_no_id_goes_nowhere(tmp_path: Path) -> None:
    root = build(tmp_path / "q", STORY)
    (root / "metadata").unlink()
    assert not planned(root, Restarted(wish=Relocate(TARGET, STAYS), sinks=["noop"])).options


def test_nothing_else_is_offered_where_it_was(tmp_path: Path) -> None:
    steps = written(wished(tmp_path / "q", Relocate(TARGET, STAYS)))
    (tmp_path / "q" / "metadata").write_text(steps[f"{tmp_path}/q/metadata"])
    plan = planned(tmp_path / "q", Restarted(sinks=["noop"]))
    assert not plan.options
    assert TARGET in plan.refused[0].why
