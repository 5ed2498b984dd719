"""Whole URLs that follow a checkpoint to another place."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.api import Restarted, plan_restart
from ckpttool.errors import MalformedFile
from ckpttool.plan import SetAside, Write
from ckpttool.plan.moved_urls import Known, follow_checkpoint, with_own_urls
from ckpttool.plan.wishes import Clone, Relocate, Wish
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import EPOCH_MS, build
from tests.samples.place import place_sample

SCHEMA = "state/0/_stateSchema/default/0_5f2a"


RUN = "state/0/_metadata/v2/0"


def described(root: Path, named: str) -> Scene:
    """A stateful query of Spark 4 whose operator names a schema of its own."""
    build(root, "k0-10 c | k10-30 c")
    body = (
        'v2\n{"operatorInfo":{"operatorId":0,"operatorName":"transformWithStateExec"},"stateStoreInfo":[{"storeName":'
        f'"default","numColsPrefixKey":0,"numPartitions":1,"stateSchemaFilePaths":["{named}"]}}],'
        '"operatorPropertiesJson":"{}"}'
    )
    (root / RUN).parent.mkdir(parents=True)
    (root / RUN).write_text(body)
    checkpoint = open_checkpoint(str(root))
    evidence = gather_evidence(replace(checkpoint, raw={**checkpoint.raw, RUN: body.encode()}))
    return Scene(evidence, Start((4, 2, 0)))


@pytest.mark.parametrize(
    ("url", "target", "becomes"),
    [
        ("file:/data/ck", "/mnt/ck 2", "file:/mnt/ck%202"),
        ("file:///data/state/0/ck", "/mnt/ck", "file:///mnt/ck"),
        ("s3a://b/ck", "s3://c/ck", "s3a://c/ck"),
        ("s3a://b/ck", "gs://c/ck", "gs://c/ck"),
    ],
)
def test_state_names_its_schemas_where_they_are_then(url: str, target: str, becomes: str, tmp_path: Path) -> None:
    scene = described(tmp_path / "q", f"{url}/{SCHEMA}")
    assert list(with_own_urls(scene)) == ["state/0/_metadata/v2"]
    steps = list(follow_checkpoint(scene, target))
    assert [f'["{becomes}/{SCHEMA}"]' in step.content for step in steps if isinstance(step, Write)] == [True]
    gone = [step.path for step in steps if isinstance(step, SetAside)]
    assert gone == (["state/0/_metadata/v2/.0.crc"] if target.startswith("/") else [])


def test_what_names_files_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedFile, match="no file of the checkpoint"):
        list(follow_checkpoint(described(tmp_path / "q", "file:/elsewhere/schema"), "/mnt/ck"))


def test_a_log_of_schemas_belongs_to_its_source(tmp_path: Path) -> None:
    root = build(tmp_path / "q", "k0-10 c")
    entry = root / "_schema_log_t" / "0"
    entry.parent.mkdir()
    entry.write_text('v1\n{"tableId":"t","sourceMetadataPath":"file:/data/ck/sources/0"}')
    restarted = Restarted(wish=Clone("/mnt/ck"), sinks=["noop"])
    steps = plan_restart(str(root), restarted, now_ms=EPOCH_MS * 2)[1].options[0].steps
    written = {step.path: step.content for step in steps if isinstance(step, Write)}
    assert '"file:/mnt/ck/sources/0"' in written["_schema_log_t/0"]


@pytest.mark.parametrize("wish", [Clone("/mnt/ck"), Relocate("/mnt/ck")], ids=["clone", "relocate"])
def test_one_that_may_lie_elsewhere_in_the_checkpoint_is_said_to_stay_behind(wish: Wish, tmp_path: Path) -> None:
    root = place_sample("3.5.7-delta-to-delta-sound", tmp_path)
    (root / "_schemas" / "_schema_log_t").mkdir(parents=True)
    for told, words in (
        ({}, "may lie in _schemas/"),
        ({"schemaTrackingLocation": "s3a://lake/q/_schemas/orders"}, "lies in _schemas/"),
        ({"schemaTrackingLocation": "s3a://lake/q"}, None),
    ):
        restarted = Restarted(wish=wish, sinks=["noop"], options=told)
        plan = plan_restart(str(root), restarted, now_ms=EPOCH_MS * 2)[1]
        assert [words in one.why for one in plan.refused if words] == ([True] if words else []), plan.refused
        assert bool(plan.options) == (words is None)


def test_the_longest_place_counts() -> None:
    known = Known((("/in", "/a"), ("/in/deep", "/b")))
    assert known.becomes("file:///in/x") == "file:///a/x"
    assert known.becomes("file:///in/deep/x") == "file:///b/x"
    assert known.becomes("file:///out/x") == "file:///out/x"
