"""Read, explain and recover Spark Structured Streaming checkpoints without a JVM.

>>> from ckpttool import inspect_checkpoint, open_checkpoint
>>> inspection = inspect_checkpoint(open_checkpoint("sample_checkpoints/4.2.0-file-to-parquet-sound/checkpoint"))
>>> inspection.prediction.outcome
'new_batch'

`plan_restart` looks at more than the checkpoint: the sinks, the state's files, the inputs; and plans the ways out.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is much to load for the child of the jail, which comes through here

if TYPE_CHECKING:
    from typing import Any

    from ckpttool.api import Restarted as Restarted
    from ckpttool.api import inspect_checkpoint as inspect_checkpoint
    from ckpttool.api import plan_restart as plan_restart
    from ckpttool.deploy import ChangeRefused as ChangeRefused
    from ckpttool.deploy import Checked as Checked
    from ckpttool.deploy import check_change as check_change
    from ckpttool.diagnosis import Diagnosis as Diagnosis
    from ckpttool.diagnosis import diagnose as diagnose
    from ckpttool.guarding import guard as guard
    from ckpttool.laws.restart import Restart as Restart
    from ckpttool.plan import Plan as Plan
    from ckpttool.plan import Rewind as Rewind
    from ckpttool.plan import Wish as Wish
    from ckpttool.query.job import JobSettings as JobSettings
    from ckpttool.query.model import Query as Query
    from ckpttool.query.unstarted import describe_query as describe_query
    from ckpttool.reading.checkpoint import load_checkpoint as load_checkpoint
    from ckpttool.reading.checkpoint import open_checkpoint as open_checkpoint
    from ckpttool.rehearsal.rehearse import Rehearsed as Rehearsed
    from ckpttool.rehearsal.rehearse import rehearse as rehearse
    from ckpttool.releases import parse_release as parse_release
    from ckpttool.scene.evidence import Evidence as Evidence
    from ckpttool.scene.evidence import gather_evidence as gather_evidence
    from ckpttool.scene.scene import Scene as Scene
    from ckpttool.scene.scene import Start as Start
    from ckpttool.storage.store import open_store as open_store

__version__ = "0.1.0"

# Public name → its module; loaded on first use, so that importing the package costs nothing.
_PUBLIC = {
    "open_checkpoint": "ckpttool.reading.checkpoint",
    "load_checkpoint": "ckpttool.reading.checkpoint",
    "open_store": "ckpttool.storage.store",
    "inspect_checkpoint": "ckpttool.api",
    "plan_restart": "ckpttool.api",
    "check_change": "ckpttool.deploy",
    "Checked": "ckpttool.deploy",
    "ChangeRefused": "ckpttool.deploy",
    "guard": "ckpttool.guarding",
    "Restarted": "ckpttool.api",
    "describe_query": "ckpttool.query.unstarted",
    "Query": "ckpttool.query.model",
    "Rewind": "ckpttool.plan",
    "Wish": "ckpttool.plan",
    "Plan": "ckpttool.plan",
    "diagnose": "ckpttool.diagnosis",
    "Diagnosis": "ckpttool.diagnosis",
    "Restart": "ckpttool.laws.restart",
    "Scene": "ckpttool.scene.scene",
    "Start": "ckpttool.scene.scene",
    "Evidence": "ckpttool.scene.evidence",
    "gather_evidence": "ckpttool.scene.evidence",
    "parse_release": "ckpttool.releases",
    "rehearse": "ckpttool.rehearsal.rehearse",
    "Rehearsed": "ckpttool.rehearsal.rehearse",
    "JobSettings": "ckpttool.query.job",
}
__all__ = [
    "ChangeRefused",
    "Checked",
    "Diagnosis",
    "Evidence",
    "JobSettings",
    "Plan",
    "Query",
    "Rehearsed",
    "Restart",
    "Restarted",
    "Rewind",
    "Scene",
    "Start",
    "Wish",
    "__version__",
    "check_change",
    "describe_query",
    "diagnose",
    "gather_evidence",
    "guard",
    "inspect_checkpoint",
    "load_checkpoint",
    "open_checkpoint",
    "open_store",
    "parse_release",
    "plan_restart",
    "rehearse",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ckpttool' has no attribute {name!r}")
