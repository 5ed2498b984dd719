"""Files that could not be read, or not be understood: what loading the checkpoint has found."""

from __future__ import annotations

from collections.abc import Iterator

from ckpttool.laws.base import Law
from ckpttool.model import Finding
from ckpttool.scene.scene import Scene


def check_files(scene: Scene) -> Iterator[Finding]:
    yield from scene.checkpoint.faults


LAWS = (
    Law("offset-file-torn", "an offset file cannot be read", look=check_files, severities=("error", "warning")),
    Law("commit-file-torn", "a commit file cannot be read", look=check_files, severities=("error", "warning")),
    Law("source-log-torn", "a file source's log entry cannot be read", look=check_files),
    Law("operator-metadata-corrupt", "an operator's metadata cannot be read", look=check_files),
    Law("state-schema-corrupt", "a state schema cannot be read", look=check_files),
    Law(
        "log-version-too-new",
        "a format version that no known Spark writes",
        look=check_files,
        severities=("error", "warning"),
        errors=("INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION", "maximum supported log version is", "INVALID_LOG_VERSION"),
    ),
    Law("not-a-directory", "a file stands where a directory belongs", look=check_files),
    Law(
        "unreadable", "something was not read, so nothing is known about it", look=check_files, severities=("warning",)
    ),
    Law("checkpoint-absent", "there is no such directory", look=check_files, severities=("warning",)),
    Law("file-vanished", "a file was listed and is gone", look=check_files, severities=("warning",)),
    Law(
        "changed-while-read",
        "a file changed between being listed and being read",
        look=check_files,
        severities=("warning",),
    ),
)
