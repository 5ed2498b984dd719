"""What was done to the files of a checkpoint as a whole: copied, put back, written elsewhere, or not written at all."""

from __future__ import annotations

from ckpttool.causes.base import KnownCause, Sign, Symptoms, describes_state, is_copied, tells_of_state
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.scene.scene import Scene
from ckpttool.storage.urls import is_local
from ckpttool.words import counted, listed, spell_batches

_TORN = ("commit-ahead-of-offset", "offset-ahead-by-two-or-more", "source-log-missing", "state-file-missing")
_AHEAD = ("rewound-checkpoint-same-id", "file-sink-skips-by-number", "stale-state-after-rewind")
_EMPTY = ("offset-file-torn", "commit-file-torn", "metadata-corrupt", "source-log-torn", "state-file-corrupt")
_NO_STATE = ("state-file-missing", "state-directory-missing", "local-path-on-cluster", "operator-metadata-missing")
_COPY = "copied-checkpoint"
_ORIGINAL = "the place that it was copied from, and whether a query ran there at the time"


def _copy_in_flight(symptoms: Symptoms) -> Sign | None:
    """Its parts are of different moments: what was copied first lacks what was written while the rest was copied."""
    torn = symptoms.of(*_TORN)
    kinds = {one.id for one in torn}
    copied = is_copied(symptoms.scene)
    if not torn or (not copied and len(kinds) < 2) or kinds == {"state-file-missing"} or symptoms.of("two-writers"):
        return None
    told = f"its parts are of different moments: {listed(sorted(kinds))}"
    if copied:
        return Sign(
            "likely", f"{told}; all files were written long after the batches that they are of", None, _ORIGINAL
        )
    return Sign("possible", told, None, _ORIGINAL)


def _old_backup(symptoms: Symptoms) -> Sign | None:
    """The sink has batches that the checkpoint never heard of."""
    scene = symptoms.scene
    recorded = [view.recorded for view in scene.sink_views if view.recorded is not None]
    if scene.planned is None or not recorded or max(recorded) <= scene.reached:
        return None
    told = f"the sink has batch {max(recorded)}, and the logs end at batch {scene.reached}"
    if is_copied(scene):
        copied = f"{told}; all files were written long after the batches that they are of"
        return Sign("likely", copied, None, "the newer checkpoint, if it is kept somewhere")
    return Sign("possible", told, None, "whether somebody rewound it by hand, or put a backup back")


def _state_elsewhere(symptoms: Symptoms) -> Sign | None:
    """The logs are the driver's; the state is written by executors, each to what that path is on its machine."""
    scene = symptoms.scene
    files = scene.needed_state
    if not is_local(scene.root) or files is None or files.version <= 1 or not scene.is_stateful or files.unreachable:
        return None
    bare = [one.path for one in files.stores if not parse_state_versions(one.names)]
    whole = [one for one in files.stores if files.version in parse_state_versions(one.names)]
    counted_anew = symptoms.of("unfinished-repartition", "partition-count-mismatch")
    if not bare or len(bare) + len(whole) < len(files.stores) or counted_anew:
        return None
    several = symptoms.of("local-path-on-cluster")
    tells = "state/ under this path on each machine that ran an executor"
    if whole:
        told = (
            f"{counted(len(bare), 'partition')} of {len(files.stores)} have never had a file here ({listed(bare)}), and"
        )
        return Sign("certain" if several else "likely", f"{told} the others are whole", None, tells)
    if not tells_of_state(scene):
        return None
    told = f"{spell_batches(range((scene.committed or 0) + 1))} are done, and no state of any is here"
    return Sign("likely" if describes_state(scene) or several else "possible", told, None, tells)


def _disk_full(symptoms: Symptoms) -> Sign | None:
    """A file is created and gets no bytes. What an object store has, it has whole."""
    scene = symptoms.scene
    if not is_local(scene.root) and not scene.root.startswith(("hdfs://", "viewfs://")):
        return None
    empty = tuple(one for one in symptoms.of(*_EMPTY) if _has_no_bytes(scene, one.path))
    if not empty:
        return None
    told = f"no byte is in {listed(sorted(one.path for one in empty))}"
    left = symptoms.of("leftover-temporary-file")
    tells = "`No space left on device` or `Disk quota exceeded` in the driver's or an executor's log"
    space = (
        "df -h {path}; df -i {path}" if is_local(scene.root) else "hdfs dfs -df -h {path}; hdfs dfs -count -q {path}"
    )
    return Sign("likely" if len(empty) > 1 or left else "possible", told, (*empty, *left), tells, space)


def _has_no_bytes(scene: Scene, path: str) -> bool:
    if path in scene.checkpoint.raw:
        return not scene.checkpoint.raw[path].strip()
    files = scene.needed_state
    sizes = (
        {f"{one.path}/{name}": size for name, size in one.sizes.items()} for one in (files.stores if files else ())
    )
    return any(found.get(path) == 0 for found in sizes)


CAUSES = (
    KnownCause(
        "disk-full",
        "the disk was full, or the machine went down, when the newest files were written",
        "A file is created, and what was to be in it is not on the disk: no space, no quota, no inodes, or power that"
        " went before the bytes were down. Spark finds the file at the next start and cannot read it. As long as there"
        " is no space, what is repaired is cut short again.",
        "files of the newest batch without one byte, on a disk or in HDFS",
        (*_EMPTY, "leftover-temporary-file"),
        _disk_full,
        "make room first; then take the way out below",
        "df -h {path}; df -i {path}",
        never=("start-over",),
    ),
    KnownCause(
        "state-elsewhere",
        "the state was written elsewhere: to the local disks of executors",
        "The checkpointLocation is a local path, and the query ran on a cluster: the driver wrote the logs to its own"
        " disk, each executor the state of its partitions to its own. While they live all goes well; the next start"
        " finds the logs whole and no state. The state is gone only if those machines are.",
        "a local path, logs that are whole, and partitions that have never had a file",
        _NO_STATE,
        _state_elsewhere,
        "look for state/ under the same path on the machines of the executors, and bring it together; then move the"
        " checkpoint to a place that all machines share",
        "find {path}/state -maxdepth 2 -type d",
        never=("start-over",),
    ),
    KnownCause(
        "copy-in-flight",
        "this is a copy that was made while the query ran",
        "A copy of a running checkpoint is of no one moment: what was copied first lacks what was written meanwhile."
        " The logs do not fit each other, or the state, and the error that Spark gives for it, of two queries at work,"
        " misleads.",
        "logs, sources and state that end at different batches, in files that are younger than their batches",
        (*_TORN, _COPY, "state-snapshot-lag", "rename-lost"),
        _copy_in_flight,
        "copy it again with the query stopped, or with ckpt plan clone, which takes a moment that is whole",
        "ckpt diff {path} ORIGINAL",
        never=("start-over",),
    ),
    KnownCause(
        "old-backup-put-back",
        "an older state of this checkpoint was put back, and the sink has gone on since",
        "A backup was restored, or a copy in another region was started: the logs end at a batch that is long past, and"
        " the sink, which knows the query by its id, has the numbers that come next. It skips them, and their rows are"
        " lost without an error.",
        "a sink that has batches after the newest of the logs",
        (*_AHEAD, _COPY, "replanned-after-sink-commit"),
        _old_backup,
        "start the newer checkpoint if it is kept; else bring the sink down to where this one stands",
        "ckpt plan-recovery {path}",
        never=("start-over",),
    ),
)
