"""`ckpt state verify` and `size`: the files that the state is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckpttool.cli.options import spark_version_option, storage_options
from ckpttool.cli.output import Output, output_options, told_as_out_of_reach
from ckpttool.cli.state.common import batch_option, exit_code_of, jobs_option, open_reader

if TYPE_CHECKING:
    from ckpttool.releases import Release

_BATCHES = 100  # of which the newest that can be restored is looked for


def _share(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    few, slash, many = text.partition("/")
    if not slash or not (few.isdecimal() and many.isdecimal()) or not 0 < int(few) <= int(many):
        raise click.BadParameter("expected N/T with 0 < N <= T, like 1/20", param_hint="--sample")
    return int(few), int(many)


@click.command(
    "verify",
    epilog="""\b
Examples:
  ckpt state verify /data/checkpoints/orders
  ckpt state verify s3a://lake/checkpoints/orders --sample 1/20 --format json""",
)
@click.argument("path")
@batch_option
@click.option("--sample", metavar="N/T", callback=_share, help="Only the first N of every T partitions.")
@spark_version_option("The release that is to load it. Default: the newest known.")
@jobs_option
@output_options("state-verify")
@storage_options
def verify_(
    path: str,
    batch: int | None,
    sample: tuple[int, int] | None,
    spark_version: Release | None,
    jobs: int,
    output: Output,
    storage: dict[str, str],
) -> int:
    """Say whether the state can be loaded, and what is wrong with its files.

    Reads every file that the version needs, to its end and against its checksums. Exit status 1 if something is wrong,
    3 if too little could be read.
    """
    from ckpttool.releases import NEWEST
    from ckpttool.report.views.state_files import verification_document
    from ckpttool.state.verify import verify_state

    reader = open_reader(path, storage, batch, batches=_BATCHES)
    verification = verify_state(reader, spark_version or NEWEST, sample, jobs)
    output.show(verification_document(reader, verification))
    told_as_out_of_reach(reader.checkpoint)
    return verification.exit_code


@click.command(
    "size",
    epilog="""\b
Examples:
  ckpt state size /data/checkpoints/orders
  ckpt state size /data/checkpoints/orders --retain 10 --format json""",
)
@click.argument("path")
@batch_option
@click.option(
    "--retain",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many batches maintenance keeps: spark.sql.streaming.minBatchesToRetain.",
)
@output_options("state-size")
@storage_options
def size_(path: str, batch: int | None, retain: int, output: Output, storage: dict[str, str]) -> int:
    """Say what the files of the state amount to.

    For each store: bytes on disk, bytes that the version needs, deltas since its snapshot, and what Spark's maintenance
    would delete.
    """
    from ckpttool.report.views.state_files import sizes_document
    from ckpttool.state.sizes import measure_stores

    reader = open_reader(path, storage, batch)
    output.show(sizes_document(reader, list(measure_stores(reader, retain))))
    return exit_code_of(reader)
