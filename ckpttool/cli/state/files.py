"""`ckpt state verify` and `size`: the files that the state is in."""

from __future__ import annotations

import click

from ckpttool.cli.options import (
    choose_style,
    echo,
    gather_storage_options,
    output_options,
    refusals_as_json,
    storage_options,
    told_as_out_of_reach,
)
from ckpttool.cli.state.common import batch_option, echo_json, exit_code, jobs_option, open_reader

_BATCHES = 100  # of which the newest that can be restored is looked for


@click.command(
    "verify",
    epilog="""\b
Examples:
  ckpt state verify /data/checkpoints/orders
  ckpt state verify s3a://lake/checkpoints/orders --sample 1/20 --format json""",
)
@click.argument("path")
@batch_option
@click.option("--sample", metavar="N/T", help="Only the first N of every T partitions.")
@click.option("--spark-version", metavar="X.Y[.Z]", help="The release that is to load it. Default: the newest known.")
@jobs_option
@output_options("text", "json")
@storage_options
def verify_(
    path: str,
    batch: int | None,
    sample: str | None,
    spark_version: str | None,
    jobs: int,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Say whether the state can be loaded, and what is wrong with its files.

    Reads every file that the version needs, to its end and against its checksums. Exit status 1 if something is wrong,
    3 if too little could be read.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-verify", path, form):
        from ckpttool.releases import NEWEST, parse_release
        from ckpttool.state.verify import verify_state

        share = _share(sample)
        release = parse_release(spark_version) if spark_version else NEWEST
        if release is None:
            raise click.BadParameter("expected a release like 4.2 or 3.5.7", param_hint="--spark-version")
        reader = open_reader(path, options, batch, batches=_BATCHES)
        verification = verify_state(reader, release, share, jobs)
    from ckpttool.report import state_files as report

    if form == "json":
        echo_json(report.verify_fields(reader, verification))
    else:
        echo(report.render_verification(reader, verification, choose_style(color)))
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
@output_options("text", "json")
@storage_options
def size_(
    path: str,
    batch: int | None,
    retain: int,
    form: str,
    color: str,
    storage_option: tuple[str, ...],
    storage_options_file: str | None,
) -> int:
    """Say what the files of the state amount to.

    For each store: bytes on disk, bytes that the version needs, deltas since its snapshot, and what Spark's maintenance
    would delete.
    """
    options = gather_storage_options(storage_option, storage_options_file)
    with refusals_as_json("state-size", path, form):
        from ckpttool.state.sizes import measure_stores

        reader = open_reader(path, options, batch)
        sizes = list(measure_stores(reader, retain))
    from ckpttool.report import state_files as report

    if form == "json":
        echo_json(report.size_fields(reader, sizes))
    else:
        echo(report.render_sizes(reader, sizes, choose_style(color)))
    return exit_code(reader)


def _share(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    few, slash, many = text.partition("/")
    if not slash or not (few.isdecimal() and many.isdecimal()) or not 0 < int(few) <= int(many):
        raise click.BadParameter("expected N/T with 0 < N <= T, like 1/20", param_hint="--sample")
    return int(few), int(many)
