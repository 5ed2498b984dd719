"""What a law is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE
from ckpttool.model import Finding, Severity, SparkError
from ckpttool.releases import OLDEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Part, Phase, Scene

ASSERTION = "java.lang.AssertionError"
REQUIREMENT = "java.lang.IllegalArgumentException"
RENAME_REFUSED = "org.apache.hadoop.fs.FileAlreadyExistsException"
PARENT_NOT_DIRECTORY = "org.apache.hadoop.fs.ParentNotDirectoryException"
NO_DIRECTORY = "not-a-directory"  # the finding of a file in the place of a directory
FILE_NOT_FOUND = "java.io.FileNotFoundException"
SPARK_EXCEPTION = "org.apache.spark.SparkException"
LOCATION_NOT_EMPTY = "org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointLocationNotEmpty"
SPARK_RUNTIME = "org.apache.spark.SparkRuntimeException"


class Complaint(Struct, frozen=True):
    """What a source says when it does not go on. `message`: the fixed part of Spark's text. `finding`: the id under
    which we tell of it."""

    class_name: str
    condition: str | None
    message: str
    finding: str
    next_step: str

    @property
    def error(self) -> SparkError:
        return SparkError(self.class_name, self.condition)


Check = Callable[[Scene], Failure | Doubt | None]
Look = Callable[[Scene], Iterator[Finding]]


class Law(Struct, frozen=True):
    """One thing that Spark minds, or that somebody has to act on.

    `check` says how it stops a restart, under the releases from `since` up to before `until`, and `source` where that
    stands in Spark. `look` tells what is wrong, and may be shared: it answers for all laws that name it. Where there is
    none, whoever judges the part that it `needs` tells. `symptom`: what is wrong, in one line, where that is not the
    title, which then says what Spark minds. `tells`: the ids of other laws whose findings are about what
    this one stops for; its own always are."""

    id: str
    title: str
    source: str = ""
    check: Check | None = None
    since: Release = OLDEST
    until: Release | None = None
    symptom: str = ""
    look: Look | None = None
    severities: tuple[Severity, ...] = ("error",)
    needs: Part = "logs"
    tells: tuple[str, ...] = ()

    def holds_for(self, release: Release) -> bool:
        return self.since <= release and (self.until is None or release < self.until)


def no_directory(scene: Scene, name: str, phase: Phase, *, sink_written_first: bool = False) -> Failure | None:
    """A file lies where one of the checkpoint's directories belongs, and something is to be written into it."""
    fault = scene.fault(name)
    if fault is None or fault.id != NO_DIRECTORY:
        return None
    batch = scene.next_id if phase == "batch" else None
    message, why = "is not a dir", f"a file lies in the place of {name}/"
    return Failure(phase, PARENT_NOT_DIRECTORY, None, message, why, batch, sink_written_first)


def concurrent_use(release: Release) -> str | None:
    """The condition around a refused rename in a metadata log: Spark takes it for a second query at work."""
    return "_LEGACY_ERROR_TEMP_2207" if release >= since.LEGACY_CONDITIONS else None


def error_of(fault: Finding, release: Release) -> tuple[str, str | None]:
    """The class and condition that this release gives to what is wrong in a file."""
    if fault.spark is None:
        return ILLEGAL_STATE, None
    if release < since.LOG_CONDITIONS and fault.spark.class_name == SPARK_ILLEGAL_STATE:
        return ILLEGAL_STATE, None
    return fault.spark.class_name, fault.spark.condition
