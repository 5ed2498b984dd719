"""Read, explain and recover Spark Structured Streaming checkpoints without a JVM.

>>> from ckpttool import inspect_checkpoint, open_checkpoint
>>> inspection = inspect_checkpoint(open_checkpoint("sample_checkpoints/4.2.0-file-to-parquet-sound/checkpoint"))
>>> inspection.next_batch.outcome
'new_batch'

`plan_restart` looks at more than the checkpoint: the sinks, the state's files, the inputs; and plans the ways out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckpttool.inspection import Inspection as Inspection
    from ckpttool.inspection import inspect_checkpoint as inspect_checkpoint
    from ckpttool.laws.restart import Restart as Restart
    from ckpttool.laws.restart import predict_restart as predict_restart
    from ckpttool.outlook import Outlook as Outlook
    from ckpttool.plan import Plan as Plan
    from ckpttool.plan import Wish as Wish
    from ckpttool.reading.checkpoint import load_checkpoint as load_checkpoint
    from ckpttool.reading.checkpoint import open_checkpoint as open_checkpoint
    from ckpttool.recovery import Restarted as Restarted
    from ckpttool.recovery import plan_restart as plan_restart
    from ckpttool.releases import parse_release as parse_release
    from ckpttool.scene.evidence import Evidence as Evidence
    from ckpttool.scene.evidence import gather_evidence as gather_evidence
    from ckpttool.scene.scene import Conditions as Conditions
    from ckpttool.storage.store import open_store as open_store

__version__ = "0.1.0"

# Public name → its module; loaded on first use, so that importing the package costs nothing.
_PUBLIC = {
    "open_checkpoint": "ckpttool.reading.checkpoint",
    "load_checkpoint": "ckpttool.reading.checkpoint",
    "inspect_checkpoint": "ckpttool.inspection",
    "Inspection": "ckpttool.inspection",
    "open_store": "ckpttool.storage.store",
    "gather_evidence": "ckpttool.scene.evidence",
    "Evidence": "ckpttool.scene.evidence",
    "parse_release": "ckpttool.releases",
    "Conditions": "ckpttool.scene.scene",
    "predict_restart": "ckpttool.laws.restart",
    "Restart": "ckpttool.laws.restart",
    "plan_restart": "ckpttool.recovery",
    "Restarted": "ckpttool.recovery",
    "Wish": "ckpttool.plan",
    "Outlook": "ckpttool.outlook",
    "Plan": "ckpttool.plan",
}
__all__ = [
    "Conditions",
    "Evidence",
    "Inspection",
    "Outlook",
    "Plan",
    "Restart",
    "Restarted",
    "Wish",
    "__version__",
    "gather_evidence",
    "inspect_checkpoint",
    "load_checkpoint",
    "open_checkpoint",
    "open_store",
    "parse_release",
    "plan_restart",
    "predict_restart",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ckpttool' has no attribute {name!r}")
