"""A clone is the checkpoint, as far as its next batch can tell."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpttool.api import Restarted, plan_restart
from ckpttool.errors import Refused
from ckpttool.rehearsal.copying import clone_operators, make_clone
from ckpttool.rehearsal.rehearse import look
from ckpttool.storage.store import open_store
from tests.samples.place import about, sample_names

Sample = Callable[[str], Path]
RUN = {
    "operatorInfo": {"operatorId": 0, "operatorName": "transformWithStateExec"},
    "stateStoreInfo": [
        {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2,
         "stateSchemaFilePaths": ["file:PLACE/state/0/_stateSchema/x"]}
    ],
    "operatorPropertiesJson": "[]",
}  # fmt: skip
NOT_OF_BATCHES = ("dstreams", "continuous", "real-time", "async")
# Where two offsets with a gap are all that there is, they look to us as async progress leaves them. Spark fails alike.
ONE_MISSING = "previous-offset-missing"
CLONED = [name for name in sample_names() if not any(one in name for one in (*NOT_OF_BATCHES, ONE_MISSING))]


@pytest.mark.parametrize("name", CLONED)
def test_a_restart_of_the_clone_is_that_of_the_checkpoint(sample: Sample, tmp_path: Path, name: str) -> None:
    """With all that is wrong with it: what is missing or torn stays so. What Spark never opens stays behind."""
    original = sample(name) / about(name)["checkpoint"]
    store = open_store(str(original))
    clone = make_clone(store, look(store), tmp_path / "clone")
    there = [path for path in clone.root.rglob("*") if path.is_file()]
    assert (clone.files, clone.bytes) == (len(there), sum(path.stat().st_size for path in there))
    assert all((original / path.relative_to(clone.root)).is_file() for path in there)
    expected, found = (
        plan_restart(str(place), Restarted(), now_ms=0)[0].prediction for place in (original, clone.root)
    )
    assert (found.outcome, found.batch_id, found.sources) == (expected.outcome, expected.batch_id, expected.sources)
    assert found.watermark_ms == expected.watermark_ms
    assert (found.error and found.error.spark) == (expected.error and expected.error.spark)


def test_what_a_checkpoint_says_of_its_own_place_follows_it(sample: Sample, tmp_path: Path) -> None:
    """Also where it was copied since by somebody who did not see to that; what was read lies where it lay."""
    shutil.copytree(sample("4.2.0-windowed-agg-hdfs-sound"), tmp_path / "prod")
    checkpoint = tmp_path / "prod" / "checkpoint"
    run = checkpoint / "state/0/_metadata/v2/0"
    run.parent.mkdir()
    body = f"v2\n{json.dumps(RUN, separators=(',', ':'))}"
    run.write_text(body.replace("PLACE", "/elsewhere/before"))
    store = open_store(str(checkpoint))
    clone = make_clone(store, look(store), tmp_path / "clone")
    assert (clone.root / "state/0/_metadata/v2/0").read_text() == body.replace("PLACE", str(clone.root))
    log = next((checkpoint / "sources/0").glob("[0-9]*"))
    assert (clone.root / "sources/0" / log.name).read_bytes() == log.read_bytes()


@pytest.mark.parametrize("mode", NOT_OF_BATCHES)
def test_what_has_no_plain_batches_is_refused(sample: Sample, mode: str) -> None:
    name = next(one for one in sample_names() if mode in one)
    with pytest.raises(Refused, match=r"not rehearsed|no batches"):
        look(open_store(str(sample(name) / about(name)["checkpoint"])))


def test_what_describes_the_operators_is_cloned_without_their_state(sample: Sample, tmp_path: Path) -> None:
    original = sample("4.2.0-join-hdfs-sound") / "checkpoint"
    store = open_store(str(original))
    clone = clone_operators(store, look(store), tmp_path / "clone").root
    there = {str(path.relative_to(clone)) for path in clone.rglob("*") if path.is_file()}
    described = {str(path.relative_to(original)) for path in original.glob("state/*/**/_metadata/*") if path.is_file()}
    assert there == described
    assert len(there) > 4
