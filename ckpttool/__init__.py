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
    from ckpttool.checkpoint import load_checkpoint as load_checkpoint
    from ckpttool.checkpoint import open_checkpoint as open_checkpoint
    from ckpttool.evidence import Evidence as Evidence
    from ckpttool.evidence import gather_evidence as gather_evidence
    from ckpttool.inspection import Inspection as Inspection
    from ckpttool.inspection import inspect_checkpoint as inspect_checkpoint
    from ckpttool.outlook import Outlook as Outlook
    from ckpttool.planner import Plan as Plan
    from ckpttool.planner import Wish as Wish
    from ckpttool.recovery import Restarted as Restarted
    from ckpttool.recovery import plan_restart as plan_restart
    from ckpttool.releases import parse_release as parse_release
    from ckpttool.restart import Restart as Restart
    from ckpttool.restart import predict_restart as predict_restart
    from ckpttool.rules import Conditions as Conditions
    from ckpttool.storage import open_store as open_store

__version__ = "0.1.0"

# Public name → its module; loaded on first use, so that importing the package costs nothing.
_PUBLIC = {
    "open_checkpoint": "ckpttool.checkpoint",
    "load_checkpoint": "ckpttool.checkpoint",
    "inspect_checkpoint": "ckpttool.inspection",
    "Inspection": "ckpttool.inspection",
    "open_store": "ckpttool.storage",
    "gather_evidence": "ckpttool.evidence",
    "Evidence": "ckpttool.evidence",
    "parse_release": "ckpttool.releases",
    "Conditions": "ckpttool.rules",
    "predict_restart": "ckpttool.restart",
    "Restart": "ckpttool.restart",
    "plan_restart": "ckpttool.recovery",
    "Restarted": "ckpttool.recovery",
    "Wish": "ckpttool.planner",
    "Outlook": "ckpttool.outlook",
    "Plan": "ckpttool.planner",
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
