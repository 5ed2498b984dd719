"""Files that went because of their age."""

from __future__ import annotations

from collections.abc import Mapping

from ckpttool.causes.base import KnownCause, Sign, Symptoms
from ckpttool.formats import layout
from ckpttool.formats.state.names import parse_state_versions
from ckpttool.formats.times import encode_time
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene
from ckpttool.storage.urls import is_local
from ckpttool.words import listed

_TICK_MS = 1_000  # clocks of stores and of drivers differ by so much
_GONE = (
    "metadata-missing",
    "previous-offset-missing",
    "beginning-lost",
    "source-log-hole",
    "source-log-missing",
    "initial-offset-not-found",
    "operator-metadata-missing",
    "file-vanished",
    "state-file-missing",
    "state-schema-corrupt",
    "state-one-copy-only",
    "offset-log-hole",
    "commit-log-hole",
    "bucket-lifecycle",
    "looks-alive",
)
_FOLLOWS = ("bucket-lifecycle", "state-one-copy-only", "looks-alive")  # told beside, and nothing is gone by them
_INSIDE = "checkpoint-inside-table"
_ALL_GONE = ("checkpoint-absent", "checkpoint-deleted-sink-kept", "half-reset", "offset-log-lost", "location-not-empty")
_PARTS = 2  # of the checkpoint, that have lost something: one alone has many causes


def _deleted_by_age(symptoms: Symptoms) -> Sign | None:
    """Everything that is gone was older than all that is there."""
    scene = symptoms.scene
    oldest = _oldest_left(scene)
    gone = [one for one in symptoms.of(*_GONE) if one.id not in _FOLLOWS]
    if oldest is None or not gone or symptoms.of(_INSIDE):
        return None
    path, since = oldest
    written = {one: _written_before(scene, one, since) for one in gone}
    if any(at is None or at > since + _TICK_MS for at in written.values()):
        return None
    parts = {one.path.split("/")[0] for one in gone}
    rule = next((one for one in scene.around.expiries if one.days is not None), None) if scene.around else None
    if len(parts) < _PARTS and rule is None:
        return None
    told = f"all that is gone ({listed(sorted(one.path for one in gone))}) was older than all that is there: the oldest"
    told += f" is {path}, of {encode_time(since)}"
    vanished = any(one.id == "file-vanished" for one in gone)  # for which a query is taken to be alive
    explains = (*gone, *(one for one in symptoms.of(*_FOLLOWS) if one.id != "looks-alive" or vanished))
    if rule is not None:
        told += f'; the bucket\'s rule "{rule.name}" {rule.does} what is {rule.days} days old'
        return Sign("certain", told, explains, command=_rules_of(scene))
    return Sign("likely", told, explains, "the rules by which files are removed there", _rules_of(scene))


def _cleaned_up(symptoms: Symptoms) -> Sign | None:
    """It lies where a table's clean-up comes by, and files are gone: the old ones, or all of them."""
    inside = symptoms.of(_INSIDE)
    gone = symptoms.of(*_ALL_GONE, *(id for id in _GONE if id not in _FOLLOWS))
    if not inside or not gone:
        return None
    told = f"{inside[0].message}; {listed(sorted(one.path for one in gone))}: gone"
    parts = {one.path.split("/")[0] for one in gone}
    tells = "VACUUM END in the table's history (DESCRIBE HISTORY), or the job that removes orphan files"
    return Sign("likely" if len(parts) >= _PARTS or symptoms.of(*_ALL_GONE) else "possible", told, None, tells)


def _oldest_left(scene: Scene) -> tuple[str, int] | None:
    """None where times are those of a copy."""
    around = scene.around
    timed = [one for one in scene.evidence.batches if one.late_ms is not None]
    if around is None or not timed or not all(one.is_timely for one in timed):
        return None
    times = {**scene.checkpoint.modified_ms, **around.written, **around.oldest}
    return min(times.items(), key=lambda one: one[1])


def _written_before(scene: Scene, finding: Finding, since: int) -> int | None:
    """When at the latest the file was written that is gone. None: that is not known."""
    directory, _, name = finding.path.rpartition("/")
    if finding.path == layout.METADATA:
        return since  # nothing is older
    if directory in layout.LOGS and name.isdecimal():
        return _planned_after(scene, int(name))
    operator = directory.split("/")[:2]
    if operator[0] == layout.SOURCES:
        later = (path for path in _written(scene) if path.startswith(f"{directory}/") and _number(path) > _number(name))
        return min((_written(scene)[path] for path in later), default=None) if name.isdecimal() else None
    if operator[0] == layout.STATE and (versions := parse_state_versions([name])):
        return _planned_after(scene, versions[-1] - 1)
    if operator[0] == layout.STATE:  # what describes it comes before its first version
        below = f"{'/'.join(operator)}/"
        return min((at for path, at in _written(scene).items() if path.startswith(below)), default=None)
    return None


def _written(scene: Scene) -> Mapping[str, int]:
    return scene.around.written if scene.around else {}


def _number(path: str) -> int:
    """Of an entry of a source's log."""
    number = path.rpartition("/")[2].removesuffix(layout.COMPACT_SUFFIX)
    return int(number) if number.isdecimal() else -1


def _planned_after(scene: Scene, batch: int) -> int | None:
    """When the batch was committed, or the next one planned of which that is known: all of its files are older."""
    ends = [one.committed_ms for one in scene.evidence.batches if one.id == batch]
    ends += [one.logged_ms for one in scene.evidence.batches if one.id > batch]
    return min((at for at in ends if at is not None), default=None)


def _rules_of(scene: Scene) -> str:
    """The command that shows who removes files there."""
    scheme, found, rest = scene.root.partition("://")
    bucket = rest.partition("/")[0]
    if not found or is_local(scene.root):
        return "grep -rns -e tmpwatch -e tmpreaper -e '-mtime' /etc/cron* /etc/tmpfiles.d /usr/lib/tmpfiles.d"
    if scheme in ("s3", "s3a", "s3n"):
        return f"aws s3api get-bucket-lifecycle-configuration --bucket {bucket}"
    if scheme in ("gs", "gcs"):
        return f"gcloud storage buckets describe gs://{bucket} --format='json(lifecycle_config)'"
    if scheme in ("abfs", "abfss", "wasb", "wasbs", "az"):
        account = bucket.rpartition("@")[2].partition(".")[0]
        return f"az storage account management-policy show --account-name {account} --resource-group GROUP"
    return "ckpt doctor {path} --profile full"


CAUSES = (
    KnownCause(
        "deleted-by-age",
        "somebody removes files by their age, and it has reached this checkpoint",
        "A lifecycle rule of the bucket, tmpwatch, a nightly `find -mtime`: weeks after the query was set up, the files"
        " go that are written once and needed for ever: `metadata`, the first entries of sources, schemas, the first"
        " versions of state. Each is told as a finding of its own; the rule takes what is restored again, unless it is"
        " changed first.",
        "all that is missing was older than all that is there, in two parts of the checkpoint or under a rule of the"
        " bucket",
        _GONE,
        _deleted_by_age,
        "take this checkpoint out of the rule; then restore what is gone from older versions or a backup",
        "ckpt doctor {path} --profile full",
        never=("start-over",),
    ),
    KnownCause(
        "cleaned-up",
        "the clean-up of the table has reached the checkpoint, which lies in its directory",
        "VACUUM, remove_orphan_files and their like remove what the table does not know of: a checkpoint below its"
        " directory is such, unless its name begins with `_` or `.`. The old files go first, or all, and the next start"
        " fails or reads everything once more.",
        "a checkpoint inside a table's directory of which files are missing",
        (_INSIDE, *_ALL_GONE, *(id for id in _GONE if id != "bucket-lifecycle")),
        _cleaned_up,
        "stop the clean-up; restore the checkpoint, from older versions or a backup, to a place outside the table",
        "ckpt plan-recovery {path}",
        never=("start-over",),
    ),
)
