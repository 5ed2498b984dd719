"""The commit log: its newest file, and the versions in it."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.errors import MalformedFile
from ckpttool.formats import layout
from ckpttool.formats.envelope import LONG_MAX, SPARK_ILLEGAL_STATE, parse_lines, parse_version
from ckpttool.laws.base import OTHER_VERSION, Law, misnamed, no_next_id, unread, version_refused
from ckpttool.model import Finding
from ckpttool.releases import OLDEST, since
from ckpttool.scene.scene import Doubt, Failure, Scene

_NEWEST_READ = {OLDEST: 1, since.COMMITS_2: 2, since.COMMITS_3: 3}


def _highest_commit(scene: Scene) -> Failure | None:
    if scene.committed != LONG_MAX or (scene.planned is None and scene.release < since.COMMITS_ALONE):
        return None
    return no_next_id(layout.commits(LONG_MAX))


def _newest_commit(scene: Scene) -> Failure | Doubt | None:
    committed = scene.committed
    if committed is None or (scene.planned is None and scene.release < since.COMMITS_ALONE):
        return None
    path = layout.commits(committed)
    if committed not in scene.checkpoint.commit_names.ids:
        return misnamed(path, committed)
    exact = since.COMMITS_2 <= scene.release < since.COMMITS_3
    fault = scene.fault(path)
    if exact and fault and fault.id == "log-version-too-new":
        return _exact_version(path)
    version = _commit_version(scene, committed)
    if exact and version is not None and str(version) != _asked_for(scene, committed, version):
        return _exact_version(path)
    if version is not None and (refused := version_refused(scene, path, version, _NEWEST_READ)):
        return refused
    if fault:
        return unread(scene, fault, "init", path)
    entry = scene.checkpoint.commits.get(committed)
    unnamed = entry and entry.version > 1 and scene.checkpoint.operators and not entry.state_unique_ids
    if unnamed and scene.needed_state is None:  # else its files tell
        return Doubt(f"{path} has a later version than 1, and names no state, which the query has")
    return None


def _asked_for(scene: Scene, committed: int, version: int) -> str:
    """The version of the session. If it is not given it is what it always was: that of the commits before."""
    earlier = [commit.version for batch, commit in sorted(scene.checkpoint.commits.items()) if batch < committed]
    inferred = earlier[-1] if earlier else version
    return scene.conf("spark.sql.streaming.stateStore.checkpointFormatVersion", str(min(inferred, 2)))


def _commit_version(scene: Scene, batch_id: int) -> int | None:
    """The version that the file gives itself, which is looked at before the rest of it."""
    entry = scene.checkpoint.commits.get(batch_id)
    if entry is not None:
        return entry.version
    try:
        return parse_version(parse_lines(scene.checkpoint.raw.get(layout.commits(batch_id), b""))[0].strip(), 3)
    except MalformedFile:
        return None


def _exact_version(path: str) -> Failure:
    return Failure(
        "init",
        SPARK_ILLEGAL_STATE,
        "INVALID_LOG_VERSION.EXACT_MATCH_VERSION",
        "The only supported log version is",
        f"{path} has not the version that the session writes",
        path=path,
    )


NEWEST = (
    Law(
        "highest-commit",
        "No batch can follow a commit with the highest number there is.",
        "HDFSMetadataLog, NumericRange",
        _highest_commit,
        symptom="the highest number that there is stands in the commit log",
        next_step="set the file aside, if Spark did not write it",
        errors=("More than Int.MaxValue elements",),
        often=1,
    ),
    Law(
        "newest-commit-malformed",
        "The highest commit file is opened. 4.0 and 4.1 take exactly the version that the session would write.",
        "CommitLog.deserialize, MetadataVersionUtil",
        _newest_commit,
        symptom="the highest commit file cannot be used",
        tells=("commit-file-torn", "log-version-too-new", "non-canonical-batch-name"),
        next_step=OTHER_VERSION,
        errors=(
            "Log file was malformed: failed to read correct log version from",
            "Log file was malformed: failed to read correct log version from…CommitLog.deserialize",
            "Log file was malformed…CommitLog.deserialize",
            "Incomplete log file in the offset commit log",
            "Incomplete log file",
            "maximum supported log version is",
            "maximum supported log version is…CommitLog.deserialize",
            "Unexpected end-of-input…CommitLog.deserialize",
            "No usable value for nextBatch",
            "/commits/…does not exist",
            '{"nextBatch',
            "Do not know how to convert…into long",
            "Did not find value which can be converted into",
            "CommitMetadata",
            "CommitLog.deserialize",
            "MalformedInputException: Input length",
            "MappingException",
            "INVALID_LOG_VERSION",
            "/commits/…(Is a directory)",
            "JsonEOFException",
            "JsonParseException",
        ),
        often=3,
    ),
)


def check_commit_versions(scene: Scene) -> Iterator[Finding]:
    versions = sorted({commit.version for commit in scene.checkpoint.commits.values()})
    if len(versions) > 1:
        yield Finding(
            id="mixed-commit-versions",
            severity="info",
            path=layout.COMMITS,
            message=f"the log holds versions {', '.join(f'v{version}' for version in versions)}",
            expected="one version",
            next_step="nothing for a restart: it looks at the newest only. Spark's state reader refuses such a range",
        )


def check_contents(scene: Scene) -> Iterator[Finding]:
    """Spark takes a commit that ends after its first line for one without a watermark, as 2.3 and older wrote it."""
    commits = scene.checkpoint.commits
    newest = commits.get(-1 if scene.committed is None else scene.committed)
    others = [one for one in commits.values() if newest and one.batch_id != newest.batch_id]
    if newest and newest.next_watermark_ms is None and any(one.next_watermark_ms is not None for one in others):
        yield Finding(
            id="commit-without-content",
            severity="warning" if any(one.next_watermark_ms for one in others) else "info",
            path=layout.commits(newest.batch_id),
            message="only its version is there: the next batch keeps the watermark of this one, where it would move on",
            expected="the next watermark as JSON, as the other commits have it",
            next_step="restore the file from a backup. Without a watermark in the query nothing depends on it",
        )


VERSIONS = (
    Law(
        "commit-without-content",
        "the newest commit has a version and nothing else",
        look=check_contents,
        severities=("warning", "info"),
    ),
    Law(
        "mixed-commit-versions", "commits of several format versions", look=check_commit_versions, severities=("info",)
    ),
)
