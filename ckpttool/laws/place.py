"""Where a checkpoint is, and what goes on around it: who else removes files there, and whose they are. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckpttool.formats import layout
from ckpttool.formats.bucket_rules import Expiry
from ckpttool.formats.times import encode_time
from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.around import Barred
from ckpttool.scene.scene import Scene
from ckpttool.storage.urls import is_local
from ckpttool.words import counted, listed, spell_span

_MINUTE_MS, _DAY_MS = 60_000, 86_400_000
# Directories that are emptied when a machine starts, or goes.
_TEMPORARY = re.compile(r"(?:file:/*)?/?(?:tmp|var/tmp|dev/shm|run|local_disk0|mnt/tmp|mnt/yarn|mnt/resource)(?:/.*)?")
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_RENAMES_BY_COPY = ("s3", "s3a", "s3n", "oss")
_MANY_BACKUPS = 10


def _temporary(scene: Scene) -> Iterator[Finding]:
    if is_local(scene.root) and _TEMPORARY.fullmatch(scene.root):
        yield Finding(
            "temporary-location",
            "warning",
            ".",
            f"{scene.root} is a place for temporary files: the checkpoint goes with the machine, or when that starts",
            expected="a place that outlives machines",
            next_step="stop the query and move it: ckpt plan relocate",
        )


def _on_cluster(scene: Scene) -> Iterator[Finding]:
    executors = sorted(scene.around.executors - {"driver"}) if scene.around else []
    if is_local(scene.root) and len(executors) > 1:
        yield Finding(
            "local-path-on-cluster",
            "warning",
            ".",
            f"{counted(len(executors), 'executor')} ({listed(executors)}) have written state to a local path:"
            " on several machines each has a part of it, unless all of them mount the same place",
            expected="a file system that all machines share",
            next_step="if it is not shared, move the checkpoint to one that is. What others hold is not here",
        )


def _not_atomic(scene: Scene) -> Iterator[Finding]:
    scheme = scene.root.partition("://")[0].lower()
    if scheme in _RENAMES_BY_COPY and "://" in scene.root and not scene.start.conf.get(_MANAGER):
        yield Finding(
            "rename-not-atomic",
            "info",
            ".",
            "Spark writes a file of a log under another name and renames it, and this store renames by copying: of two"
            " drivers that write one batch, both may go on",
            next_step=f"{_MANAGER} names a manager that writes in one step (spark-hadoop-cloud has one for S3A)",
        )


def _copied(scene: Scene) -> Iterator[Finding]:
    """All files were written within minutes, long after the batches that they are of."""
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    if len(timed) < 3:
        return
    written = [one.written_ms or 0 for one in timed]
    planned = (timed[-1].logged_ms or 0) - (timed[0].logged_ms or 0)
    after = min(written) - (timed[-1].logged_ms or 0)
    if max(written) - min(written) < 10 * _MINUTE_MS < planned and after > _MINUTE_MS:
        yield Finding(
            "copied-checkpoint",
            "info",
            layout.OFFSETS,
            f"a copy, made {spell_span(after)} after batch {timed[-1].id} was planned: a sink still knows the query by"
            " its id, and the original may have gone on",
            next_step="start one of the two. ckpt plan query-id --new gives this one an id of its own",
        )


def _edited(scene: Scene) -> Iterator[Finding]:
    stale = scene.around.stale_checksums if scene.around else ()
    if stale:
        yield Finding(
            "hand-edited-log",
            "warning",
            stale[0],
            f"{listed(stale)}: not what Hadoop's checksum beside it was made of, so somebody has changed it by hand",
            expected=layout.hadoop_crc(stale[0]),
            next_step="Spark does not compare them in the logs. Find out who it was, and set the checksum aside",
        )


def _owners(scene: Scene) -> Iterator[Finding]:
    owners = scene.around.owners if scene.around else {}
    if len(owners) > 1:
        told = listed(f"{path} is of user {owner}" for owner, path in sorted(owners.items()))
        yield Finding(
            "owner-mixed",
            "warning",
            next(iter(owners.values())),
            f"files of {counted(len(owners), 'user')}: {told}: one may not be able to read, to rename or to purge",
            expected="one user",
            next_step="start the query as one user, and give that one all files (chown)",
        )


def _barred(scene: Scene) -> Iterator[Finding]:
    """One finding for each user and need: what is missing is missing everywhere."""
    told: dict[tuple[int, str], list[Barred]] = {}
    for one in scene.around.barred if scene.around else ():
        told.setdefault((one.user, one.need), []).append(one)
    for (user, need), several in told.items():
        first = several[0]
        yield Finding(
            "permissions-insufficient",
            "warning",
            first.path,
            f"user {user}, who has written the newest batch, cannot {need} {'in ' if need == 'write' else ''}"
            f"{listed(one.path for one in several)} (mode {first.mode:o})",
            expected="what Spark needs: to read its files, and to write and rename in its directories",
            next_step="give the directory to that user (chown, chmod u+rwX)",
            subject=need,
        )


def _at_risk(scene: Scene) -> Iterator[Finding]:
    first = scene.around.first_by_age if scene.around else None
    if first is None or scene.now_ms is None:
        return
    path, written = first
    if scene.now_ms - written >= _DAY_MS:
        yield Finding(
            "old-files-at-risk",
            "info",
            path,
            f"written once, {encode_time(written)}, and read at every start: a rule that removes files by age"
            " stops the query",
            next_step="leave checkpoints out of whatever removes files by age",
        )


def _backups(scene: Scene) -> Iterator[Finding]:
    kept = scene.around.backups if scene.around else None
    if kept is not None and kept.applies:
        size = f"{'more than ' * kept.more}{kept.size_bytes / 2**20:,.1f} MiB"
        yield Finding(
            "backups-left",
            "info",
            f"{layout.OWN_DIRECTORY}/",
            f"{counted(kept.applies, 'plan')} of ckpt apply left {size}, from which ckpt undo takes them back",
            next_step="remove the oldest once nobody will undo them" if kept.applies >= _MANY_BACKUPS else None,
        )


def _lifecycle(scene: Scene) -> Iterator[Finding]:
    around = scene.around
    for rule in around.expiries if around else ():
        yield Finding(
            "bucket-lifecycle",
            "warning",
            ".",
            f'the bucket\'s rule "{rule.name}" {rule.does} {_what(rule)}{_when(scene, rule)}',
            expected="no rule that takes files of checkpoints",
            next_step="take the checkpoint's prefix out of the rule: what was written once is needed for ever",
        )


def _what(rule: Expiry) -> str:
    below = f"what lies below {rule.prefix}" if rule.prefix else "all that lies in it"
    after = f" {counted(rule.days, 'day')} after it was written" if rule.days is not None else ""
    return f"{below}{f' and is {rule.only}' if rule.only else ''}{after}"


def _when(scene: Scene, rule: Expiry) -> str:
    first = scene.around.first_by_age if scene.around else None
    if rule.days is None or first is None or scene.now_ms is None:
        return ""
    path, written = first
    left = written + rule.days * _DAY_MS - scene.now_ms
    return f": {path} goes in {spell_span(left)}" if left > 0 else f": {path} was due {spell_span(-left)} ago"


def _unversioned(scene: Scene) -> Iterator[Finding]:
    if scene.around and scene.around.versioned is False:
        yield Finding(
            "bucket-unversioned",
            "info",
            ".",
            "the bucket keeps no older versions: what is deleted or overwritten in it is gone",
            next_step="switch versioning on, with a rule that removes noncurrent versions after some days",
        )


HEALTH = (
    Law("temporary-location", "the checkpoint lies among temporary files", look=_temporary, severities=("warning",)),
    Law(
        "local-path-on-cluster",
        "state on the local disk, of several executors",
        look=_on_cluster,
        severities=("warning",),
        needs="around",
    ),
    Law("rename-not-atomic", "the store renames by copying", look=_not_atomic, severities=("info",)),
    Law("copied-checkpoint", "the checkpoint is a copy", look=_copied, severities=("info",)),
    Law(
        "hand-edited-log",
        "a file is not what its checksum was made of",
        look=_edited,
        severities=("warning",),
        needs="around",
    ),
    Law(
        "permissions-insufficient",
        "Spark's user may not do what a batch takes",
        look=_barred,
        severities=("warning",),
        needs="around",
        applies=lambda scene: is_local(scene.root),
        profile="full",
        errors=("AccessControlException: Permission denied", "Permission denied"),
    ),
    Law("owner-mixed", "its files are of several users", look=_owners, severities=("warning",), needs="around"),
    Law(
        "old-files-at-risk",
        "files that removal by age would take first",
        look=_at_risk,
        severities=("info",),
        needs="around",
    ),
    Law("backups-left", "what ckpt apply keeps for ckpt undo", look=_backups, severities=("info",), needs="around"),
    Law(
        "bucket-lifecycle",
        "a rule of the bucket takes its files away",
        look=_lifecycle,
        severities=("warning",),
        needs="around",
        profile="full",
    ),
    Law(
        "bucket-unversioned",
        "the bucket keeps no older versions",
        look=_unversioned,
        severities=("info",),
        needs="around",
        profile="full",
    ),
)
