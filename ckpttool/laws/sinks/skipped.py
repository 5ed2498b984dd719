"""A stateful batch that every sink has already: no task of it runs, and Spark misses what the tasks would have told.
Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.laws.base import ASSERTION, Law, keeps_state
from ckpttool.model import Finding, SparkError
from ckpttool.releases import since
from ckpttool.scene.scene import Failure, Scene

VALIDATION = "spark.sql.streaming.stateStore.commitValidation.enabled"
_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_NO_COMMITS = SparkError(
    "org.apache.spark.sql.execution.streaming.state.StateStoreCommitValidationFailed",
    "STATE_STORE_COMMIT_VALIDATION_FAILED",
)


def _is_skipped(scene: Scene) -> bool:
    return scene.is_stateful and not scene.asks_for_rows


def never_committed(scene: Scene) -> Failure | None:
    """From checkpoint format 2 on a commit names the state of its batch, and a batch that did not run has none."""
    if not (_is_skipped(scene) and _names_its_state(scene)):
        return None
    batch = scene.next_id
    why = f"every sink has batch {batch}, so none of its tasks runs, and its commit cannot name their state"
    return Failure(
        "batch", ASSERTION, None, "pointInfo length: 0", why, batch, sink_written_first=True, path=layout.commits(batch)
    )


def fails_once(scene: Scene) -> Iterator[Finding]:
    """Of batch functions Spark asks whether all state was committed, when the batch is committed already."""
    by_function = any(sink.key_given for sink in scene.sinks)
    validated = scene.release >= since.COMMIT_VALIDATION and scene.is_on(VALIDATION, default=True)
    if not (by_function and validated and _is_skipped(scene)) or _names_its_state(scene):
        return
    batch = scene.next_id
    yield Finding(
        "skipped-batch-fails-once",
        "error",
        layout.commits(batch),
        f"the batch function's sink has batch {batch}: the restart commits it, and then fails, as no state was written",
        next_step=f"start it once more, or with {VALIDATION}=false",
        spark=_NO_COMMITS,
    )


def _names_its_state(scene: Scene) -> bool:
    commit = scene.checkpoint.commits.get(-1 if scene.committed is None else scene.committed)
    return scene.release >= since.UNIQUE_IDS and scene.conf(_FORMAT, str(commit.version if commit else 1)) != "1"


LAWS = (
    Law(
        "skipped-batch-without-state",
        "The commit of a stateful batch names its state, which a batch that every sink skips has not written.",
        "StateStoreWriter.getStateStoreCheckpointInfo",
        never_committed,
        since=since.UNIQUE_IDS,
        symptom="every sink has the batch, and its commit cannot name the state of it",
        needs="sinks",
        applies=keeps_state,
        next_step="take the batch out of the sinks, so that it is written with its state (`ckpt plan-recovery`)",
        errors=("pointInfo length: 0",),
        often=1,
    ),
    Law(
        "skipped-batch-fails-once",
        "a batch function's sink has the batch, and Spark misses the state of it",
        look=fails_once,
        needs="sinks",
        applies=keeps_state,
        errors=("STATE_STORE_COMMIT_VALIDATION_FAILED",),
        often=1,
    ),
)
