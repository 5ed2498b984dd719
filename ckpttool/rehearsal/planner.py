"""Spark's own planner, asked what it has against a query, on a clone of what describes the state of a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ckpttool.errors import Refused
from ckpttool.formats import layout
from ckpttool.harness.scratch import Scratch
from ckpttool.laws.changes.planner import PlannerSays, says
from ckpttool.laws.given import FORCED
from ckpttool.query.job import JobSettings
from ckpttool.reading.checkpoint import ONLY_OPENED, load_checkpoint
from ckpttool.rehearsal.child import Code, CodeInSpark
from ckpttool.rehearsal.copying import clone_operators
from ckpttool.releases import NEWEST, parse_release, since, spell_release
from ckpttool.scene.evidence import gather_evidence
from ckpttool.scene.scene import Scene, Start
from ckpttool.storage.store import open_store
from ckpttool.storage.urls import is_local


def ask_planner(
    url: str,
    code: Code,
    settings: JobSettings,
    conf: Mapping[str, str],
    storage_options: Mapping[str, str] | None = None,
) -> PlannerSays:
    """`conf`: of the session at the restart. What the newest offsets pin counts before it, as it does for Spark."""
    store = open_store(url, storage_options)
    scene = Scene(gather_evidence(load_checkpoint(store, batches=ONLY_OPENED)), Start(NEWEST))
    newest = scene.entry(scene.planned)
    pinned = newest.metadata.conf if newest and newest.metadata else {}
    places = [url, os.path.realpath(url)] if is_local(url) else [url]
    with Scratch() as scratch:
        clone = scratch.root / "planned"
        clone_operators(store, scene, clone)
        empty = clone / layout.offsets(scene.next_id)  # which the metadata of transformWithState is looked for beside
        empty.parent.mkdir()
        empty.touch()
        with CodeInSpark(scratch, code, settings, "planner", places, is_planned=True) as spark:
            release = parse_release(spark.reach()["spark_version"])
            if release < since.OPERATOR_METADATA:
                step = "name a Python with a later one: --python EXE"
                raise Refused(f"Spark {spell_release(release)} plans without a look at the checkpoint's state", step)
            asked = {**FORCED, **conf, **pinned} if newest else dict(conf)
            return says(spark.plan(clone, scene.next_id, asked)["said"])
