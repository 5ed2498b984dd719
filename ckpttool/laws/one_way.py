"""What an older Spark cannot start from any more, and what no Spark would have written so. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ckpttool.formats import layout
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.releases import Release, since, spell_release
from ckpttool.scene.scene import Scene
from ckpttool.words import listed, shown

_PARTITIONS = "spark.sql.shuffle.partitions"


def _needed(scene: Scene) -> Iterator[tuple[Release, str]]:
    """What is in the files that a restart opens, and the first release that reads it."""
    newest = scene.entry(scene.planned)
    commit = scene.checkpoint.commits.get(-1 if scene.committed is None else scene.committed)
    if newest and newest.version == 2:
        yield since.OFFSETS_2, f"{layout.offsets(newest.batch_id)} has version 2"
    if commit and commit.version in (2, 3):
        first = since.COMMITS_2 if commit.version == 2 else since.COMMITS_3
        yield first, f"{layout.commits(commit.batch_id)} has version {commit.version}"
    for operator in scene.checkpoint.operators:
        for store in operator.stores:
            if store.schema and since.SCHEMA_VERSIONS[store.schema.version] >= since.COMMITS_2:
                first = since.SCHEMA_VERSIONS[store.schema.version]
                yield first, f"the schema of {layout.operator(operator.id)} has version {store.schema.version}"


def _one_way(scene: Scene) -> Iterator[Finding]:
    needed = list(_needed(scene))
    if scene.is_on_databricks or not needed:
        return
    first = max(release for release, _ in needed)
    reasons = list(dict.fromkeys(why for release, why in needed if release == first))
    yield Finding(
        "one-way-formats",
        "info",
        ".",
        f"no Spark before {spell_release(first)} goes on from here: {listed(reasons)}",
        next_step="before an upgrade is taken back, ask ckpt plan-recovery --spark-version X.Y.Z",
    )


def _drift(scene: Scene) -> Iterator[Finding]:
    """Each start takes the values over from the newest offsets, so that only a hand, or a repartition, changes one."""
    entries = [batch.entry for batch in scene.evidence.batches if batch.entry]
    planned = [(entry.batch_id, entry.metadata.conf) for entry in entries if entry.metadata]
    for (before, old), (batch, new) in pairwise(planned):
        other = [key for key in old.keys() & new.keys() if old[key] != new[key] and key in since.PINNED]
        if scene.is_on_databricks or not other or (other == [_PARTITIONS] and scene.release >= since.REPARTITION):
            continue
        told = listed(f"{key.rpartition('.')[2]} {shown(old[key])} → {shown(new[key])}" for key in sorted(other))
        yield Finding(
            "conf-drift-in-log",
            "warning",
            layout.offsets(batch),
            f"it pins other values than {layout.offsets(before)}: {told}",
            expected="the values of the batch before, which every start takes over",
            next_step="find out who edited the file. If there is state, it is of the old values: put them back",
        )
        return


HEALTH = (
    Law("one-way-formats", "older releases do not go on from here", look=_one_way, severities=("info",)),
    Law(
        "conf-drift-in-log",
        "pinned values changed between two batches",
        look=_drift,
        severities=("warning",),
        needs="batches",
    ),
)
