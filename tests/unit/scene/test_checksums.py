"""Files that something else than Spark put there, told by the checksum that is not beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ckpttool import open_checkpoint
from ckpttool.formats.layout import hadoop_crc
from ckpttool.scene.checksums import without_checksum
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from tests.builders import build
from tests.state_builders import DELTA
from tests.take_steps import look_at_states

STATE = [f"state/0/0/{version}.delta" for version in (1, 2, 3)]
ENTRIES = [f"sources/0/{entry}" for entry in (0, 1, 2)]


def query(root: Path, lacking: list[str], files: list[str]) -> Scene:
    """As Spark leaves it on a local disk, but that some checksums are gone."""
    build(root, "f0 c | f1 c | f2 c")
    for path in STATE:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(DELTA)
    for path in set(files) - set(lacking):
        (root / hadoop_crc(path)).write_bytes(b"crc\x00")
    scene = Scene(gather_evidence(open_checkpoint(str(root))), Start((4, 2, 0)))
    return replace(scene, states=look_at_states(root, scene, None, "quick", partitions=1))


@pytest.mark.parametrize("files", [STATE, ENTRIES])
@pytest.mark.parametrize("lacking", [[], [0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_one_without_counts_if_an_earlier_one_has_it(tmp_path: Path, files: list[str], lacking: list[int]) -> None:
    """What was there before Spark wrote on this disk never had any."""
    first = min({0, 1, 2} - {*lacking}, default=3)
    found = without_checksum(query(tmp_path / "q", [files[one] for one in lacking], files))
    assert list(found) == [files[one] for one in lacking if one > first]


def test_what_a_newer_whole_copy_makes_needless_does_not_count(tmp_path: Path) -> None:
    scene = query(tmp_path / "q", [STATE[1], ENTRIES[1]], [*STATE, *ENTRIES])
    assert set(without_checksum(scene)) == {STATE[1], ENTRIES[1]}
    for path in ("state/0/0/3.snapshot", "sources/0/2.compact"):
        whole = tmp_path / "q" / path
        whole.write_bytes(DELTA if "state" in path else (tmp_path / "q" / ENTRIES[2]).read_bytes())
        whole.with_name(f".{whole.name}.crc").write_bytes(b"crc\x00")
    (tmp_path / "q" / ENTRIES[2]).unlink()
    again = Scene(gather_evidence(open_checkpoint(str(tmp_path / "q"))), Start((4, 2, 0)))
    again = replace(again, states=look_at_states(tmp_path / "q", again, None, "quick", partitions=1))
    assert without_checksum(again) == ()


def test_other_stores_keep_none(tmp_path: Path) -> None:
    scene = query(tmp_path / "q", [STATE[1]], STATE)
    there = replace(scene.evidence, checkpoint=replace(scene.checkpoint, url="s3://lake/q"))
    assert without_checksum(replace(scene, evidence=there)) == ()
