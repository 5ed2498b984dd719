"""`ckpt crash-test`: crash a real query at exact points, restart it, and judge whether everything is exactly once."""

from __future__ import annotations

import click

from ckpttool.cli.options import choose_style, echo, output_options


@click.group(
    name="crash-test",
    epilog="""\b
Examples:
  ckpt crash-test report /tmp/ckpt-crash/histories
  ckpt crash-test report histories/file-to-delta.jsonl --format junit > report.xml""",
)
def crash_test() -> None:
    """Crash a real query at exact points, and judge its recovery."""


@crash_test.command(
    epilog="""\b
Examples:
  ckpt crash-test report /tmp/ckpt-crash/histories
  ckpt crash-test report histories/file-to-delta.jsonl --format json | jq .summary"""
)
@click.argument("histories", nargs=-1, required=True)
@output_options("text", "json", "junit")
def report(histories: tuple[str, ...], form: str, color: str) -> int:
    """Judge recorded crashes again, without Spark.

    HISTORIES are files that a run has left, or directories with such files.

    Exit status 0: all valid; 1: one is not, or a control is silent; 3: one is void or unknown.
    """
    from ckpttool.harness.histories import load_histories
    from ckpttool.harness.judge import judge
    from ckpttool.harness.report import exit_code

    judged = [judge(one) for one in load_histories(histories)]
    if form == "json":
        from ckpttool.harness.report import report_fields
        from ckpttool.report.json import render_json

        echo(render_json(report_fields(judged)))
    elif form == "junit":
        from ckpttool.harness.junit import render_junit

        echo(render_junit(judged))
    else:
        from ckpttool.harness.report import render_report

        echo(render_report(judged, choose_style(color)))
    return exit_code(judged)
