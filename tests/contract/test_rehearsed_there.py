"""What a store of objects keeps is cloned to this machine for a rehearsal, and stays as it is there. With an actor in
place of Spark, which is given local clones wherever the checkpoint is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.query.job import JobSettings
from ckpttool.rehearsal.rehearse import Rehearsed, look, rehearse
from ckpttool.storage.store import open_store
from tests.conftest import Outcome, run_ckpt
from tests.parts.stores import SERVERS, ObjectServer
from tests.samples.place import place_sample
from tests.unit.rehearsal.acting import python_that_acts

pytestmark = pytest.mark.extras
NAMES = ("4.2.0-file-to-parquet-sound", "4.2.0-windowed-agg-rocksdb-sound")


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_checkpoint_in_a_store_is_rehearsed_as_on_the_local_disk(
    object_server: Callable[[str], ObjectServer], tmp_path: Path, kind: str, name: str
) -> None:
    place_sample(name, tmp_path / "prod")
    server, bucket = object_server(kind), f"rehearsed-{name.replace('.', '-')}"
    url = f"{server.put(tmp_path / 'prod', bucket)}/checkpoint"
    before, local = server.fingerprints(bucket), str(tmp_path / "prod" / "checkpoint")
    codes = []
    for step in range(2):
        codes.append(str(tmp_path / f"{step}.py"))
        Path(codes[-1]).write_text(json.dumps({"step": step}))
    settings, clones = JobSettings(python_that_acts(tmp_path), timeout_s=60), []
    for number, (place, options) in enumerate(((local, None), (url, server.options))):
        assert look(open_store(place, options)).next_id > 0
        how = Rehearsed(settings, work=tmp_path / str(number), keep=True, watch=(place.removesuffix("checkpoint"),))
        found = rehearse(place, codes[1], codes[0], how, options)
        assert (found.verdict, found.touched) == ("rows_differ", ())
        clones.append(tree(tmp_path / str(number) / "old" / "checkpoint"))
    beside = [{name for name in clone if name.endswith(".crc")} for clone in clones]  # which a store has none of
    here, there = ({name: clone[name] for name in clone if name not in beside[0]} for clone in clones)
    assert here == there
    assert not beside[1] - beside[0]
    assert server.fingerprints(bucket) == before


def test_a_store_that_does_not_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("{}")
    words = ("rehearse", "s3://nowhere/checkpoint", "--job", str(tmp_path / "job.py"), "--python", "false")
    options = ("--storage-option", "endpoint_url=http://127.0.0.1:9", "--storage-option", "key=k")
    outcome: Outcome = run_ckpt(*words, *options, "--storage-option", "secret=tiger")
    assert outcome.code == 5, outcome.err
    assert "Traceback" not in outcome.err
    assert "tiger" not in outcome.err
