"""What a law is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ckpttool.formats.envelope import ILLEGAL_STATE, SPARK_ILLEGAL_STATE
from ckpttool.model import Finding, Severity
from ckpttool.releases import OLDEST, Release, since
from ckpttool.scene.scene import Doubt, Failure, Part, Phase, Scene, Trouble

ASSERTION = "java.lang.AssertionError"
REQUIREMENT = "java.lang.IllegalArgumentException"
RENAME_REFUSED = "org.apache.hadoop.fs.FileAlreadyExistsException"
PARENT_NOT_DIRECTORY = "org.apache.hadoop.fs.ParentNotDirectoryException"
RESTORE = "restore the file from a backup"
OTHER_VERSION = f"{RESTORE}. What another release wrote, that one reads"
OUT_OF_THE_WAY = "set it aside: no start gets past it"
NO_DIRECTORY = "not-a-directory"  # the finding of a file in the place of a directory
FILE_NOT_FOUND = "java.io.FileNotFoundException"
SPARK_EXCEPTION = "org.apache.spark.SparkException"
LOCATION_NOT_EMPTY = "org.apache.spark.sql.execution.streaming.state.StateStoreCheckpointLocationNotEmpty"
SPARK_RUNTIME = "org.apache.spark.SparkRuntimeException"
LARGE_LOG_BYTES = 100 * 2**20  # of files that the driver takes into memory: some 500,000 entries
UNREAD = ("unreadable", "file-vanished")  # faults that are not Spark's: we could not read it


Check = Callable[[Scene], Failure | Doubt | None]
Look = Callable[[Scene], Iterator[Finding]]
Judge = Callable[..., Iterator[Trouble]]
Applies = Callable[[Scene], bool]
Profile = Literal["quick", "full"]


class Law(Struct, frozen=True):
    """One thing that Spark minds, or that somebody has to act on.

    `check` says how it stops a restart, under the releases from `since` up to before `until`, and `source` where that
    stands in Spark. `look` tells what is wrong. Both may be shared: they answer for all laws that name them. `judge`
    gives both answers at once, of one of the parts that the law `needs`, such as a source beside its brokers. Where
    there is none of them, whoever judges that part tells; where nobody does, the law that stops a restart tells itself,
    with its `next_step`. `symptom`: what is wrong, in one line, where that is not the title, which then says what Spark
    minds. `tells`: the ids of other laws whose findings are about what this one stops for; its own always are.
    `severities`: of its findings; without any it only stops. `applies`: whether the query has anything that it is
    about. `profile`: "full" if what it needs takes more than names and a few files. `errors`: what its failure is
    recognised by in what Spark printed: parts of class, condition, message and frames, with `…` for what varies between
    them. `often`: how often people meet it, 3 the most."""

    id: str
    title: str
    source: str = ""
    check: Check | None = None
    since: Release = OLDEST
    until: Release | None = None
    symptom: str = ""
    look: Look | None = None
    judge: Judge | None = None
    severities: tuple[Severity, ...] = ("error",)
    needs: Part = "logs"
    tells: tuple[str, ...] = ()
    next_step: str = ""
    applies: Applies | None = None
    profile: Profile = "quick"
    errors: tuple[str, ...] = ()
    often: Literal[1, 2, 3] = 2

    @property
    def says(self) -> str:
        """What is wrong, in a line."""
        return self.symptom or self.title

    def holds_for(self, release: Release) -> bool:
        return self.since <= release and (self.until is None or release < self.until)

    @property
    def least(self) -> Profile:
        """The smallest profile that asks it."""
        return "full" if self.needs == "rows" else self.profile

    def applies_to(self, scene: Scene) -> bool:
        if self.applies:
            return self.applies(scene)
        return keeps_state(scene) if self.needs in ("state", "rows") else True


def keeps_state(scene: Scene) -> bool:
    return scene.is_stateful


AnyLaw = TypeVar("AnyLaw", bound=Law)


def reads(*kinds: str) -> Applies:
    """Of laws about sources of these kinds."""
    return lambda scene: not scene.kinds.isdisjoint(kinds)


def answering(laws: Iterable[AnyLaw], unasked: frozenset[str]) -> Iterator[AnyLaw]:
    """All but those that could not answer."""
    return (law for law in laws if law.id not in unasked)


class WithId(Protocol):
    """A law, or a cause: a value with functions of its own."""

    @property
    def id(self) -> str: ...


def behind(error: BaseException, laws: Iterable[WithId]) -> frozenset[str]:
    """The laws in whose functions something went wrong; where none of them has one of its own, all that its module
    has."""
    ran: set[CodeType] = set()
    around: Iterable[WithId] = ()
    trace = error.__traceback__
    while trace is not None:
        ran.add(trace.tb_frame.f_code)
        around = trace.tb_frame.f_globals.get("LAWS", around)
        trace = trace.tb_next
    own = frozenset(law.id for law in laws if not ran.isdisjoint(_codes(law)))
    return own or frozenset(law.id for law in around)


def _codes(law: Any) -> Iterator[CodeType]:
    parts: Iterator[Any] = (getattr(law, name) for name in law.__struct_fields__)
    yield from (part.__code__ for part in parts if hasattr(part, "__code__"))


def finding_of(law: Law, failure: Failure) -> Finding:
    """What stops a restart, told by the law itself."""
    return Finding(
        id=law.id,
        severity="error",
        path=failure.path,
        message=failure.why.removeprefix(f"{failure.path}: "),
        expected=failure.expected,
        next_step=law.next_step,
        position=failure.position,
        spark=failure.spark,
    )


def no_directory(scene: Scene, name: str, phase: Phase, *, sink_written_first: bool = False) -> Failure | None:
    """A file lies where one of the checkpoint's directories belongs, and something is to be written into it."""
    fault = scene.fault(name)
    if fault is None or fault.id != NO_DIRECTORY:
        return None
    batch = scene.next_id if phase == "batch" else None
    message, why = "is not a dir", f"a file lies in the place of {name}/"
    return Failure(phase, PARENT_NOT_DIRECTORY, None, message, why, batch, sink_written_first, path=name)


def rename_refused(path: str, release: Release, phase: Phase, batch: int | None = None) -> Failure:
    """A checksum is left where a log renames a new file to, and Spark takes that for a second query at work. What is
    renamed is in place by then: the next start finds it, and goes on."""
    condition = "_LEGACY_ERROR_TEMP_2207" if release >= since.LEGACY_CONDITIONS else None
    why = f"{path} is left over, and a rename onto it fails"
    return Failure(phase, RENAME_REFUSED, condition, "Rename destination", why, batch, path=path)


def misnamed(path: str, batch_id: int) -> Failure:
    """A name like `005` counts as a batch, and is not what is opened for it."""
    why = f"a name counts as batch {batch_id}, and {path} is not there"
    return Failure("init", FILE_NOT_FOUND, None, f"{path} does not exist", why, path=path)


def no_next_id(path: str) -> Failure:
    """Nothing comes after the highest number there is: the range that ends with it cannot be counted."""
    return Failure("init", REQUIREMENT, None, "More than Int.MaxValue elements.", f"{path} is there", path=path)


def error_of(fault: Finding, release: Release) -> tuple[str, str | None]:
    """The class and condition that this release gives to what is wrong in a file."""
    if fault.spark is None:
        return ILLEGAL_STATE, None
    if release < since.LOG_CONDITIONS and fault.spark.class_name == SPARK_ILLEGAL_STATE:
        return ILLEGAL_STATE, None
    return fault.spark.class_name, fault.spark.condition


def unread(scene: Scene, fault: Finding, phase: Phase, path: str) -> Failure | Doubt:
    """What comes of a file that Spark reads, and that has a fault."""
    if fault.id in UNREAD:
        return Doubt(f"{path} was not read: {fault.message}")
    class_name, condition = error_of(fault, scene.release)
    return Failure(phase, class_name, condition, fault.message, f"{path}: {fault.message}", path=fault.path)


def version_refused(scene: Scene, path: str, version: int, newest_read: Mapping[Release, int]) -> Failure | None:
    """A log's file has a newer version than this release reads. `newest_read`: first release → version."""
    newest = max(read for first, read in newest_read.items() if first <= scene.release)
    if version <= newest:
        return None
    message = f"maximum supported log version is v{newest}, but encountered v{version}"
    if scene.release < since.LOG_CONDITIONS:
        return Failure("init", ILLEGAL_STATE, None, message, f"{path} has version {version}", path=path)
    condition = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"
    return Failure("init", SPARK_ILLEGAL_STATE, condition, message, f"{path} has version {version}", path=path)


def severity_by_age(scene: Scene, batch_id: int) -> Severity:
    """Spark opens the two newest files; what is wrong further down is history."""
    return "error" if batch_id >= (scene.checkpoint.last_offset_batch or 0) - 1 else "warning"


_FAILED_WRITES: tuple[tuple[Release, Release, tuple[str, ...], str], ...] = (
    (since.WRITES_ABORTED, since.TASK_WRITES_FAILED, ("memory", "noop", "kafka"), "WRITING_JOB_ABORTED"),
    (since.TASK_WRITES_FAILED, since.TASK_WRITES_BARE, ("file", "delta"), "TASK_WRITE_FAILED"),
)


def in_a_task(scene: Scene, failure: Failure) -> Failure:
    return replace(failure, condition=failure.condition or around_a_task(scene))


def around_a_task(scene: Scene) -> str | None:
    """What some sinks' writers put around any failure of their tasks. If none is named, by what lies beside."""
    kinds: set[str] = {sink.kind for sink in scene.sinks} or {ledger.kind for ledger in scene.checkpoint.ledgers}
    for first, until, sinks, condition in _FAILED_WRITES:
        if first <= scene.release < until and kinds & set(sinks):
            return condition
    return None
