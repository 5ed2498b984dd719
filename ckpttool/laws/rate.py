"""The rate source: the time of its beginning, which it keeps in `sources/<n>/0`, and the seconds since."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.connectors.iceberg import KIND as ICEBERG
from ckpttool.connectors.kafka import KIND as KAFKA
from ckpttool.formats import layout
from ckpttool.formats.envelope import ILLEGAL_STATE
from ckpttool.laws.base import ASSERTION, RESTORE, Law, error_of
from ckpttool.model import Finding
from ckpttool.scene.batches import SourceProgress
from ckpttool.scene.scene import RATE, SOCKET, Doubt, Failure, Scene
from ckpttool.scene.source_logs import log_of

_OTHERS = (KAFKA, ICEBERG, SOCKET)  # whose lines, or damaged lines, may be integers, too


def _rate_beginning(scene: Scene) -> Failure | Doubt | None:
    """The rate source reads the time of its beginning whenever it is made."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        path = layout.source_entry(source.key, 0)
        if (
            scene.kind_of(source) not in _OTHERS
            and source.offset
            and source.offset.kind in ("rate", "integer")
            and _is_no_beginning(scene, path)
        ):
            fault = scene.fault(path)
            if fault is None:
                return Failure(
                    "init",
                    "java.lang.NumberFormatException",
                    None,
                    "For input string",
                    f"{path} is not the time at which the rate source began",
                    path=path,
                )
            class_name, condition = error_of(fault, scene.release)
            if not scene.checkpoint.raw.get(path, b"v").startswith(b"v"):
                class_name, condition = ILLEGAL_STATE, None
            return Failure("init", class_name, condition, fault.message, f"{path}: {fault.message}", path=path)
    return None


def _is_no_beginning(scene: Scene, path: str) -> bool:
    logs = scene.checkpoint.source_logs
    return scene.fault(path) is not None or any(
        path == layout.source_entry(log.name, 0) and log.initial and not log.initial.text.removeprefix("-").isdecimal()
        for log in logs
    )


MADE = (
    Law(
        "rate-source-beginning",
        "The rate source reads the time of its beginning from `sources/<n>/0` when it is made.",
        "RateStreamMicroBatchStream",
        _rate_beginning,
        symptom="the time at which a rate source began is none",
        tells=("initial-offset-file-malformed", "log-version-too-new"),
        next_step=RESTORE,
        errors=(
            "Log file was malformed: failed to read correct log version from",
            "maximum supported log version is",
            "NumberFormatException: For input string",
            "failed to detect the log file version line",
        ),
        often=1,
    ),
)


def _beginning_lost(scene: Scene) -> Failure | Doubt | None:
    """A rate source without its beginning begins now, and its offset is seconds that have not passed yet: none of 0. A
    batch that runs again has both its ends."""
    for source in _without_beginning(scene):
        path = layout.source_entry(source.key, 0)
        if _is_rate(scene, source):
            if scene.is_replay or source.text == "0":
                continue
            message = f"assertion failed: startSeconds({source.text}) > endSeconds"
            why = f"{path}, the beginning of the rate source, is gone"
            return Failure("batch", ASSERTION, "INTERNAL_ERROR", message, why, scene.next_id, path=path)
        kept = "the rows of a socket or of a memory stream, which no restart finds again"
        told = (
            "the source's options would tell (a socket's: --option host=… --option port=…, a rate source's:"
            " --option rowsPerSecond=…)"
        )
        return Doubt(
            f"source {source.index} counts {kept}, or the seconds of a rate source that has lost {path}: {told}"
        )
    return None


def _look(scene: Scene) -> Iterator[Finding]:
    for source in _without_beginning(scene):
        path = layout.source_entry(source.key, 0)
        if _is_rate(scene, source) and source.text != "0":
            after = f": batch {scene.planned} runs again, and the one after it fails" if scene.is_replay else ""
            message = f"the time at which the rate source began is not there{after}"
            yield Finding("beginning-lost", "error", path, message, next_step=RESTORE)


def _without_beginning(scene: Scene) -> Iterator[SourceProgress]:
    """What counts as a rate source does, and may have lost what it counts from."""
    newest = scene.batch(scene.planned)
    for source in newest.sources if newest else ():
        log = log_of(scene, source)
        counts = source.offset is not None and source.offset.kind in ("rate", "integer")
        if counts and scene.kind_of(source) not in _OTHERS and (log is None or not log.names.ids):
            yield source


def _is_rate(scene: Scene, source: SourceProgress) -> bool:
    """By the directory that it keeps, or because somebody says so."""
    return log_of(scene, source) is not None or scene.kind_of(source) == RATE


def _rate_offset_malformed(scene: Scene) -> Failure | None:
    """The rate source reads where its next batch begins, and of a batch that runs again both ends."""
    if scene.is_continuous:
        return None
    for batch_id in (scene.planned, scene.previous) if scene.is_replay else (scene.planned,):
        batch = scene.batch(batch_id)
        for source in batch.sources if batch else ():
            log = log_of(scene, source)
            if log is None or log.kind != "rate" or source.text is None or source.text.removeprefix("-").isdecimal():
                continue
            why, path = (
                f"source {source.key} in offsets/{batch_id} is no number of seconds",
                layout.offsets(batch_id or 0),
            )
            return Failure(
                "batch", "java.lang.NumberFormatException", None, "For input string", why, scene.next_id, path=path
            )
    return None


PLANNED = (
    Law(
        "beginning-lost",
        "Without the time of its beginning the rate source begins anew, behind its own offset.",
        "RateStreamMicroBatchStream.planInputPartitions",
        _beginning_lost,
        symptom="the time at which a rate source began is gone",
        look=_look,
        next_step=RESTORE,
        errors=("AssertionError: assertion failed: startSeconds(…) > endSeconds(",),
        often=1,
    ),
    Law(
        "rate-offset-malformed",
        "The rate source's offset must be a number, where its next batch begins.",
        "RateStreamMicroBatchStream.deserializeOffset",
        _rate_offset_malformed,
        symptom="a rate source's offset is no number",
        tells=("source-offset-malformed",),
        next_step=RESTORE,
        errors=(
            "NumberFormatException: For input string…RateStreamMicroBatchStream.deserializeOffset",
            "NumberFormatException: For input string",
        ),
        often=1,
    ),
)
