"""What `literals` makes of hostile names, as Spark's parser and Hadoop's shell read it back."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from ckpttool.literals import hadoop_path, spark_identifier
from tests.parts.spark import ensure_java, ensure_spark

pytestmark = pytest.mark.spark

PROGRAM = Path(__file__).with_name("literals_on_spark.py")
NAMES = ["a", "a b", "`", "``", "a`b", "` x", "ü", "日本", "-", "/data/a=1/b@c", "%41", "#", "!", "a,b", "(x)", "1"]
FILES = ["a*", "a?", "[ab]", "{a,b}", "a\\b", "\\*", "-x", "a b", "$(x)", "~", "a{", "]", "{a", "[", "ü"]
DECOYS = ["ab", "a", "b", "axx", "\\b", "x"]


def test_they_are_read_back(tmp_path: Path) -> None:
    ensure_java()
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    for name in {*FILES, *DECOYS}:
        (source / name).write_text(name)
    (identifiers,) = [[found for name in NAMES if (found := spark_identifier(name))]]
    moves = []
    for number, name in enumerate(FILES):
        (target / f"{number}").mkdir(parents=True)
        words = (hadoop_path(f"file://{path}") for path in (source / name, target / f"{number}" / name))
        moves.append(["-mv", *(shlex.split(word)[0] for word in words)])
    asked = json.dumps({"identifiers": identifiers, "moves": moves})
    command = [str(ensure_spark("4.2.0")), str(PROGRAM)]
    ran = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=600)
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["names"] == NAMES
    assert told["statuses"] == [0] * len(FILES)
    assert sorted(path.name for path in source.glob("[!.]*")) == sorted({*DECOYS} - {*FILES})
    for number, name in enumerate(FILES):
        assert (target / f"{number}" / name).read_text() == name
