"""What is taken for granted is said: settings that nobody gave, and what nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ckpttool import Scene, Start, gather_evidence, open_checkpoint
from ckpttool.laws.assumed import KAFKA_NOT_ASKED, assumed
from ckpttool.releases import NEWEST
from tests.builders import build


def test_it_says_what_was_not_given_and_who_was_not_asked(tmp_path: Path) -> None:
    scene = Scene(gather_evidence(open_checkpoint(str(build(tmp_path, "k0-10 c")))), Start(NEWEST))
    assert list(assumed(scene)) == ["the sources' options as they were, or Spark's defaults", KAFKA_NOT_ASKED]


def test_what_was_given_leaves_the_rest(tmp_path: Path) -> None:
    start = Start(NEWEST, conf={"a": "b"}, options={"subscribe": "t"})
    scene = Scene(gather_evidence(open_checkpoint(str(build(tmp_path, "k0-10 c")))), start)
    assert any("the rest of the session" in one for one in assumed(scene))
    assert any("other options" in one for one in assumed(scene))


def test_of_an_iceberg_table_nobody_looked_at_it_says_how_to_look(sample: Callable[[str], Path]) -> None:
    checkpoint = open_checkpoint(str(sample("4.2.0-file-to-parquet-sound") / "checkpoint"))
    assert not any("Iceberg" in one for one in assumed(Scene(gather_evidence(checkpoint), Start(NEWEST))))
