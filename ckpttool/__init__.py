"""Read, explain and recover Spark Structured Streaming checkpoints without a JVM.

>>> from ckpttool import inspect_checkpoint, open_checkpoint
>>> inspection = inspect_checkpoint(open_checkpoint("sample_checkpoints/4.2.0-file-to-parquet-sound/checkpoint"))
>>> inspection.next_batch.outcome
'new_batch'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckpttool.checkpoint import load_checkpoint as load_checkpoint
    from ckpttool.checkpoint import open_checkpoint as open_checkpoint
    from ckpttool.inspection import Inspection as Inspection
    from ckpttool.inspection import inspect_checkpoint as inspect_checkpoint
    from ckpttool.storage import open_store as open_store

__version__ = "0.1.0"

# Public name → its module; loaded on first use, so that importing the package costs nothing.
_PUBLIC = {
    "open_checkpoint": "ckpttool.checkpoint",
    "load_checkpoint": "ckpttool.checkpoint",
    "inspect_checkpoint": "ckpttool.inspection",
    "Inspection": "ckpttool.inspection",
    "open_store": "ckpttool.storage",
}
__all__ = ["Inspection", "__version__", "inspect_checkpoint", "load_checkpoint", "open_checkpoint", "open_store"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'ckpttool' has no attribute {name!r}")
