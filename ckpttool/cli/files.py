"""`ckpt files`: has a source read these files?"""

from __future__ import annotations

import click

from ckpttool.cli.options import storage_options
from ckpttool.cli.output import Output, output_options, told_as_out_of_reach
from ckpttool.errors import exit_code


@click.command(
    epilog="""\b
Examples:
  ckpt files /data/checkpoints/orders s3://landing/orders/0007.json
  ckpt files /data/checkpoints/orders 0007.json 0008.json --format jsonl"""
)
@click.argument("path")
@click.argument("file", nargs=-1, required=True)
@output_options("files", "jsonl")
@storage_options
def files(path: str, file: tuple[str, ...], output: Output, storage: dict[str, str]) -> int:
    """Say of input files whether a source has read them.

    Asked are the log of a file source, and the database of Databricks' Auto Loader. A FILE may leave out what stands in
    front of it: a scheme, a bucket, directories.
    """
    from ckpttool.reading.checkpoint import load_checkpoint
    from ckpttool.reading.seen_files import look_for_files
    from ckpttool.report.views.files import files_document
    from ckpttool.scene.evidence import gather_evidence
    from ckpttool.storage.store import open_store

    store = open_store(path, storage)
    checkpoint = load_checkpoint(store, batches=None, beside=False)
    seen = tuple(look_for_files(store, gather_evidence(checkpoint), file))
    output.show(files_document(checkpoint.url, seen))
    out_of_reach = bool(told_as_out_of_reach(checkpoint))
    return exit_code(unreachable=out_of_reach, unknown=any(one.seen is None for one in seen))
