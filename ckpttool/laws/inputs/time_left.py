"""What is there yet, and will not be for long: commits of a Delta table that its log drops, files that a file source
takes for too old. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.file import KIND as FILES
from ckpttool.connectors.file import MAX_FILE_AGE_MS
from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.delta_log import LOG_RETENTION, retention_ms
from ckpttool.laws.base import Law, reads
from ckpttool.model import Finding
from ckpttool.scene.inputs import DeltaInput
from ckpttool.scene.scene import Scene
from ckpttool.words import counted, listed, spell_span

_DAY_MS = 86_400_000
_LOG_KEPT_MS = 30 * _DAY_MS  # where the table says nothing
_SOON_MS = _DAY_MS


def _delta_log(scene: Scene) -> Iterator[Finding]:
    for table in scene.inputs:
        if not isinstance(table, DeltaInput) or table.next_ms is None or table.metadata is None or scene.now_ms is None:
            continue
        configuration = table.metadata.configuration
        if configuration.get("delta.enableExpiredLogCleanup", "true").strip().lower() == "false":
            continue
        try:
            kept = retention_ms(configuration, LOG_RETENTION)
        except MalformedFile:
            continue
        left = table.next_ms + (_LOG_KEPT_MS if kept is None else kept) - scene.now_ms
        if left < _SOON_MS:
            due = f"in {spell_span(left)}" if left > 0 else "with the next checkpoint of the table's log"
            yield Finding(
                "delta-log-time-left",
                "warning",
                table.path,
                f"the commit that the next batch begins with goes {due}, and the query stops then",
                expected="commits that stay until they are read",
                next_step=f"start the query in time, or raise {LOG_RETENTION} of the table first",
            )


def _too_old(scene: Scene) -> Iterator[Finding]:
    """The source goes by the newest file that it has seen, not by the clock."""
    around = scene.around
    newest = scene.evidence.newest
    logs = [log for log in scene.checkpoint.source_logs if log.kind == FILES]
    if around is None or not around.unread_files or len(logs) != 1 or newest is None or logs[0].unread:
        return
    start = scene.start.of(logs[0].name)
    limited = start.option("maxFilesPerTrigger") or start.option("maxBytesPerTrigger")
    if start.option("maxFileAge") or ((start.option("latestFirst") or "").strip().lower() == "true" and limited):
        return
    seen = [entry.timestamp_ms for entries in logs[0].entries.values() for entry in entries]
    old = sorted(name for name, ms in around.unread_files.items() if seen and ms < max(seen) - MAX_FILE_AGE_MS)
    if old:
        yield Finding(
            "source-files-too-old",
            "warning",
            layout.source(logs[0].name),
            f"{counted(len(old), 'file')} of the input will never be read: older by more than maxFileAge"
            f" ({spell_span(MAX_FILE_AGE_MS)}) than the newest that was: {listed(old)}",
            expected="files that come in the order of their times",
            next_step="touch them, or start once with a larger maxFileAge",
        )


HEALTH = (
    Law(
        "delta-log-time-left",
        "what a Delta source reads next is about to be cleaned up",
        look=_delta_log,
        severities=("warning",),
        needs="inputs",
        applies=reads("delta"),
        profile="full",
    ),
    Law(
        "source-files-too-old",
        "input files that the file source will never read",
        look=_too_old,
        severities=("warning",),
        needs="around",
        applies=reads("file"),
        profile="full",
    ),
)
