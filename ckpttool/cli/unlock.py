"""`ckpt unlock`: remove a lock whose holder is gone."""

from __future__ import annotations

import click

from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options


@click.command(
    name="unlock",
    epilog="""\b
Examples:
  ckpt unlock /data/checkpoints/orders 5f0c11aa
  ckpt unlock . 5f0c11aa""",
)
@click.argument("path")
@click.argument("lock_id")
@output_options("unlock")
@storage_options
def unlock(path: str, lock_id: str, output: Output, storage: dict[str, str]) -> int:
    """Remove the lock of an apply or undo whose process is gone.

    The lock's id is told by whoever is kept out by it. Nothing else is changed.
    """
    from ckpttool.apply.run import remove_lock
    from ckpttool.report.views.apply import unlocked_document

    remove_lock(path, lock_id, storage)
    output.show(unlocked_document(path, lock_id))
    return 0
